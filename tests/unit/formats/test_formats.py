"""Each schema type of Pulsar has a format, or an error that says what to do."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from program import printed

from streamnative_serdes._formats import PRIMITIVES, AvroFormat, format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

USER = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"},{"name":"age","type":"int"}]}'


def test_primitives_need_no_text_and_ignore_one() -> None:
    for kind in PRIMITIVES:
        for text in ("", "null", "{"):  # some clients register a text
            assert format_of(SchemaInfo(0, kind, text), Limits(), {}).type == kind


def test_avro_is_the_codec_of_the_schema() -> None:
    format = format_of(SchemaInfo(3, "AVRO", USER), Limits(), {})
    assert isinstance(format, AvroFormat)
    ada = {"name": "Ada", "age": 36}
    assert format.encode(ada) == Codec(USER).encode(ada)
    assert format.decode(format.encode(ada)) == ada
    assert format.type == "AVRO"
    assert format.native == json.loads(USER)
    with pytest.raises(DecodeError):
        format.decode(format.encode(ada) + b"\0")


def test_options_reach_the_codec() -> None:
    text = '{"type":"long","logicalType":"timestamp-millis"}'
    for kind, data in (("AVRO", b"\2"), ("JSON", b"1")):
        assert format_of(SchemaInfo(0, kind, text), Limits(), {"avro_logical_types": False}).decode(data) == 1


def test_a_registrys_invalid_default_is_accepted() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"x","type":"int","default":"x"}]}'
    assert format_of(SchemaInfo(0, "AVRO", text), Limits(), {}).decode(b"\2") == {"x": 1}
    assert format_of(SchemaInfo(0, "JSON", text), Limits(), {}).decode(b'{"x":1}') == {"x": 1}


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_limits_hold(kind: str) -> None:
    for limits in (Limits(size=10), Limits(names=0), Limits(depth=0)):
        with pytest.raises(SchemaError):
            format_of(SchemaInfo(0, kind, USER), limits, {})


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("PROTOBUF", "PROTOBUF_NATIVE"),
        ("EXTERNAL", "outside of Pulsar"),
        ("KEY_VALUE", "two schemas"),
        ("AUTO_CONSUME", "knows no such type"),
        ("NEWS", "knows no such type"),
        ("", "knows no such type"),
        ("X" * 10_000, "knows no such type"),
    ],
)
def test_another_type_is_an_error_that_names_it_and_says_what_to_do(kind: str, hint: str) -> None:
    with pytest.raises(
        SchemaError, match=f"messages of schema type {kind[:40]} cannot be read or written.*{hint}"
    ) as caught:
        format_of(SchemaInfo(0, kind, ""), Limits(), {})
    assert len(str(caught.value)) < 400


def test_without_protobuf_the_error_names_the_extra() -> None:
    program = """
import sys
sys.modules["google.protobuf.descriptor_pool"] = None
from streamnative_serdes._formats import format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.schema_registry import SchemaInfo
try:
    format_of(SchemaInfo(0, "PROTOBUF_NATIVE", "{}"), Limits(), {})
except ConfigError as error:
    print(error)
"""
    assert "pip install protobuf" in printed("-c", program)


def test_protobuf_is_imported_only_for_its_topics() -> None:
    program = """
import sys
from streamnative_serdes._formats import format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.schema_registry import SchemaInfo
format_of(SchemaInfo(0, "INT32", ""), Limits(), {})
print(sorted(name for name in sys.modules if name.startswith("google.protobuf")))
"""
    assert printed("-c", program) == "[]\n"


def test_threads_share_a_format() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"x","type":"int"},{"name":"d","type":"int","default":7}]}'
    format = format_of(SchemaInfo(0, "JSON", text), Limits(), {})

    def work(number: int) -> bool:
        good = format.decode(f'{{"x":{number}}}'.encode()) == {"x": number, "d": 7}
        return good and format.encode({"x": number}) == f'{{"x":{number},"d":7}}'.encode()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(2_000)))


def test_the_errors_of_this_room_are_of_the_package() -> None:
    assert issubclass(ConfigError, ValueError)
    with pytest.raises(ValueError, match="PROTOBUF"):
        format_of(SchemaInfo(0, "PROTOBUF", ""), Limits(), {})
