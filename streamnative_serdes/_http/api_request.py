"""One request to a registry: its addresses, the addresses that redirects may lead to, and its retries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import SystemRandom
from typing import Any, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from streamnative_serdes._config import named
from streamnative_serdes._config.checks import encodable
from streamnative_serdes.errors import ConfigError, RegistryUnavailableError, SchemaRegistryError

from .reply import Reply, quoted

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_MOCK = "mock"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request to a schema registry.

    Args:
        method: HTTP method.
        urls: the request's URL at each address of the registry; retries go through all of them.
        operation: completes "cannot ..." in errors, such as "register a schema".
        right: completes "the role needs ..." in errors.
        topic: the topic as the user named it; None if the request is for no topic.
        version: the requested schema version, or None.
        body: JSON, or None.
        patience: time limit for all attempts, in seconds, if it is to be less than ``retries.total.ms``.
        path: the end of each URL, after the registry's address.
    """

    method: str
    urls: tuple[str, ...]
    operation: str
    right: str
    topic: str | None = None
    version: int | None = None
    body: bytes | None = None
    patience: float | None = None
    path: str = ""

    @property
    def url(self) -> str:
        """The first URL, which errors and logs show."""
        return self.urls[0]

    @property
    def tried(self) -> str:
        """All addresses, for errors."""
        return " and ".join((self.url, *(url.removesuffix(self.path) for url in self.urls[1:])))

    @property
    def prefix(self) -> str:
        """The path in the registry's address: empty for Pulsar itself; a proxy in front of Pulsar may have a path."""
        return urlsplit(self.url.removesuffix(self.path)).path


def base_urls(conf: Mapping[str, Any], address: str, *, mock: bool) -> tuple[str, ...]:
    """Validate ``schema.registry.url``: the addresses, without a trailing slash; a path is kept.

    Args:
        conf: the options of one registry.
        address: completes "give ..." in errors.
        mock: whether ``mock://SCOPE`` is an address too.

    Raises:
        ConfigError: an address is not a valid http(s) URL. The message does not show it: it may contain a password.
    """
    hint = f"give {address}, or several, separated by commas"
    parts = conf["schema.registry.url"].split(",")
    return tuple(_base_url(part.strip(), conf, hint, mock=mock) for part in parts)


def _base_url(url: str, conf: Mapping[str, Any], hint: str, *, mock: bool) -> str:
    parts, option = _split(url), named(conf, "schema.registry.url")
    if parts is None or not url:
        raise ConfigError(f"{option} is not a valid URL", hint=hint)
    if parts.scheme == _MOCK and mock:
        return _mock(parts)
    if parts.scheme not in ("http", "https"):
        raise ConfigError(f"{option}: expected http:// or https://, got scheme {parts.scheme[:20]!r}", hint=hint)
    if "@" in parts.netloc:
        others = " or ".join(named(conf, key) for key in ("basic.auth.user.info", "bearer.auth.token"))
        raise ConfigError(f"{option} contains a user name or password", hint=f"use {others} instead")
    if not parts.hostname:
        raise ConfigError(f"{option} has no host", hint=hint)
    if "?" in url or "#" in url:
        raise ConfigError(f"{option} must not have a query or a fragment", hint=hint)
    return url.rstrip("/")


def is_mock(base: str) -> bool:
    """Whether ``base`` is ``mock://SCOPE``."""
    return base.startswith(f"{_MOCK}:")


def reachable(base: str) -> str:
    """The HTTP address behind ``base``: for ``mock://SCOPE``, that of this process's registry for the scope.

    No other code below ``streamnative_serdes.testing`` imports that package. The import happens in the call, so a
    program that names no mock loads no server.
    """
    if not is_mock(base):
        return base
    from streamnative_serdes.testing.scopes import registry_of

    return registry_of(base.partition("://")[2]).url


def next_hop(url: str, location: str | None, path: str) -> str:
    """The target of a redirect from ``url``; ``location`` may be relative, and its query is kept.

    A redirect to another host is followed if its path ends with the requested ``path``: a proxy may add a prefix.

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
    if urlsplit(url).scheme == "https" and parts.scheme == "http":
        raise SchemaRegistryError(
            f"the registry redirected from https to http://{parts.hostname}; following it would expose the credentials",
            url=url,
            hint="configure the brokers to advertise their https addresses",
        )
    asked = urlsplit(path).path
    if origin(target) != origin(url) and not (asked and parts.path.endswith(asked)):
        raise SchemaRegistryError(
            f"the registry redirected to {parts.hostname} with a different path: expected another broker with the same "
            "path, so the redirect is not followed and no credentials are sent",
            url=url,
            hint="is there a login page or a proxy in front of the registry?",
        )
    return target


def is_segment(text: str) -> bool:
    """Whether text can be one part of a path, once it is quoted: dots would change the path."""
    return text not in ("", ".", "..") and encodable(text)


@lru_cache(64)
def origin(url: str) -> str:
    """Scheme, host and port of a validated address: the key under which we note that the address has answered."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


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


