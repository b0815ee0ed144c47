"""Mailboxes and display names: what may stand in an envelope, and what in From, To and Reply-To (RFC 5322, 3.4)."""

import re
from email.headerregistry import Address
from functools import lru_cache

import msgspec

from notify_streams.providers.mail.words import encoded, folded, one_line
from notify_streams.settings import Provider, SettingsError

# RFC 5321 4.1.2 without quoted local parts and address literals; letters of any script (RFC 6531).
_MAILBOX = re.compile(r"[^\s\x00-\x1f\x7f\"(),:;<>@\[\\\]]+@[^\s\x00-\x1f\x7f\"(),:;<>@\[\\\]]+")
_LONGEST_MAILBOX = 254


class Malformed(ValueError):
    """An address that cannot stand in an envelope."""


class Mailbox(msgspec.Struct, frozen=True):
    """Who mails are from, or where replies go: the name (may be empty), and the address as it travels."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        """In ASCII; Message-IDs end in it."""
        return self.address.rpartition("@")[2]


class Sender(msgspec.Struct, frozen=True):
    """What a provider's settings say of all its mails."""

    from_: Mailbox
    reply_to: Mailbox | None = None


def sender(provider: Provider, name: str) -> Sender:
    """From the settings. Raises SettingsError that names the one that is no mailbox."""
    return Sender(
        _of_setting(provider.sender, f"providers.{name}.sender"),
        _of_setting(provider.reply_to, f"providers.{name}.reply_to") if provider.reply_to else None,
    )


def named(text: str) -> Mailbox:
    """From `Name <mailbox>`, the name quoted or not, or from a bare mailbox. Raises Malformed."""
    name, bracket, rest = text.rpartition("<")
    address = mailbox(rest.rstrip().removesuffix(">") if bracket else text.strip())
    name = name.strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return Mailbox(one_line(name), address)


def mailbox(address: str) -> str:
    """An address for an envelope, its domain in ASCII (RFC 5891). Raises Malformed."""
    if len(address) > _LONGEST_MAILBOX or not _MAILBOX.fullmatch(address):
        raise Malformed("the address is malformed")
    local, _, domain = address.rpartition("@")
    try:
        return address if domain.isascii() else f"{local}@{domain.encode('idna').decode()}"
    except UnicodeError as error:
        raise Malformed("the address has a malformed domain") from error


@lru_cache(16)
def header(box: Mailbox, field: str) -> str:
    """The value of a From, To or Reply-To: exactly one address, whatever the name (EML-12)."""
    if not box.name:
        return box.address
    if box.name.isascii() and "=?" not in box.name and (plain := folded(_plain(box), len(field) + 2)):
        return plain
    return f"{encoded(box.name, len(field) + 2)}\r\n <{box.address}>"


def _plain(box: Mailbox) -> str:
    """Quoted where it has to be; spaces that follow each other are one to whoever reads them unquoted."""
    local, _, domain = box.address.rpartition("@")
    shown = str(Address(box.name, local, domain))
    return f'"{box.name}" <{box.address}>' if "  " in box.name and not shown.startswith('"') else shown


def _of_setting(text: str, setting: str) -> Mailbox:
    try:
        box = named(text)
    except Malformed as error:
        raise SettingsError(f"{setting}: {error}") from error
    if not box.address.isascii():
        raise SettingsError(f"{setting}: an address of ours is ASCII, so that every server takes it")
    return box
