"""Schema references are merged into one self-contained schema, in any arrangement."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from schemas import array, enum, mapping, record

from streamnative_serdes._schema import parse, self_contained
from streamnative_serdes.compat import Schema, SchemaReference
from streamnative_serdes.errors import SchemaError

MONEY = record("Money", ("cents", "long"), namespace="shop")
BUYER = record("Buyer", ("name", "string"), ("credit", "Money"), namespace="shop")


def schema(tree: Any, *references: tuple[str, str]) -> Schema:
    """References are (name, subject); all of version 1."""
    return Schema(json.dumps(tree), "AVRO", [SchemaReference(name, subject, 1) for name, subject in references])


def fetching(subjects: Mapping[str, Schema], log: list[str] | None = None) -> Callable[[SchemaReference], Schema]:
    def fetch(reference: SchemaReference) -> Schema:
        if log is not None:
            log.append(reference.subject)
        return subjects[reference.subject]

    return fetch


SHOP = {"money": schema(MONEY), "buyer": schema(BUYER, ("shop.Money", "money"))}


def unfolded(top: Schema, subjects: Mapping[str, Schema] = SHOP) -> Any:
    text = self_contained(top, fetching(subjects))
    parse(text)  # the result is a self-contained Avro schema
    return json.loads(text)


def test_comments_of_a_registrys_schemas_are_skipped() -> None:
    subjects = {"money": Schema(f"/* v1 */ {json.dumps(MONEY)}", "AVRO")}
    top = schema({"type": "array", "items": "shop.Money"}, ("shop.Money", "money"))
    assert unfolded(top, subjects) == unfolded(top, {"money": schema(MONEY)})


def test_a_schema_as_a_dict_has_its_references() -> None:
    reference = {"name": "Money", "subject": "money", "version": 1}
    text = json.dumps("int")
    given = schema("int", ("Money", "money"))
    assert given.to_dict() == {"schema": text, "schemaType": "AVRO", "references": [reference]}
    assert schema("int").to_dict() == {"schema": text, "schemaType": "AVRO", "references": []}


def test_a_schema_without_references_keeps_its_text() -> None:
    text = ' {"type" :"string"}'
    assert self_contained(Schema(text), fetching({})) == text


def test_a_type_is_defined_at_its_first_use_and_then_referred_to_by_name() -> None:
    sale = record("Sale", ("price", "Money"), ("paid", array("shop.Money")), namespace="shop")
    assert unfolded(schema(sale, ("shop.Money", "money"))) == record(
        "Sale",
        ("price", record("Money", ("cents", "long"))),
        ("paid", array("shop.Money")),
        namespace="shop",
    )


@pytest.mark.parametrize("references", [("money", "buyer"), ("buyer", "money"), ("buyer",)])
def test_a_diamond_contains_each_type_once(references: tuple[str, ...]) -> None:
    sale = record("Sale", ("buyer", "Buyer"), ("price", "Money"), namespace="shop")
    names = {"money": "shop.Money", "buyer": "shop.Buyer"}
    log: list[str] = []
    top = schema(sale, *((names[subject], subject) for subject in references))
    text = self_contained(top, fetching(SHOP, log))
    assert [text.count(f'"name": "{name}"') for name in ("Money", "Buyer")] == [1, 1]
    assert set(parse(text).names) == {"shop.Sale", "shop.Buyer", "shop.Money"}
    assert sorted(log) == ["buyer", "money"]


def test_a_diamond_over_a_self_contained_schema_contains_each_type_once() -> None:
    whole = self_contained(SHOP["buyer"], fetching(SHOP))
    subjects = {"money": schema(MONEY), "buyer": Schema(whole)}
    sale = record("Sale", ("price", "Money"), ("buyer", "Buyer"), namespace="shop")
    text = self_contained(schema(sale, ("shop.Buyer", "buyer"), ("shop.Money", "money")), fetching(subjects))
    assert text.count('"name": "Money"') == 1
    assert set(parse(text).names) == {"shop.Sale", "shop.Buyer", "shop.Money"}


def test_a_union_or_a_bare_name_may_be_the_whole_schema() -> None:
    assert set(parse(json.dumps(unfolded(schema(["null", "shop.Money"], ("shop.Money", "money"))))).names) == {
        "shop.Money"
    }
    assert unfolded(schema("shop.Money", ("shop.Money", "money")))["name"] == "Money"


def test_types_without_a_namespace_and_nested_ones_keep_their_names() -> None:
    suit = record("Card", ("suit", enum("Suit", "HEARTS")), ("more", mapping("Suit")))
    hand = record("Hand", ("cards", array("Card")), ("trump", {"type": "Suit"}), namespace="game")
    tree = unfolded(schema(hand, ("Card", "card")), {"card": schema(suit)})
    assert set(parse(json.dumps(tree)).names) == {"game.Hand", "Card", "Suit"}
    assert tree["fields"][1]["type"] == "Suit"


def test_a_reference_may_call_a_type_by_another_name() -> None:
    sale = record("Sale", ("price", "Price"), ("again", "Price"), namespace="shop")
    assert [field["type"] for field in unfolded(schema(sale, ("Price", "money")))["fields"]] == [
        record("Money", ("cents", "long")),
        "shop.Money",
    ]


def test_a_recursive_type_may_be_referred_to() -> None:
    node = record("Node", ("next", ["null", "Node"]))
    tree = unfolded(schema(record("List", ("head", "Node")), ("Node", "node")), {"node": schema(node)})
    assert tree["fields"][0]["type"]["fields"][0]["type"] == ["null", "Node"]


def test_properties_docs_defaults_and_logical_types_are_kept() -> None:
    day = record("Day", ("at", {"type": "int", "logicalType": "date"}, 0), doc="a day", owner="me")
    tree = unfolded(schema(record("Top", ("day", "Day")), ("Day", "day")), {"day": schema(day)})
    assert tree["fields"][0]["type"] == day


def test_references_in_a_circle_are_an_error() -> None:
    subjects = {"a": schema("B", ("B", "b")), "b": schema("A", ("A", "a"))}
    with pytest.raises(SchemaError, match="form a cycle: a 1 -> b 1 -> a 1"):
        self_contained(schema("A", ("A", "a")), fetching(subjects))


def test_a_name_with_two_definitions_is_an_error() -> None:
    other = record("Money", ("euros", "int"), namespace="shop")
    with pytest.raises(
        SchemaError, match=r"'shop.Money' has different definitions in money version 1 and in other version 1"
    ):
        unfolded(
            schema(record("R"), ("shop.Money", "money"), ("shop.Money", "other")),
            {"money": schema(MONEY), "other": schema(other)},
        )


@pytest.mark.parametrize(
    ("top", "words"),
    [
        (schema(record("R"), ("shop.Money", "list")), "does not define 'shop.Money'"),
        (Schema("{", "AVRO", [SchemaReference("shop.Money", "money", 1)]), "not JSON"),
        (schema({"type": "record", "fields": []}, ("shop.Money", "money")), "expected a name for the record, got None"),
        (schema({"type": "record", "name": "R", "fields": 1}, ("shop.Money", "money")), "list of fields"),
        (schema(5, ("shop.Money", "money")), "expected a type in the schema, got 5"),
    ],
)
def test_references_that_cannot_be_resolved_are_an_error(top: Schema, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        self_contained(top, fetching({**SHOP, "list": schema(array("int"))}))


def test_an_ambiguous_name_is_an_error() -> None:
    plain, named = record("X", ("i", "int")), record("X", ("s", "string"), namespace="n")
    top = record("Top", ("a", "n.X"), ("b", "Plain"), ("c", "Plain"), namespace="n")
    with pytest.raises(SchemaError, match=r"'X' has no namespace and is ambiguous with n\.X"):
        unfolded(schema(top, ("n.X", "named"), ("Plain", "plain")), {"plain": schema(plain), "named": schema(named)})
