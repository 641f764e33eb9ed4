"""Names in a user's schema are judged as Pulsar's brokers judge them, by the rules of Java's Avro 1.11."""

from __future__ import annotations

import warnings

import pytest
from avro_names import NAMES, Named

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError, SchemaWarning

each = pytest.mark.parametrize("named", NAMES, ids=lambda named: named.what)


@each
def test_a_users_schema_has_the_names_that_avro_1_11_takes(named: Named) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)
        if named.by_1_11:
            Codec(named.schema)
        else:
            with pytest.raises(SchemaError):
                Codec(named.schema)


@each
def test_a_warning_tells_of_what_pulsar_4_2_refuses(named: Named) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", SchemaWarning)
        if named.by_1_11:
            parse(named.schema)
    assert [("refused by Avro 1.12, so by Pulsar 4.2" in str(one.message)) for one in found] == [True] * (
        named.by_1_11 and not named.by_4_2
    )


def test_the_warning_says_what_to_write_instead() -> None:
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", ".Node"]}]}
    with pytest.warns(SchemaWarning, match=r"field next: the reference '\.Node' is refused .*: write 'Node'"):
        parse(node)
    with pytest.warns(SchemaWarning, match="namespace 'my-server' is refused .*letters, digits and _ are allowed"):
        parse({**node, "fields": [], "namespace": "my-server"})


def test_a_reference_without_a_namespace_is_the_type_without_one() -> None:
    inner = {"type": "record", "name": "N", "fields": [{"name": "x", "type": "int"}]}
    fields = [
        {"name": "a", "type": {**inner, "namespace": ""}},
        {"name": "b", "type": {"type": "fixed", "name": "N", "size": 1}},
        {"name": "c", "type": ".N"},
        {"name": "d", "type": "N"},
    ]
    with pytest.warns(SchemaWarning, match="write 'N'"):
        codec = Codec({"type": "record", "name": "s.R", "fields": fields})
    value = {"a": {"x": 1}, "b": b"\x02", "c": {"x": 3}, "d": b"\x04"}
    assert codec.encode(value) == b"\x02\x02\x06\x04"
    assert codec.decode(b"\x02\x02\x06\x04") == value


def test_a_namespace_that_is_not_text_is_an_error_although_java_ignores_it() -> None:
    with pytest.raises(SchemaError, match="expected a namespace as text, got 1"):
        parse({"type": "record", "name": "R", "namespace": 1, "fields": []})
