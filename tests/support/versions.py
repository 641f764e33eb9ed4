"""Topics with versions that each have one field more than the one before: what comes out shows as which version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

SEEN = {"reader.schema.policy": "latest.seen"}


def schema(version: int) -> dict[str, Any]:
    """The schema of a version."""
    more = [{"name": f"f{number}", "type": "int", "default": -number} for number in range(version)]
    return {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}, *more]}


def datum(version: int) -> dict[str, Any]:
    """What a message of this version holds; no value of it is a default."""
    return {"name": f"v{version}", **{f"f{number}": number + 100 for number in range(version)}}


def as_version(written: int, shown: int) -> dict[str, Any]:
    """A message of the version ``written``, as the version ``shown``."""
    found = {"name": f"v{written}"}
    for number in range(shown):
        found[f"f{number}"] = number + 100 if number < written else -number
    return found


def bare(version: int) -> bytes:
    """A message of this version without a header."""
    return Codec(schema(version)).encode(datum(version))


def framed(version: int) -> bytes:
    return b"\3\4" + version.to_bytes(8, "big") + bare(version)


def damaged(version: int) -> bytes:
    """A message that names this version and cannot be read by it, nor by any other one."""
    return b"\3\4" + version.to_bytes(8, "big") + b"\x7f"


def shown(datum: dict[str, Any]) -> int:
    """As which version a message came out."""
    return len(datum) - 1


def register(registry: LocalRegistry, topic: str, versions: Iterable[int], **conf: Any) -> None:
    """Register these versions, which have to be the topic's next ones."""
    for version in versions:
        with KafkaAvroSerializer({"schema.registry.url": registry.url, **conf}, schema(version)) as serializer:
            written = serializer.serialize(topic, datum(version))
        assert written == framed(version)
