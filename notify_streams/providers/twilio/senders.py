"""Under which sender a text message goes out.

Letters in place of a number (Twilio, "Alphanumeric Sender ID", and AlphaSender of its Messaging Services): 1 to 11 of
letters, digits, space and + - _ &, one of them a letter at least; carriers take the full stop too. Some countries take
no such sender, and the list changes: it is a setting.
"""

import logging
import re

import msgspec

from notify_streams.domain.phone_numbers import E164, country_code
from notify_streams.settings import Provider, SettingsError

log = logging.getLogger(__name__)
_ALPHANUMERIC = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9 +_&.-]{1,11}")
_SHORT_CODE = re.compile(r"[0-9]{3,8}")
_COUNTRY = re.compile(r"\+?([1-9][0-9]{0,2})")
_SERVICE = re.compile(r"MG[0-9a-fA-F]{32}")


class Chosen(msgspec.Struct, frozen=True):
    """The form's field and its value. `note` where it is not the sender that was asked for first."""

    field: str
    value: str
    note: str = ""


class Senders(msgspec.Struct, frozen=True):
    """Those of one provider, empty where there is none."""

    alphanumeric: str = ""
    service: str = ""
    number: str = ""
    numeric_only: frozenset[str] = frozenset()

    @classmethod
    def of(cls, provider: Provider, name: str) -> "Senders":
        """From the settings. Raises SettingsError for a sender that Twilio would not take, or for none at all."""
        senders = cls(
            _alphanumeric(provider.alphanumeric_sender, f"providers.{name}.alphanumeric_sender"),
            _service(provider.messaging_service_sid, f"providers.{name}.messaging_service_sid"),
            _number(provider.from_number, f"providers.{name}.from_number"),
            frozenset(_country(code, f"providers.{name}.numeric_only") for code in provider.numeric_only),
        )
        if not (senders.alphanumeric or senders.service or senders.number):
            raise SettingsError(
                f"providers.{name}.from_number: is missing, and so are messaging_service_sid and alphanumeric_sender"
            )
        if senders.numeric_only and not (senders.service or senders.number):
            countries = ", ".join(f"+{code}" for code in sorted(senders.numeric_only))
            log.warning("sms.no_numeric_sender provider=%s nothing_goes_to=%s", name, countries)
        return senders

    def choose(self, to: str) -> Chosen | str:
        """The sender of a message to this number, or why there is none."""
        country = country_code(to) if self.alphanumeric else ""
        if self.alphanumeric and country not in self.numeric_only:
            return Chosen("From", self.alphanumeric)
        note = f"numeric_sender +{country}" if self.alphanumeric else ""
        if self.service:
            return Chosen("MessagingServiceSid", self.service, note)
        if self.number:
            return Chosen("From", self.number, note)
        return f"no numeric sender for +{country}"


def _alphanumeric(text: str, setting: str) -> str:
    if text and not _ALPHANUMERIC.fullmatch(text):
        raise SettingsError(f"{setting}: 1 to 11 letters, digits, spaces and + - _ & . with one letter at least")
    return text


def _number(text: str, setting: str) -> str:
    if text and not (E164.fullmatch(text) or _SHORT_CODE.fullmatch(text)):
        raise SettingsError(f"{setting}: expected a number such as +491701234567, or a short code")
    return text


def _service(text: str, setting: str) -> str:
    if text and not _SERVICE.fullmatch(text):
        raise SettingsError(f"{setting}: expected MG and 32 hexadecimal digits")
    return text


def _country(text: str, setting: str) -> str:
    match = _COUNTRY.fullmatch(text)
    if match is None:
        raise SettingsError(f"{setting}: expected country codes such as 1 and 61")
    return match[1]
