"""The columns that a topic's batches are read into: the columns of the reader's schema, which the policy chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._avro_engine import refuse_columns
from streamnative_serdes._config import schema_limits
from streamnative_serdes._formats import EXTERNAL
from streamnative_serdes._formats.parts import Parts, info_of
from streamnative_serdes._schema import Record, Schema
from streamnative_serdes._topics.schema_version import Halves, SchemaVersion, parts_of
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError
from streamnative_serdes.schema_registry import SchemaInfo

from .policy import ReadPolicy
from .reader_schema import Seen

if TYPE_CHECKING:
    from streamnative_serdes.arrow import Columns, Dialect
    from streamnative_serdes.arrow.typed_columns import TypedColumns


def as_parts(policy: ReadPolicy, known: SchemaVersion) -> Parts:
    """The parts of a schema version that columns are made from. Raises SchemaError: its type has no columns."""
    return parts_of(known, schema_limits(policy.conf), config.codec_arguments(policy.conf))


def target_of(policy: ReadPolicy, topic: str, latest: SchemaVersion) -> SchemaVersion:
    """The schema that batches of a topic are read as; ``latest``, its latest, is not of type AVRO.

    Raises:
        SchemaError: the topic's type is not that of the schema that the deserializer was given.
    """
    reading, pairs = policy.reading, policy.pairs
    if reading is None and not pairs.alone:
        return latest
    if latest.halves is not None:
        halves = Halves(latest.halves.encoding, *pairs.targets(latest))
        info = info_of(halves.encoding, halves.key.info, halves.value.info)
        return SchemaVersion(
            SchemaInfo(latest.version, info.type, info.text, properties=info.properties), topic, halves=halves
        )
    if latest.type == "JSON" and reading is not None:
        policy.binding.require(topic, reading.target.schema)
        text, properties = reading.target.schema.text, latest.info.properties
        return SchemaVersion(SchemaInfo(latest.version, "JSON", text, properties=properties), topic)
    if latest.type == EXTERNAL and reading is not None:  # messages name schemas of the second registry
        policy.binding.require(topic, reading.target.schema)
        return SchemaVersion.without_version(reading.target.schema)
    given = "KEY_VALUE" if reading is None else "AVRO"
    raise SchemaError(
        f"expected messages of type {given}, but the topic has type {latest.type}", topic=topic, version=latest.version
    )


AnyColumns: TypeAlias = "Columns | TypedColumns"

_NO_COLUMNS: Final = (
    "without a schema in Pulsar, columns need the reader's schema; to migrate a topic: docs/migration.md"
)
NOTHING: Final = SchemaVersion.of_schema(
    Schema("", Record("Nothing", ()))
)  # of a batch while its target schema is not known yet


def columns_of(
    serdes: _call_path.Deserializer, policy: ReadPolicy, topic: str, dialect: Dialect, large_types: bool
) -> AnyColumns:
    """As :meth:`KafkaAvroDeserializer.columns`.

    With ``latest.seen``, the version counts as seen from then on: later batches have these columns or newer ones.
    """
    name_checked(policy, topic)
    seen = policy.evolution.of_columns()
    if seen is not None:
        return columns_for(policy, _seen(serdes, policy, seen, topic), dialect, large_types)
    return columns_by_policy(policy, topic, dialect, large_types)


def columns_by_policy(policy: ReadPolicy, topic: str, dialect: Dialect, large_types: bool) -> AnyColumns:
    """As :func:`columns_of`, without latest.seen, and for a checked topic name."""
    if policy.reading is not None and policy.binding.kind(topic) in (None, "AVRO"):
        policy.binding.require(topic, policy.reading.target.schema)
        return columns_for(policy, policy.reading.target.schema, dialect, large_types)
    latest = latest_of_columns(policy, topic)
    if latest.avro is None or policy.pairs.alone:
        latest = target_of(policy, topic, latest)
    return columns_for(policy, latest, dialect, large_types)


def latest_of_columns(policy: ReadPolicy, topic: str) -> SchemaVersion:
    """The topic's latest schema, which decides the columns."""
    try:
        return policy.binding.latest(topic)[0]
    except SchemaNotFoundError as error:
        error.hint = f"{error.hint}; {_NO_COLUMNS}" if error.hint else _NO_COLUMNS
        raise


def name_checked(policy: ReadPolicy, topic: str) -> None:
    """Check a topic's name, and note that the topic is read in batches."""
    policy.binding.checked(topic, DecodeError)
    policy.topics.add(topic)


def columns_for(policy: ReadPolicy, target: Schema | SchemaVersion, dialect: Dialect, large_types: bool) -> AnyColumns:
    """The columns of the schema that messages are read as.

    Raises:
        SchemaError: the schema has no columns.
        ConfigError: the engine has none.
    """
    refuse_columns(policy.engine)
    what: Schema | Parts
    if isinstance(target, SchemaVersion):
        what = as_parts(policy, target) if target.avro is None else target.schema
    else:
        what = target
    name = what.text if isinstance(what, Schema) else (what.name, what.place)
    kept, key = policy.columns, (name, dialect, large_types)
    columns = kept.get(key)
    if columns is None:
        columns = kept.keep(key, _made(policy, what, dialect, large_types))
    return columns


def _made(policy: ReadPolicy, target: Schema | Parts, dialect: Dialect, large_types: bool) -> AnyColumns:
    options = config.codec_arguments(policy.conf)
    if isinstance(target, Schema):
        from streamnative_serdes.arrow import Columns  # pyarrow is not needed otherwise

        return Columns(target, options, dialect, large_types, compares=policy.signs.compares)
    from streamnative_serdes.arrow.typed_columns import TypedColumns

    return TypedColumns(target, options, dialect, large_types)


def plan_of(columns: AnyColumns, policy: ReadPolicy, known: SchemaVersion) -> Any:
    """The plan by which messages of this version are read into the columns.

    Raises:
        SchemaError: no message of this version can be read.
        OtherTypeError: the columns are those of a schema of type AVRO, but this version is of another type.
    """
    from streamnative_serdes.arrow import Columns

    if not isinstance(columns, Columns):
        return columns.plan_of(as_parts(policy, known))
    if known.avro is None and known.type != EXTERNAL:  # of such a topic, other messages may name their schemas
        raise OtherTypeError(f"expected a schema of type AVRO, got type {known.type}")
    return columns.plan(known.schema)


class OtherTypeError(SchemaError):
    """A version of the topic is not of type AVRO, as the columns are."""


def _seen(serdes: _call_path.Deserializer, policy: ReadPolicy, seen: Seen, topic: str) -> SchemaVersion:
    """The highest version that was seen; before the first, the topic's latest, which counts as seen from now on."""
    highest = seen.highest(topic)
    if highest is None:
        highest = latest_of_columns(policy, topic)
        seen.advance(serdes, topic, highest)
    return highest
