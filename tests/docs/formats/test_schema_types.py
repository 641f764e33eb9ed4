"""The tables of docs/schema-types.md say what Java's AUTO_CONSUME and our formats give for the golden messages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from schema_types import Row, golden, written

from streamnative_serdes._formats import format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import DecodeError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

TEXT = (Path(__file__).parents[3] / "docs" / "schema-types.md").read_text()


def table(heading: str) -> list[list[str]]:
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


TYPES = {row[0]: row[1:] for row in table("Beside Java's AUTO_CONSUME")}
FIELDS = {row[0].strip("`"): row[1:] for row in table("Fields of JSON topics")}


def read(row: Row) -> Any:
    return format_of(SchemaInfo(0, row.type, row.schema, 0, row.properties), Limits(), {}).decode(row.data)


def given(row: Row) -> str | None:
    """The name of the type that we give; None if Python cannot hold the moment."""
    try:
        value = read(row)
    except SchemaError:
        return "SchemaError"
    except DecodeError as error:
        assert "outside of the years 1 to 9999" in str(error)
        return None
    return "a message of the library protobuf" if hasattr(value, "DESCRIPTOR") else type(value).__name__


def test_each_type_of_the_golden_messages_has_a_row_and_no_other() -> None:
    assert TYPES.keys() == {row.type for row in written()}


@pytest.mark.parametrize("kind", TYPES)
def test_a_row_says_what_java_and_we_give(kind: str) -> None:
    if kind == "PROTOBUF_NATIVE":
        pytest.importorskip("google.protobuf")
    rows = [row for row in written() if row.type == kind]
    java, ours, why = TYPES[kind]
    assert {row.auto_class() for row in rows} == {java}
    assert {given(row) for row in rows} - {None} == {ours}
    differs = any(row.auto.get("type", kind) not in (kind, "BYTES") for row in rows)
    assert not differs or why


def test_where_the_values_of_java_and_ours_differ_there_is_a_reason() -> None:
    same_name = {"Boolean": "bool", "byte[]": "bytes", "LocalDate": "date", "String": "str", "Float": "float"}
    same_name |= {"Double": "float", **dict.fromkeys(["Byte", "Short", "Integer", "Long"], "int")}
    for kind, (java, ours, why) in TYPES.items():
        assert same_name.get(java) == ours or why or kind == "PROTOBUF_NATIVE", kind
    for name, (_, _, java, ours, why) in FIELDS.items():
        plain = {"GenericJsonRecord": ("dict", "list")}.get(java, (same_name.get(java),))
        assert ours in plain or why, name


@pytest.mark.parametrize("name", FIELDS)
def test_a_row_of_a_field_says_what_java_wrote_and_what_java_and_we_give(name: str) -> None:
    record, _, field = name.partition(".")
    _, shown, java, ours, _ = FIELDS[name]
    rows = [row for row in golden().values() if row.type == "JSON" and row.name.split()[1] == record]
    filled = [row for row in rows if row.auto["fields"].get(field, "null") != "null"]
    text = "".join(row.data.decode() for row in rows)
    for example in re.findall(r"`([^`]+)`", shown):
        assert f'"{field}":{example.partition("...")[0]}' in text
    assert java in {row.auto["fields"][field] for row in filled}
    values = [row.value[field] for row in map(readable, filled) if row is not None]
    assert {type(value).__name__ for value in values} == {ours}


class Read:
    def __init__(self, value: Any) -> None:
        self.value = value


def readable(row: Row) -> Read | None:
    try:
        return Read(read(row))
    except DecodeError:
        return None
