"""Two registries at one address, Pulsar's and one with Confluent's API under /kafka, as a vendor's cluster has them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_front import ClusterFront
from command import CommandLine
from confluent_stand_in import ConfluentStandIn
from scripted_registry import Answer

from streamnative_serdes import KafkaAutoConsumeDeserializer, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._config import CONFLUENT_OPTIONS, DESERIALIZER_OPTIONS, confluent_conf, parse
from streamnative_serdes.compat import Schema, SchemaRegistryClient
from streamnative_serdes.compat.avro import AvroDeserializer
from streamnative_serdes.errors import (
    MissingEndpointError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.schema_registry import ConfluentRegistryClient
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

USER = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
WITH_DEFAULT = {**USER, "fields": [*USER["fields"], {"name": "age", "type": "int", "default": 0}]}  # type: ignore[misc]
ADA = {"name": "Ada"}
RULES = {
    "metadata": {"properties": {"owner": "shop"}},
    "ruleSet": {"domainRules": [{"name": "encrypt", "kind": "TRANSFORM", "type": "ENCRYPT"}]},
}
FRAMINGS = "snip42,confluent,confluent-header,headerless"


@pytest.fixture
def cluster(registry: LocalRegistry) -> Iterator[ClusterFront]:
    with ClusterFront(registry) as cluster:
        yield cluster


@pytest.fixture
def both(cluster: ClusterFront) -> dict[str, Any]:
    return {"schema.registry.url": cluster.url, "confluent.schema.registry.url": cluster.kafka}


@pytest.mark.promise("kafka-path")
@pytest.mark.parametrize("end", ["", "/"])
def test_messages_of_both_registries_are_written_and_read(both: dict[str, Any], end: str) -> None:
    both["confluent.schema.registry.url"] += end
    ours = KafkaAvroSerializer({"schema.registry.url": both["schema.registry.url"]}, USER).serialize("t", ADA)
    theirs = KafkaAvroSerializer(both | {"framing": "confluent"}, USER).serialize("t", ADA)
    assert (ours[:2], theirs[:5]) == (b"\x03\x04", b"\0\0\0\0\x01")
    for make in (KafkaAvroDeserializer, KafkaAutoConsumeDeserializer):
        with make(both | {"framings": FRAMINGS}) as deserializer:
            found = [
                deserializer.deserialize("t", ours),
                deserializer.deserialize("t", theirs),
                deserializer.deserialize("t", theirs[5:], headers=[("__value_schema_id", theirs[:5])]),
            ]
            assert [getattr(one, "native_object", one) for one in found] == [ADA] * 3
            copied = pickle.loads(pickle.dumps(deserializer))
            assert copied.deserialize("t", theirs) == found[1]


def test_confluents_names_reach_it_too(both: dict[str, Any], cluster: ClusterFront) -> None:
    number = cluster.register("t-value", USER)
    options = {"confluent.schema.registry.url": both["confluent.schema.registry.url"], "framings": FRAMINGS}
    deserializer = AvroDeserializer(SchemaRegistryClient({"url": cluster.url}), conf=options)
    message = b"\0" + number.to_bytes(4) + b"\x06Ada"
    assert deserializer(message, SerializationContext("t", MessageField.VALUE)) == ADA


def test_each_registry_is_asked_below_its_own_address(both: dict[str, Any], cluster: ClusterFront) -> None:
    KafkaAvroSerializer({"schema.registry.url": cluster.url}, USER).serialize("t", ADA)
    KafkaAvroSerializer(both | {"framing": "confluent"}, USER).serialize("t", ADA)
    assert set(cluster.calls) == {
        "POST /admin/v2/schemas/public/default/t/schema",
        "POST /subjects/t-value/versions",
    }


def test_each_registry_gets_its_own_credentials(registry: LocalRegistry) -> None:
    with ClusterFront(registry, user_info="public:token:x") as cluster:
        conf = {
            "schema.registry.url": cluster.url,
            "confluent.schema.registry.url": cluster.kafka,
            "confluent.basic.auth.user.info": "public:token:x",
        }
        assert KafkaAvroSerializer(conf | {"framing": "confluent"}, USER).serialize("t", ADA)[:1] == b"\0"
        KafkaAvroSerializer({"schema.registry.url": cluster.url}, USER).serialize("t", ADA)
        *_, asked = cluster.asked
        assert "Authorization" not in asked.headers


# The wrong address


def test_a_second_registry_without_the_path_is_an_error_that_names_it(cluster: ClusterFront) -> None:
    conf = {"schema.registry.url": cluster.url, "confluent.schema.registry.url": cluster.url, "framing": "confluent"}
    with pytest.raises(SchemaRegistryError) as caught:
        KafkaAvroSerializer(conf, USER).serialize("t", ADA)
    assert "this looks like Pulsar's own HTTP address" in str(caught.value.hint)
    assert "with /kafka" in str(caught.value.hint)
    conf = conf | {"framings": FRAMINGS}
    del conf["framing"]
    with pytest.raises(MissingEndpointError) as caught:
        KafkaAvroDeserializer(conf).deserialize("t", b"\0\0\0\0\x01\x02")
    assert "with /kafka" in str(caught.value.hint)


def test_the_first_registry_with_the_path_is_an_error_that_names_the_address(cluster: ClusterFront) -> None:
    with pytest.raises(SchemaRegistryError) as caught:
        KafkaAvroSerializer({"schema.registry.url": cluster.kafka}, USER).serialize("t", ADA)
    assert str(caught.value.hint).startswith("this is a Confluent-style registry: use Pulsar's HTTP address")
    with pytest.raises(SchemaRegistryError) as caught:
        SchemaRegistryClient({"url": cluster.kafka}).get_latest_version("t-value")
    assert "use Pulsar's HTTP address" in str(caught.value.hint)


def test_the_path_may_be_away_while_the_cluster_answers(both: dict[str, Any], cluster: ClusterFront) -> None:
    cluster.faults = [Answer(503, b"no such backend")] * 50
    both["retries.total.ms"] = 1000
    with pytest.raises(RegistryUnavailableError, match=r"/kafka"):
        KafkaAvroSerializer(both | {"framing": "confluent"}, USER).serialize("t", ADA)
    KafkaAvroSerializer({"schema.registry.url": cluster.url}, USER).serialize("t", ADA)


def test_an_unknown_id_is_an_error(both: dict[str, Any]) -> None:
    with pytest.raises(SchemaNotFoundError, match="the second registry does not have schema id 7"):
        KafkaAvroDeserializer(both | {"framings": "snip42,confluent"}).deserialize("t", b"\0\0\0\0\x07\x02")


# What it drops, and what it answers otherwise


def client(url: str) -> ConfluentRegistryClient:
    given = {"schema.registry.url": "http://pulsar:1", "confluent.schema.registry.url": url}
    conf = confluent_conf(parse(DESERIALIZER_OPTIONS, given, strict=True))
    assert conf is not None
    return ConfluentRegistryClient(conf)


def test_metadata_and_rules_are_dropped_so_nothing_tells_that_fields_are_encrypted(cluster: ClusterFront) -> None:
    with ConfluentStandIn() as other:
        for registry, url, rules in ((other, other.url, True), (cluster, cluster.kafka, False)):
            id = registry.register("t-value", USER, **RULES)
            assert client(url).by_id(id).rules is rules


def test_our_classes_send_neither_metadata_nor_rules(cluster: ClusterFront) -> None:
    assert not any("metadata" in option.key or "rule" in option.key for option in CONFLUENT_OPTIONS)
    KafkaAvroSerializer(
        {
            "schema.registry.url": cluster.url,
            "confluent.schema.registry.url": cluster.kafka,
            "framing": "confluent",
        },
        USER,
    ).serialize("t", ADA)
    assert set(json.loads(cluster.asked[-1].body)) == {"schema"}
    for name, value in (("metadata", RULES["metadata"]), ("rule_set", RULES["ruleSet"])):
        with pytest.raises(SchemaError, match=name):
            SchemaRegistryClient({"url": cluster.url}).register_schema(
                "t-value", Schema(json.dumps(USER), **{name: value})
            )


def test_a_level_that_nobody_has_set_is_told_as_none(cluster: ClusterFront) -> None:
    assert client(cluster.kafka).compatibility("t-value") == "NONE"


# Commands


@pytest.fixture
def run(registry: LocalRegistry, cluster: ClusterFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(cluster.url, bootstrap="127.0.0.1:1")


def migrate(run: CommandLine, cluster: ClusterFront, *arguments: str) -> Any:
    sides = ["--source-registry", cluster.kafka, "--target-registry", cluster.url]
    nobody = ["--source-bootstrap", "127.0.0.1:1", "--target-bootstrap", "127.0.0.1:1"]  # schemas need no broker
    return run("migrate", "schemas", "t", "t", *sides, *nobody, *arguments, "--json").json


@pytest.mark.promise("kafka-path")
def test_schemas_migrate_from_it_and_back(run: CommandLine, cluster: ClusterFront) -> None:
    for schema in (USER, WITH_DEFAULT):
        cluster.register("t-value", schema)
    forward = migrate(run, cluster, "--state", "a.json")
    assert [one["version"] for one in forward["schemas"]] == [0, 1], forward
    back = migrate(run, cluster, "--back", "--ids-of", "a.json", "--state", "b.json")
    assert [(one["version"], one["id"]) for one in back["schemas"]] == [(0, 1), (1, 2)]
    rehearsed = migrate(run, cluster, "--back", "--new-ids", "--state", "c.json", "--dry-run")
    assert rehearsed["level"] == "NONE"
