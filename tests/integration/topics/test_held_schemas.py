"""Schemas that a real Pulsar holds and that are refused from users elsewhere: each is written and read."""

from __future__ import annotations

import json
import uuid
import warnings
from typing import Any

import pytest
from avro_names import NAMES
from servers import Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.errors import InvalidSchemaError, SchemaError, SchemaWarning


def _record(kind: Any, **more: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind, **more}]}


FAULTY = [
    _record("int", default="x"),
    _record("string", default=None),
    _record({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}),
    _record({"type": "string", "logicalType": "date"}),
]
VALUES: list[Any] = [1, "x", b"\x01", "x"]


@pytest.mark.parametrize(("schema", "value"), list(zip(FAULTY, VALUES, strict=True)))
def test_what_pulsar_holds_is_written_and_read(each_pulsar: Pulsar, schema: Any, value: Any) -> None:
    topic = f"held-{uuid.uuid4().hex[:12]}"
    conf = {"schema.registry.url": each_pulsar.url, "cache.missing.ttl.sec": 0}
    with pytest.raises(SchemaError):
        KafkaAvroSerializer(conf, schema).serialize(topic, {"a": value})
    payload = {"type": "AVRO", "schema": json.dumps(schema), "properties": {}}
    assert each_pulsar.admin("POST", f"schemas/public/default/{topic}/schema", json=payload).status_code == 200
    message = KafkaAvroSerializer(conf, schema).serialize(topic, {"a": value})
    assert message is not None
    assert message[:10] == b"\x03\x04" + bytes(8)
    assert KafkaAvroDeserializer(conf, schema).deserialize(topic, message) == {"a": value}


@pytest.mark.parametrize("named", [named for named in NAMES if named.by_1_11], ids=lambda named: named.what)
def test_the_warning_tells_what_the_newer_broker_refuses(pulsar: Pulsar, pulsar_4_2: Pulsar, named: Any) -> None:
    topic = f"names-{uuid.uuid4().hex[:12]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)
        old, new = (KafkaAvroSerializer({"schema.registry.url": one.url}, named.schema) for one in (pulsar, pulsar_4_2))
    old.warm_up(topic)
    if named.by_4_2:
        new.warm_up(topic)
    else:
        with pytest.raises(InvalidSchemaError, match="Invalid schema definition data"):
            new.warm_up(topic)
