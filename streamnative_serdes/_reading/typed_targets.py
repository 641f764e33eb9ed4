"""As what batches of topics of other types than AVRO are read."""

from __future__ import annotations

from streamnative_serdes import _config as config
from streamnative_serdes._config import schema_limits
from streamnative_serdes._formats.key_value import info_of
from streamnative_serdes._formats.parts import Parts
from streamnative_serdes._topics.known import Halves, Known
from streamnative_serdes._topics.parts import parts_of
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

from .policy import ReadPolicy


def as_parts(policy: ReadPolicy, known: Known) -> Parts:
    """A schema version as columns have it. Raises SchemaError: there are no columns for its type."""
    return parts_of(known, schema_limits(policy.conf), config.codec_arguments(policy.conf))


def target_of(policy: ReadPolicy, topic: str, latest: Known) -> Known:
    """As what batches of a topic are read.

    Args:
        policy: of the deserializer.
        topic: whose messages they are.
        latest: the topic's latest schema, which is not of type AVRO.

    Raises:
        SchemaError: the topic's type is not that of the schema that the deserializer was given.
    """
    reading, pairs = policy.reading, policy.pairs
    if reading is None and not pairs.alone:
        return latest
    if latest.halves is not None:
        halves = Halves(latest.halves.encoding, *pairs.targets(latest))
        info = info_of(halves.encoding, halves.key.info, halves.value.info)
        return Known(SchemaInfo(latest.version, info.type, info.text, properties=info.properties), topic, halves=halves)
    if latest.type == "JSON" and reading is not None:
        policy.binding.require(topic, reading.target.schema)
        text, properties = reading.target.schema.text, latest.info.properties
        return Known(SchemaInfo(latest.version, "JSON", text, properties=properties), topic)
    given = "KEY_VALUE" if reading is None else "AVRO"
    raise SchemaError(
        f"expected messages of type {given}, but the topic has type {latest.type}", topic=topic, version=latest.version
    )
