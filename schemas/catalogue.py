"""The catalogue: what each notification type is allowed and asked to do."""

import msgspec

from schemas.words import Channel, Lane


class NotificationType(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One type. `ttl_ms` counts from the later of acceptance and `send_at`.

    `required` are the payload fields that the templates of `channels` need, derived from them over all locales.
    `fallback` is the order of channels to try when one ends terminally. `templates` is the folder of its templates
    where that is not named like the type. `verifies`: it carries a code to the endpoint that is to be verified.
    """

    category: str
    channels: tuple[Channel, ...]
    priority: Lane = "normal"
    ttl_ms: int = 86_400_000
    mandatory: bool = False
    digestible: bool = False
    aggregate: bool = False
    fallback: tuple[Channel, ...] = ()
    verifies: bool = False
    required: tuple[str, ...] = ()
    sample: msgspec.Raw = msgspec.Raw(b"{}")
    templates: str = ""


class Category(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a user can switch off; `titles` by locale."""

    titles: dict[str, str] = {}


class Budget(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How many notifications with a noisy channel a user gets in a sliding hour and day; None is no limit."""

    hour: int | None = None
    day: int | None = None


class Windows(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How digests and aggregations wait.

    `digest_at` is the local time of daily digests of users who chose none. An aggregation ends `wait_ms` after its last
    notification, `max_wait_ms` after its first. At `max_size` notifications a window of either kind ends at once;
    `shown` of them are told one by one.
    """

    digest_at: str = "08:00"
    wait_ms: int = 300_000
    max_wait_ms: int = 3_600_000
    max_size: int = 1000
    shown: int = 20


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """All of them. `channels` is what this installation carries; `hash` is of everything else in here.

    `zone` is that of users without one; `zones` are those of single tenants.
    """

    hash: str
    channels: tuple[Channel, ...]
    fallback_locale: str
    types: dict[str, NotificationType]
    categories: dict[str, Category]
    budget: Budget = Budget()
    windows: Windows = Windows()
    zone: str = "UTC"
    zones: dict[str, str] = {}
