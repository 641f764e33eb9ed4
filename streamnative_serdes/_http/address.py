"""Registry addresses: validates ``schema.registry.url``, and decides which redirects may be followed."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

from streamnative_serdes.errors import ConfigError, SchemaRegistryError

_MOCK = "mock"
_HINT = "give the HTTP address of Pulsar, such as http://localhost:8080, or several, separated by commas"


def base_urls(text: str) -> tuple[str, ...]:
    """Validate ``schema.registry.url``: the addresses, without a trailing slash; a path is kept.

    Raises:
        ConfigError: an address is not a valid http(s) URL. The message does not show it: it may contain a password.
    """
    return tuple(_base_url(part.strip()) for part in text.split(","))


def _base_url(url: str) -> str:
    parts = _split(url)
    if parts is None or not url:
        raise ConfigError("schema.registry.url is not a valid URL", hint=_HINT)
    if parts.scheme == _MOCK:
        return _mock(parts)
    if parts.scheme not in ("http", "https"):
        raise ConfigError(
            f"schema.registry.url: expected http:// or https://, got scheme {parts.scheme[:20]!r}", hint=_HINT
        )
    if "@" in parts.netloc:
        raise ConfigError(
            "schema.registry.url contains a user name or password",
            hint="use basic.auth.user.info or bearer.auth.token instead",
        )
    if not parts.hostname:
        raise ConfigError("schema.registry.url has no host", hint=_HINT)
    if "?" in url or "#" in url:
        raise ConfigError("schema.registry.url must not have a query or a fragment", hint=_HINT)
    return url.rstrip("/")


def reachable(base: str) -> str:
    """The HTTP address behind ``base``: for ``mock://SCOPE``, the one of this process's registry for that scope."""
    scheme, _, scope = base.partition("://")
    if scheme != _MOCK:
        return base
    return _start_mock(scope)


def _start_mock(scope: str) -> str:
    """The address of this process's own registry for ``scope``, started at its first use.

    The one place below ``streamnative_serdes.testing`` that imports it, and only when it is called: a program that
    names no mock loads no server.
    """
    from streamnative_serdes.testing.scopes import registry_of

    return registry_of(scope).url


def next_hop(url: str, location: str | None) -> str:
    """The target of a redirect from ``url``; ``location`` may be relative, and its query is kept.

    Raises:
        SchemaRegistryError: ``location`` is missing or invalid, or must not receive our credentials.
    """
    given = _split(location) if location else None
    # urljoin resolves "http:" without a host to the address that redirected.
    relative_or_whole = given is not None and (given.scheme == "" or given.hostname)
    target = urljoin(url, location) if relative_or_whole else ""
    parts = _split(target)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SchemaRegistryError("the registry redirected to an invalid address: expected an http(s) URL", url=url)
    if url.startswith("https:") and parts.scheme == "http":
        raise SchemaRegistryError(
            f"the registry redirected from https to http://{parts.hostname}; following it would expose the credentials",
            url=url,
            hint="configure the brokers to advertise their https addresses",
        )
    if not (_origin(parts) == _origin(urlsplit(url)) or _asked_of(parts.path) == _asked_of(urlsplit(url).path)):
        raise SchemaRegistryError(
            f"the registry redirected to {parts.hostname} with a different path: expected another broker with the same "
            "path, so the redirect is not followed and no credentials are sent",
            url=url,
            hint="is there a login page or a proxy in front of the registry?",
        )
    return target


def origin(url: str) -> str:
    """Scheme, host and port of a validated address: the key under which we note that it has answered."""
    return "{}://{}:{}".format(*_origin(urlsplit(url)))


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _asked_of(path: str) -> str:
    """The path from ``/admin/`` on; a proxy may add a prefix in front of it."""
    return path[max(path.find("/admin/"), 0) :]


def _split(url: str) -> SplitResult | None:
    """The parts of ``url``, or None if it cannot be parsed (bad port, bad IPv6 address)."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # urlsplit validates the port only on access
    except ValueError:
        return None
    return parts


def _mock(parts: SplitResult) -> str:
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(
            "schema.registry.url: mock:// takes only a scope, without a path, query or fragment",
            hint="such as mock://my-tests",
        )
    return f"{_MOCK}://{parts.netloc}"
