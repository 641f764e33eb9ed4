"""Addresses: which one a registry may have, and where a redirect may lead."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

from streamnative_serdes.errors import ConfigError, SchemaRegistryError

_MOCK = "mock"
_HINT = "give the HTTP address of Pulsar, such as http://localhost:8080, or several, separated by commas"


def base_urls(text: str) -> tuple[str, ...]:
    """The checked option ``schema.registry.url``: addresses without a trailing slash; a path before it is kept.

    Raises:
        ConfigError: one is no http(s) address. The message does not show it: it may hold a password.
    """
    return tuple(_base_url(part.strip()) for part in text.split(","))


def _base_url(url: str) -> str:
    parts = _split(url)
    if parts is None or not url:
        raise ConfigError("schema.registry.url is no address", hint=_HINT)
    if parts.scheme == _MOCK:
        return _mock(parts)
    if parts.scheme not in ("http", "https"):
        raise ConfigError(f"schema.registry.url takes http:// or https://, got {parts.scheme[:20]!r}", hint=_HINT)
    if "@" in parts.netloc:
        raise ConfigError(
            "schema.registry.url holds a user name or password", hint="use basic.auth.user.info, or bearer.auth.token"
        )
    if not parts.hostname:
        raise ConfigError("schema.registry.url names no host", hint=_HINT)
    if "?" in url or "#" in url:
        raise ConfigError("schema.registry.url takes neither a query nor a fragment", hint=_HINT)
    return url.rstrip("/")


def reachable(base: str) -> str:
    """``base`` of :func:`base_url`, or, for a mock, the address of this process's registry for its scope."""
    scheme, _, scope = base.partition("://")
    if scheme != _MOCK:
        return base
    from streamnative_serdes.testing.scopes import registry_of  # a server, which nobody else needs

    return registry_of(scope).url


def next_hop(url: str, location: str | None) -> str:
    """Where a redirect from ``url`` leads; ``location`` is taken as it is, query included, and may be relative.

    Raises:
        SchemaRegistryError: there is no address, or one that must not be given our credentials.
    """
    given = _split(location) if location else None
    # urljoin would take "http:" without a host for the address that redirected.
    relative_or_whole = given is not None and (given.scheme == "" or given.hostname)
    target = urljoin(url, location) if relative_or_whole else ""
    parts = _split(target)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SchemaRegistryError("the registry redirected to what is no http(s) address", url=url)
    if url.startswith("https:") and parts.scheme == "http":
        raise SchemaRegistryError(
            f"the registry redirected from https to http://{parts.hostname}, which would give the credentials away",
            url=url,
            hint="let the brokers advertise their https addresses",
        )
    if not (_origin(parts) == _origin(urlsplit(url)) or _asked_of(parts.path) == _asked_of(urlsplit(url).path)):
        raise SchemaRegistryError(
            f"the registry redirected to another question at {parts.hostname}, which is no broker of the cluster then, "
            "and is not given the credentials",
            url=url,
            hint="is there a login page, or another proxy, before the registry?",
        )
    return target


def origin(url: str) -> str:
    """Of a checked address: scheme, host and port, by which it is known whether it has ever answered."""
    return "{}://{}:{}".format(*_origin(urlsplit(url)))


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _asked_of(path: str) -> str:
    """What of a path says the question; a proxy may have one of its own before it."""
    return path[max(path.find("/admin/"), 0) :]


def _split(url: str) -> SplitResult | None:
    """The parts of ``url``, or None where they cannot be told apart (bad port, bad IPv6 address)."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # checked only when asked for
    except ValueError:
        return None
    return parts


def _mock(parts: SplitResult) -> str:
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError("a mock address takes a scope and nothing more", hint="mock://my-tests")
    return f"{_MOCK}://{parts.netloc}"
