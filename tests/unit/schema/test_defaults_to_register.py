"""Defaults that are valid in Avro but that Pulsar's brokers cannot handle are refused before registration."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from defaults import STUMBLED_OVER, TAKEN, broken_elsewhere, field, taken_by_us
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KafkaAvroSerializerBuilder, SchemaError
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.compat import SchemaRegistryClient
from streamnative_serdes.compat.avro import AvroSerializer
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

SECOND = record("R", field(["null", "string"], "x"))
FIXED = record("R", field(["string", "null"], "x"))
WORDS = "field f: bad default: 'x' is not of type null, the first branch of the union, but string"


@pytest.mark.parametrize(("kind", "default"), TAKEN)
def test_a_default_that_brokers_accept_is_accepted(kind: Any, default: Any) -> None:
    assert taken_by_us(record("R", field(kind, default)))


@pytest.mark.parametrize(("kind", "default"), STUMBLED_OVER)
def test_a_default_that_brokers_cannot_handle_is_refused_at_any_depth(kind: Any, default: Any) -> None:
    for schema in (record("R", field(kind, default)), *broken_elsewhere(kind, default)):
        assert not taken_by_us(schema)
        parse(schema)  # valid Avro 1.12


@pytest.mark.parametrize(("kind", "default"), [*TAKEN, *STUMBLED_OVER])
def test_local_registry_accepts_the_next_schema_if_we_accepted_the_first(kind: Any, default: Any) -> None:
    first, second = record("R", field(kind, default)), record("R", field(kind, default), field("int", 0, "y"))
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url, "auto.register.schemas": False}
        assert _post(registry, first) == 200
        assert _post(registry, second) == (200 if taken_by_us(first) else 500)
        assert KafkaAvroSerializer(conf, first).warm_up("t") is None  # a lookup still finds it


def _post(registry: LocalRegistry, schema: Any) -> int:
    import requests

    payload = {"type": "AVRO", "schema": json.dumps(schema), "properties": {}}
    answer = requests.post(f"{registry.url}/admin/v2/schemas/public/default/t/schema", json=payload, timeout=10)
    return answer.status_code


def test_the_error_names_both_branches_and_what_to_do(registry: LocalRegistry) -> None:
    with pytest.raises(SchemaError) as caught:
        KafkaAvroSerializer({"schema.registry.url": registry.url}, SECOND).warm_up("t")
    assert str(caught.value).startswith(
        f"topic t, {WORDS} (hint: put string first in the union: Pulsar would register this"
    )
    with pytest.raises(SchemaError, match="'NaN' as text is a valid double only as the whole default of a field"):
        parse(record("R", field({"type": "array", "items": "double"}, ["NaN"])), to_register=True)
    with pytest.raises(SchemaError, match=r"(?m)'x' matches no branch of the union$"):
        parse(record("R", field(["null", "int"], "x")), to_register=True)


def test_every_serializer_refuses_such_a_default_for_a_topic_without_it(
    registry: LocalRegistry, tmp_path: Path
) -> None:
    conf = {"schema.registry.url": registry.url}
    file = tmp_path / "schema.avsc"
    file.write_text(json.dumps(SECOND))
    client = SchemaRegistryClient({"url": registry.url})
    makers = [
        *[lambda given=given: KafkaAvroSerializer(conf, given) for given in (SECOND, json.dumps(SECOND), file)],
        lambda: KafkaAvroSerializer(None, SECOND).configure(conf),
        lambda: KafkaAvroSerializer({**conf, "auto.register.schemas": "true"}, SECOND),
        lambda: KafkaAvroSerializerBuilder(SECOND).build(conf, False)[0],
        lambda: AvroSerializer(client, json.dumps(SECOND)),
    ]
    for make in makers:
        with pytest.raises(SchemaError) as caught:
            make()({}, SerializationContext("t", MessageField.VALUE))
        assert WORDS in str(caught.value)
    assert {line.method for line in registry.requests} == {"GET"}


def test_a_new_topic_accepts_the_corrected_schema(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    assert KafkaAvroSerializer(conf, FIXED).serialize("t", {}) is not None
    more = record("R", *FIXED["fields"], field("int", 0, "y"))
    assert KafkaAvroSerializer(conf, more).serialize("t", {}) is not None


def test_a_topic_that_already_has_such_a_schema_can_be_written_and_read(registry: LocalRegistry) -> None:
    assert _post(registry, SECOND) == 200
    conf = {"schema.registry.url": registry.url}
    looks_up = KafkaAvroSerializer({**conf, "auto.register.schemas": False}, SECOND)
    finds, by_latest = KafkaAvroSerializer(conf, SECOND), KafkaAvroSerializer(conf)
    for serializer in (looks_up, finds, by_latest, *(pickle.loads(pickle.dumps(one)) for one in (looks_up, finds))):
        framed = serializer.serialize("t", {})
        for deserializer in (KafkaAvroDeserializer(conf), KafkaAvroDeserializer(conf, SECOND)):
            assert deserializer.deserialize("t", framed) == {"f": "x"}


def test_schemas_that_are_never_registered_follow_avros_rules() -> None:
    assert Codec(SECOND).decode(Codec(SECOND).encode({})) == {"f": "x"}
    assert Codec(record("R"), SECOND).decode(b"") == {"f": "x"}


@dataclasses.dataclass
class Tags:
    tags: list[str | None] = dataclasses.field(default_factory=lambda: ["x"])
    name: str | None = "x"


@dataclasses.dataclass
class Named:
    name: str | None = "x"


def test_a_class_whose_default_does_not_match_the_first_branch_is_refused_for_writing(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url, "allow.null": False}
    assert KafkaAvroSerializer(conf, Named).serialize("t", Named()) is not None
    for make in (lambda: KafkaAvroSerializer(conf, Tags), lambda: KafkaAvroSerializer(conf).serialize("t", Tags())):
        with pytest.raises(SchemaError, match="field tags: bad default: 'x' is not of type null, the first branch"):
            make()
    assert KafkaAvroDeserializer({**conf, "value.type": Tags}).stats()["errors"] == 0  # accepted for reading


def test_a_parsed_schema_is_checked_like_its_text(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    for schema in (json.dumps(SECOND), Codec(SECOND).schema):
        with pytest.raises(SchemaError, match="x"):
            KafkaAvroSerializer(conf, schema).warm_up("t")
