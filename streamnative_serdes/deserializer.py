"""KafkaAvroDeserializer: framed Avro messages to Python data, each by the schema it was written with (SNIP 42)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _serdes, config, header
from .batches import OnError, read_many
from .binding import Binding
from .codec import Codec
from .columns import BatchReader, counted
from .errors import BatchTooLargeError, ConfigError, DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from .foreign import with_hint
from .known import Known
from .lifecycle import Lifecycle, refuse_keys, refuse_no_topic
from .models import Reading, Target, reading_of
from .serialization import Deserializer, MessageField, SerializationContext

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow import Columns, Dialect

logger = logging.getLogger("streamnative_serdes")

_UNKNOWN = "which the registry does not know"
_MAX_COLUMNS = 64  # readers' schemas whose columns are kept
_MAX_WARNED = 10_000  # (topic, version) pairs that are remembered as warned about


class KafkaAvroDeserializer(_serdes.Deserializer, Lifecycle, Deserializer):
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

    def __init__(
        self,
        conf: Mapping[str, Any] | None = None,
        schema: object = None,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        *,
        is_key: bool = False,
    ) -> None:
        self._begin(conf, schema, from_dict, is_key)

    def _compiled(self, schema: object, conf: dict[str, Any]) -> Reading | None:
        cls = conf["value.type"]
        if cls is not None and self._arguments[1] is not None:
            raise ConfigError("cannot use both value.type and from_dict")
        reading = reading_of(schema, cls, allow_null=conf["allow.null"], limits=config.schema_limits(conf))
        if reading is not None:  # what cannot be compiled is refused now
            Codec(reading.target.schema, shapes=reading.target.shapes, **config.codec_arguments(conf))
        return reading

    def _start(self, conf: dict[str, Any]) -> None:
        self._fall_back: bool = conf["fallback.to.latest"]
        self._warned: set[tuple[str, int]] = set()
        self._columns: dict[tuple[str, Dialect, bool], Columns] = {}
        self._setup(conf["cache.capacity"], self._arguments[1])

    def _bind(self, topic: str, number: int, ctx: SerializationContext | None) -> _serdes.Bound:
        """What to read messages of ``topic`` with; ``number`` is a key as ``_serdes`` has them."""
        binding = self._attached()
        refuse_keys(ctx is not None and ctx.field == MessageField.KEY)
        if number == _serdes.LATEST:
            return self._bind_latest(topic, binding)
        framed = number >= 0
        version = number if framed else _serdes.without_header(number)
        try:
            known = binding.version(topic, version)
        except SchemaNotFoundError:
            if not self._fall_back:
                raise
            return _serdes.Bound(topic, number, version, None, None, binding.missing_seconds(topic, version))
        codec, lifetime = self._codec_for(topic, known, binding, framed=framed)
        return _serdes.Bound(topic, number, version, None, codec, lifetime)

    def _bind_latest(self, topic: str, binding: Binding) -> _serdes.Bound:
        if not self._fall_back:
            raise DecodeError(
                "the message has no schema version header", topic=topic, hint="fallback.to.latest=true would read it"
            )
        known, lifetime = binding.latest(topic)
        codec, _ = self._codec_for(topic, known, binding, framed=False)
        return _serdes.Bound(topic, _serdes.LATEST, known.version, None, codec, lifetime)

    def _codec_for(self, topic: str, known: Known, binding: Binding, *, framed: bool) -> tuple[Codec, float]:
        """What reads messages of this version, as the reader's schema if there is one, and for how many seconds.

        A message that is not ``framed`` by a header of this version is read whole or not at all: nothing else tells
        that it is of this schema.
        """
        assert self._conf is not None
        options = config.codec_arguments(self._conf)
        if not framed:
            options["ignore_trailing_bytes"] = False
        target: Target | None = self._codec.of(known.schema) if self._codec else None
        lifetime = math.inf
        if target is None and self._conf["use.latest.version"]:
            latest, lifetime = binding.latest(topic)
            target = Target(latest.schema)
        reader, shapes = (target.schema, target.shapes) if target else (None, None)
        try:
            return known.compiled.codec(options, reader, shapes), lifetime
        except SchemaError as error:
            error.at(topic=topic, version=known.version)
            raise

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
        try:
            binding = self._attached()
            columns = self.columns(topic, dialect=dialect, large_types=large_types)
            reader = self._batch_reader(topic, binding, columns)
            batch, counts = columns.decode(data, reader.find, reader.failed, error_column=error_column)
        except BatchTooLargeError as error:
            raise error.at(topic=topic) from None
        except SerdesError:
            self._count_batch(0, 0, 0, 1)
            raise

        def note(version: int, offset: int) -> None:
            self._warn_of_fallback(topic, version, _UNKNOWN, reader.fell_back[version].version, offset)

        self._count_batch(*counted(counts, note))
        return batch

    def _batch_reader(self, topic: str, binding: Binding, columns: Columns) -> BatchReader:
        return BatchReader(topic, binding, columns, fall_back=self._fall_back)

    def columns(self, topic: str, *, dialect: Dialect = "arrow", large_types: bool = False) -> Columns:
        """What :meth:`deserialize_batch` reads messages of ``topic`` into; ``arrow_schema`` tells their types.

        Raises:
            SchemaError: Arrow has no types for the schema.
            SchemaRegistryError: as a message would.
        """
        from .arrow import Columns  # pyarrow is not needed otherwise

        assert self._conf is not None
        refuse_no_topic(topic, DecodeError)
        binding = self._attached()
        self._batch_topics.add(topic)
        schema = binding.latest(topic)[0].schema if self._codec is None else self._codec.target.schema
        key = schema.text, dialect, large_types
        columns = self._columns.get(key)
        if columns is None:
            if len(self._columns) >= _MAX_COLUMNS:
                self._columns.clear()
            columns = self._columns[key] = Columns(schema, config.codec_arguments(self._conf), dialect, large_types)
        return columns

    def warm_up(self, topic: str) -> None:
        """Ask the registry now, in one call, for all schemas that the topic has.

        Raises:
            SchemaRegistryError: as a message would.
        """
        self._attached().warm_up(topic)
        self._warmed |= {topic}

    def _recover(
        self,
        topic: str,
        data: Any,
        bound: _serdes.Bound,
        version: int | None,
        ctx: SerializationContext | None,
        error: DecodeError | None,
    ) -> Any:
        """A message that ``bound`` could not read: with ``error``, or because its version is unknown."""
        in_header = header.read(data)
        if bound.codec is None and in_header is not None:
            return self._read_unknown(topic, data, in_header, version, ctx)
        if in_header is not None and version is not None and version >= 0:
            # The caller knows this message's version from elsewhere: so the header may be Avro that looks like one.
            return self._read_headerless(topic, data, in_header, version, ctx, error)
        if error is None:
            raise SchemaNotFoundError("the registry knows no such schema version", topic=topic, version=bound.version)
        return self._read_again(topic, data, bound, ctx, error)

    def _read_again(
        self, topic: str, data: Any, bound: _serdes.Bound, ctx: SerializationContext | None, error: DecodeError
    ) -> Any:
        """After ``error``: the topic may have been recreated, or have a newer schema than the latest known one."""
        in_header = header.read(data)
        self._attached().doubt(topic)
        # What is known now counts, whichever thread has found it out: another may have looked a moment ago.
        news = self._bind(topic, bound.key, ctx)
        if news.codec is not None and (news.version, news.codec) != (bound.version, bound.codec):
            self.rebind()
            try:
                return self._read_by(news, data, header.SIZE if in_header == bound.key else 0)
            except DecodeError as still:
                error = still
        raise with_hint(error.at(topic=topic, version=bound.version), data, in_header)

    def _read_by(self, bound: _serdes.Bound, data: Any, offset: int) -> Any:
        try:
            return _serdes.read_by(bound, data, offset)
        except DecodeError as error:
            error.at(topic=bound.topic, version=bound.version)
            raise

    def _read_headerless(
        self,
        topic: str,
        data: Any,
        in_header: int,
        version: int,
        ctx: SerializationContext | None,
        error: DecodeError | None,
    ) -> Any:
        bound = self._look_up(topic, _serdes.without_header(version), ctx)
        if bound.codec is None:
            raise error.at(topic=topic) if error else SchemaNotFoundError("no such version", topic=topic)
        datum = self._read_by(bound, data, 0)
        self._note_fallback(topic, in_header, "which does not read it", bound.version, 0)
        return datum

    def _read_unknown(
        self, topic: str, data: Any, in_header: int, version: int | None, ctx: SerializationContext | None
    ) -> Any:
        """Case 2: by the latest schema on the body, else on the whole message."""
        number = _serdes.without_header(-1 if version is None else version)
        try:
            bound = self._look_up(topic, number, ctx)
        except SerdesError as error:
            error.at(topic=topic, version=in_header)
            raise
        reasons = []
        for offset in (header.SIZE, 0) if number == _serdes.LATEST else (0,):
            try:
                datum = _serdes.read_by(bound, data, offset)
            except DecodeError as error:
                reasons.append(f"{'behind the header' if offset else 'as a whole'}: {error}")
                continue
            self._note_fallback(topic, in_header, _UNKNOWN, bound.version, offset)
            return datum
        raise DecodeError(
            f"the registry knows no such version, and version {bound.version} does not read the message either; "
            + "; ".join(reasons),
            topic=topic,
            version=in_header,
        )

    def _note_fallback(self, topic: str, named: int, why: str, used: int, offset: int) -> None:
        self._count_fallback()
        self._warn_of_fallback(topic, named, why, used, offset)

    def _warn_of_fallback(self, topic: str, named: int, why: str, used: int, offset: int) -> None:
        if (topic, named) in self._warned or len(self._warned) >= _MAX_WARNED:
            return
        self._warned.add((topic, named))
        how = "its body" if offset else "the whole of it, as a message without a header,"
        logger.warning(
            "topic %s: a message names schema version %d, %s; read %s by version %d",
            topic,
            named,
            why,
            how,
            used,
        )

    def stats(self) -> dict[str, int]:
        """Counts: ``messages``, ``hits``, ``misses``, ``errors``, ``headerless``, ``fallbacks``, ``registry_calls``.

        A message is a hit or a miss, and one error at most: a miss where its schema was not at hand. A batch that fails
        as a whole is one error, and no messages. Registry calls are those of the whole process.
        """
        return {**super().stats(), "registry_calls": self.registry_calls()}
