"""KafkaAvroSource: reads ranges of a topic's offsets in Spark tasks, as Python objects, for RDDs and foreachPartition.

The driver chooses the ranges, so a retried task reads the same messages. To read each message once, start each job at
the end offsets of the job before::

    ranges = source.ranges(starts)
    starts |= {each.partition: each.end for each in ranges}  # partitions without new messages have no range
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from streamnative_serdes._call_path import policy_of
from streamnative_serdes._config import refuse_other_tenant
from streamnative_serdes._kafka import EARLIEST, LATEST, require_options
from streamnative_serdes._reading.messages import OnError
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.spark.datasource.offsets.bounds import Bound, Place, Topics, is_whole
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import OffsetRange, Range, ranges_of
from streamnative_serdes.spark.datasource.reading.batch import offsets_between
from streamnative_serdes.spark.datasource.reading.task import Patience, read_range
from streamnative_serdes.spark.session.workers import Carried

if TYPE_CHECKING:
    from confluent_kafka import Message

PATIENCE: Final = Patience(seconds=60.0, loss_hint="choose other offsets: ranges() says which there are", wait_hint="")
# The client requires a group. Nobody joins it, and no offset is committed. librdkafka's default level is written out.
_DEFAULTS: Final[Mapping[str, Any]] = {"group.id": "streamnative-serdes", "isolation.level": "read_committed"}
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_SKIPPED: Final = object()


Offsets: TypeAlias = Literal["earliest", "latest"] | Mapping[int, int]


class Received(NamedTuple):
    """A decoded message; ``timestamp`` is in milliseconds since 1970 UTC, or None."""

    value: Any
    key: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    headers: list[tuple[str, bytes | None]]


class KafkaAvroSource:
    """Reads a topic. Create it on the driver: it queries the registry there and ships the result to the workers.

    Args:
        topic: the Kafka topic.
        kafka: the consumer's configuration, with ``bootstrap.servers``. Offsets are never committed.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        schema: the reader's schema, as for KafkaAvroDeserializer.
        from_dict: as for KafkaAvroDeserializer.
        on_error: as for :meth:`KafkaAvroDeserializer.deserialize_many`.

    Raises:
        ConfigError: an invalid option, or a short topic name with a Kafka user whose tenant is not ``pulsar.tenant``.
        SchemaRegistryError: the registry refuses, or cannot be reached.
    """

    def __init__(
        self,
        topic: str,
        kafka: Mapping[str, Any],
        conf: Mapping[str, Any],
        schema: object = None,
        *,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        on_error: OnError = "raise",
    ) -> None:
        require_options(kafka, topic)
        if "/" not in topic:  # only a short name depends on the user's tenant
            refuse_other_tenant(kafka, conf)
        self._topic, self._kafka, self._on_error = topic, {**_DEFAULTS, **kafka}, on_error
        deserializer = KafkaAvroDeserializer(conf, schema, from_dict)
        deserializer.warm_up(topic)
        self._deserializer = Carried(deserializer)
        deserializer.close()

    def ranges(
        self, starts: Offsets = "earliest", ends: Offsets = "latest", per_partition: int = 1
    ) -> list[OffsetRange]:
        """The non-empty offset ranges between ``starts`` and ``ends``, as of now.

        Args:
            starts: start offsets by partition; other partitions start at their earliest available offset.
            ends: end offsets (exclusive) by partition; other partitions end at their current end offset.
            per_partition: number of ranges, of about equal length, into which each partition is split.

        Raises:
            ConfigError: the topic or a partition does not exist, or a number is invalid.
            OffsetOutOfRangeError: the partition does not have such an offset.
            BrokerUnavailableError: no broker answers.
            KafkaException: a broker refuses the request.
        """
        if not is_whole(per_partition, 1):
            raise self._error(f"per_partition: expected an integer from 1 on, got {per_partition!r:.40}")
        brokers = Brokers(self._kafka, Topics((self._topic,)))
        places = brokers.places()
        bounds = self._bound("starts", starts, places, EARLIEST), self._bound("ends", ends, places, LATEST)
        spans = ranges_of(*offsets_between(brokers, places, *bounds, PATIENCE))
        return [
            OffsetRange(part.partition, part.start, part.end) for span in spans for part in span.parts(per_partition)
        ]

    def _bound(self, name: str, given: Offsets, places: list[Place], rest: int) -> Bound:
        """``given`` as a bound of the data source; ``rest`` is for partitions that are not named."""
        if isinstance(given, str) and given in _WORDS:
            return Bound(name, everywhere=_WORDS[given])
        if isinstance(given, Mapping) and all(is_whole(number) for pair in given.items() for number in pair):
            named = {(self._topic, number): offset for number, offset in given.items()}
            return Bound(name, offsets={**dict.fromkeys(places, rest), **named})
        text = "expected 'earliest', 'latest' or a dict of offsets by partition, integers from 0 on"
        raise self._error(f"{name}: {text}, got {given!r:.80}")

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[Received]:
        """The messages of ``ranges``, deserialized: ``sc.parallelize(ranges, len(ranges)).mapPartitions(source.read)``.

        Raises:
            ConfigError: ``reader.schema.policy`` is ``latest.seen``.
            SerdesError: a message cannot be decoded, and ``on_error`` is ``"raise"``.
            OffsetOutOfRangeError: the broker no longer has all offsets of a range.
            BrokerUnavailableError: no messages arrived for a minute.
            BrokerRefusedError: the user may not consume from the topic.
            KafkaException: the broker reports another error.
        """
        deserializer = self._deserializer.get()
        if policy_of(deserializer).seen is not None:
            raise self._error(
                "tasks do not know what other tasks have read, so there is no latest.seen",
                "use decode_df, or reader.schema.policy=latest or fixed",
            )
        # A placeholder for skipped messages, so that values and messages stay aligned.
        instead: OnError = (lambda _: _SKIPPED) if self._on_error == "skip" else self._on_error
        for span in ranges:
            for messages in read_range(self._kafka, Range(self._topic, *astuple(span)), PATIENCE):
                values = deserializer.deserialize_many(None, messages, instead)
                for message, value in zip(messages, values, strict=True):
                    if value is not _SKIPPED:
                        yield Received(value, *_metadata(message))

    def close(self) -> None:
        """Close the driver's idle connections to the registry."""
        self._deserializer.get().close()

    def _error(self, text: str, hint: str | None = None) -> ConfigError:
        return ConfigError(text, topic=self._topic, hint=hint)


def _metadata(message: Message) -> tuple[Any, ...]:
    """Key, topic, partition, offset, timestamp and headers, in the order of :class:`Received`."""
    kind, timestamp = message.timestamp()
    at = timestamp if kind else None
    return message.key(), message.topic(), message.partition(), message.offset(), at, message.headers() or []
