"""The read policy: the choice of the schema that reads a topic's messages, and further attempts after a failure."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._avro_engine import engine_of
from streamnative_serdes._config import schema_limits
from streamnative_serdes._formats import EXTERNAL
from streamnative_serdes._topics.binding import Binding, Topic
from streamnative_serdes._topics.cache import Memo
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes._topics.topic_state import KeptWhileUnchanged, TopicState
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from streamnative_serdes.key_value import INLINE, KeyValue, KeyValueSchema, refuse_keys
from streamnative_serdes.models import Reading, reading_of
from streamnative_serdes.serialization import MessageField, SerializationContext

from .attempts import (
    ITS_OWN_FAULT,
    UNKNOWN,
    UNREADABLE,
    Attempt,
    Failure,
    attempts_of,
    by_key,
    is_sign,
    no_framing,
    schema_name,
    unreadable,
    vendor_of,
)
from .framings import CONFLUENTS, ForeignId, SchemaName, Signs, UnknownIds
from .guess_format import look_of, with_hint
from .pairs import PairReading
from .reader_schema import ReaderSchemaPolicy

if TYPE_CHECKING:
    from streamnative_serdes.arrow import Columns, Dialect
    from streamnative_serdes.arrow.typed_columns import TypedColumns

logger = logging.getLogger(__name__)


NOTHING: Final = object()
AMBIGUOUS, NO_SCHEMA_YET = -1, -2  # in the place of a version
_FAILED, _FAILED_FOR_KEY = -1, -2  # the same, for the result of bind() if no schema can be found
_MAX_WARNED = 10_000  # (topic, version) pairs that are remembered as warned about


class ReadPolicy:
    """The choice of the schema that reads a topic's messages, for one deserializer; configured once.

    ``_call_path`` calls :meth:`bind` on a miss and :meth:`recover` after a failure; batches call :meth:`known`.

    Raises:
        ConfigError: ``value.type`` with ``from_dict`` or with another class as schema, or a ``reader.schema.policy``
            that contradicts the schema.
        SchemaError: the schema is not valid.
    """

    def __init__(self, conf: dict[str, Any], given: _call_path.ConstructorArguments) -> None:
        if conf["value.type"] is not None and given.convert is not None:
            raise ConfigError("cannot use both value.type and from_dict")
        self.conf, self.binding, self.is_key = conf, Binding.shared(conf), given.is_key
        self._given, self.engine = given, engine_of(conf)
        both = given.schema if isinstance(given.schema, KeyValueSchema) else None
        self.reading = _reading(conf, given.schema if both is None else None)
        self.falls_back: bool = conf["fallback.to.latest"]
        self.signs = Signs(conf, is_key=given.is_key)
        keys = config.key_schema(conf)
        # In topics that are not of type KEY_VALUE: what reads bare keys, and whether such keys are read beside values.
        self._bare_keys = None if keys is None or not given.is_key else SchemaVersion.without_version(keys)
        self._keys_beside = keys is not None and not given.is_key
        self.registries = {
            prefix: ConfluentSchemas.shared(own) for prefix, own in config.other_registries(conf).items()
        }
        has_schema = self.reading is not None or both is not None
        self.evolution = ReaderSchemaPolicy(conf, self.binding, has_schema=has_schema, unversioned=self.signs.in_use)
        self.seen = self.evolution.seen
        self.pairs = PairReading(conf, both, self.reading, self.binding, self.evolution.reader, given.is_key)
        self._unknown_ids = UnknownIds(conf["cache.missing.ttl.sec"])
        self.topics: set[str] = set()  # that are read in batches, or were asked for ahead of their first message
        self.columns: Memo[tuple[object, Dialect, bool], Columns | TypedColumns] = Memo(64)  # of batches
        self.readers: KeptWhileUnchanged[Any] = KeptWhileUnchanged(conf["cache.capacity"])  # by topic and columns
        self._options = config.codec_arguments(conf)
        self._of_whole = config.codec_arguments({**conf, "ignore.trailing.bytes": False})
        self._warned: dict[tuple[str, int], object] = {}

    # What the call path asks

    def bind(
        self, serdes: _call_path.Deserializer, topic: str, key: int, ctx: SerializationContext | None
    ) -> _call_path.Bound:
        """The bound reader of messages under ``key``; without a codec if the registry does not know its version.

        Messages of KEY_VALUE topics get a pair in place of the codec: the pair reads a value, or both halves.
        """
        state = self.binding.enter(serdes, topic, DecodeError)
        for_key = self.is_key or (ctx is not None and ctx.field == MessageField.KEY)
        try:
            try:
                found = self.bound(state, key, for_key=for_key)
            except (SchemaError, ConfigError) as error:  # the topic's type does not permit it
                found = self._bound_by_news(serdes, state, key, error, for_key=for_key)
            return found if self.seen is None or found.missing else self.evolution.admitted(found)
        except ITS_OWN_FAULT:
            if key >= 0:
                raise
            # recover() has the message: it may show a sign of another framing, or look like something.
            return self.evolution.withholding(topic, key, _FAILED_FOR_KEY if for_key else _FAILED)

    def bound(self, state: TopicState, key: int, *, for_key: bool = False) -> _call_path.Bound:
        """As :meth:`bind`, regardless of the versions that this deserializer has seen."""
        if key < 0 and is_sign(key):
            return self.bind_sign(state, key)
        topic = state.topic.given
        known, lifetime = self.known(state, key)
        if known is None:
            version = key if key >= 0 else _call_path.without_header(key)
            return _call_path.Bound(topic, key, version, None, None, self.binding.missing_seconds(state.topic, version))
        if known.halves is not None:
            alone = key == _call_path.LATEST and self.pairs.alone
            return self.pairs.bound(state, key, known, lifetime, self.codec_options(key), alone=alone)
        if self.pairs.alone:
            known.half("value")  # raises SchemaError: schemas of both halves were given
        if for_key and known is not self._bare_keys:
            refuse_keys(topic, known.type)
        codec, holds = self._codec(state, key, known)
        return self.bound_to(topic, key, known.info.version, codec, min(lifetime, holds))

    def _bound_by_news(
        self, serdes: _call_path.Deserializer, state: TopicState, key: int, error: SerdesError, *, for_key: bool
    ) -> _call_path.Bound:
        """As :meth:`bound`, which has raised ``error``, if the topic was recreated or has evolved meanwhile."""
        if not self.has_news(serdes, state):
            raise error
        return self.bound(self.binding.use(state.topic.given), key, for_key=for_key)

    def has_news(self, serdes: _call_path.Deserializer, known: TopicState) -> bool:
        """Whether the topic of a message that could not be read has another schema now; asks at most once a second."""
        topic = known.topic.given
        self.binding.doubt(topic)
        if self.binding.use(topic).newest is known.newest:
            return False
        serdes.rebind()
        return True

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
            return self.engine.bound(topic, key, version, None, codec, lifetime)
        pair = _call_path.Pair(None, self.engine.half(codec), KeyValue)
        return _call_path.Bound(topic, key, version, None, None, lifetime, pair)

    def bind_sign(self, state: TopicState, key: int) -> _call_path.Bound:
        """The bound reader of messages with a sign; no codec if they are read without a header."""
        try:
            known, lifetime = self.by_sign(state.topic.given, key)
            return self.signed(state, key, known, lifetime)
        except SchemaError as error:
            if not self.signs.headerless:
                raise error.at(topic=state.topic.given) from None
            return self.signed(state, key, None, self.conf["cache.missing.ttl.sec"])

    def signed(self, state: TopicState, key: int, known: SchemaVersion | None, lifetime: float) -> _call_path.Bound:
        """The bound reader of messages with a sign by the schema ``known``; empty without one."""
        codec, holds = (None, lifetime) if known is None else self._codec(state, key, known)
        return self.bound_to(state.topic.given, key, 0, codec, min(lifetime, holds))

    def known(self, topic: Topic, key: int, there: frozenset[int] | None = None) -> tuple[SchemaVersion | None, float]:
        """The schema that wrote messages under ``key``, and for how many seconds the answer holds.

        The schema is None if the registry has no such version or id, and another schema may be tried in its place. The
        registry is not asked for versions that are not ``there``, if all of the topic are known.

        Raises:
            DecodeError: messages without a header are not to be read.
            SchemaNotFoundError: the version or the schema does not exist, and no other schema is to be tried.
            SchemaError: the schema is not of type AVRO, or not valid.
            SchemaRegistryError: the registry cannot be asked.
        """
        if key < 0 and is_sign(key):
            return self.by_sign(str(topic), key)
        if key == _call_path.UNFRAMED:
            raise self._unframed(str(topic))
        if self._bare_keys is not None and not self.has_pairs(topic):
            return self._bare_keys, math.inf
        if key == _call_path.LATEST:
            if not self.falls_back and not self.pairs.alone:
                what, hint = "the message has no schema version header", "fallback.to.latest=true would read it"
                if self.is_key:
                    what, hint = "keys have no schema version", f"{hint}, and so would a KeyValueSchema"
                raise DecodeError(what, topic=str(topic), hint=hint)
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
        """As :meth:`known`, for a schema of another registry, whose ids never change their meaning.

        ``anyway``: ask for the schema, even if too many ids of this topic are unknown.
        """
        if self.signs.is_packed(key):
            raise self._packed(topic)
        which = self.signs.schema_of(key)
        schemas = self.registry_of(which)
        known = schemas.known(which)
        if known is not None:
            self.signs.found(key)
            return known, math.inf
        missing = schemas.missing_seconds(which)
        if self.signs.headerless and (missing or (not anyway and self._unknown_ids.too_many(topic))):
            return None, missing
        try:
            found = schemas.by_key(which)
            self.signs.found(key)
            return found, math.inf
        except SchemaNotFoundError:
            self._unknown_ids.note(topic)
            if not self.signs.headerless:
                raise self.unknown(topic, key) from None
            return None, schemas.missing_seconds(which)

    def registry_of(self, which: SchemaName) -> ConfluentSchemas:
        """The schemas of the registry that has a schema of this name."""
        return self.registries[which.registry if isinstance(which, ForeignId) else CONFLUENTS]

    def _packed(self, topic: str) -> DecodeError:
        return DecodeError(
            "expected AWS Glue's framing with a datum compressed by zlib; it is damaged, or larger than "
            f"{self.conf['glue.max.unpacked.size']} bytes when it is unpacked",
            topic=topic,
            hint="glue.max.unpacked.size is the limit",
        )

    def _codec(self, state: TopicState, key: int, known: SchemaVersion) -> tuple[Codec, float]:
        """The codec for messages under ``key``, with the reader's schema if any, and its lifetime in seconds."""
        target = None if self.reading is None else self.reading.of(known.schema)
        reader, shapes = (None, None) if target is None else (target.schema, target.shapes)
        if reader is not None and reader.fault is not None and not reader.same_as(known.schema):
            self.binding.require(state, reader)  # known may be of the second registry
        lifetime = math.inf
        if target is None and not self.is_key:  # whose schema is not one of the topic's versions
            version, lifetime = self.evolution.reader(state, None if is_sign(key) else known.info.version)
            reader, shapes = (None, None) if version is None else (version.schema, {})
        options = self.codec_options(key)
        try:
            return known.compiled.codec(options, reader, shapes), lifetime
        except SchemaError as error:
            if reader is not None and self.evolution.lenient:
                return known.compiled.codec(options), lifetime
            error.at(topic=state.topic.given, version=known.version)
            raise

    def competing(self, topic: str, key: int) -> _call_path.Bound:
        """A second reader, for messages that another reader has read; without a codec if its schema is unknown now."""
        lifetime: float = self.conf["cache.missing.ttl.sec"]
        try:
            state = self.binding.use(topic)
            known, holds = self.known(state, key)
            codec = None if known is None else self._codec(state, key, known)[0]
        except SerdesError:  # the message has been read, so nothing about another schema can be its error
            codec, holds = None, lifetime
        return _call_path.Bound(topic, key, 0, None, codec, min(holds, lifetime) if codec is None else holds)

    # After a failure

    def recover(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        caller: int | None,
        sign: int | None,
        error: DecodeError | None,
    ) -> Any:
        """The datum of a message that ``bound`` does not read: ``error`` says why; None: the version is unknown.

        ``caller`` is the version that the caller gave, and ``sign`` that of another framing that it shows.
        """
        topic, key = bound.topic, bound.key
        why: SerdesError | None = None
        if error is None and self.evolution.withheld(bound):
            try:
                for_key = bound.version == _FAILED_FOR_KEY
                state = self.binding.use(topic)
                try:
                    bound = self.bound(state, key, for_key=for_key)
                except (SchemaError, ConfigError) as refusal:
                    bound = self._bound_by_news(serdes, state, key, refusal, for_key=for_key)
                return self._read(serdes, bound, data, by_key(key))
            except ITS_OWN_FAULT as fault:
                if key >= 0 and not isinstance(fault, DecodeError):
                    raise
                why, error = fault, fault if isinstance(fault, DecodeError) and not bound.missing else None
        attempts = attempts_of(key, caller, sign, known=error is not None, whole=self.signs.headerless)
        if error is not None and len(attempts) == 1:
            return self._read_afresh(serdes, bound, data, error)
        if error is None and why is None and (key < 0 or len(attempts) == 1):
            text = "the registry does not have this schema version"
            why = SchemaNotFoundError(text, topic=topic, version=bound.version)
        if len(attempts) == 1 and why is not None:
            raise self.explained(why, bound, data)
        first = Failure(attempts[0], bound.version, error if key >= 0 else error or why, bound)
        return self._read_otherwise(serdes, data, attempts, first)

    def _read(self, serdes: _call_path.Deserializer, bound: _call_path.Bound, data: Any, attempt: Attempt) -> Any:
        """The datum, read by ``bound``, whose version counts as seen from then on."""
        datum = _call_path.read_by(bound, data, attempt.offset)
        if self.seen is not None:
            self.evolution.note(serdes, bound)
        return datum

    def look_up(self, serdes: _call_path.Deserializer, topic: str, key: int) -> _call_path.Bound:
        """The bound reader of messages under ``key``, even if nothing of its version was read so far."""
        reader, cache = _call_path.at_hand(serdes, topic, key)
        if reader is None:
            state = self.binding.use(topic)
            reader = self.bound(state, key, for_key=self.is_key)
            if self.seen is None or not self.evolution.awaits(reader):
                _call_path.keep(serdes, cache, reader)
        return self._asked_for(reader) if reader.missing and is_sign(key) else reader

    def _asked_for(self, bound: _call_path.Bound) -> _call_path.Bound:
        """The reader of messages with a sign, whose id is asked for now, even if too many of its topic are unknown."""
        topic, key = bound.topic, bound.key
        known, _ = self.by_sign(topic, key, anyway=True)
        if known is None:
            raise self.unknown(topic, key)
        return self.signed(self.binding.use(topic), key, known, math.inf)

    def _read_otherwise(
        self, serdes: _call_path.Deserializer, data: Any, attempts: Sequence[Attempt], first: Failure
    ) -> Any:
        """The datum of a message that the first of several attempts did not read."""
        assert first.reader is not None
        topic, key, failed = first.reader.topic, first.attempt.key, [first]
        for attempt in attempts[1:]:
            reader = None
            try:
                reader = self.look_up(serdes, topic, attempt.key)
                datum = self._read(serdes, reader, data, attempt)
            except SerdesError as fault:
                if key >= 0 and (reader is None or (reader.missing and first.error is not None)):
                    raise ((None if reader is None else first.error) or fault).at(topic=topic, version=key) from None
                if not isinstance(fault, ITS_OWN_FAULT):
                    raise
                failed.append(Failure(attempt, -1 if reader is None else reader.version, fault, reader))
                continue
            if key < 0:
                _call_path.count_instead(serdes, key, attempt.key)
            else:
                _call_path.count_fallback(serdes, topic)
                self.warn(topic, key, UNKNOWN if first.error is None else UNREADABLE, reader.version, attempt)
            return datum
        if key < 0:
            return self._read_by_news(serdes, topic, data, failed)
        raise self.refused(topic, failed, data)

    def _read_by_news(self, serdes: _call_path.Deserializer, topic: str, data: Any, failed: list[Failure]) -> Any:
        """The datum of a message with a sign, by what the registries have now: an unknown id, or a newer schema."""
        for place, (attempt, version, error, reader) in enumerate(failed):
            try:
                if reader is not None and reader.missing and is_sign(attempt.key):
                    datum = self._read(serdes, self._asked_for(reader), data, attempt)
                elif attempt.fresh and isinstance(error, DecodeError) and reader is not None and not reader.missing:
                    datum = self._read_afresh(serdes, reader, data, error)
                else:
                    continue
            except ITS_OWN_FAULT as fault:
                failed[place] = Failure(attempt, version, fault)
            else:
                _call_path.count_instead(serdes, failed[0].attempt.key, attempt.key)
                return datum
        raise self.refused(topic, failed, data)

    def refused(self, topic: str, failed: Sequence[Failure], data: Any) -> DecodeError:
        """The error of a message that none of several attempts has read."""
        if failed[0].attempt.key >= 0:
            return unreadable(topic, failed)
        sign = min(one.attempt.key for one in failed)
        hint = look_of(memoryview(data).tobytes(), self.signs.names | set(config.ALIKE))
        return no_framing(topic, self.signs.schema_of(sign), failed, hint)

    def unknown(self, topic: str, key: int) -> SchemaNotFoundError:
        """The error of a message whose sign names a schema that its registry does not have."""
        which = self.signs.schema_of(key)
        registry = f"{vendor_of(which)} registry" if isinstance(which, ForeignId) else "the second registry"
        return SchemaNotFoundError(f"{registry} does not have {schema_name(which)}", topic=topic, status=404)

    def _read_afresh(
        self, serdes: _call_path.Deserializer, bound: _call_path.Bound, data: Any, error: DecodeError
    ) -> Any:
        """The datum of a message that ``bound`` cannot read, by what the registry has now.

        The topic may have been recreated, or have a new latest schema. And a given pair of schemas that cannot read the
        message alone may read it as data of the topic's latest pair.
        """
        topic, key, attempt = bound.topic, bound.key, by_key(bound.key)
        if self.pairs.alone and self.falls_back and key == _call_path.LATEST:
            state = self.binding.use(topic)
            known, _ = self.known(state, key)
            assert known is not None
            latest = self.pairs.bound(state, key, known, 0.0, self._of_whole, alone=False)
            try:
                return _call_path.read_by(latest, data, 0)
            except DecodeError:
                pass  # the first error says why the given schemas do not read it
        self.binding.doubt(topic)
        # What is known now counts, whichever thread has found it out: another may have looked a moment ago.
        news = self.bound(self.binding.use(topic), key, for_key=self.is_key)
        if not news.missing and (news.version, news.by) != (bound.version, bound.by):
            serdes.rebind()
            try:
                return self._read(serdes, news, data, attempt)
            except DecodeError as still:
                error, bound = still, news
        if self.evolution.lenient and (written := self._as_written(bound, data)) is not NOTHING:
            return written
        where = {} if is_sign(key) else {"version": bound.version}
        raise self.explained(error.at(topic=topic, **where), bound, data)

    def explained(self, error: SerdesError, bound: _call_path.Bound, data: Any) -> SerdesError:
        """The error of a message that ``bound`` did not read, with a hint at the format that the bytes look like."""
        if bound.pair is not None and bound.pair.key is not None:  # it begins with a length, and looks like anything
            return error
        known = self.binding.pairs(bound.topic) if bound.missing else ()
        if any(each.halves is not None and each.halves.encoding == INLINE for each in known):
            return error
        of_pair = bound.pair is not None and not self._keys_beside
        read = frozenset(config.BY_NAME) if of_pair or is_sign(bound.key) else self.signs.names
        return with_hint(error, data, bound.key if bound.key >= 0 else None, read)

    def _as_written(self, bound: _call_path.Bound, data: Any) -> Any:
        """The datum as it was written, if only the conversion to the reader's schema has failed; otherwise NOTHING."""
        options = self.codec_options(bound.key)
        try:
            state = self.binding.use(bound.topic)
            known, _ = self.known(state, bound.key)
            if known is None:
                return NOTHING
            if known.halves is not None:
                pairs = PairReading(self.conf, None, None, self.binding, _no_reader, self.is_key)
                written = pairs.bound(state, bound.key, known, math.inf, options, alone=False)
            else:
                codec = known.compiled.codec(options)
                written = self.bound_to(bound.topic, bound.key, known.version, codec)
            return NOTHING if written.by == bound.by else _call_path.read_by(written, data, by_key(bound.key).offset)
        except SerdesError:  # the error at hand says why the message cannot be read
            return NOTHING

    def warn(self, topic: str, in_header: int, why: str, used: int, attempt: Attempt) -> None:
        """Log a fallback, once per topic and version."""
        if not self.is_news(topic, in_header):
            return
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
        """Log, once per topic, that a message in another framing can be read as bare Avro too, or the reverse."""
        if not self.is_news(topic, AMBIGUOUS):
            return
        which = self.signs.schema_of(key)
        logger.warning(
            "topic %s: a message can be read both with %s framing (%s) and as Avro without a header; "
            "the order of the option framings decides: %s",
            topic,
            vendor_of(which),
            schema_name(which),
            ",".join(self.conf["framings"]),
        )

    def is_news(self, topic: str, version: int) -> bool:
        """Whether nothing was logged of this topic and version so far: true for one of all threads that ask."""
        own = object()
        return len(self._warned) < _MAX_WARNED and self._warned.setdefault((topic, version), own) is own

    def context(self, topic: str, headers: Any) -> SerializationContext:
        """The context that ``from_dict`` gets."""
        return SerializationContext(topic, MessageField.KEY if self.is_key else MessageField.VALUE, headers)

    def has_keys(self, topic: str) -> bool:
        """Whether :meth:`for_keys` reads the keys: if the topic is of type KEY_VALUE, or if options say so for all."""
        self.binding.checked(topic, DecodeError)
        return self._keys_beside or bool(self.signs.declared) or self.has_pairs(topic)

    def has_pairs(self, topic: Topic) -> bool:
        """Whether the topic is of type KEY_VALUE; always true if the deserializer was given schemas of both halves.

        Keys of type EXTERNAL are not the topic's: each has the id of its schema beside it, as keys of Confluent's do.
        """
        return self.pairs.alone or self.binding.key_type(topic) not in (None, EXTERNAL)

    def for_keys(self) -> _call_path.Deserializer:
        """The deserializer for keys, if a context asks for keys: by the same pair, key.schema, or the topic's pair."""
        schema = self._given.schema if self.pairs.alone else None
        serdes = _call_path.Deserializer()
        chosen = self.conf["reader.schema.policy"]
        conf = {**self.conf, "value.type": None, "reader.schema.policy": None if chosen == config.FIXED else chosen}
        policy = ReadPolicy(conf, _call_path.ConstructorArguments(schema, None, is_key=True))
        if self.seen is not None:
            policy.seen = policy.evolution.seen = self.seen.of_keys()
        _call_path.set_up(serdes, policy, None, self.conf["cache.capacity"])
        return serdes


def _no_reader(_topic: Topic, _version: int | None) -> tuple[None, float]:
    """As ReaderSchemaPolicy.reader, for messages that are returned as they were written."""
    return None, math.inf


def _reading(conf: Mapping[str, Any], schema: object) -> Reading | None:
    allow_null, validate = conf["allow.null"], conf["value.validate"]
    reading = reading_of(
        schema, conf["value.type"], allow_null=allow_null, limits=schema_limits(conf), validate=validate
    )
    if reading is not None:  # what cannot be compiled is refused now
        codec = Codec(reading.target.schema, shapes=reading.target.shapes, **config.codec_arguments(conf))
        engine_of(conf).half(codec)
    return reading
