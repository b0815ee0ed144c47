"""What a recipient will read, per channel."""

import msgspec


class RenderedEmail(msgspec.Struct, frozen=True):
    """A mail: the subject has no line breaks; text and HTML are of equal worth."""

    subject: str
    text: str
    html: str


class RenderedInbox(msgspec.Struct, frozen=True):
    """An inbox entry: one line, and where it leads."""

    title: str
    body: str = ""
    link: str | None = None


class TemplateFailed(ValueError):
    """A template could not be rendered; the message names the template and the variable."""
