"""Decoding: values of messages to columns, by one reader's schema that is fixed when the read is planned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pyspark.sql import types as T

from streamnative_serdes._kafka import BrokerUnavailableError
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes._schema.references import projected
from streamnative_serdes.errors import ConfigError, SchemaError, SchemaNotFoundError
from streamnative_serdes.models import Registered
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.user_options.options import CarriedWithSecrets, Options
from streamnative_serdes.spark.frames.decoding import (
    DEAD_LETTER,
    FAILFAST,
    POSITION,
    Decoding,
    ReadOptions,
    decoding_of,
    result_columns,
)
from streamnative_serdes.spark.frames.reading import PLANNED, TopicReader
from streamnative_serdes.spark.session.workers import kept, key_of
from streamnative_serdes.spark.types.arrow import WITH_HEADERS

if TYPE_CHECKING:
    from streamnative_serdes.spark.datasource.offsets.brokers import Brokers

_SEEN: Final = "latest.seen"


def decoding(options: Options, topics: Topics) -> tuple[T.StructType, dict[str, Decoding]]:
    """Plan to decode ``topics``: the columns, and the decoding of each topic that exists now."""
    if options.flag("includeHeaders", False):
        raise ConfigError("includeHeaders has no effect with decode=true", hint="keep=headers keeps the column")
    if options.serdes.get("reader.schema.policy") == _SEEN:
        raise ConfigError(
            "the columns are fixed before the first message is read, so there is no reader.schema.policy=latest.seen",
            hint="use latest with schemaEvolution=restart, or decode_df in a function of foreachBatch",
        )
    chosen, keep = _read_options(options), kept_columns(options)
    names = _names(options, topics)
    _refuse_schemas_of_others(options, topics)
    try:
        readers = {topic: _reader(options, chosen, topic) for topic in names}
    except SchemaNotFoundError:
        _refuse_missing(options, topics)
        raise
    columns = {topic: _all_columns(keep, reader, chosen, topic) for topic, reader in readers.items()}
    first = names[0]
    for topic in names[1:]:
        _refuse_other(topic, columns[topic], first, columns[first])
    _refuse_doubles(columns[first], keep, chosen, first)
    return columns[first], {topic: _decoding(options, chosen, keep, topic, readers[topic]) for topic in names}


def decoding_of_new(options: Options, topic: str, schema: T.StructType) -> Decoding:
    """In a task: the decoding of a matching topic that is younger than the query; made once a process."""

    def made() -> Decoding:
        chosen, keep = _read_options(options), kept_columns(options)
        reader = _reader(options, chosen, topic)
        columns = _all_columns(keep, reader, chosen, topic)
        _refuse_other(topic, columns, "the topics of the query", schema)
        return _decoding(options, chosen, keep, topic, reader)

    return kept(key_of(options, topic), made)


def _read_options(options: Options) -> ReadOptions:
    given = options.given(("mode", "errorColumn", "schemaEvolution"))
    return ReadOptions.parse({name: options.text(name) for name in given})


def kept_columns(options: Options) -> tuple[str, ...]:
    """The option ``keep``: columns of Kafka, in front of the decoded ones. Other columns are a ConfigError."""
    keep = options.words("keep")
    for name in keep:
        if name not in WITH_HEADERS.names:
            hint = did_you_mean(name, WITH_HEADERS.names) or f"they are {', '.join(WITH_HEADERS.names)}"
            raise ConfigError(f"keep: {name!r:.80} is not a column of Kafka", hint=hint)
    return keep


def _names(options: Options, topics: Topics) -> tuple[str, ...]:
    """The topics whose schemas are known now; for a pattern, the brokers are asked for the topics."""
    if topics.pattern is None:
        return topics.names
    found = tuple(sorted(filter(topics.matches, _brokers(options, topics).existing())))
    if not found:
        raise ConfigError(
            f"no topic matches {topics.pattern!r:.200}, so decode=true has no schema for the columns",
            hint="create the topic first, or read without decode and call decode_df",
        )
    return found


def _schemas(options: Options) -> dict[str, str]:
    """``reader.schemas``: the reader's schema of each topic that has its own."""
    text = options.text("reader.schemas")
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found or not all(isinstance(each, dict | str) for each in found.values()):
        raise ConfigError(
            f"reader.schemas: expected JSON with a schema for each topic, got {text!r:.80}",
            hint='{"orders": {"type": "record", ...}, "returns": {...}}; reader.schema is one for all topics',
        )
    return {topic: json.dumps(schema) for topic, schema in found.items()}


