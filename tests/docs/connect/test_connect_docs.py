"""The table in docs/connect.md has all options of the JsonConverter."""

from pathlib import Path

from streamnative_serdes._config import markdown
from streamnative_serdes.connect.json_converter import OPTIONS


def test_the_table_of_options_is_that_of_the_code() -> None:
    assert markdown(OPTIONS) in (Path(__file__).parents[3] / "docs" / "connect.md").read_text()
