"""Schemas of classes are identical to those that Pulsar's Java client derives from the equivalent Java classes."""

from __future__ import annotations

import json

import pytest
from java_shapes import CLASSES, FOLDER, golden

from streamnative_serdes._schema import parse
from streamnative_serdes.models import schema_of


@pytest.mark.parametrize("cls", CLASSES)
def test_the_schema_with_allow_null_equals_javas_byte_for_byte(cls: type) -> None:
    assert json.dumps(schema_of(cls, allow_null=True), separators=(",", ":")) == golden(cls)


@pytest.mark.parametrize("cls", CLASSES)
def test_pulsar_treats_both_as_equal_but_not_the_schema_without_allow_null(cls: type) -> None:
    java = parse(golden(cls))
    assert parse(schema_of(cls, allow_null=True)).same_as(java)
    assert not parse(schema_of(cls, allow_null=False)).same_as(java)


def test_each_java_schema_has_a_class() -> None:
    assert {file.stem for file in FOLDER.glob("*.avsc")} == {cls.__name__ for cls in CLASSES}