def _refuse_schemas_of_others(options: Options, topics: Topics) -> None:
    """Raises ConfigError if ``reader.schemas`` names a topic that the query does not read."""
    for topic in _schemas(options):
        if not topics.matches(topic):
            raise ConfigError(
                "reader.schemas: the query does not read the topic", topic=topic, hint=did_you_mean(topic, topics.names)
            )


def _refuse_missing(options: Options, topics: Topics) -> None:
    """Raise ConfigError if a topic does not exist, which best explains a missing schema."""
    with suppress(BrokerUnavailableError):  # then the missing schema is the error
        _brokers(options, topics).places()


def _brokers(options: Options, topics: Topics) -> Brokers:
    from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
    from streamnative_serdes.spark.datasource.user_options.client_config import client_config

    return Brokers(client_config(options), topics)


def _reader(options: Options, chosen: ReadOptions, topic: str) -> TopicReader:
    conf, given = options.conf(), _schemas(options).get(topic) or options.text("reader.schema")
    # TIME depends on a setting of the session, which the planning process does not know.
    reader = TopicReader(topic, conf, given, restart=chosen.restart, times=False)
    names = options.words("columns")
    if not names:
        return reader
    if reader.reads_pairs():
        reader.choose(names)
        return reader
    if not reader.reads_records():
        raise ConfigError("columns: the topic's messages are not records, so they have no fields", topic=topic)
    try:
        text = projected(reader.schema_text(), names)
    except SchemaError as error:
        raise ConfigError(f"columns: {error.message}", topic=topic, hint=error.hint) from None
    return TopicReader(topic, {**conf, **PLANNED}, Registered(text), restart=chosen.restart, times=False)


def _decoding(
    options: Options, chosen: ReadOptions, keep: tuple[str, ...], topic: str, reader: TopicReader
) -> Decoding:
    around = DEAD_LETTER.names[1:] if chosen.error_column else POSITION if chosen.mode == FAILFAST else ()
    return decoding_of(
        topic,
        CarriedWithSecrets(reader, options),
        chosen,
        headers="headers" if reader.needs_headers() else None,
        keys="key" if reader.needs_keys() else None,
        around={name: name for name in around},
        keep=keep,
    )


def _all_columns(keep: Sequence[str], reader: TopicReader, chosen: ReadOptions, topic: str) -> T.StructType:
    return result_columns((WITH_HEADERS[name] for name in keep), reader, chosen, topic)


def _refuse_other(topic: str, found: T.StructType, other: str, expected: T.StructType) -> None:
    if found != expected:
        raise ConfigError(
            f"its columns differ from those of {other}: expected {expected.simpleString()}, got {found.simpleString()}"[
                :1000
            ],
            topic=topic,
            hint="give one schema for all topics with reader.schema, or one for each with reader.schemas",
        )


def _refuse_doubles(columns: T.StructType, keep: Sequence[str], chosen: ReadOptions, topic: str) -> None:
    """Refuse fields with the name of another column. Fields that differ in case are left to Spark and its settings."""
    added = [*keep, *([chosen.error_column] if chosen.error_column else [])]
    lower = [name.lower() for name in columns.names]
    for name in added:
        if lower.count(name.lower()) > 1:
            raise ConfigError(
                f"two columns would have the name {name}",
                topic=topic,
                hint="do not keep it, choose fields with columns=..., or rename the errorColumn",
            )
