"""What a source's registry says about schemas: types, names and subjects, at registries of several kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn, refusal
from schemas import record
from scripted_registry import Answer

from streamnative_serdes.errors import RegistryUnavailableError, SchemaRegistryError
from streamnative_serdes.migration import Direction, Route, Side
from streamnative_serdes.migration.planning.registries import Description, Registry, names_in, source_registry
from streamnative_serdes.testing import LocalRegistry

ORDER = record("Order", ("id", "long"), namespace="shop")
REFUND = record("Refund", ("id", "long"), namespace="shop")
KAFKA = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture
def confluent() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as registry:
        yield registry


def route_of(url: str, direction: Direction = "forward") -> Route:
    side = Side(KAFKA, {"schema.registry.url": url, "retries.total.ms": 1_500, "retries.wait.ms": 50})
    return Route(direction, "t", "out", side, side)


@pytest.fixture
def registry(confluent: ConfluentStandIn) -> Iterator[Registry]:
    with source_registry(route_of(confluent.url)) as found:
        yield found


def test_an_id_has_type_name_and_all_its_subjects(confluent: ConfluentStandIn, registry: Registry) -> None:
    confluent.register("other", REFUND)
    number = confluent.register("t-value", ORDER)
    confluent.register("shop.Order", ORDER)
    assert registry.describe(number) == Description(
        "AVRO", "shop.Order", (), (("t-value", 1), ("shop.Order", 1)), rules=False
    )


def test_a_guid_has_the_version_in_the_topics_subject(confluent: ConfluentStandIn, registry: Registry) -> None:
    confluent.register("t-value", REFUND)
    number = confluent.register("t-value", ORDER)
    found = registry.describe(confluent.guid(number).hex())
    assert found == Description("AVRO", "shop.Order", (), (("t-value", 2),))
    assert registry.guids


def test_a_guid_of_another_subject_has_no_version(confluent: ConfluentStandIn, registry: Registry) -> None:
    number = confluent.register("another", ORDER)
    found = registry.describe(confluent.guid(number).hex())
    assert found == Description("AVRO", "shop.Order")


@pytest.mark.parametrize("name", [99, -1, 2**31, "89791762-2336-186f-9674-180ca802d4d1"])
def test_unknown_names_are_unknown(registry: Registry, name: Any) -> None:
    assert registry.describe(name) is None
    assert registry.guids


def test_a_registry_without_guids_is_asked_once() -> None:
    with ConfluentStandIn(guids=False) as confluent, source_registry(route_of(confluent.url)) as registry:
        for _ in range(3):
            assert registry.describe("89791762-2336-186f-9674-180ca802d4d1") is None
        assert not registry.guids
        assert sum("guids" in call for call in confluent.calls.elements()) == 1


def test_a_registry_that_does_not_list_the_subjects_of_an_id_is_asked_for_the_topics_own(
    confluent: ConfluentStandIn, registry: Registry
) -> None:
    number = confluent.register("t-value", ORDER)
    confluent.faults = [Answer(body={"schema": json.dumps(ORDER)}), refusal(404, "HTTP 404 Not Found")]
    assert registry.describe(number) == Description("AVRO", "shop.Order", (), (("t-value", 1),))


@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF"])
def test_other_types_have_no_name(confluent: ConfluentStandIn, registry: Registry, kind: str) -> None:
    text = 'syntax = "proto3";' if kind == "PROTOBUF" else '{"type": "object", "name": "x"}'
    number = confluent.register("t-value", text, kind)
    assert registry.describe(number) == Description(kind, None, (), (("t-value", 1),))


def test_rules_are_seen(confluent: ConfluentStandIn, registry: Registry) -> None:
    number = confluent.register("t-value", ORDER, ruleSet={"domainRules": [{"name": "encrypt"}]})
    found = registry.describe(number)
    assert found is not None
    assert found.rules


def test_the_topics_schemas_are_listed_in_order(confluent: ConfluentStandIn, registry: Registry) -> None:
    assert registry.listed() is None
    ids = [confluent.register("t-value", schema) for schema in (ORDER, REFUND)]
    listed = registry.listed()
    assert listed is not None
    assert [(name, found.name, found.versions) for name, found in listed] == [
        (ids[0], "shop.Order", (("t-value", 1),)),
        (ids[1], "shop.Refund", (("t-value", 2),)),
    ]


def test_a_registry_that_is_away_is_no_unknown_id() -> None:
    with (
        source_registry(route_of("http://127.0.0.1:1")) as registry,
        pytest.raises(RegistryUnavailableError),
    ):
        registry.describe(1)


@pytest.mark.parametrize("answer", [refusal(40301, "forbidden"), Answer(404, "no such path")], ids=["refusal", "API"])
def test_a_refusal_and_another_api_are_no_unknown_ids(
    confluent: ConfluentStandIn, registry: Registry, answer: Answer
) -> None:
    confluent.faults = [answer]
    with pytest.raises(SchemaRegistryError):
        registry.describe(1)


def test_the_way_back_asks_pulsar_by_version() -> None:
    with LocalRegistry() as pulsar, source_registry(route_of(pulsar.url, "back")) as registry:
        assert registry.listed() is None
        route = route_of(pulsar.url, "back")
        with route.pulsar_registry() as client:
            client.register("t", json.dumps(ORDER))
        assert registry.describe(0) == Description("AVRO", "shop.Order")
        assert registry.describe(1) is None
        assert registry.listed() == [(0, Description("AVRO", "shop.Order"))]


@pytest.mark.parametrize(
    ("schema", "name", "aliases"),
    [
        ({"type": "record", "name": "R"}, "R", ()),
        ({"type": "record", "name": "R", "namespace": "a.b"}, "a.b.R", ()),
        ({"type": "record", "name": "x.R", "namespace": "a.b"}, "x.R", ()),
        ({"type": "record", "name": "R", "namespace": ""}, "R", ()),
        ({"type": "record", "name": "x.R", "aliases": ["Q", "y.P"]}, "x.R", ("x.Q", "y.P")),
        ({"type": {"type": "record", "name": "R"}}, "R", ()),
        ("string", "string", ()),
        ({"type": "string"}, "string", ()),
        (["null", {"type": "record", "name": "R", "namespace": "n"}, 7], "union of null, n.R, ?", ()),
        (7, None, ()),
        ({"type": "record", "name": 7}, "record", ()),
        ({"type": "record", "name": "R", "namespace": 7, "aliases": 7}, "R", ()),
    ],
)
def test_the_name_of_a_type(schema: Any, name: str | None, aliases: tuple[str, ...]) -> None:
    assert names_in(json.dumps(schema)) == (name, aliases)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000 + "]" * 100_000])
def test_what_is_not_a_schema_has_no_name(text: str) -> None:
    assert names_in(text) == (None, ())
