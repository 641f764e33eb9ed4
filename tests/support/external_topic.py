"""A topic of type EXTERNAL: what Pulsar's registry and a Kafka-compatible one say of the golden messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from confluent_stand_in import ConfluentStandIn
from external_schemas import GUID, ONE, TWO
from scripted_registry import Answer, Asked, ScriptedRegistry

from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas

HEADERS = "snip42,confluent-header,headerless"


class WithGuid(ConfluentStandIn):
    """Has ONE under id 1 and under the GUID of the golden messages, and TWO under id 2."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = [self.register(f"topic-{name}", schema) for name, schema in (("one", ONE), ("two", TWO))]

    def _answer(self, asked: Asked) -> Answer:
        if asked.path == f"/schemas/guids/{UUID(bytes=GUID[1:])}":
            return Answer(body={"schema": json.dumps(ONE)})
        return super()._answer(asked)


class ExternalTopic(ScriptedRegistry):
    """Pulsar's registry with a topic of type EXTERNAL, or with a pair of such halves, as Pulsar 4.2.4 answers."""

    def __init__(self, encoding: str = "", key: str = "EXTERNAL") -> None:
        super().__init__(Answer())
        body: dict[str, Any] = {"version": 0, "type": "EXTERNAL", "timestamp": 1, "data": "", "properties": {}}
        if encoding:
            types = {"key.schema.type": key, "value.schema.type": "EXTERNAL", "kv.encoding.type": encoding}
            text = json.dumps({"key": None if key == "EXTERNAL" else "", "value": None})
            body |= {"type": "KEY_VALUE", "data": text, "properties": types}
        self.body = body

    def _next(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if asked.method == "POST":
            text = "Incompatible schema: exists schema type EXTERNAL, new schema type AVRO"
            return Answer(409, {"servlet": "x", "message": text, "url": "/", "status": "409"})
        if asked.path.endswith("/schemas"):
            return Answer(body={"getSchemaResponses": [self.body]})
        if re.search(r"/schema(/0)?$", asked.path):
            return Answer(body=self.body)
        return Answer(404, {"reason": "Schema not found"})


@contextmanager
def external_topic(encoding: str = "", key: str = "EXTERNAL") -> Iterator[tuple[dict[str, Any], WithGuid]]:
    """The options of a deserializer of that topic, and its second registry."""
    _forget()
    with ExternalTopic(encoding, key) as pulsar, WithGuid() as second:
        yield (
            {
                "schema.registry.url": pulsar.url,
                "confluent.schema.registry.url": second.url,
                "framings": HEADERS,
                "retries.total.ms": 1000,
            },
            second,
        )
    _forget()


def _forget() -> None:
    """Drop what is known of other registries on the same ports."""
    Binding.forget()
    ConfluentSchemas.forget()
