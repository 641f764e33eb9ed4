"""KafkaAvroDeserializer: framed Avro messages to Python data, each by the schema it was written with (SNIP 42)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _call_path
from . import _config as config
from ._lifecycle import Lifecycle, policy_of, refuse_no_topic
from ._reading.batches import columns_of, read_batch
from ._reading.many import OnError, read_many
from ._reading.policy import ReadPolicy
from .errors import DecodeError
from .serialization import Deserializer, SerializationContext

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow import Columns, Dialect


class KafkaAvroDeserializer(_call_path.Deserializer, Lifecycle, Deserializer):
    """Deserializes messages with the schema version header of SNIP 42, and those of Pulsar's own producers.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        schema: the reader's schema, which every message is read as, whatever schema it was written with; a dict, a
            list, JSON text, the path of an ``.avsc`` file, or a class. Without one, that of the class of
            ``value.type``; without that too, each is read by its writer's schema.
        from_dict: ``from_dict(data, ctx)`` turns what was read into an object. ``value.type`` needs none.
        is_key: not supported: in Pulsar, a topic's schema is that of its values.

    Which schema a message is read by:

    1. header, and its version is known: that version;
    2. header, but the registry knows no such version: the topic's latest, on the body; if that does not use up the
       body exactly, the latest on the whole message, since Avro without a header may begin like one;
    3. no header: the version that the caller of :meth:`deserialize` gives, else the topic's latest.

    In cases 2 and 3 a message is read whole or not at all, with ``ignore.trailing.bytes`` too.
    With ``fallback.to.latest=false`` the latest schema is never used. Where the caller's version reads a message whole
    that its header's version does not read, that is taken. This and case 2 are counted in :meth:`stats` and logged once
    per topic and version. Limit: a message without a header that is read by a wrong schema of the same shape
    gives wrong data and no error; nobody can tell.

    Raises:
        ConfigError: unknown option, bad value, or ``value.type`` with ``from_dict`` or with another class as schema.
        SchemaError: no valid schema, or one that makes no objects of the class of ``value.type``.

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
        """What each message holds, one after the other, as they are asked for.

        Args:
            topic: the messages' topic; None takes each message's own.
            messages: values as bytes, or messages of confluent-kafka, kafka-python or aiokafka.
            on_error: what becomes of a message that cannot be read. ``"raise"`` ends with its error, ``"skip"`` leaves
                it out, a function is called with the error and gives what stands in its place. ``error.raw`` is the
                message: its bytes and, where it came as a client's message, partition, offset, key and headers.

        Raises:
            ConfigError: ``on_error`` is none of them.
            DecodeError: ``topic`` is neither None nor text.
            SchemaRegistryError: whatever ``on_error`` says, unless the topic has no such schema: the registry is away
                or refuses to answer, and the message itself may be good.
        """
        if topic is not None:
            refuse_no_topic(topic, DecodeError)
        return read_many(self.deserialize, topic, messages, on_error)

    def deserialize_batch(
        self,
        topic: str,
        data: Any,
        *,
        error_column: str | None = None,
        dialect: Dialect = "arrow",
        large_types: bool = False,
    ) -> pa.RecordBatch:
        """The columns of a batch of messages, far faster than a loop over them makes any; docs/arrow.md.

        Columns are those of the schema that the deserializer was given, or else of the topic's latest one; each message
        is read as that. ``from_dict`` and ``value.type`` are left aside.

        Args:
            topic: whose messages they are.
            data: messages: a list of bytes, a Series of polars or pandas, an Arrow array of bytes or text, in one piece
                or many: whatever has ``__arrow_c_array__`` or ``__arrow_c_stream__``. A null gives a row of nulls.
            error_column: name of another column, of text, which says why a message could not be read; all other columns
                are null there. Without it, the first such message is an error.
            dialect: ``"arrow"``, or ``"spark"`` for exactly the types that Spark takes back; see
                :func:`streamnative_serdes.arrow.arrow_schema_of`.
            large_types: ``large_string`` and ``large_binary``, for batches of more than 2 GB of text.

        Returns:
            one batch of as many rows as there are messages in all pieces; none, where there are none.

        Raises:
            DecodeError: with the number of the row, over all pieces, path and byte; or an array is damaged.
            BatchTooLargeError: the messages take more room than a batch has, though each of them fits;
                :func:`streamnative_serdes.arrow.in_parts` cuts the batch.
            SchemaError: Arrow has no types for the schema.
            SchemaRegistryError: as a message would.
            TypeError: ``data`` is something else; the text says what would make messages of it.
        """
        return read_batch(
            self,
            policy_of(self),
            topic,
            data,
            error_column=error_column,
            dialect=dialect,
            large_types=large_types,
        )

    def columns(self, topic: str, *, dialect: Dialect = "arrow", large_types: bool = False) -> Columns:
        """What :meth:`deserialize_batch` reads messages of ``topic`` into; ``arrow_schema`` tells their types.

        Raises:
            SchemaError: Arrow has no types for the schema.
            SchemaRegistryError: as a message would.
        """
        return columns_of(policy_of(self), topic, dialect, large_types)

    def warm_up(self, topic: str) -> None:
        """Ask the registry now, in one call, for all schemas that the topic has.

        Raises:
            SchemaRegistryError: as a message would.
        """
        policy: ReadPolicy = policy_of(self)
        policy.binding.attach(self)
        policy.binding.warm_up(topic)
        policy.topics.add(topic)

    def stats(self) -> dict[str, int]:
        """Counts: ``messages``, ``hits``, ``misses``, ``errors``, ``headerless``, ``fallbacks``, ``registry_calls``.

        A message is a hit or a miss, and one error at most: a miss where its schema was not at hand. A batch that fails
        as a whole is one error, and no messages. Registry calls are those of the whole process.
        """
        return {**super().stats(), "registry_calls": self.registry_calls()}
