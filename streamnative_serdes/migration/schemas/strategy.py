"""Pulsar's compatibility strategies, which are widened while schemas are copied, and always put back.

The old value is saved to the state file before the strategy is changed, so the next run can put back the strategy of a
killed run. A strategy that somebody else has set meanwhile is not changed.
"""

from __future__ import annotations

import logging
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Literal, NoReturn, TypeAlias

from streamnative_serdes.errors import (
    MissingEndpointError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.migration.state import State, Widened
from streamnative_serdes.schema_registry import SchemaRegistryClient, TopicName

logger = logging.getLogger(__name__)

Scope: TypeAlias = Literal["topic", "namespace"]

WIDE: Final = "ALWAYS_COMPATIBLE"
EFFECT_SECONDS: Final = 30.0  # a broker of a cluster reads topic policies from a topic of their own
_EFFECT_POLL: Final = 0.1  # seconds
# Sent by supervisors, and when a terminal is closed; Windows lacks the second.
_ENDING: Final = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_NAMED: Final = re.compile(r"\bstrategy ([A-Z_]+)")
_NAMESPACE: Final = "--namespace-strategy widens that of the namespace instead, and lists the topics that it touches"


@dataclass(frozen=True, slots=True)
class Widening:
    entry: Widened  # the strategy that is changed, and its old value
    topics: tuple[str, ...]  # the full names of the affected topics


@dataclass(frozen=True, slots=True)
class Restored:
    entry: Widened  # the strategy that had been changed
    # ``restored``; ``unchanged``, since the strategy already had its old value; ``changed`` by somebody else, so the
    # strategy was not put back; ``gone`` with its topic or namespace
    outcome: Literal["restored", "unchanged", "changed", "gone"]
    now: str | None  # the strategy now; None if it is unset or gone


def strategy_in_force(client: SchemaRegistryClient, topic: TopicName, text: str) -> str:
    """The strategy by which the broker checks the topic's new schemas. Raises SchemaRegistryError.

    The broker names it to an admin if it accepts ``text``: the topic's latest schema, or any for a topic without one.
    """
    verdict = client.compatibility(topic, text)
    named = _NAMED.search(verdict.reason or "")
    found = verdict.strategy or (named[1] if named else None)
    if found is None:
        raise SchemaRegistryError(f"the registry does not say its strategy: {verdict.reason}", topic=topic.given)
    return found


def widening(client: SchemaRegistryClient, topic: TopicName, scope: Scope, in_force: str) -> Widening | None:
    """The change by which the topic accepts any schema; None if the topic already does. Changes nothing."""
    if in_force == WIDE:
        return None
    if scope == "topic":
        entry = Widened("topic", str(topic), _own(client, topic), in_force)
        return Widening(entry, (str(topic),))
    namespace = f"{topic.tenant}/{topic.namespace}"
    old = client.namespace_strategy(namespace)
    _refuse_own(client, topic)
    touched = {str(topic), *map(str, client.topics(namespace))}
    return Widening(Widened("namespace", namespace, old, in_force), tuple(sorted(touched)))


@contextmanager
def widened(
    client: SchemaRegistryClient, state: State, change: Widening, in_force: Callable[[], str]
) -> Iterator[list[Restored]]:
    """Widen a strategy, and put it back at the end, also after an error, Ctrl-C, SIGTERM or SIGHUP.

    After the block, the yielded list has the outcome. In the main thread, the signals raise SystemExit meanwhile, with
    128 and their number as code. The state file gets the old value first, and keeps it until it is put back.
    """
    outcome: list[Restored] = []
    with on_end(_terminate):
        try:
            state.widened.append(change.entry)
            state.save()
            _set(client, change.entry, WIDE)
            _await_effect(in_force, change.entry)
            yield outcome
            with on_end(signal.SIG_IGN):
                outcome += restore_strategies(client, state)
        except BaseException:
            with on_end(signal.SIG_IGN):
                _try_to_restore(client, state)
            raise


def restore_strategies(client: SchemaRegistryClient, state: State) -> list[Restored]:
    """Put back each strategy that was widened and not put back, such as by a run that was killed. Raises FileError."""
    done = []
    for entry in list(state.widened):
        done.append(_restore(client, entry))
        state.widened.remove(entry)
        state.save()
    return done


def _restore(client: SchemaRegistryClient, entry: Widened) -> Restored:
    try:
        ask = client.topic_strategy if entry.scope == "topic" else client.namespace_strategy
        now = ask(entry.place)
        if now == entry.old:
            return Restored(entry, "unchanged", now)
        if now != WIDE:
            return Restored(entry, "changed", now)
        _set(client, entry, entry.old)
    except SchemaNotFoundError:
        return Restored(entry, "gone", None)
    return Restored(entry, "restored", entry.old)


def _try_to_restore(client: SchemaRegistryClient, state: State) -> None:
    """Restore after a failure. A second failure is only logged: the first says more, the state file has the rest."""
    try:
        for one in restore_strategies(client, state):
            if one.outcome == "changed":
                logger.warning("the strategy of %s was set to %s meanwhile, and stays so", one.entry.place, one.now)
    except SerdesError as error:
        logger.warning("a compatibility strategy could not be put back: %s", error)


def _set(client: SchemaRegistryClient, entry: Widened, strategy: str | None) -> None:
    change = client.set_topic_strategy if entry.scope == "topic" else client.set_namespace_strategy
    change(entry.place, strategy)


def _await_effect(in_force: Callable[[], str], entry: Widened) -> None:
    deadline = time.monotonic() + EFFECT_SECONDS
    while (found := in_force()) != WIDE:
        if time.monotonic() > deadline:
            raise SchemaRegistryError(
                f"the strategy of {entry.scope} {entry.place} was set to {WIDE}, but the broker still checks by {found}"
            )
        time.sleep(_EFFECT_POLL)


def _own(client: SchemaRegistryClient, topic: TopicName) -> str | None:
    """The topic's own strategy, with hints for those who want to widen it."""
    try:
        return client.topic_strategy(topic)
    except MissingEndpointError as error:
        error.hint = f"{error.hint}; {_NAMESPACE}" if error.hint else _NAMESPACE
        raise
    except SchemaNotFoundError as error:
        error.hint = (
            f"create the topic first, since only topics that exist have a strategy of their own; or {_NAMESPACE}"
        )
        raise


def _refuse_own(client: SchemaRegistryClient, topic: TopicName) -> None:
    try:
        own = client.topic_strategy(topic)
    except (MissingEndpointError, SchemaNotFoundError):
        return  # then it has none
    if own is not None:
        raise SchemaError(
            f"the topic has a strategy of its own, {own}, which precedes that of its namespace",
            topic=topic.given,
            hint="widen the topic's: --widen without --namespace-strategy",
        )


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextmanager
def on_end(action: Any) -> Iterator[None]:
    """Handle the signals that end a process by ``action``; outside the main thread, signals stay as they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, action)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
