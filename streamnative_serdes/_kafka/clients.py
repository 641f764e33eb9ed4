"""Clients: creates them, checks their arguments, reports their errors, and detects unavailable brokers.

While a broker is down, the client's own log repeats that about twenty times a second. Here that log is off, unless the
configuration has a ``log_level``, ``debug`` or ``logger``; instead, each distinct connection error is logged once to
Python's log and included in the exception.

Every question has its own short limit, unless a run is :func:`patient` with brokers that have answered before and are
away now: they may be restarting.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes.errors import ConfigError, SerdesError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

logger = logging.getLogger(__name__)

_Client = TypeVar("_Client")
_Answer = TypeVar("_Answer")

PATIENCE: Final = 300.0  # seconds
_SAY_SECONDS: Final = 60.0  # between two remarks about one broker
FIRST_SECONDS: Final = 5.0  # timeout for brokers that have never answered this process and refuse connections
_AGAIN_SECONDS: Final = 5.0  # timeout while a run waits
ANSWER_SECONDS: Final = 20.0  # timeout for other brokers: they may be restarting
_GRACE_SECONDS: Final = 1.0  # in which a client can say itself that a request has timed out
_CRITICAL: Final = 2  # syslog level: turns off errors in the client's own log
# Options that an AdminClient does not use, and warns of. It is a producer, and would ask for a producer id.
_NOT_FOR_ADMIN: Final = (
    *("enable.idempotence", "transactional.id", "enable.auto.", "enable.partition.eof", "isolation.level", "group.id"),
    *("check.crcs", "fetch.", "queued.", "max.partition.", "auto.offset."),
)
_OWN_LOG: Final = ("log_level", "debug", "logger")
_BROKERS: Final = ("bootstrap.servers", "metadata.broker.list")
# Error codes of a client that cannot reach any broker.
_AWAY: Final = ("_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_SSL", "_AUTHENTICATION")
# Error codes of a broker's answer that a topic or partition is missing; the client reports them with connection errors.
UNKNOWN: Final = ("_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC", "UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID")
# Error codes while a partition or the cluster elects a leader.
_ELECTING: Final = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_CONTROLLER")
_ELECTION_SECONDS: Final = 0.1  # between two questions
_PASSING: Final = re.compile(r" \(after \d+ms in state \w+(, \d+ identical error\(s\) suppressed)?\)$")
_NUMBER: Final = re.compile(r"\d+")
_NOT_SIGNED_IN: Final = "SASL authentication error"
_MOST_FAULTS: Final = 10  # distinct errors kept; the latest ones are the most useful
_answered: Final[set[str]] = set()  # addresses at which a broker has answered this process


@dataclass(slots=True)
class _Patience:
    seconds: float = 0.0
    said: dict[str, float] = field(default_factory=dict)  # when the log said last that these brokers are away


_current: ContextVar[_Patience] = ContextVar("patience", default=_Patience())  # noqa: B039 - never changed


@contextmanager
def patient(seconds: float = PATIENCE) -> Iterator[None]:
    """Wait for brokers that have answered before, for up to ``seconds``, and log the waiting once a minute."""
    token = _current.set(_Patience(seconds))
    try:
        yield
    finally:
        _current.reset(token)


def _goes_on_waiting(addresses: str, since: float, met: str) -> bool:
    """Whether to wait longer for brokers that have not answered since then (of ``time.monotonic()``)."""
    patience, now = _current.get(), time.monotonic()
    if now - since >= patience.seconds:
        return False
    if now - patience.said.get(addresses, -_SAY_SECONDS) >= _SAY_SECONDS:
        patience.said[addresses] = now
        left = patience.seconds - (now - since)
        logger.warning("Waiting for a Kafka broker at %s, for up to %.0f s more: %s", addresses, left, met)
    return True


def is_waiting() -> bool:
    """Whether a broker was away within the last minute."""
    return any(time.monotonic() - said < _SAY_SECONDS for said in _current.get().said.values())


class BrokerUnavailableError(SerdesError):
    """No Kafka broker responded in time.

    The message has the addresses of ``bootstrap.servers`` and the client's connection errors.
    """

    help = "docs/troubleshooting.md#no-response-from-a-kafka-broker"


class BrokerRefusedError(SerdesError):
    """A Kafka broker refused a request, with its own reason; the hint names the right that may be missing."""

    help = "docs/troubleshooting.md#a-kafka-broker-refuses"


def require_options(kafka: Any, topic: str) -> None:
    """Raises ConfigError if ``topic`` is not text, or ``kafka`` not a dict of options with ``bootstrap.servers``."""
    if not isinstance(topic, str):
        raise ConfigError(
            f"expected the name of a topic, got {type(topic).__name__}",
            hint="the topic goes first, then the Kafka client's options, then the options of the SerDes",
        )
    if not isinstance(kafka, Mapping):
        raise ConfigError(
            f"expected the Kafka client's options as a dict, got {type(kafka).__name__}",
            topic=topic,
            hint='{"bootstrap.servers": "localhost:9092"}',
        )
    if not any(kafka.get(name) for name in _BROKERS):
        raise ConfigError("the Kafka client's options have no bootstrap.servers", topic=topic)


class ClientErrors:
    """Collects a client's connection errors."""

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self.addresses = str(next((kafka[name] for name in _BROKERS if kafka.get(name)), ""))
        self.topic, self._also = topic, kafka.get("error_cb")
        self._said: dict[str, str] = {}  # the latest last; by the text, without its numbers if they change
        self._unknown: set[str] = set()  # what was logged of missing topics and partitions

    def __call__(self, error: KafkaError) -> None:
        """The client's ``error_cb``, which is called while the client is polled."""
        said = _PASSING.sub("", error.str())
        address, _, fault = said.partition(": ")
        # a KoP's refusal of a token has the time
        key = f"{address}: {_NUMBER.sub('', fault)}" if _NOT_SIGNED_IN in fault else said
        if error.name() in UNKNOWN:
            if said not in self._unknown:
                logger.warning("Kafka client of topic %s: %s", self.topic, said)
            self._unknown.add(said)
        elif error.name() != "_ALL_BROKERS_DOWN":
            if key not in self._said:
                logger.warning("Kafka client of topic %s: %s", self.topic, said)
            self._said.pop(key, None)
            self._said[key] = said
            if len(self._said) > _MOST_FAULTS:
                del self._said[next(iter(self._said))]
        if self._also is not None:
            self._also(error)

    def __str__(self) -> str:
        return "; ".join(self._said.values())

    def clear(self) -> None:
        """Forget previous errors."""
        self._said.clear()
        self._unknown.clear()

    def everywhere(self) -> bool:
        """Whether every address has had an error."""
        names = [name.strip().rpartition("://")[2] for name in self.addresses.split(",")]
        return all(any(name in said for said in self._said.values()) for name in names)

    @property
    def answered(self) -> bool:
        """Whether a broker has answered this process before, at these addresses."""
        return self.addresses in _answered

    def answer(self) -> None:
        """Note that a broker has answered."""
        _answered.add(self.addresses)

    def waits(self, since: float) -> bool:
        """Whether to wait longer for a broker that has answered before, but not after ``since``; see ``patient``."""
        return self.answered and _goes_on_waiting(self.addresses, since, str(self) or "no answer")

    def gives_up(self, since: float, seconds: float) -> bool:
        """Whether nothing came for ``seconds`` after ``since``; if brokers are away, for the time of ``patient``."""
        silent = time.monotonic() - since
        if not (_current.get().seconds > 0 and self._said and self.answered):
            return silent > seconds
        return silent > min(ANSWER_SECONDS, seconds) and not self.waits(since)

    def error(self, seconds: float) -> BrokerUnavailableError:
        met = f": {self}" if self._said else "; the client reported no error"
        hint = "is bootstrap.servers correct, and does security.protocol match the broker's listener?"
        if _NOT_SIGNED_IN in next(reversed(self._said.values()), ""):
            hint = "the user name, the password or the token is invalid, or the token has expired"
        elif self.answered:
            hint = "it has answered before: start it again, then run this again"
        return BrokerUnavailableError(
            f"no response from a Kafka broker at {self.addresses} within {seconds:.0f} s{met}",
            topic=self.topic,
            hint=hint,
        )