# random's module functions share the program's seed, and a seeded generator would be identical in all forked processes.
_chance = SystemRandom()


@dataclass(frozen=True, slots=True)
class TransientFailure:
    """A transient failure of one attempt; ``retry_after`` is the registry's Retry-After, in seconds.

    ``late``: the deadline had passed, so the failure of the attempt before says more. ``unreached``: nothing listens at
    the address, and it has never answered.
    """

    text: str
    status: int | None = None
    reason: str | None = None
    retry_after: float = 0.0
    hint: str | None = None
    late: bool = False
    unreached: bool = False


def transient(reply: Reply, prefix: str = "", hint: str | None = None) -> TransientFailure:
    """The failure for a response that is worth a retry."""
    words, after = reply.words(), reply.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else 0.0  # a date, the other form, is ignored
    return TransientFailure(f"{prefix}HTTP {reply.status}: {words}", reply.status, words, seconds, hint)


class Retrier:
    """Retries each call for ``retries.total.ms``, or for ``retries.first.ms`` if the address has never answered.

    Pulsar replaces a dead broker after 31 s; until then, the other brokers redirect to it. So each attempt starts at
    the call's own address again, not at the redirect's target.
    """

    def __init__(
        self, conf: Mapping[str, Any], *, clock: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self._total = conf["retries.total.ms"] / 1000
        self._unreached = conf["retries.first.ms"] / 1000
        self._first = conf["retries.wait.ms"] / 1000
        self._longest = conf["retries.max.wait.ms"] / 1000
        self._clock = clock
        self._sleep = sleep

    def run(self, request: ApiRequest, attempt: Callable[[ApiRequest, float], _T | TransientFailure]) -> _T:
        """Call ``attempt(request, deadline)`` until its outcome is not a :class:`TransientFailure`.

        Raises:
            RegistryUnavailableError: the time limit is reached. It reports the last failure, or the one before if the
                last one is only that the deadline had passed.
        """
        started = self._clock()
        total = self._total if request.patience is None else min(request.patience, self._total)
        attempts, telling = 0, None
        while True:
            attempts += 1
            try:
                outcome = attempt(request, started + total)
            except SchemaRegistryError as error:
                error.at(topic=request.topic, version=request.version)
                raise
            if not isinstance(outcome, TransientFailure):
                return outcome
            telling = telling if telling and outcome.late else outcome
            spent = self._clock() - started
            patience = min(total, self._unreached) if outcome.unreached else total
            wait = self._wait(attempts, outcome.retry_after, patience - spent)
            if wait is None:
                too_long = outcome.retry_after if outcome.retry_after >= patience - spent else 0.0
                raise _unavailable(request, telling, attempts, spent, too_long, shortened=self._unreached < total)
            logger.warning(
                "%s %s: attempt %d failed: %s; retrying in %.1f s",
                request.method,
                request.url,
                attempts,
                quoted(outcome.text),
                wait,
            )
            self._sleep(wait)

    def _wait(self, attempts: int, retry_after: float, left: float) -> float | None:
        """Seconds until the next attempt, or None if the time limit leaves no room for one."""
        wait = min(self._first * 2.0 ** min(attempts - 1, 30), self._longest)
        wait *= _chance.uniform(0.5, 1.0)  # jitter, so that many clients do not retry at once
        if retry_after > wait:
            return retry_after if retry_after < left else None
        # The last attempt starts one first wait before the deadline; anything closer has too little time to succeed.
        wait = min(wait, left - self._first)
        return wait if wait >= 0.5 * min(self._first, self._longest) else None


def _unavailable(
    request: ApiRequest, telling: TransientFailure, attempts: int, spent: float, too_long: float, *, shortened: bool
) -> RegistryUnavailableError:
    hint = telling.hint
    asked = f"; its Retry-After of {too_long:g} s exceeds the time that is left for retries" if too_long else ""
    if telling.unreached and shortened:
        hint = f"{hint or ''} This address has never answered, so retries stopped after retries.first.ms".strip()
    return RegistryUnavailableError(
        f"cannot {request.operation}: no usable response from {request.tried} after {attempts} attempts "
        f"in {spent:.1f} s; last failure: {quoted(telling.text)}{asked}",
        status=telling.status,
        reason=telling.reason,
        url=request.url,
        retriable=True,
        hint=hint,
        topic=request.topic,
        version=request.version,
    )
