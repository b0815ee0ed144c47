"""Addresses as callers write them, and the spelling in which they are kept."""

from dataclasses import dataclass

from notify_streams.domain.addresses import NoAddress, canonical
from notify_streams.domain.mailboxes import address_in
from notify_streams.domain.phone_numbers import is_region
from notify_streams.gateway.problems import invalid
from notify_streams.settings import Settings
from schemas.words import Channel


@dataclass(frozen=True, slots=True)
class Spelling:
    """`region` of numbers without a country code; the channels whose URLs may lead into networks of ours."""

    region: str = ""
    private: frozenset[str] = frozenset()

    def kept(self, channel: Channel, address: str, region: str | None = None) -> str:
        """The address as it is kept. Raises a 422 that repeats nothing of it."""
        if region is not None and not is_region(region):
            raise invalid("invalid_command", "no region of ISO 3166-1 such as DE", "/region")
        written = address_in(address) if channel == "email" else address
        found = canonical(channel, written, region or self.region, allow_private=channel in self.private)
        if isinstance(found, NoAddress):
            raise invalid("invalid_command", found.reason, "/address")
        return found


def spelling_of(settings: Settings) -> Spelling:
    """By the providers of each channel."""
    by_channel = {
        channel: [settings.providers[name] for name in chosen.providers if name in settings.providers]
        for channel, chosen in settings.channels.items()
    }
    regions = [provider.default_region for provider in by_channel.get("sms", []) if provider.default_region]
    private = (channel for channel, chain in by_channel.items() if any(provider.allow_private for provider in chain))
    return Spelling(regions[0] if regions else "", frozenset(private))
