"""The read policy: the choice of the schema that reads a topic's messages, and further attempts after a failure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._config import schema_limits
from streamnative_serdes._lifecycle import ConstructorArguments, key_schema, refuse_keys, refuse_no_topic
from streamnative_serdes._log import logger
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes._topics.topic_state import KeptWhileUnchanged
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from streamnative_serdes.key_value import KeyValue, KeyValueSchema
from streamnative_serdes.models import Reading, reading_of
from streamnative_serdes.serialization import MessageField, SerializationContext

from .attempts import (
    ITS_OWN_FAULT,
    UNKNOWN,
    UNREADABLE,
    Attempt,
    by_key,
    headerless,
    no_framing,
    schema_name,
    unreadable,
    without_version,
)
from .framings import ConfluentFramings, UnknownIds, is_sign
from .guess_format import look_of, with_hint
from .pairs import PairReading
from .reader_schema import ReaderSchemaPolicy

if TYPE_CHECKING:
    from streamnative_serdes.arrow import Columns, Dialect
    from streamnative_serdes.arrow.typed_columns import TypedColumns


NOTHING: Final = object()
AMBIGUOUS = -1  # in the place of a version
_FAILED, _FAILED_FOR_KEY = -1, -2  # the same, for the result of bind() if no schema can be found
_MAX_WARNED = 10_000  # (topic, version) pairs that are remembered as warned about


class ReadPolicy:
    """The choice of the schema that reads a topic's messages, for one deserializer; configured once.

    ``_call_path`` calls :meth:`bind` on a miss and :meth:`recover` after a failure; batches call :meth:`known`.

    Args:
        conf: checked options.
        given: the constructor's arguments: the reader's schema, and ``from_dict``.

    Raises:
        ConfigError: ``value.type`` with ``from_dict`` or with another class as schema, or a ``reader.schema.policy``
            that contradicts the schema.
        SchemaError: the schema is not valid.
    """

    def __init__(self, conf: dict[str, Any], given: ConstructorArguments) -> None:
        if conf["value.type"] is not None and given.convert is not None:
            raise ConfigError("cannot use both value.type and from_dict")
        self.conf, self.binding, self.is_key = conf, Binding.shared(conf), given.is_key
        self._given = given
        both = given.schema if isinstance(given.schema, KeyValueSchema) else None
        self.reading = _reading(conf, given.schema if both is None else None)
        self.falls_back: bool = conf["fallback.to.latest"]
        self.signs = ConfluentFramings(conf, is_key=given.is_key)
        keys = key_schema(conf)
        # In topics that are not of type KEY_VALUE: what reads bare keys, and whether such keys are read beside values.
        self._bare_keys = None if keys is None or not given.is_key else SchemaVersion.without_version(keys)
        self._keys_beside = keys is not None and not given.is_key
        second = config.confluent_conf(conf)
        self.confluent = None if second is None else ConfluentSchemas.shared(second)
        has_schema = self.reading is not None or both is not None
        self.evolution = ReaderSchemaPolicy(conf, self.binding, has_schema=has_schema, unversioned=self.signs.in_use)
        self.seen = self.evolution.seen
        self.pairs = PairReading(conf, both, self.reading, self.binding, self.evolution.reader, given.is_key)
        self._unknown_ids = UnknownIds(conf["cache.missing.ttl.sec"])
        self.topics: set[str] = set()  # that are read in batches, or were asked for ahead of their first message
        self.columns: dict[tuple[object, Dialect, bool], Columns | TypedColumns] = {}  # that batches are read into
        self.readers: KeptWhileUnchanged[Any] = KeptWhileUnchanged(
            conf["cache.capacity"]
        )  # of batches; by topic and columns
        self._options = config.codec_arguments(conf)
        self._of_whole = config.codec_arguments({**conf, "ignore.trailing.bytes": False})
        self._warned: set[tuple[str, int]] = set()

    # What the call path asks

    def bind(
        self, serdes: _call_path.Deserializer, topic: str, key: int, ctx: SerializationContext | None
    ) -> _call_path.Bound:
        """The bound reader of messages under ``key``; without a codec if the registry does not know its version.

        Messages of KEY_VALUE topics get a pair in place of the codec: the pair reads a value, or both halves.
        """
        refuse_no_topic(self.binding, topic, DecodeError)
        self.binding.attach(serdes)
        for_key = self.is_key or (ctx is not None and ctx.field == MessageField.KEY)
        try:
            return self.evolution.admitted(self.bound(topic, key, for_key=for_key))
        except ITS_OWN_FAULT:
            if key >= 0:
                raise
            # recover() has the message: it may show a sign of another framing, or look like something.
            return self.evolution.withholding(topic, key, _FAILED_FOR_KEY if for_key else _FAILED)

    def bound(self, topic: str, key: int, *, for_key: bool = False) -> _call_path.Bound:
        """As :meth:`bind`, regardless of the versions that this deserializer has seen."""
        if is_sign(key):
            return self._bind_sign(topic, key)
        known, lifetime = self.known(topic, key)
        if known is None:
            version = key if key >= 0 else _call_path.without_header(key)
            return _call_path.Bound(topic, key, version, None, None, self.binding.missing_seconds(topic, version))
        if known.halves is not None:
            alone = key == _call_path.LATEST and self.pairs.alone
            options = self.codec_options(key)
            return self.pairs.bound(topic, key, known, lifetime, options, alone=alone)
        self.pairs.refuse_no_pair(known)
        if for_key and known is not self._bare_keys:
            refuse_keys(topic, known.type)
        codec, holds = self._codec(topic, key, known)
        return self.bound_to(topic, key, known.version, codec, min(lifetime, holds))

    def codec_options(self, key: int) -> config.CodecArguments:
        """The options of the codec for messages under ``key``; messages without a header are read as a whole."""
        return self._options if key >= 0 else self._of_whole

    def bound_to(
        self, topic: str, key: int, version: int, codec: Codec | None, lifetime: float = math.inf
    ) -> _call_path.Bound:
        """The bound reader of messages by ``codec``; a subclass may convert the data further.

        If bare keys are read too, the reader has a pair, which the call path never uses for keys. No pair is needed if
        the call path looks for signs first.
        """
        if codec is None or not self._keys_beside or (self.signs.in_use and key < 0):
            return _call_path.Bound(topic, key, version, None, codec, lifetime)
        pair = _call_path.Pair(None, _call_path.Half(codec), KeyValue)
        return _call_path.Bound(topic, key, version, None, None, lifetime, pair)

    def _bind_sign(self, topic: str, key: int) -> _call_path.Bound:
        """The bound reader of messages with a sign of Confluent's; no codec if they are read without a header."""
        try:
            known, lifetime = self.by_sign(topic, key)
            codec, holds = (None, lifetime) if known is None else self._codec(topic, key, known)
        except SchemaError:
            if not self.signs.headerless:
                raise
            codec, lifetime, holds = None, self.conf["cache.missing.ttl.sec"], math.inf
        return self.bound_to(topic, key, 0, codec, min(lifetime, holds))

    def known(self, topic: str, key: int, there: frozenset[int] | None = None) -> tuple[SchemaVersion | None, float]:
        """The schema that wrote messages under ``key``, and for how many seconds the answer holds.

        The schema is None if the registry has no such version or id, and another schema may be tried in its place.

        Args:
            topic: the topic of the messages.
            key: a key of the call path.
            there: all versions of the topic, if they are known: the registry is asked for no others.

        Raises:
            DecodeError: messages without a header are not to be read.
            SchemaNotFoundError: the version or the schema does not exist, and no other schema is to be tried.
            SchemaError: the schema is not of type AVRO, or not valid.
            SchemaRegistryError: the registry cannot be asked.
        """
        if is_sign(key):
            return self.by_sign(topic, key)
        if key == _call_path.UNFRAMED:
            raise self._unframed(topic)
        if self._bare_keys is not None and not self.has_pairs(topic):
            return self._bare_keys, math.inf
        if key == _call_path.LATEST:
            if not self.falls_back and not self.pairs.alone:
                what, hint = "the message has no schema version header", "fallback.to.latest=true would read it"
                if self.is_key:
                    what, hint = "keys have no schema version", f"{hint}, and so would a KeyValueSchema"
                raise DecodeError(what, topic=topic, hint=hint)
            return self.binding.latest(topic)
        try:
            return self.binding.version(topic, key if key >= 0 else _call_path.without_header(key), there), math.inf
        except SchemaNotFoundError:
            if not self.falls_back:
                raise
            return None, 0.0

    def _unframed(self, topic: str) -> DecodeError:
        what, hint = "message", "add headerless to framings to read bare Avro"
        if self.is_key:
            what, hint = "key", "bare keys need key.schema, and headerless in framings"
        expected = f"expected a {what} with one of the framings {self.signs.expected}"
        return DecodeError(expected if self.signs.expected else "framings has none for keys", topic=topic, hint=hint)

    def by_sign(self, topic: str, key: int, *, anyway: bool = False) -> tuple[SchemaVersion | None, float]:
        """As :meth:`known`, for a schema of the second registry, whose ids never change their meaning.

        ``anyway``: ask for the schema, even if too many ids of this topic are unknown.
        """
        assert self.confluent is not None
        which = self.signs.schema_of(key)
        known = self.confluent.known(which)
        if known is not None:
            return known, math.inf
        missing = self.confluent.missing_seconds(which)
        if self.signs.headerless and (missing or (not anyway and self._unknown_ids.too_many(topic))):
            return None, missing
        try:
            found = self.confluent.by_id(which) if isinstance(which, int) else self.confluent.by_guid(which)
            return found, math.inf
        except SchemaNotFoundError:
            self._unknown_ids.note(topic)
            if not self.signs.headerless:
                raise self.unknown(topic, key) from None
            return None, self.confluent.missing_seconds(which)

    def _codec(self, topic: str, key: int, known: SchemaVersion) -> tuple[Codec, float]:
        """The codec for messages under ``key``, with the reader's schema if any, and its lifetime in seconds."""
        target = None if self.reading is None else self.reading.of(known.schema)
        reader, shapes = (None, None) if target is None else (target.schema, target.shapes)
        if reader is not None and reader.fault is not None and not reader.same_as(known.schema):
            self.binding.require(topic, reader)  # known may be of the second registry
        lifetime = math.inf
        if target is None and not self.is_key:  # whose schema is not one of the topic's versions
            version, lifetime = self.evolution.reader(topic, None if is_sign(key) else known.version)
            reader, shapes = (None, None) if version is None else (version.schema, {})
        options = self.codec_options(key)
        try:
            return known.compiled.codec(options, reader, shapes), lifetime
        except SchemaError as error:
            if reader is not None and self.evolution.lenient:
                return known.compiled.codec(options), lifetime
            error.at(topic=topic, version=known.version)
            raise

    def competing(self, topic: str, key: int) -> _call_path.Bound:
        """A second reader, for messages that another reader has read; without a codec if its schema is unknown now."""
        lifetime: float = self.conf["cache.missing.ttl.sec"]
        try:
            known, holds = self.known(topic, key)
            codec = None if known is None else self._codec(topic, key, known)[0]
        except SerdesError:  # the message has been read, so nothing about another schema can be its error
            codec, holds = None, lifetime
        return _call_path.Bound(topic, key, 0, None, codec, min(holds, lifetime) if codec is None else holds)

    # After a failure

    def recover(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        in_header: int | None,
        caller: int | None,
        sign: int | None,
        error: DecodeError | None,
    ) -> Any:
        """The datum of a message that ``bound`` cannot read.

        Args:
            serdes: the deserializer that reads the message.
            bound: the reader that was tried; without a codec, if the registry does not know the version.
            data: the whole message.
            in_header: the version in the message's header, if the message has a header.
            caller: the version that the caller of ``deserialize`` gave, if any.
            sign: the key of the sign of Confluent's framing that the message shows, or None.
            error: the error of ``bound``; None if the version is unknown.
        """
        if error is None and self.evolution.withheld(bound):
            try:
                bound = self.bound(bound.topic, bound.key, for_key=bound.version == _FAILED_FOR_KEY)
                return self._read(serdes, bound, data, by_key(bound.key).offset)
            except DecodeError as fault:
                error = None if bound.missing else fault
            except (SchemaError, SchemaNotFoundError):
                if in_header is not None:
                    raise
        if in_header is None:
            return self._read_unmarked(serdes, bound, data, caller, sign, error)
        if error is None:
            return self._read_without_version(serdes, bound.topic, data, in_header, caller, UNKNOWN, [])
        if caller is not None and self.signs.headerless:
            # The header may be Avro that looks like one.
            failed = [(by_key(bound.key), error)]
            return self._read_without_version(serdes, bound.topic, data, in_header, caller, UNREADABLE, failed)
        return self._retry_with_fresh_schema(serdes, bound, data, in_header, error)

    def _read(self, serdes: _call_path.Deserializer, bound: _call_path.Bound, data: Any, offset: int) -> Any:
        """The datum, read by ``bound``, whose version counts as seen from then on."""
        datum = _call_path.read_by(bound, data, offset)
        self.evolution.note(serdes, bound)
        return datum

    def _look_up(self, serdes: _call_path.Deserializer, topic: str, key: int) -> _call_path.Bound:
        """The bound reader of messages under ``key``, even if no message of its version has been read so far."""
        bound = _call_path.look_up(serdes, topic, key)
        return self.bound(topic, key) if self.evolution.withheld(bound) else bound

    def _read_unmarked(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        caller: int | None,
        sign: int | None,
        error: DecodeError | None,
    ) -> Any:
        """The datum of a message without our header, by its other framing, if any, or by newly fetched schemas."""
        if sign is None or not self.signs.headerless:
            if error is None:
                raise self.explained(self._why_not(bound), bound, data, None)
            return self._read_by_latest_pair(serdes, bound, data, error)
        other = headerless(caller) if is_sign(bound.key) else sign
        try:
            datum = self._read_otherwise(serdes, bound, data, other, error)
        except ITS_OWN_FAULT as second:
            first = error or self._why_not(bound)
            if error is not None and not is_sign(bound.key):
                error.at(version=bound.version)
            as_confluent, as_bare = (first, second) if is_sign(bound.key) else (second, first)
            hint = look_of(memoryview(data).tobytes(), confluent=True)
            raise no_framing(bound.topic, self.signs.schema_of(sign), as_confluent, as_bare, hint) from None
        _call_path.count_instead(serdes, bound.key, other)
        return datum

    def _read_by_latest_pair(
        self, serdes: _call_path.Deserializer, bound: _call_path.Bound, data: Any, error: DecodeError
    ) -> Any:
        """The datum of a message without a header that ``bound`` cannot read: by the latest pair or newer schemas.

        A given pair of schemas that cannot read the message alone may read it as data of the topic's latest pair.
        """
        if self.pairs.alone and self.falls_back and bound.key == _call_path.LATEST:
            known, _ = self.known(bound.topic, bound.key)
            assert known is not None
            latest = self.pairs.bound(bound.topic, bound.key, known, 0.0, self._of_whole, alone=False)
            try:
                return _call_path.read_by(latest, data, 0)
            except DecodeError:
                pass  # the first error says why the given schemas do not read it
        return self._retry_with_fresh_schema(serdes, bound, data, None, error)

    def _read_otherwise(
        self, serdes: _call_path.Deserializer, bound: _call_path.Bound, data: Any, key: int, error: DecodeError | None
    ) -> Any:
        """The datum of a message that ``bound`` did not read, by the reader of ``key``."""
        other = self._look_up(serdes, bound.topic, key)
        if other.missing:
            late = self._late(other)
            if late is None:
                raise self._why_not(other)
            other = late
        try:
            return self._read(serdes, other, data, by_key(key).offset)
        except DecodeError as second:
            if is_sign(key):
                if error is None:  # there is no schema without a header
                    raise
                return self._retry_with_fresh_schema(serdes, bound, data, None, error)
            late = self._late(bound)
            if late is None:
                return self._read_by_latest_pair(serdes, other, data, second)
        return _call_path.read_by(late, data, by_key(bound.key).offset)

    def _late(self, bound: _call_path.Bound) -> _call_path.Bound | None:
        """Look up an id that was not looked up before, since too many ids of its topic are unknown."""
        if not bound.missing or not is_sign(bound.key):
            return None
        try:
            known, _ = self.by_sign(bound.topic, bound.key, anyway=True)
            codec = None if known is None else self._codec(bound.topic, bound.key, known)[0]
        except SchemaError:
            return None
        return None if codec is None else self.bound_to(bound.topic, bound.key, 0, codec)

    def unknown(self, topic: str, key: int) -> SchemaNotFoundError:
        """The error of a message whose sign names a schema that the second registry does not have."""
        which = schema_name(self.signs.schema_of(key))
        return SchemaNotFoundError(f"the second registry does not have {which}", topic=topic, status=404)

    def _why_not(self, bound: _call_path.Bound) -> SerdesError:
        """The error that says why there is no codec for a message."""
        if not is_sign(bound.key):
            try:
                self.bound(bound.topic, bound.key, for_key=bound.version == _FAILED_FOR_KEY)
            except ITS_OWN_FAULT as error:
                return error
            return SchemaNotFoundError(
                "the registry does not have this schema version", topic=bound.topic, version=bound.version
            )
        try:
            known, _ = self.by_sign(bound.topic, bound.key)
            if known is not None:
                self._codec(bound.topic, bound.key, known)
        except SchemaError as error:
            return error
        return self.unknown(bound.topic, bound.key)

    def _read_without_version(
        self,
        serdes: _call_path.Deserializer,
        topic: str,
        data: Any,
        in_header: int,
        caller: int | None,
        why: str,
        failed: list[tuple[Attempt, DecodeError]],
    ) -> Any:
        attempts = without_version(caller, whole=self.signs.headerless)
        if not attempts:  # the caller's version is for messages without a header, which are not read
            raise SchemaNotFoundError("the registry does not have this schema version", topic=topic, version=in_header)
        try:
            bound = self._look_up(serdes, topic, attempts[0].key)
        except SerdesError as error:
            error.at(topic=topic, version=in_header)
            raise
        if bound.missing and failed:  # the caller's version is unknown
            raise failed[0][1].at(topic=topic, version=in_header)
        for attempt in attempts:
            try:
                datum = self._read(serdes, bound, data, attempt.offset)
            except DecodeError as error:
                failed.append((attempt, error))
                continue
            _call_path.count_fallback(serdes)
            self.warn(topic, in_header, why, bound.version, attempt)
            return datum
        raise unreadable(topic, in_header, why, bound.version, failed)

    def _retry_with_fresh_schema(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        in_header: int | None,
        error: DecodeError,
    ) -> Any:
        """The datum by newly fetched schemas: the topic may have been recreated, or have a new latest schema."""
        self.binding.doubt(bound.topic)
        # What is known now counts, whichever thread has found it out: another may have looked a moment ago.
        news = self.bound(bound.topic, bound.key, for_key=self.is_key)
        if not news.missing and (news.version, news.by) != (bound.version, bound.by):
            serdes.rebind()
            try:
                return self._read(serdes, news, data, by_key(bound.key).offset)
            except DecodeError as still:
                error, bound = still, news
        if self.evolution.lenient and (written := self._as_written(bound, data)) is not NOTHING:
            return written
        where = {} if is_sign(bound.key) else {"version": bound.version}
        raise self.explained(error.at(topic=bound.topic, **where), bound, data, in_header)

    def explained(self, error: SerdesError, bound: _call_path.Bound, data: Any, in_header: int | None) -> SerdesError:
        """The error of a message that ``bound`` did not read, with a hint at the format that the bytes look like."""
        if bound.pair is not None and bound.pair.key is not None:  # it begins with a length, and looks like anything
            return error
        no_prefix = self.signs.prefix or (bound.pair is not None and not self._keys_beside)
        return with_hint(error, data, in_header, confluent=no_prefix)

    def _as_written(self, bound: _call_path.Bound, data: Any) -> Any:
        """The datum as it was written, if only the conversion to the reader's schema has failed; otherwise NOTHING."""
        options = self.codec_options(bound.key)
        try:
            known, _ = self.known(bound.topic, bound.key)
            if known is None:
                return NOTHING
            if known.halves is not None:
                pairs = PairReading(self.conf, None, None, self.binding, _no_reader, self.is_key)
                written = pairs.bound(bound.topic, bound.key, known, math.inf, options, alone=False)
            else:
                codec = known.compiled.codec(options)
                written = self.bound_to(bound.topic, bound.key, known.version, codec)
            return NOTHING if written.by == bound.by else _call_path.read_by(written, data, by_key(bound.key).offset)
        except SerdesError:  # the error at hand says why the message cannot be read
            return NOTHING

    def warn(self, topic: str, in_header: int, why: str, used: int, attempt: Attempt) -> None:
        """Log a fallback, once per topic and version."""
        if (topic, in_header) in self._warned or len(self._warned) >= _MAX_WARNED:
            return
        self._warned.add((topic, in_header))
        how = "the bytes after its header" if attempt.offset else "all of it, as a message without a header,"
        logger.warning(
            "topic %s: a message has schema version %d in its header, %s; read %s with version %d",
            topic,
            in_header,
            why,
            how,
            used,
        )

    def ambiguous(self, topic: str, key: int) -> None:
        """Log, once per topic, that a message in Confluent's framing can be read as bare Avro too, or the reverse."""
        if (topic, AMBIGUOUS) in self._warned or len(self._warned) >= _MAX_WARNED:
            return
        self._warned.add((topic, AMBIGUOUS))
        logger.warning(
            "topic %s: a message can be read both with Confluent's framing (%s) and as Avro without a header; "
            "the order of the option framings decides: %s",
            topic,
            schema_name(self.signs.schema_of(key)),
            ",".join(self.conf["framings"]),
        )

    def context(self, topic: str, headers: Any) -> SerializationContext:
        """The context that ``from_dict`` gets."""
        return SerializationContext(topic, MessageField.KEY if self.is_key else MessageField.VALUE, headers)

    def has_keys(self, topic: str) -> bool:
        """Whether :meth:`for_keys` reads the keys: if the topic is of type KEY_VALUE, or if options allow all topics.

        Raises:
            SchemaRegistryError: the registry cannot be asked.
        """
        refuse_no_topic(self.binding, topic, DecodeError)
        return self._keys_beside or self.signs.prefix or self.signs.header or self.has_pairs(topic)

    def has_pairs(self, topic: str) -> bool:
        """Whether the topic is of type KEY_VALUE; always true if the deserializer was given schemas of both halves.

        Raises:
            SchemaRegistryError: the registry cannot be asked.
        """
        return self.pairs.alone or self.binding.type_of(topic) == "KEY_VALUE"

    def for_keys(self) -> _call_path.Deserializer:
        """The deserializer for keys, if a context asks for keys: by the same pair, key.schema, or the topic's pair."""
        schema = self._given.schema if self.pairs.alone else None
        serdes = _call_path.Deserializer()
        chosen = self.conf["reader.schema.policy"]
        conf = {**self.conf, "value.type": None, "reader.schema.policy": None if chosen == config.FIXED else chosen}
        policy = ReadPolicy(conf, ConstructorArguments(schema, None, is_key=True))
        if self.seen is not None:
            policy.seen = policy.evolution.seen = self.seen.of_keys()
        _call_path.set_up(serdes, policy, None, self.conf["cache.capacity"])
        return serdes


def _no_reader(_topic: str, _version: int | None) -> tuple[None, float]:
    """As ReaderSchemaPolicy.reader, for messages that are returned as they were written."""
    return None, math.inf


def _reading(conf: Mapping[str, Any], schema: object) -> Reading | None:
    reading = reading_of(schema, conf["value.type"], allow_null=conf["allow.null"], limits=schema_limits(conf))
    if reading is not None:  # what cannot be compiled is refused now
        Codec(reading.target.schema, shapes=reading.target.shapes, **config.codec_arguments(conf))
    return reading
