"""Kafka's clients, made of a configuration that may be wrong, and brokers that may be away.

A broker that is away is said to be so about twenty times a second by the client's own log. Here that log is off, unless
the configuration has a ``log_level``, ``debug`` or ``logger``; what the client says goes to Python's log, each kind of
it once, and into the error.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from streamnative_serdes.errors import ConfigError, SerdesError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

_Client = TypeVar("_Client")
_Answer = TypeVar("_Answer")
_log = logging.getLogger("streamnative_serdes")

FIRST_SECONDS: Final = 5.0  # for brokers that have not answered this process yet, and do not let it connect
ANSWER_SECONDS: Final = 20.0  # for others: they may be starting again
_CRITICAL: Final = 2  # as syslog counts: the client's own log without errors
_OWN_LOG: Final = ("log_level", "debug", "logger")
_BROKERS: Final = ("bootstrap.servers", "metadata.broker.list")
# How a client says that it has no broker to ask.
_AWAY: Final = ("_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_SSL", "_AUTHENTICATION")
_PASSING: Final = re.compile(r" \(after \d+ms in state \w+(, \d+ identical error\(s\) suppressed)?\)$")
_MOST_FAULTS: Final = 10  # kinds that are kept; the last ones tell most
_answered: Final[set[str]] = set()  # addresses at which a broker has answered this process


class BrokerUnavailableError(SerdesError):
    """No Kafka broker gave an answer within the time allowed.

    The text has the addresses of ``bootstrap.servers``, and what the client met there.
    """


def require_options(kafka: Any, topic: str) -> None:
    """Raises: ConfigError: it is no dict of options, or names no broker."""
    if not isinstance(kafka, Mapping):
        raise ConfigError(
            f"expected the Kafka client's options as a dict, got {type(kafka).__name__}",
            topic=topic,
            hint='{"bootstrap.servers": "localhost:9092"}',
        )
    if not any(kafka.get(name) for name in _BROKERS):
        raise ConfigError("the Kafka client's options lack bootstrap.servers", topic=topic)


class Faults:
    """What a client says of its connections.

    Args:
        kafka: the client's configuration.
        topic: for errors.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self.addresses = str(next((kafka[name] for name in _BROKERS if kafka.get(name)), ""))
        self.topic, self._also = topic, kafka.get("error_cb")
        self._said: dict[str, None] = {}  # in order, each once

    def __call__(self, error: KafkaError) -> None:
        """As the client's ``error_cb``: it is called while the client is polled."""
        said = _PASSING.sub("", error.str())
        if said not in self._said and error.name() != "_ALL_BROKERS_DOWN":
            _log.warning("Kafka client of topic %s: %s", self.topic, said)
            self._said[said] = None
            if len(self._said) > _MOST_FAULTS:
                del self._said[next(iter(self._said))]
        if self._also is not None:
            self._also(error)

    def __str__(self) -> str:
        return "; ".join(self._said)

    def clear(self) -> None:
        """Forget what was said before."""
        self._said.clear()

    def everywhere(self) -> bool:
        """Whether something was said of each address."""
        names = [name.strip().rpartition("://")[2] for name in self.addresses.split(",")]
        return all(any(name in said for said in self._said) for name in names)

    @property
    def answered(self) -> bool:
        """Whether a broker has answered this process before, at these addresses."""
        return self.addresses in _answered

    def answer(self) -> None:
        """Note that one has."""
        _answered.add(self.addresses)

    def error(self, seconds: float) -> BrokerUnavailableError:
        met = f": {self}" if self._said else "; the client met no error"
        return BrokerUnavailableError(
            f"no Kafka broker answers at {self.addresses} after {seconds:.0f} s{met}",
            topic=self.topic,
            hint="is bootstrap.servers right, and security.protocol that of the broker's listener?",
        )


def client(
    kind: Callable[[dict[str, Any]], _Client], conf: dict[str, Any], topic: str, faults: Faults | None = None
) -> _Client:
    """A client of this kind, which tells ``faults`` what it meets.

    Raises:
        ConfigError: it refuses the configuration.
    """
    from confluent_kafka import KafkaException

    quiet = {} if any(name in conf for name in _OWN_LOG) else {"log_level": _CRITICAL}
    try:
        return kind({**conf, **quiet, "error_cb": faults or Faults(conf, topic)})
    except KafkaException as error:
        reason = error.args[0].str()
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ConfigError(f"the Kafka client refuses its configuration: {reason}", topic=topic)


def ask(asking: Consumer | Producer, faults: Faults, question: Callable[[float], _Answer | None]) -> _Answer:
    """What a broker answers.

    Args:
        asking: the client, which may be polled.
        faults: what it tells.
        question: gets the seconds it may take; None says that they were not enough.

    Raises:
        BrokerUnavailableError: none answers: within ``FIRST_SECONDS`` if none ever did, and all addresses are wrong.
        KafkaException: one refuses.
    """
    from confluent_kafka import KafkaException

    waits = [ANSWER_SECONDS] if faults.answered else [FIRST_SECONDS, ANSWER_SECONDS - FIRST_SECONDS]
    cause: Exception | None = None
    waited = 0.0
    for seconds in waits:
        try:
            answer = question(seconds)
        except KafkaException as error:
            if error.args[0].name() not in _AWAY:
                raise
            answer, cause = None, error
        if answer is not None:
            faults.answer()
            return answer
        waited += seconds
        asking.poll(0)  # now it tells what it met
        if faults.everywhere():
            break
    raise faults.error(waited) from cause
