"""The read policy: which schema reads a topic's messages, and what is tried when one cannot be read."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._config import schema_limits
from streamnative_serdes._lifecycle import Given, refuse_keys
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.known import Known
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from streamnative_serdes.models import Reading, reading_of
from streamnative_serdes.serialization import MessageField, SerializationContext

from .attempts import UNKNOWN, UNREADABLE, Attempt, by_key, unreadable, without_version
from .hints import with_hint

if TYPE_CHECKING:
    from streamnative_serdes.arrow import Columns, Dialect

logger = logging.getLogger("streamnative_serdes")

_MAX_WARNED = 10_000  # (topic, version) pairs that are remembered as warned about


class ReadPolicy:
    """Which schema reads a topic's messages; for one deserializer, configured once.

    ``_call_path`` asks it on a miss (:meth:`bind`) and after a failure (:meth:`recover`); batches ask :meth:`known`.

    Args:
        conf: checked options.
        given: what the deserializer was given: the reader's schema, and ``from_dict``.

    Raises:
        ConfigError: ``value.type`` with ``from_dict`` or with another class as schema.
        SchemaError: no valid schema.
    """

    def __init__(self, conf: dict[str, Any], given: Given) -> None:
        if conf["value.type"] is not None and given.convert is not None:
            raise ConfigError("cannot use both value.type and from_dict")
        self.conf, self.binding = conf, Binding.shared(conf)
        self.reading = _reading(conf, given.schema)
        self.falls_back: bool = conf["fallback.to.latest"]
        self.topics: set[str] = set()  # that are read in batches, or were asked for ahead of their first message
        self.columns: dict[tuple[str, Dialect, bool], Columns] = {}  # that batches are read into
        self._options = config.codec_arguments(conf)
        self._of_whole = config.codec_arguments({**conf, "ignore.trailing.bytes": False})
        self._warned: set[tuple[str, int]] = set()

    def bind(
        self, serdes: _call_path.Deserializer, topic: str, key: int, ctx: SerializationContext | None
    ) -> _call_path.Bound:
        """What reads messages under ``key``; without a codec where the registry does not know its version."""
        self.binding.attach(serdes)
        refuse_keys(ctx is not None and ctx.field == MessageField.KEY)
        known, lifetime = self.known(topic, key)
        if known is None:
            version = key if key >= 0 else _call_path.without_header(key)
            return _call_path.Bound(topic, key, version, None, None, self.binding.missing_seconds(topic, version))
        codec, holds = self._codec(topic, known, self._options if key >= 0 else self._of_whole)
        return _call_path.Bound(topic, key, known.version, None, codec, min(lifetime, holds))

    def known(self, topic: str, key: int, there: frozenset[int] | None = None) -> tuple[Known | None, float]:
        """The schema that wrote messages under ``key``, and for how many seconds that holds.

        None where the registry has no such version, and another may be tried in its place.

        Args:
            topic: whose messages they are.
            key: one of the call path's keys.
            there: all versions of the topic, where they are known: no others are asked for.

        Raises:
            DecodeError: messages without a header are not to be read.
            SchemaNotFoundError: there is no such version, or no schema, and no other is to be tried.
            SchemaError: it is not of type AVRO, or no valid schema.
            SchemaRegistryError: the registry cannot be asked.
        """
        if key == _call_path.LATEST:
            if not self.falls_back:
                hint = "fallback.to.latest=true would read it"
                raise DecodeError("the message has no schema version header", topic=topic, hint=hint)
            return self.binding.latest(topic)
        try:
            return self.binding.version(topic, key if key >= 0 else _call_path.without_header(key), there), math.inf
        except SchemaNotFoundError:
            if not self.falls_back:
                raise
            return None, 0.0

    def _codec(self, topic: str, known: Known, options: config.CodecArguments) -> tuple[Codec, float]:
        """What reads messages of this version, as the reader's schema if there is one, and for how many seconds."""
        target, lifetime = None if self.reading is None else self.reading.of(known.schema), math.inf
        reader, shapes = (None, None) if target is None else (target.schema, target.shapes)
        if target is None and self.conf["use.latest.version"]:
            latest, lifetime = self.binding.latest(topic)
            reader, shapes = latest.schema, {}
        try:
            return known.compiled.codec(options, reader, shapes), lifetime
        except SchemaError as error:
            error.at(topic=topic, version=known.version)
            raise

    # After a failure

    def recover(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        in_header: int | None,
        caller: int | None,
        error: DecodeError | None,
    ) -> Any:
        """The datum of a message that ``bound`` does not read.

        Args:
            serdes: which reads it.
            bound: what was tried; without a codec, if the registry does not know the version.
            data: the whole message.
            in_header: the version in its header, if it has one.
            caller: the version that the caller of ``deserialize`` gave, if any.
            error: why it cannot be read; None where the version is unknown.
        """
        if error is None:
            if in_header is None:
                raise SchemaNotFoundError(
                    "the registry does not have this schema version", topic=bound.topic, version=bound.version
                )
            return self._read_without_version(serdes, bound.topic, data, in_header, caller, UNKNOWN, [])
        if in_header is not None and caller is not None:
            # The header may be Avro that looks like one.
            failed = [(by_key(bound.key), error)]
            return self._read_without_version(serdes, bound.topic, data, in_header, caller, UNREADABLE, failed)
        return self._read_by_news(serdes, bound, data, in_header, error)

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
        attempts = without_version(caller)
        try:
            bound = _call_path.look_up(serdes, topic, attempts[0].key)
        except SerdesError as error:
            error.at(topic=topic, version=in_header)
            raise
        if bound.codec is None and failed:  # the caller's version is unknown
            raise failed[0][1].at(topic=topic, version=in_header)
        for attempt in attempts:
            try:
                datum = _call_path.read_by(bound, data, attempt.offset)
            except DecodeError as error:
                failed.append((attempt, error))
                continue
            _call_path.count_fallback(serdes)
            self.warn(topic, in_header, why, bound.version, attempt)
            return datum
        raise unreadable(topic, in_header, why, bound.version, failed)

    def _read_by_news(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        in_header: int | None,
        error: DecodeError,
    ) -> Any:
        """The topic may have been recreated, or have a newer schema than the latest known one."""
        self.binding.doubt(bound.topic)
        # What is known now counts, whichever thread has found it out: another may have looked a moment ago.
        news = self.bind(serdes, bound.topic, bound.key, None)
        if news.codec is not None and (news.version, news.codec) != (bound.version, bound.codec):
            serdes.rebind()
            try:
                return _call_path.read_by(news, data, by_key(bound.key).offset)
            except DecodeError as still:
                error, bound = still, news
        raise with_hint(error.at(topic=bound.topic, version=bound.version), data, in_header)

    def warn(self, topic: str, in_header: int, why: str, used: int, attempt: Attempt) -> None:
        """Log a fallback, once per topic and version."""
        if (topic, in_header) in self._warned or len(self._warned) >= _MAX_WARNED:
            return
        self._warned.add((topic, in_header))
        how = "its body" if attempt.offset else "the whole of it, as a message without a header,"
        logger.warning(
            "topic %s: a message names schema version %d, %s; read %s by version %d", topic, in_header, why, how, used
        )

    @staticmethod
    def context(topic: str, headers: Any) -> SerializationContext:
        """What ``from_dict`` is called with."""
        return SerializationContext(topic, MessageField.VALUE, headers)


def _reading(conf: Mapping[str, Any], schema: object) -> Reading | None:
    reading = reading_of(schema, conf["value.type"], allow_null=conf["allow.null"], limits=schema_limits(conf))
    if reading is not None:  # what cannot be compiled is refused now
        Codec(reading.target.schema, shapes=reading.target.shapes, **config.codec_arguments(conf))
    return reading
