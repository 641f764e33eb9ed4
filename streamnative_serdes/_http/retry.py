"""Retries with exponential backoff, until a request gets a final response or its time limit is reached."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, TypeVar

from streamnative_serdes.errors import RegistryUnavailableError

from .call import Call
from .reply import Reply, quoted

_T = TypeVar("_T")

_log = logging.getLogger("streamnative_serdes")
# random's module functions share the program's seed, and a seeded generator would be identical in all forked processes.
_chance = SystemRandom()


@dataclass(frozen=True, slots=True)
class Trouble:
    """A transient failure of one attempt; ``retry_after`` is the registry's Retry-After, in seconds.

    ``late``: the deadline had passed, so the failure of the attempt before says more. ``unmet``: nothing listens at the
    address, and it has never answered.
    """

    text: str
    status: int | None = None
    reason: str | None = None
    retry_after: float = 0.0
    hint: str | None = None
    late: bool = False
    unmet: bool = False


def trouble(reply: Reply, prefix: str = "") -> Trouble:
    """The failure for a response that is worth a retry."""
    words, after = reply.words(), reply.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else 0.0  # a date, the other form, is ignored
    return Trouble(f"{prefix}HTTP {reply.status}: {words}", reply.status, words, seconds)


class Retrier:
    """Retries each call for ``retries.total.ms``, or for ``retries.first.ms`` if the address has never answered.

    Pulsar replaces a dead broker after 31 s; until then, the other brokers redirect to it. So each attempt starts at
    the call's own address again, not at the redirect's target.
    """

    def __init__(
        self, conf: Mapping[str, Any], *, clock: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self._total = conf["retries.total.ms"] / 1000
        self._unmet = conf["retries.first.ms"] / 1000
        self._first = conf["retries.wait.ms"] / 1000
        self._longest = conf["retries.max.wait.ms"] / 1000
        self._clock = clock
        self._sleep = sleep

    def run(self, call: Call, attempt: Callable[[float], _T | Trouble]) -> _T:
        """Call ``attempt(deadline)`` until its outcome is not a :class:`Trouble`.

        Raises:
            RegistryUnavailableError: the time limit is reached. It reports the last failure, or the one before if the
                last one is only that the deadline had passed.
        """
        started = self._clock()
        total = self._total if call.patience is None else min(call.patience, self._total)
        attempts, telling = 0, None
        while True:
            attempts += 1
            outcome = attempt(started + total)
            if not isinstance(outcome, Trouble):
                return outcome
            telling = telling if telling and outcome.late else outcome
            spent = self._clock() - started
            patience = min(total, self._unmet) if outcome.unmet else total
            wait = self._wait(attempts, outcome.retry_after, patience - spent)
            if wait is None:
                raise _unavailable(call, telling, attempts, spent, shortened=self._unmet < total)
            _log.warning(
                "%s %s: attempt %d failed: %s; retrying in %.1f s",
                call.method,
                call.url,
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
    call: Call, telling: Trouble, attempts: int, spent: float, *, shortened: bool
) -> RegistryUnavailableError:
    hint = telling.hint
    if telling.unmet:
        hint = hint or "is schema.registry.url Pulsar's HTTP address, and is Pulsar running?"
        if shortened:
            hint += " This address has never answered, so retries stopped after retries.first.ms"
    return RegistryUnavailableError(
        f"cannot {call.operation}: no usable response from {call.tried} after {attempts} attempts in {spent:.1f} s; "
        f"last failure: {quoted(telling.text)}",
        status=telling.status,
        reason=telling.reason,
        url=call.url,
        retriable=True,
        hint=hint,
        topic=call.topic,
        version=call.version,
    )
