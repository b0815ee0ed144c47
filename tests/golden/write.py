"""Writes the golden files that are missing: `python -m tests.golden.write`. What was released is never rewritten."""

from pathlib import Path

from schemas.codec import encode, pack
from tests.golden.tables import TABLE
from tests.golden.values import WIRE

HERE = Path(__file__).parent


def main() -> None:
    for name, (full, bare, _) in WIRE.items():
        _write(HERE / f"{name}.json", encode(full) + b"\n" + encode(bare) + b"\n")
    for name, (full, bare, _) in TABLE.items():
        _write(HERE / f"{name}.msgpack", f"{pack(full).hex()}\n{pack(bare).hex()}\n".encode())


def _write(path: Path, lines: bytes) -> None:
    if not path.exists():
        path.write_bytes(lines)


if __name__ == "__main__":
    main()
