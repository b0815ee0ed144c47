"""Whether so many answers say "dead" that our credential must be wrong, and not the addresses (cases/README, 13)."""

from collections.abc import Mapping

import msgspec

SLOTS, SLOT_MS = 10, 30_000  # five minutes


class SurgePolicy(msgspec.Struct, frozen=True):
    """Stopped when more than `share` of at least `of` answers within five minutes are bad."""

    share: float = 0.2
    of: int = 50


class Surge(msgspec.Struct, frozen=True):
    """Answers by half minutes: number -> (all, bad)."""

    policy: SurgePolicy = SurgePolicy()
    slots: Mapping[int, tuple[int, int]] = {}


CALM = Surge()


def after(surge: Surge, bad: bool, now: int) -> Surge:
    """With one more answer at `now` (ms); what is older than five minutes is forgotten."""
    slot = now // SLOT_MS
    kept = {number: counts for number, counts in surge.slots.items() if slot - SLOTS < number}
    answers, ill = kept.get(slot, (0, 0))
    kept[slot] = answers + 1, ill + bad
    return Surge(surge.policy, kept)


def is_stopped(surge: Surge, now: int) -> bool:
    """Whether nothing may be done on the strength of a bad answer for now."""
    slot = now // SLOT_MS
    met = [counts for number, counts in surge.slots.items() if slot - SLOTS < number <= slot]
    answers, ill = sum(a for a, _ in met), sum(b for _, b in met)
    return answers >= surge.policy.of and ill > surge.policy.share * answers
