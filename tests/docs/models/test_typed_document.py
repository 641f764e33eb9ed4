"""The names in the tables of docs/typed.md exist."""

import re
from pathlib import Path

from streamnative_serdes import models

TEXT = (Path(__file__).parents[3] / "docs" / "typed.md").read_text()


def test_each_name_in_the_tables_of_the_page_exists() -> None:
    named = {*re.findall(r"`((?:Time|Local|Int|Float|Avro[CFT]|Decimal)[A-Za-z0-9]*)[`(]", TEXT)}
    assert named
    assert named <= {*models.__all__}
