"""Classes have the very schemas that Pulsar's Java client makes of the like classes of Java."""

from __future__ import annotations

import json

import pytest
from java_shapes import CLASSES, FOLDER, golden

from streamnative_serdes._schema import parse
from streamnative_serdes.models import schema_of


@pytest.mark.parametrize("cls", CLASSES)
def test_the_schema_with_allow_null_is_javas_to_the_byte(cls: type) -> None:
    assert json.dumps(schema_of(cls, allow_null=True), separators=(",", ":")) == golden(cls)


@pytest.mark.parametrize("cls", CLASSES)
def test_pulsar_takes_both_for_one_schema_and_not_the_one_without_allow_null(cls: type) -> None:
    java = parse(golden(cls))
    assert parse(schema_of(cls, allow_null=True)).same_as(java)
    assert not parse(schema_of(cls, allow_null=False)).same_as(java)


def test_each_text_of_java_has_its_class() -> None:
    assert {file.stem for file in FOLDER.glob("*.avsc")} == {cls.__name__ for cls in CLASSES}