def client(
    kind: Callable[[dict[str, Any]], _Client],
    conf: dict[str, Any],
    topic: str,
    errors: ClientErrors | None = None,
) -> _Client:
    """Create a client of this kind, which reports its connection errors to ``errors``.

    Raises:
        ConfigError: the client refuses the configuration, or would end this process because of it.
    """
    _refuse_fatal(conf, topic)
    if getattr(kind, "__name__", "") == "AdminClient":
        conf = {name: value for name, value in conf.items() if not name.startswith(_NOT_FOR_ADMIN)}
    quiet = {} if any(name in conf for name in _OWN_LOG) else {"log_level": _CRITICAL}
    try:
        return kind({**conf, **quiet, "error_cb": errors or ClientErrors(conf, topic)})
    except KafkaException as error:
        reason = error.args[0].str()
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ConfigError(f"the Kafka client refuses its configuration: {reason}", topic=topic)


def _refuse_fatal(conf: Mapping[str, Any], topic: str) -> None:
    """Raises ConfigError for a value at which an assertion of confluent-kafka 2.16 fails, which ends the process."""
    group = conf.get("group.id", "none is given")
    if group is None or not str(group).partition("\0")[0].strip():  # librdkafka's text ends at a NUL, and is trimmed
        raise ConfigError(
            f"group.id: expected a name, got {group!r:.80}",
            topic=topic,
            hint="if it comes from a variable, is that set?",
        )


