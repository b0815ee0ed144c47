"""What a provider's settings must hold before anything is sent."""

from urllib.parse import urlsplit

from notify_streams.settings import Provider, SettingsError


def required(provider: Provider, name: str, *settings: str) -> None:
    """Raises SettingsError that names the first one that is empty, or that a header could not hold."""
    for setting in settings:
        value = getattr(provider, setting)
        if not value:
            raise SettingsError(f"providers.{name}.{setting}: is missing")
        if not value.isascii() or not value.isprintable() or " " in value:
            raise SettingsError(f"providers.{name}.{setting}: holds characters that none of its kind has")


def base(provider: Provider, name: str, default: str) -> str:
    """The address below which the API is, without a slash at its end. Raises SettingsError for one that is none."""
    url = provider.url or default
    try:
        parts = urlsplit(url)
        fit = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fit = False
    if not fit or parts.username is not None or parts.query or parts.fragment or not url.isascii():
        raise SettingsError(f"providers.{name}.url: expected an address such as {default}, without credentials")
    return url.rstrip("/")
