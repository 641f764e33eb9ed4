"""Registering a pair of schemas (KEY_VALUE), which Pulsar compares otherwise than the schema of an AVRO topic.

It compares texts, so a pair that differs in ``doc`` or in the order of a schema's keys would be a new version. And it
does not compare encodings: it answers 200 with the version of a pair that differs in nothing else, and if a half
differs too, it registers the pair as a new version with another encoding. Then no consumer could read all messages of
the topic. So what the topic has is asked for first.
"""

from __future__ import annotations

from typing import NoReturn

from streamnative_serdes._formats.parts import described, halves_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, TopicName

from .schema_version import Halves, SchemaVersion


def register_pair(
    client: SchemaRegistryClient, topic: TopicName, given: SchemaVersion, halves: Halves, limits: Limits
) -> int:
    """Return the newest version of the topic that equals this pair by Avro's rules; register the pair if none does.

    Raises:
        SchemaError: the topic has another encoding, or a half is of another type.
        SchemaRegistryError: as ``client`` says.
    """
    infos = client.all_versions(topic)
    for info in reversed(infos):
        if given.agrees(info, limits):
            return info.version
    if infos and _has_other_encoding(infos[-1], halves.encoding):
        _refuse(topic, given, infos[-1])
    version = client.register(topic, given.info.text, type=given.info.type, properties=given.info.properties)
    held = client.by_version(topic, version)  # another process may have been first, with another encoding
    if not given.agrees(held, limits):
        _refuse(topic, given, held)
    return version


def _has_other_encoding(info: SchemaInfo, encoding: str) -> bool:
    """Another type than KEY_VALUE is for the registry to refuse, and a damaged pair is replaced."""
    if info.type != "KEY_VALUE":
        return False
    try:
        return halves_of(info).encoding != encoding
    except SchemaError:
        return False


def _refuse(topic: TopicName, given: SchemaVersion, held: SchemaInfo) -> NoReturn:
    raise SchemaError(
        f"expected {described(given.info)}, but the registry holds {described(held)}",
        topic=topic.given,
        version=held.version,
        hint="use the encoding and the types that the topic has",
    )
