"""Retries: the same question again, with growing waits, until it is answered or the time for it is used up."""

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
# The module's own functions share a state that belongs to the program, and a generator of ours would be the same in all
# processes that fork.
_chance = SystemRandom()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why one attempt failed in a way that may pass; ``retry_after`` is the registry's own wish, in seconds.

    ``late``: the time for the call was over, which says less than why the attempt before failed. ``unmet``: nobody is
    there, and nobody ever was, as far as is known.
    """

    text: str
    status: int | None = None
    reason: str | None = None
    retry_after: float = 0.0
    hint: str | None = None
    late: bool = False
    unmet: bool = False


def trouble(reply: Reply, prefix: str = "") -> Trouble:
    """An answer that may be another one in a moment."""
    words, after = reply.words(), reply.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else 0.0  # the other form, a date, is not used here
    return Trouble(f"{prefix}HTTP {reply.status}: {words}", reply.status, words, seconds)


class Retrier:
    """Patience of ``retries.total.ms`` for each call, and of ``retries.first.ms`` where nobody was ever there.

    A broker that dies is replaced after 31 s; until then the others redirect to it. So each attempt begins at the
    call's own address again, never at the redirect's.
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
        """The first outcome of ``attempt(deadline)`` that is no :class:`Trouble`.

        Raises:
            RegistryUnavailableError: there is none within the time. It tells the last failure, or the one before that
                if the last is only that the time was over.
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
                "%s %s: %s; attempt %d, next in %.1f s", call.method, call.url, quoted(outcome.text), attempts, wait
            )
            self._sleep(wait)

    def _wait(self, attempts: int, retry_after: float, left: float) -> float | None:
        """Seconds until the next attempt, or None when that would be too late."""
        wait = min(self._first * 2.0 ** min(attempts - 1, 30), self._longest)
        wait *= _chance.uniform(0.5, 1.0)  # so that many clients do not come back at once
        if retry_after > wait:
            return retry_after if retry_after < left else None
        # The last attempt begins one first wait before the end, not at it; one closer than that is not worth making.
        wait = min(wait, left - self._first)
        return wait if wait >= 0.5 * min(self._first, self._longest) else None


def _unavailable(
    call: Call, telling: Trouble, attempts: int, spent: float, *, shortened: bool
) -> RegistryUnavailableError:
    hint = telling.hint
    if telling.unmet:
        hint = hint or "is schema.registry.url Pulsar's HTTP address, and is Pulsar up?"
        if shortened:
            hint += " Nobody has answered there yet, so it was tried for retries.first.ms only"
    return RegistryUnavailableError(
        f"cannot {call.operation}: {call.tried} gave no usable answer in {spent:.1f} s and {attempts} attempts, "
        f"the last one: {quoted(telling.text)}",
        status=telling.status,
        reason=telling.reason,
        url=call.url,
        retriable=True,
        hint=hint,
        topic=call.topic,
        version=call.version,
    )