@contextmanager
def kafka_errors(meaning: Callable[[KafkaException], Exception] = lambda error: error) -> Iterator[None]:
    """Raise ``meaning(error)`` for each error of the client, by default the error itself; our errors stay as they are.

    A SystemError is a client's error, too: after a fatal error the client calls callbacks although it has raised; and
    confluent-kafka 2.16 loses the exception of a Ctrl-C inside a callback ("returned NULL without setting an
    exception"). The callbacks themselves do not raise.
    """
    try:
        yield
    except SerdesError:
        raise
    except (KafkaException, SystemError) as error:
        cause = error.__cause__ if isinstance(error, SystemError) else error
        if cause is None:
            raise KeyboardInterrupt from error
        if not isinstance(cause, KafkaException):
            raise
        meant = meaning(cause)
        if meant is error:
            raise
        raise meant from (None if meant is cause else cause)


def hint_for(error: KafkaError) -> str | None:
    """A hint at the likely cause of a broker's error for a message that was sent, if the error does not name it."""
    if error.name() == "TOPIC_AUTHORIZATION_FAILED":
        return "the user needs the right to produce to the topic"
    if error.name() != "UNKNOWN":
        return None
    return (
        "a KoP with entryFormat=pulsar answers so to all messages of a batch if one has a header whose value is null: "
        "leave such headers out, or give them an empty value"
    )


def within(future: Future[_Answer], seconds: float) -> _Answer:
    """The result of a request, which not every broker answers: KoP never answers some.

    ``seconds`` is the request's own limit, which the client may exceed.

    Raises:
        KafkaException: the broker refuses, or has not answered in time (``_TIMED_OUT``).
    """
    try:
        return future.result(seconds + _GRACE_SECONDS)
    except TimeoutError as error:
        text = f"no answer within {seconds:.0f} s"
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, text)) from error  # noqa: SLF001 (it has no public name)


def ask(
    asking: Consumer | Producer | AdminClient,
    errors: ClientErrors,
    question: Callable[[float], _Answer | None],
    most: float | None = None,
) -> _Answer:
    """Call ``question``, with a timeout in seconds, until it returns an answer: not None.

    Raises:
        BrokerUnavailableError: no broker answered: after ``FIRST_SECONDS`` if none ever did and every address fails;
            after the time of ``patient`` if one has answered before; otherwise after ``most`` seconds.
        KafkaException: a broker refused the request. While a leader is being elected, the question is repeated.
    """
    most = ANSWER_SECONDS if most is None else most
    waits = [most] if errors.answered or most <= FIRST_SECONDS else [FIRST_SECONDS, most - FIRST_SECONDS]
    cause: Exception | None = None
    waited, since = 0.0, time.monotonic()
    for seconds in waits:
        try:
            answer = retry(partial(question, seconds), _ELECTING, seconds)
        except KafkaException as error:
            if error.args[0].name() not in _AWAY:
                raise
            answer, cause = None, error
        if answer is not None:
            errors.answer()
            return answer
        waited += seconds
        asking.poll(0)  # delivers the client's errors to errors
        if errors.waits(since):
            waits.append(_AGAIN_SECONDS)
            time.sleep(_ELECTION_SECONDS)  # some questions fail at once
        elif errors.everywhere():
            break
    raise errors.error(waited) from cause


# The broker that has a group's offsets is changing, and answers again after a moment.
NO_COORDINATOR: Final = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")


def retry(
    question: Callable[[], _Answer],
    passing: Collection[str],
    seconds: float,
    between: Callable[[], object] = lambda: None,
) -> _Answer:
    """Repeat ``question`` for up to ``seconds`` while its KafkaException has one of the names ``passing``.

    Such errors pass by themselves, as those just after a topic's creation; ``between`` is called before the next try.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return question()
        except SerdesError:  # is a KafkaException too
            raise
        except KafkaException as error:
            if error.args[0].name() not in passing or time.monotonic() >= until:
                raise
        time.sleep(_ELECTION_SECONDS)
        between()
