"""Fault injection: makes the next matching requests fail the way a broker, a proxy or a network may fail."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import urlsplit

from streamnative_serdes.errors import ConfigError

from .http_messages import Answer, Request, as_broker_error, as_page, as_reason, usual_phrase

# Status -> the broker's own text, if it answers {"reason": ...}; other codes are Jetty's error page.
_REASONS: Final = {
    403: "Need to authenticate to perform the request",
    404: "Schema not found",
    412: "Can't find owner for topic persistent://public/default/t",
}
_PAGES: Final = {401: "Authentication required"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault for one request. Create it with one of the class methods; ``after`` adds a delay to any of them.

    Raises:
        ConfigError: a delay or a status is out of range, or not a number.
    """

    seconds: float = 0.0
    answer: Callable[[Request, str], Answer] | None = None
    cut_at: Literal["answer", "body"] | None = None

    def __post_init__(self) -> None:
        if type(self.seconds) not in (int, float) or not 0 <= self.seconds <= threading.TIMEOUT_MAX:
            raise ConfigError(f"seconds: expected a number from 0 on, got {self.seconds!r:.80}")

    @classmethod
    def delay(cls, seconds: float) -> Fault:
        """The normal response, delayed by ``seconds``."""
        return cls(seconds)

    @classmethod
    def status(cls, code: int, reason: str | None = None, *, retry_after: int | None = None) -> Fault:
        """Status ``code`` with the broker's usual body for it; the request has no effect.

        Args:
            code: such as 401, 403, 404, 412, 429, 500 or 503.
            reason: sends ``{"reason": ...}`` as the body. A 401 with a reason means "not permitted", without one "bad
                credentials". For 500, it is the message above the stack trace.
            retry_after: seconds, sent as the header ``Retry-After``.
        """
        if code not in range(200, 600):
            raise ConfigError(f"code: expected an HTTP status from 200 to 599, got {code!r:.80}")

        def answer(request: Request, _url: str) -> Answer:
            if code == 500:
                made = as_broker_error(reason or "Metadata store session was lost")
            elif reason is not None or code in _REASONS:
                made = as_reason(code, _REASONS[code] if reason is None else reason)
            else:
                made = as_page(code, _PAGES.get(code, usual_phrase(code)), request)
            waits = () if retry_after is None else (("Retry-After", str(retry_after)),)
            return replace(made, headers=made.headers + waits)

        return cls(answer=answer)

    @classmethod
    def cut(cls, at: Literal["answer", "body"] = "answer") -> Fault:
        """The request takes effect, but the connection breaks before the response, or in the middle of its body."""
        if at not in ("answer", "body"):
            raise ConfigError(f"at: expected answer or body, got {at!r:.80}")
        return cls(cut_at=at)

    @classmethod
    def garbage(cls, body: bytes = b'{"version": ', content_type: str = "application/json") -> Fault:
        """Status 200 with ``body``; the request has no effect."""
        if not isinstance(body, bytes):
            raise ConfigError(f"body: expected bytes, got {body!r:.80}")
        return cls(answer=lambda _request, _url: Answer(200, body, content_type))

    @classmethod
    def redirect(cls, to: str | None = None, *, authoritative: bool | None = True) -> Fault:
        """307 with an empty body, as sent by a broker that does not own the topic; the request has no effect.

        Args:
            to: the other broker's address, to which path and query are appended, or a complete URL, used as it is. None
                redirects to the registry itself: a loop as long as the fault is active.
            authoritative: value of the query parameter that the broker adds; None adds no parameter.
        """

        def answer(request: Request, url: str) -> Answer:
            target = to or url
            if not urlsplit(target).path.strip("/"):
                query = "" if authoritative is None else f"?authoritative={str(authoritative).lower()}"
                target = f"{target.rstrip('/')}{request.path}{query}"
            return Answer(307, headers=(("Location", target),))

        return cls(answer=answer)

    def after(self, seconds: float) -> Fault:
        """The same fault after a delay."""
        return replace(self, seconds=seconds)


@dataclass(slots=True)
class _Queued:
    fault: Fault
    left: int | None
    match: re.Pattern[str] | None


class FaultQueue:
    """First in, first out; a fault is removed once it has been applied to ``times`` matching requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: list[_Queued] = []

    def add(self, fault: Fault, times: int | None, match: str | None) -> None:
        with self._lock:
            self._queue.append(_Queued(fault, times, re.compile(match) if match else None))

    def take(self, method: str, target: str) -> Fault | None:
        line = f"{method} {target}"
        with self._lock:
            for queued in self._queue:
                if queued.match is None or queued.match.search(line):
                    if queued.left is not None:
                        queued.left -= 1
                        if queued.left == 0:
                            self._queue.remove(queued)
                    return queued.fault
        return None

    def clear(self) -> None:
        with self._lock:
            self._queue.clear()
