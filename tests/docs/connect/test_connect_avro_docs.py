"""docs/connect-avro.md: its table of options is that of the code."""

from __future__ import annotations

from pathlib import Path

from streamnative_serdes._config import markdown
from streamnative_serdes.connect.avro.options import AVRO_DATA_OPTIONS, AvroOptions

PAGE = (Path(__file__).parents[3] / "docs" / "connect-avro.md").read_text()


def test_the_options_are_those_of_the_code() -> None:
    assert markdown(AVRO_DATA_OPTIONS) in PAGE
    assert len(AVRO_DATA_OPTIONS) == len(AvroOptions.__slots__)


def test_each_option_sets_its_own_switch() -> None:
    for at, option in enumerate(AVRO_DATA_OPTIONS):
        other = 5 if option.key == "schemas.cache.config" else not option.default
        made = AvroOptions.of({option.key: other})
        differing = [name for name in AvroOptions.__slots__ if getattr(made, name) != getattr(AvroOptions(), name)]
        assert differing == [AvroOptions.__slots__[at]]
