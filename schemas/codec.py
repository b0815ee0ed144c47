"""The encoders that every wire type and table value goes through."""

import msgspec

encode = msgspec.json.Encoder().encode
pack = msgspec.msgpack.Encoder().encode
