"""What full values of several types are made of."""

import msgspec

from schemas.content import Actor, Content, Group, Line, Object, Sealed
from schemas.profiles import Address, Endpoint, QuietHours

ID, DELIVERY = "0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33", "1d9e5b6f-3c2e-5b4d-8a11-bb22cc33dd44"
NOW, LATER = 1_790_000_000_000, 1_790_003_600_000
PAYLOAD = msgspec.Raw(b'{"order": "123", "total": 19.90}')
SEALED = Sealed(key_id="k1", nonce="bm9uY2U=", data="ZGF0YQ==")
CONTENT = Content(
    payload=PAYLOAD,
    actor=Actor("user-7", "Änn"),
    object=Object("post", "9"),
    address="ann@example.com",
    group=Group(
        count=7,
        lines=(
            Line(
                type="social.like",
                at=NOW,
                count=3,
                payload=PAYLOAD,
                actor=Actor("user-7"),
                object=Object("post", "9"),
                actors=(Actor("user-7"),),
                others=2,
            ),
        ),
        more=4,
        actors=(Actor("user-7"),),
        others=5,
    ),
)
QUIET = QuietHours(start="22:00", end="08:00", days=("mon", "tue"), channels=("push",))
ENDPOINT = Endpoint(
    channel="push",
    endpoint_id="phone",
    verified=True,
    suppressed="bounce",
    suppressed_until=LATER,
    platform="ios",
    at=NOW,
    content=Address("t0ken"),
    sealed=SEALED,
)
