"""What a recipient will read, per channel."""

import msgspec


class RenderedEmail(msgspec.Struct, frozen=True):
    """A mail: the subject has no line breaks; text and HTML are of equal worth."""

    subject: str
    text: str
    html: str


class RenderedPush(msgspec.Struct, frozen=True):
    """A push message: texts in full (each provider's adapter cuts to its limit), and where a tap leads."""

    title: str
    body: str = ""
    link: str | None = None
    image: str | None = None


class RenderedSms(msgspec.Struct, frozen=True):
    """A text message, exactly as it is sent and counted."""

    text: str


class RenderedWebhook(msgspec.Struct, frozen=True):
    """The members of a webhook's `data`, beside those that every webhook has."""

    data: dict[str, str]


class RenderedInbox(msgspec.Struct, frozen=True):
    """An inbox entry: one line, and where it leads."""

    title: str
    body: str = ""
    link: str | None = None


Rendered = RenderedEmail | RenderedPush | RenderedSms | RenderedWebhook


class TemplateFailed(ValueError):
    """A template could not be rendered; the message names the template and the variable."""


class Unfit(ValueError):
    """What was given cannot be written out; the words say why, and hold nothing of what was given."""
