"""Trial: the driver's checks before a write, so that a fault is a single error, and not an error of each task.

::

    the client        takes the options that the tasks give to theirs
    the topic         is there, or the brokers create it when they are asked for it, and the user may write it
    a transaction     could begin; see :mod:`.transactions`
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException

from streamnative_serdes._kafka import BrokerRefusedError
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.session.workers import kept, key_of

from .outbox import Outbox
from .transactions import try_transactions

if TYPE_CHECKING:
    from confluent_kafka import Producer

_TOPIC_SECONDS: Final = 10.0  # for a topic that is being created; the client itself waits for 30 s
_ANSWER_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 0.1
_UNKNOWN: Final = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")


def try_write(kafka: Mapping[str, Any], topic: str | None, *, transactional: bool) -> None:
    """Try the steps of the tasks, once in a process, since a process plans many batches of a stream.

    ``topic`` is None if each row has its own.

    Raises:
        ConfigError: the client refuses its configuration, the broker the time limit of transactions, or the topic does
            not exist.
        BrokerRefusedError: the user may not write the topic.
        TransactionError: the broker does not support transactions, or does not answer in time.
    """
    kept(key_of("tried", dict(kafka), topic, transactional), lambda: _try(kafka, topic, transactional))


def _try(kafka: Mapping[str, Any], topic: str | None, transactional: bool) -> None:
    out = Outbox(kafka, topic or "")
    if topic is not None:
        _require_topic(out.producer, topic)
    if transactional:
        try_transactions(kafka, topic or "")


def _require_topic(producer: Producer, topic: str) -> None:
    until = time.monotonic() + _TOPIC_SECONDS
    while True:
        try:
            fault = producer.list_topics(topic, timeout=_ANSWER_SECONDS).topics[topic].error
        except KafkaException:
            return  # a broker has answered before; the tasks find out whether one does now
        name = None if fault is None else fault.name()
        if name == "TOPIC_EXCEPTION":
            raise ConfigError(f"the option topic: a topic cannot have the name {topic!r:.300}")
        if name == "TOPIC_AUTHORIZATION_FAILED":
            raise BrokerRefusedError(
                "this user may not write the topic", topic=topic, hint="the user needs WRITE on it"
            )
        if name not in _UNKNOWN:
            return
        if time.monotonic() > until:
            names = producer.list_topics(timeout=_ANSWER_SECONDS).topics
            raise ConfigError(
                "the topic does not exist, and the brokers do not create it",
                topic=topic,
                hint=did_you_mean(topic, names),
            )
        time.sleep(_AGAIN_SECONDS)
