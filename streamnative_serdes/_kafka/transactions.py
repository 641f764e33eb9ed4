"""Transactions: whether the brokers have them, their errors, and their steps.

Brokers give producer ids to idempotent and transactional producers. A KoP does so only with a transaction coordinator
(``kafkaTransactionCoordinatorEnabled``, off by default), and never answers without it. A producer that waits for an id
delivers nothing and reports nothing, so the brokers are asked beforehand: the client's statistics tell whether an
idempotent producer has its id, before anything is sent.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, Producer

from streamnative_serdes.errors import ConfigError

from .clients import ClientErrors, ask, client, kafka_errors

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

logger = logging.getLogger(__name__)

_FENCED: Final = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_UNSUPPORTED: Final = ("_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION", "_NOT_IMPLEMENTED")
IDEMPOTENCE: Final = "enable.idempotence"
_ON: Final = ("true", "t", "1")  # as the client reads it
_SECONDS: Final = 10.0  # Kafka's brokers take a fraction of one
_ASKING: Final[Mapping[str, Any]] = {IDEMPOTENCE: True, "statistics.interval.ms": 50}
# Options that contradict idempotence, or that are for messages.
_OF_OTHERS: Final = frozenset(
    {
        *(IDEMPOTENCE, "transactional.id", "on_delivery", "dr_cb", "acks", "request.required.acks", "retries"),
        *("max.in.flight", "max.in.flight.requests.per.connection", "message.send.max.retries"),
        "enable.gapless.guarantee",
    }
)
# Keeps the order of messages as idempotence does: a retry does not come behind later ones.
_WITHOUT: Final[Mapping[str, Any]] = {IDEMPOTENCE: False, "max.in.flight.requests.per.connection": 1}
_COORDINATOR: Final = "a KoP gives them with kafkaTransactionCoordinatorEnabled=true, which is not its default"
_REASON_SECONDS: Final = 60.0  # for which a negative answer holds: a broker may just be starting
_known: Final[dict[str, tuple[str | None, float]]] = {}  # the answers in this process, and until when they hold
_locks: Final[dict[str, threading.Lock]] = {}  # held while brokers are asked


def no_producer_ids(kafka: Mapping[str, Any], topic: str) -> str | None:
    """Why the brokers give no producer ids; None if they give ids.

    Brokers are asked once in a process, and again a minute after a negative answer; threads share one question.
    """
    # By all options, since one user may have rights that another lacks; as a digest, since they have secrets.
    options = sorted((name, str(value)) for name, value in kafka.items() if name not in _OF_OTHERS)
    key = blake2b(repr(options).encode(errors="surrogatepass")).hexdigest()
    with _locks.setdefault(key, threading.Lock()):
        reason, until = _known.get(key, (None, -math.inf))
        if time.monotonic() > until:
            reason = _asked(kafka, topic)
            _known[key] = reason, math.inf if reason is None else time.monotonic() + _REASON_SECONDS
        return reason


def idempotence(kafka: Mapping[str, Any], topic: str) -> Mapping[str, Any]:
    """Additions to a producer's configuration, by which ``enable.idempotence`` is on if it works and is not turned off.

    Raises:
        ConfigError: the configuration turns idempotence on, and the brokers give no producer ids.
        BrokerUnavailableError: no broker answers.
    """
    given = kafka.get(IDEMPOTENCE)
    reason = None if given is not None and str(given).lower() not in _ON else no_producer_ids(kafka, topic)
    if reason is None:
        return {}
    if given is not None:
        raise ConfigError(
            f"{IDEMPOTENCE}=true: nothing would be delivered, since {reason}",
            topic=topic,
            hint=f"set {IDEMPOTENCE}=false",
        )
    logger.warning(
        "topic %s: messages are sent without %s, so one whose confirmation is lost may be there twice: %s",
        topic,
        IDEMPOTENCE,
        reason,
    )
    return _WITHOUT


def require_producer_ids(kafka: Mapping[str, Any], topic: str) -> None:
    """Raises ConfigError if ``enable.idempotence`` is on in the configuration, and the brokers give no producer ids."""
    if kafka.get(IDEMPOTENCE) is not None:
        idempotence(kafka, topic)


def _asked(kafka: Mapping[str, Any], topic: str) -> str | None:
    errors = ClientErrors(kafka, topic)
    own = {name: value for name, value in kafka.items() if name not in _OF_OTHERS}
    # A KoP closes the connection that asks for an id, so the first question is another client's.
    first: Producer = client(Producer, own, topic, errors)
    ask(first, errors, lambda seconds: first.list_topics(timeout=seconds))
    states: list[str] = []
    told = {**own, **_ASKING, "stats_cb": lambda text: states.append(json.loads(text)["eos"]["idemp_state"])}
    producer: Producer = client(Producer, told, topic, errors)
    until = time.monotonic() + _SECONDS
    try:
        while states[-1:] != ["Assigned"]:
            if time.monotonic() > until:
                return f"the brokers give no producer ids; {_COORDINATOR}"
            producer.poll(0.05)
    except KafkaException as error:  # such as for a missing right
        return f"the brokers give no producer ids: {error.args[0].str()}"
    return None


def is_fenced(fault: KafkaError) -> bool:
    """Whether the error says that another producer has begun with the same ``transactional.id``."""
    return fault.name() in _FENCED or (fault.fatal() and "fenced" in fault.str())


def is_unsupported(fault: KafkaError) -> bool:
    """Whether the error says that the brokers have no transactions."""
    return fault.name() in _UNSUPPORTED


def until_done(step: Callable[[], object], gives_up: Callable[[], bool]) -> None:
    """Repeat a step of a transaction, which continues each time, while the client calls its error retriable.

    Raises:
        KafkaException: the error is not retriable, or ``gives_up`` returns True.
    """
    while True:
        try:
            with kafka_errors():
                step()
        except KafkaException as error:
            if not error.args[0].retriable() or gives_up():
                raise
        else:
            return
