"""Defaults that a real Pulsar accepts once registered: on 4.0.8, exactly those that a serializer accepts.

4.2.4 has Avro 1.12, in which a default may be of any branch of a union. A serializer's check is for older brokers, too.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from defaults import NOT_FINITE, STUMBLED_OVER, TAKEN, broken_elsewhere, field, taken_by_us
from schemas import record
from servers import NEXT_PULSAR, PULSAR, Pulsar

REFUSED = {PULSAR: STUMBLED_OVER, NEXT_PULSAR: NOT_FINITE}
FIRST_WITHOUT = record("R")
LATER = field("int", 0, "y")


def register(pulsar: Pulsar, topic: str, schema: Any) -> tuple[int, str]:
    payload = {"type": "AVRO", "schema": json.dumps(schema), "properties": {}}
    answer = pulsar.admin("POST", f"schemas/public/default/{topic}/schema", json=payload)
    return answer.status_code, answer.text


@pytest.mark.parametrize(("kind", "default"), TAKEN)
def test_pulsar_accepts_the_next_schema_after_a_default_that_we_accept(
    each_pulsar: Pulsar, kind: Any, default: Any
) -> None:
    topic = f"defaults-{uuid.uuid4().hex[:12]}"
    assert taken_by_us(record("R", field(kind, default)))
    # If the field is new, its default is needed too.
    for schema in (FIRST_WITHOUT, record("R", field(kind, default)), record("R", field(kind, default), LATER)):
        status, text = register(each_pulsar, topic, schema)
        assert status == 200, text


@pytest.mark.parametrize(("kind", "default"), STUMBLED_OVER)
def test_pulsar_refuses_the_next_schema_after_a_default_that_we_refuse(
    each_pulsar: Pulsar, kind: Any, default: Any
) -> None:
    refused = (kind, default) in REFUSED[each_pulsar.version()]
    for schema in (record("R", field(kind, default)), *broken_elsewhere(kind, default)):
        assert not taken_by_us(schema)
        topic = f"defaults-{uuid.uuid4().hex[:12]}"
        assert register(each_pulsar, topic, schema)[0] == 200
        for other in (schema, record("R", *schema["fields"], LATER)):
            status, text = register(each_pulsar, topic, other)
            assert (status, "Invalid default for field" in text) == ((500, True) if refused else (200, False)), text
