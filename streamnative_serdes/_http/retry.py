"""Retries with exponential backoff, until a request gets a final response or its time limit is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, TypeVar

from streamnative_serdes._log import logger
from streamnative_serdes.errors import RegistryUnavailableError

from .address import ApiRequest
from .reply import Reply, quoted

_T = TypeVar("_T")

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

    def run(self, request: ApiRequest, attempt: Callable[[float], _T | TransientFailure]) -> _T:
        """ApiRequest ``attempt(deadline)`` until its outcome is not a :class:`TransientFailure`.

        Raises:
            RegistryUnavailableError: the time limit is reached. It reports the last failure, or the one before if the
                last one is only that the deadline had passed.
        """
        started = self._clock()
        total = self._total if request.patience is None else min(request.patience, self._total)
        attempts, telling = 0, None
        while True:
            attempts += 1
            outcome = attempt(started + total)
            if not isinstance(outcome, TransientFailure):
                return outcome
            telling = telling if telling and outcome.late else outcome
            spent = self._clock() - started
            patience = min(total, self._unreached) if outcome.unreached else total
            wait = self._wait(attempts, outcome.retry_after, patience - spent)
            if wait is None:
                raise _unavailable(request, telling, attempts, spent, shortened=self._unreached < total)
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
    request: ApiRequest, telling: TransientFailure, attempts: int, spent: float, *, shortened: bool
) -> RegistryUnavailableError:
    hint = telling.hint
    if telling.unreached and shortened:
        hint = f"{hint or ''} This address has never answered, so retries stopped after retries.first.ms".strip()
    return RegistryUnavailableError(
        f"cannot {request.operation}: no usable response from {request.tried} after {attempts} attempts "
        f"in {spent:.1f} s; last failure: {quoted(telling.text)}",
        status=telling.status,
        reason=telling.reason,
        url=request.url,
        retriable=True,
        hint=hint,
        topic=request.topic,
        version=request.version,
    )
