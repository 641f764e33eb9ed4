"""The code in docs/typed.md runs unchanged, except for the address."""

import re
from pathlib import Path
from typing import Any

import pytest

from streamnative_serdes import models
from streamnative_serdes.testing import LocalRegistry

TEXT = (Path(__file__).parents[3] / "docs" / "typed.md").read_text()


def test_the_code_of_the_page_prints_the_output_it_shows(
    registry: LocalRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {"__name__": __name__}
    exec(first.replace("http://localhost:8080", registry.url), names)
    assert capsys.readouterr().out == expected

    exec(second, names)
    user = names["dataclass"](names["User"])
    assert models.schema_of(user, allow_null=True) == {
        "type": "record",
        "name": "Member",
        "namespace": "com.example",
        "doc": "Who has signed up",
        "fields": [
            {"name": "age", "type": "long"},
            {
                "name": "fullName",
                "type": ["null", "string"],
                "doc": "As printed on the card",
                "default": None,
                "aliases": ["name"],
            },
        ],
        "aliases": ["Person"],
    }


def test_each_name_in_the_tables_of_the_page_exists() -> None:
    named = {*re.findall(r"`((?:Time|Local|Int|Float|Avro[CFT]|Decimal)[A-Za-z0-9]*)[`(]", TEXT)}
    assert named
    assert named <= {*models.__all__}
