"""Options of the serializer and the deserializer for topics of any type: some of those for Avro."""

from __future__ import annotations

from .confluent import CONFLUENT_OPTIONS
from .serdes import DESERIALIZER_OPTIONS, SERIALIZER_OPTIONS

# There is no reader's schema to convert to, and no second registry.
_NOT_READING = {option.key for option in CONFLUENT_OPTIONS} | {
    "allow.null",
    "framings",
    "key.schema",
    "reader.schema.incompatible",
    "reader.schema.policy",
    "schema.resolution",
    "use.latest.version",
    "value.type",
}
_NOT_WRITING = {option.key for option in CONFLUENT_OPTIONS} | {"framing", "key.schema"}

AUTO_CONSUME_OPTIONS = tuple(option for option in DESERIALIZER_OPTIONS if option.key not in _NOT_READING)
PULSAR_SERIALIZER_OPTIONS = tuple(option for option in SERIALIZER_OPTIONS if option.key not in _NOT_WRITING)
