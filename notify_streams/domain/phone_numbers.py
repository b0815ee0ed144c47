"""Phone numbers as people write them, and the one spelling under which each is kept (ITU-T E.164)."""

import re

import msgspec
import phonenumbers
from phonenumbers import PhoneNumberFormat, ValidationResult

E164 = re.compile(r"\+[1-9][0-9]{6,14}")
# Digits and what people put between them. Letters and extensions are refused: a text message cannot follow them.
_WRITTEN = re.compile(r"\+?[0-9 ()./\u00a0\u2010-\u2015-]{2,40}")
_NO_REGION = "a phone number without + and country code needs a region, and none is set"
_NONE = "a phone number is + and 7 to 15 digits, or one that is dialled in the default region"
_LENGTH = "there is no phone number of this length in its country"


class NoNumber(msgspec.Struct, frozen=True):
    """It is refused, and why; never with the number itself."""

    reason: str


def e164(text: str, region: str = "") -> str | NoNumber:
    """`+491701234567` for every way to write it. `region` (ISO 3166-1) is that of numbers without a country code.

    Only form and length are checked: new ranges and made-up numbers look alike, and the carrier knows the difference.
    """
    written = text.strip()
    if not _WRITTEN.fullmatch(written):
        return NoNumber(_NONE)
    if not written.startswith("+") and not region:
        return NoNumber(_NO_REGION)
    try:
        number = phonenumbers.parse(written, region or None)
    except phonenumbers.NumberParseException:
        return NoNumber(_NONE)
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        return NoNumber(_LENGTH)
    found = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    return found if E164.fullmatch(found) else NoNumber(_NONE)


def is_region(text: str) -> bool:
    """Whether there are phone numbers of such a region: `DE`, `GB`."""
    return text in phonenumbers.SUPPORTED_REGIONS


def country_code(number: str) -> str:
    """`49` of `+491701234567`; empty for what begins with no country code."""
    try:
        return str(phonenumbers.parse(number, None).country_code or "")
    except phonenumbers.NumberParseException:
        return ""
