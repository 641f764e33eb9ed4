"""Defaults that a real Pulsar accepts once registered: exactly those that a serializer accepts."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from defaults import STUMBLED_OVER, TAKEN, broken_elsewhere, field, record, taken_by_us
from servers import Pulsar

FIRST_WITHOUT = record()
LATER = field("int", 0, "y")


def register(pulsar: Pulsar, topic: str, schema: Any) -> tuple[int, str]:
    payload = {"type": "AVRO", "schema": json.dumps(schema), "properties": {}}
    answer = pulsar.admin("POST", f"schemas/public/default/{topic}/schema", json=payload)
    return answer.status_code, answer.reason


@pytest.mark.parametrize(("kind", "default"), TAKEN)
def test_pulsar_accepts_the_next_schema_after_a_default_that_we_accept(pulsar: Pulsar, kind: Any, default: Any) -> None:
    topic = f"defaults-{uuid.uuid4().hex[:12]}"
    assert taken_by_us(record(field(kind, default)))
    # If the field is new, its default is needed too.
    for schema in (FIRST_WITHOUT, record(field(kind, default)), record(field(kind, default), LATER)):
        assert register(pulsar, topic, schema) == (200, "OK")


@pytest.mark.parametrize(("kind", "default"), STUMBLED_OVER)
def test_pulsar_refuses_the_next_schema_after_a_default_that_we_refuse(pulsar: Pulsar, kind: Any, default: Any) -> None:
    for schema in (record(field(kind, default)), *broken_elsewhere(kind, default)):
        assert not taken_by_us(schema)
        topic = f"defaults-{uuid.uuid4().hex[:12]}"
        assert register(pulsar, topic, schema)[0] == 200
        for other in (schema, record(*schema["fields"], LATER)):
            status, reason = register(pulsar, topic, other)
            assert (status, "Invalid default for field" in reason) == (500, True), reason
