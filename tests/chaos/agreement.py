"""Whether decisions agree with what users had been told that they chose."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from schemas.decisions import DecisionV1, Suppress
from schemas.words import Channel, Reason

_OPTED_OUT = (Reason.OPTED_OUT_OF_CHANNEL, Reason.OPTED_OUT_OF_CATEGORY)


class Switch(msgspec.Struct, frozen=True):
    """One thing to switch; without a category it is the whole channel."""

    channel: Channel
    category: str | None = None

    def patch(self, on: bool) -> dict[str, object]:
        """The body that puts it so."""
        if self.category is None:
            return {"channels": {self.channel: on}}
        return {"categories": {self.category: {self.channel: on}}}

    def shown(self, body: Mapping[str, Mapping[str, object]]) -> object:
        """How it stands in what the gateway shows."""
        if self.category is None:
            return body["channels"][self.channel]
        switches = body["categories"][self.category]
        assert isinstance(switches, Mapping)
        return switches[self.channel]


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One event that was accepted after a change.

    `floor` is the highest version that had been answered with 200 when the event was offered. `certain`: every change
    since had been answered, and none followed before it was decided, so that nothing but the floor may govern it.
    """

    notification_id: str
    floor: int
    certain: bool


class Chosen(msgspec.Struct, frozen=True):
    """One user: what the switch was at each version that was answered with 200, and the events."""

    user_id: str
    switch: Switch
    answered: Mapping[int, bool]
    rounds: Sequence[Round]


class Agreement(msgspec.Struct):
    """`counts` by what governed an event; `faults` in words."""

    counts: Counter[str]
    faults: list[str]


def agreement(users: Sequence[Chosen], decisions: Mapping[str, Sequence[DecisionV1]]) -> Agreement:
    """Of every decision about every event, repeats included; the first one is the one that is `certain`."""
    found = Agreement(Counter(), [])
    for user in users:
        for round_ in user.rounds:
            of_it = decisions.get(round_.notification_id, ())
            if not of_it:
                found.faults.append(f"{user.user_id} {round_.notification_id}: accepted and never decided")
            found.counts["decided again"] += max(0, len(of_it) - 1)
            for at, decision in enumerate(of_it):
                words, fault = _judged(user, round_, decision, first=at == 0)
                found.counts[words] += at == 0
                if fault is not None:
                    found.faults.append(f"{user.user_id} {round_.notification_id}: {fault}")
    return found


def _judged(user: Chosen, round_: Round, decision: DecisionV1, *, first: bool) -> tuple[str, str | None]:
    version, is_off = decision.profile.version, _is_off(decision, user.switch.channel)
    wanted_on = user.answered.get(version)
    if version < round_.floor:
        return "by an older version", f"decided under version {version}, {round_.floor} had been answered before"
    if wanted_on is not None and is_off == wanted_on:
        return "against the setting", f"version {version} says {'on' if wanted_on else 'off'}: {decision.verdicts}"
    if first and round_.certain and version != round_.floor:
        return "by an unknown version", f"decided under version {version}, and {round_.floor} was the last there was"
    if version == round_.floor:
        return "by the setting in force", None
    return ("by a later change" if wanted_on is not None else "by a change that was not confirmed"), None


def _is_off(decision: DecisionV1, channel: Channel) -> bool:
    return any(isinstance(v, Suppress) and v.channel == channel and v.reason in _OPTED_OUT for v in decision.verdicts)
