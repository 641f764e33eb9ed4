"""KafkaAvroDeserializer: framed Avro messages to Python data, each by the schema it was written with (SNIP 42)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _call_path
from . import _config as config
from ._call_path import policy_of
from ._lifecycle import Lifecycle
from ._reading.batches import read_batch
from ._reading.columns import columns_of
from ._reading.messages import OnError, Received, read_many
from ._reading.policy import ReadPolicy
from .errors import DecodeError
from .serialization import Deserializer, SerializationContext

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow.columns import BatchColumns, Dialect


class KafkaAvroDeserializer(_call_path.Deserializer, Lifecycle, Deserializer):
    """Deserializes messages with the schema version header of SNIP 42, and those of Pulsar's own producers.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        schema: the reader's schema: every message is converted to it, whatever schema it was written with. A dict, a
            list, JSON text, the path of an ``.avsc`` file, or a class. The default is the schema of the class in
            ``value.type``. Without either, each message comes out as it was written, or as ``reader.schema.policy``
            says (docs/messages.md). For topics of type KEY_VALUE it
            is a :class:`KeyValueSchema`, or the schema of the half that is read.
        from_dict: ``from_dict(data, ctx)`` converts the decoded data to an object. Not used with ``value.type``.
        is_key: read keys: those of KEY_VALUE topics, bare ones by ``key.schema``, and those of the framings of other
            registries that ``framings`` has. Without it, the context's field decides for each message where such keys
            are read; elsewhere, a key is refused for certain only as the first message of its topic (docs/keys.md).

    A message is read by one of these schemas:

    1. It has a header with a known version: that version.
    2. It has a header, but the registry does not have the version: the topic's latest schema reads the body. If it does
       not consume the body exactly, it reads the whole message, since Avro without a header may begin like one.
    3. It has no header: the version passed to :meth:`deserialize`, or else the topic's latest schema.
    4. ``framings`` allows a framing of another registry, and the message has it: the schema with its id there; else, or
       if that cannot read the message, as in case 3. The order in ``framings`` decides which comes first.

    Topics of type KEY_VALUE: keys never have a header, so case 3 holds for them. With the encoding INLINE, a value is a
    :class:`KeyValue`. With a KeyValueSchema as reader's schema, it is tried first in case 3, and then the latest.

    In cases 2 to 4, the schema must consume the message exactly, even with ``ignore.trailing.bytes``.
    With ``fallback.to.latest=false``, the latest schema is never used. If the version in the header cannot read a
    message, but the version passed by the caller reads it as a whole, the result is that of the caller's version. This
    and case 2 are counted in :meth:`stats` and logged once per topic and version. Limit: if a message without a header
    is read by a wrong schema of the same shape, the result is wrong data without an error, which cannot be detected.

    Raises:
        ConfigError: unknown option, bad value, ``value.type`` with ``from_dict`` or with another class as schema, or a
            ``reader.schema.policy`` that contradicts the schema.
        SchemaError: the schema is not valid, or does not produce objects of the class in ``value.type``.

    Calls raise DecodeError, which names field and byte, or SchemaRegistryError; all errors are confluent_kafka's
    SerializationError. Threads may share one deserializer, and it pickles.
    """

    OPTIONS = config.DESERIALIZER_OPTIONS
    POLICY = ReadPolicy

    def __init__(
        self,
        conf: Mapping[str, Any] | None = None,
        schema: object = None,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        *,
        is_key: bool = False,
    ) -> None:
        super().__init__(conf, schema, from_dict, is_key)

    def deserialize_many(
        self, topic: str | None, messages: Iterable[Any], on_error: OnError = "raise"
    ) -> Iterator[Any]:
        """Yield the data of each message, in order; a message is read when its data is asked for.

        Args:
            topic: the messages' topic; None takes each message's own.
            messages: values as bytes, or messages of confluent-kafka, kafka-python, aiokafka or pulsar-client. The
                latter are read by the schema version in Pulsar's metadata. The ends of partitions that confluent-kafka
                reports (``_PARTITION_EOF``) are left out.
            on_error: what happens if a message cannot be read. ``"raise"`` raises the error. ``"skip"`` leaves the
                message out. A function is called with the error, and its return value takes the message's place.
                ``error.raw`` has the bytes and, if a client's message was passed, its partition, offset, key and
                headers.

        Raises:
            ConfigError: ``on_error`` is not one of these.
            DecodeError: ``topic`` is neither None nor a topic's name; or, whatever ``on_error`` says, the client
                reports another error in a message's place, such as a missing right.
            SchemaRegistryError: the registry is unavailable or refuses to answer. This is raised whatever ``on_error``
                says, since the message may be good; a schema that the topic does not have is left to ``on_error``.
        """
        if topic is not None:
            policy_of(self).binding.checked(topic, DecodeError)
        return read_many(self._read, topic, messages, on_error)

    def _read(self, message: Received) -> Any:
        return self.deserialize(message.topic, message.raw.data, message.version, message.raw.headers)

    def deserialize_batch(
        self,
        topic: str,
        data: Any,
        *,
        keys: Any = None,
        headers: Any = None,
        error_column: str | None = None,
        dialect: Dialect = "arrow",
        large_types: bool = False,
    ) -> pa.RecordBatch:
        """Decode a batch of messages to Arrow columns, far faster than message by message; see docs/arrow.md.

        Every message is converted to one schema: the one given to the deserializer, or else the topic's latest, or as
        ``reader.schema.policy`` says. The columns have the types of that schema. ``from_dict`` is ignored, and so are
        the objects of ``value.type``.

        Args:
            topic: the messages' topic.
            data: messages: a list of bytes, a Series of polars or pandas, or anything with ``__arrow_c_array__`` or
                ``__arrow_c_stream__`` that holds bytes or text, in one or more chunks. Or a list of confluent-kafka's
                messages, as ``consumer.consume()`` returns it, without errors: no array of their values is made,
                and they have ``keys`` and ``headers``. A null becomes a row of nulls.
            keys: the messages' keys, in any of these forms, for KEY_VALUE topics with the encoding SEPARATED. Then a
                row is null as a whole if both the message and its key are null.
            headers: the messages' headers, needed if one of ``framings`` is in headers: an Arrow array of lists of
                structs (key, value), as Spark's Kafka source has them, or a list of what a client returns.
            error_column: name of an additional text column. If a message cannot be read, it has the reason, and all
                other columns are null. Without ``error_column``, the first such message raises an error.
            dialect: ``"arrow"``, or ``"spark"`` for exactly the types that Spark uses; see
                :func:`streamnative_serdes.arrow.arrow_schema_of`.
            large_types: ``large_string`` and ``large_binary``, for batches of more than 2 GB of text.

        Returns:
            one batch with a row for each message of all chunks.

        Raises:
            ConfigError: ``reader.schema.policy`` is ``writer``, or ``error_column`` is the name of another column.
            DecodeError: a message cannot be read; the error has the row number over all chunks, the path and the byte,
                and for confluent-kafka's messages ``raw``, with partition and offset. Or an array is damaged, or the
                client reports an error in a message's place.
            BatchTooLargeError: each message fits, but together they exceed what a batch can hold;
                :func:`streamnative_serdes.arrow.in_parts` splits the batch.
            SchemaError: the schema has no Arrow type.
            SchemaRegistryError: as for a single message.
            TypeError: ``data`` is something else; the error says how to convert it.
        """
        return read_batch(
            self,
            policy_of(self),
            topic,
            data,
            headers,
            error_column=error_column,
            dialect=dialect,
            large_types=large_types,
            message_keys=keys,
        )

    def columns(self, topic: str, *, dialect: Dialect = "arrow", large_types: bool = False) -> BatchColumns:
        """Return the columns of :meth:`deserialize_batch` for ``topic``; their ``arrow_schema`` has the types.

        With ``latest.seen``, their version counts as seen from then on: later batches have these columns or newer ones.

        Raises:
            ConfigError: ``reader.schema.policy`` is ``writer``.
            SchemaError: the schema has no Arrow type.
            SchemaRegistryError: as for a single message.
        """
        return columns_of(self, policy_of(self), topic, dialect, large_types)

    def warm_up(self, topic: str) -> None:
        """Ask the registry now, in one call, for all schemas that the topic has.

        Raises:
            SchemaRegistryError: as for a single message.
        """
        policy: ReadPolicy = policy_of(self)
        policy.binding.warm_up(policy.binding.enter(self, topic, DecodeError))
        policy.topics.add(topic)
