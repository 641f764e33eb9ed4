"""What ``migrate plan`` asks the target's registry: whether it is one, what it has, and what it will refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from schema_migrations import Migration, put
from schemas import record

from streamnative_serdes.errors import (
    AuthorizationError,
    MissingEndpointError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.migration.planning.problems import Problem
from streamnative_serdes.migration.planning.registries import of_registries, there_now
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import LocalRegistry

ORDER = record("Order", ("id", "long"))
NOTED = record("Order", ("id", "long"), ("note", ["null", "string"], None))
REQUIRED = record("Order", ("id", "long"), ("sum", "double"))
OTHER = record("Other", ("x", "string"))


@pytest.fixture
def source() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as source:
        yield source


@pytest.fixture
def migration(source: ConfluentStandIn, registry: LocalRegistry) -> Migration:
    return Migration(source.url, registry.url)


def found(migration: Migration, *schemas: Any, listed: bool = True) -> tuple[dict[str, Any], list[Problem]]:
    """The findings and problems of a source whose subject has these schemas, by the stand-in that it is."""
    entries = [{"id": number, "type": "AVRO", "rules": False} for number in range(1, len(schemas) + 1)]
    tree: dict[str, Any] = {"ids": [], "unknown_ids": [], "listed": entries if listed else None}
    return tree, list(of_registries(migration.route, tree, there_now(migration.route)))


def names(problems: list[Problem]) -> list[str]:
    return [problem.name for problem in problems]


# Whether it is one


def test_a_target_with_confluents_api_is_an_error(source: ConfluentStandIn) -> None:
    for path in ("", "/apis/ccompat/v7"):
        with pytest.raises(SchemaRegistryError, match="the target's registry: cannot list the schemas") as caught:
            there_now(Migration(source.url, source.url + path).route)
        assert caught.value.hint == (
            "this is a Confluent-style registry: use Pulsar's HTTP address, such as http://localhost:8080"
        )


def test_a_target_with_pulsars_api_is_an_error_on_the_way_back(registry: LocalRegistry) -> None:
    with pytest.raises(MissingEndpointError, match=r"the target's registry: .*Pulsar's own HTTP address"):
        there_now(Migration(registry.url, registry.url, back=True).route)


def test_a_namespace_that_does_not_exist_is_an_error(migration: Migration) -> None:
    migration.target = "persistent://nobody/nothing/orders"
    with pytest.raises(SchemaNotFoundError, match="the target's registry: ") as caught:
        there_now(migration.route)
    assert "Pulsar does not create them automatically" in str(caught.value.hint)


def test_a_registry_that_is_away_is_an_error(migration: Migration) -> None:
    migration.pulsar = "http://127.0.0.1:1"
    with pytest.raises(SchemaRegistryError, match=r"the target's registry: .*127\.0\.0\.1:1"):
        there_now(migration.route)


# What it has


def test_schemas_that_the_source_does_not_have_are_noted(
    migration: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.level = "FULL"
    source.register("orders-value", ORDER)
    registry.set_strategy("FULL")
    topic = "public/default/orders"
    put(registry, topic, ORDER)
    assert found(migration, ORDER)[1] == []
    put(registry, topic, NOTED)
    (problem,) = found(migration, ORDER)[1]
    assert (problem.name, problem.blocks) == ("target-schemas", False)
    assert "topic orders has schemas in Pulsar's registry that the source does not have: versions 1" in problem.text


# What it will refuse


def test_the_default_strategy_refuses_what_confluents_default_level_allows(
    migration: Migration, source: ConfluentStandIn
) -> None:
    source.register("orders-value", ORDER)
    tree, (problem,) = found(migration, ORDER)
    assert tree["strategies"] == {"source": "BACKWARD", "target": "FULL"}
    assert (problem.name, problem.blocks) == ("strategy", False)
    assert problem.text == (
        "Confluent's registry checks orders-value by BACKWARD, Pulsar by FULL; after the migration, the first new "
        "version that removes a field without a default is refused (409)"
    )
    assert problem.hint == (
        "`pulsar-admin namespaces set-schema-compatibility-strategy --compatibility BACKWARD public/default` keeps to "
        "the level of before"
    )


def test_the_first_version_that_will_be_refused_is_named(migration: Migration, source: ConfluentStandIn) -> None:
    for schema in (REQUIRED, ORDER):
        source.register("orders-value", schema)
    assert "; Pulsar refuses orders-value version 2; " in found(migration, REQUIRED, ORDER)[1][0].text
    for schema in (NOTED, REQUIRED | {"fields": [*REQUIRED["fields"], {"name": "tax", "type": "int"}]}):
        source.register("orders-value", schema)
    _, (problem,) = found(migration, REQUIRED, ORDER, NOTED, REQUIRED)
    assert "; Pulsar refuses orders-value version 2 and 1 more; " in problem.text
    assert str(problem.hint).startswith("`migrate schemas --widen` lets the versions in that there are; ")


@pytest.mark.parametrize(
    ("level", "strategy", "change"),
    [
        ("BACKWARD", "FULL", "removes"),
        ("BACKWARD_TRANSITIVE", "FULL_TRANSITIVE", "removes"),
        ("FORWARD", "FULL", "adds"),
        ("BACKWARD", "FORWARD", "removes"),
        ("FORWARD_TRANSITIVE", "BACKWARD", "adds"),
        ("NONE", "FULL", "removes or adds"),
        ("NONE", "BACKWARD", "adds"),
        ("NONE", "FORWARD", "removes"),
        ("FULL", "FULL_TRANSITIVE", None),
        ("FULL", "BACKWARD", None),
        ("BACKWARD", "BACKWARD", None),
        ("BACKWARD", "ALWAYS_COMPATIBLE", None),
        ("NONE", "ALWAYS_COMPATIBLE", None),
        (None, "FULL", None),
    ],
)
def test_each_level_is_compared_with_each_strategy(
    level: str | None, strategy: str, change: str | None, migration: Migration, source: ConfluentStandIn, registry: Any
) -> None:
    source.level = level
    registry.set_strategy(strategy)
    source.register("orders-value", ORDER)
    tree, problems = found(migration, ORDER)
    assert tree["strategies"] == {"source": level, "target": strategy}
    if change is None:
        assert problems == []
    else:
        assert f"new version that {change} a field without a default is refused (409)" in problems[0].text
        wanted = "ALWAYS_COMPATIBLE" if level == "NONE" else level
        assert f"--compatibility {wanted} public/default" in str(problems[0].hint)
        assert ("nothing is checked at all; a registry at /kafka answers NONE" in str(problems[0].hint)) is (
            level == "NONE"
        )


def test_any_change_is_refused_by_always_incompatible(
    migration: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    registry.set_strategy("ALWAYS_INCOMPATIBLE")
    source.register("orders-value", ORDER)
    assert "the first new version that differs is refused (409)" in found(migration, ORDER)[1][0].text


def test_a_strategy_that_only_an_admin_may_ask_for_counts_as_the_default(
    migration: Migration, source: ConfluentStandIn, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise AuthorizationError("no", status=401)

    for name in ("compatibility", "topics"):
        monkeypatch.setattr(SchemaRegistryClient, name, refused)
    source.register("orders-value", ORDER)
    tree, (problem,) = found(migration, ORDER)
    assert tree["strategies"] == {"source": "BACKWARD", "target": None}
    assert "Pulsar by FULL, its default: only an admin of the tenant may ask for another one; " in problem.text


def test_schemas_that_pulsar_takes_by_no_strategy_are_refused(migration: Migration, source: ConfluentStandIn) -> None:
    source.register("orders-value", [ORDER, OTHER])
    (problem,) = found(migration, [ORDER, OTHER])[1]
    assert (problem.name, problem.severity) == ("uncopied-schemas", "refused")
    assert "id 1 (orders-value version 1): Pulsar refuses it" in problem.text


def test_what_is_a_problem_of_its_own_is_not_named_twice(migration: Migration, source: ConfluentStandIn) -> None:
    number = source.register("orders-value", '{"type": "object"}', "JSON")
    tree: dict[str, Any] = {"ids": [], "unknown_ids": [], "listed": [{"id": number, "type": "JSON", "rules": False}]}
    assert list(of_registries(migration.route, tree, ())) == []
    assert found(migration, listed=False)[1] == []


def test_the_way_back_asks_nothing_more(registry: LocalRegistry, source: ConfluentStandIn) -> None:
    migration = Migration(source.url, registry.url, back=True)
    tree, problems = found(migration, ORDER)
    assert (tree["strategies"], problems) == (None, [])
