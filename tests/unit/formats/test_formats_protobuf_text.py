"""What a protobuf message type registers: the text of Pulsar's Java client, byte for byte."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest
from any_type import register
from program import printed
from schema_types import golden

from streamnative_serdes import (
    ConfigError,
    EncodeError,
    KafkaAutoConsumeDeserializer,
    KafkaPulsarSerializer,
    SchemaError,
    TypedSchema,
)
from streamnative_serdes._formats import format_of, protobuf_native_text
from streamnative_serdes._formats.protobuf_text import _in_javas_order
from streamnative_serdes._schema import Limits
from streamnative_serdes.schema_registry import SchemaInfo
from streamnative_serdes.testing import LocalRegistry

WITHOUT_PROTOBUF = """
import sys
sys.modules["google.protobuf"] = None
from streamnative_serdes import ConfigError, KafkaPulsarSerializer, TypedSchema
try:
    KafkaPulsarSerializer({"schema.registry.url": "http://127.0.0.1:1"}, TypedSchema("PROTOBUF_NATIVE", object))
except ConfigError as error:
    print(error)
"""


def message_class(name: str) -> Any:
    protobuf = pytest.importorskip(f"google.protobuf.{name.lower()}_pb2")
    return getattr(protobuf, name)


def text_of(name: str) -> str:
    return golden()[f"PROTOBUF_NATIVE {name}"].schema


@pytest.mark.parametrize(
    ("name", "row"), [("Timestamp", "Timestamp"), ("Type", "Type, of several files"), ("Struct", "Struct, recursive")]
)
def test_the_text_is_javas(name: str, row: str) -> None:
    cls = message_class(name)
    assert protobuf_native_text(cls) == protobuf_native_text(cls.DESCRIPTOR) == text_of(row)


@pytest.mark.parametrize("row", ["Everything", "nested message"])
def test_the_text_of_a_descriptor_from_the_registry_is_the_registrys(row: str) -> None:
    pytest.importorskip("google.protobuf")
    descriptor = format_of(SchemaInfo(0, "PROTOBUF_NATIVE", text_of(row)), Limits(), {}).native
    assert protobuf_native_text(descriptor) == text_of(row)


def test_a_text_is_taken_as_it_is() -> None:
    assert protobuf_native_text('{"a": 1}') == '{"a": 1}'


@pytest.mark.parametrize("schema", [5, dict, {"type": "record"}, object()])
def test_anything_else_is_an_error(schema: Any, registry: LocalRegistry) -> None:
    pytest.importorskip("google.protobuf")
    with pytest.raises(SchemaError, match="expected a protobuf message class or its descriptor, got "):
        KafkaPulsarSerializer({"schema.registry.url": registry.url}, TypedSchema("PROTOBUF_NATIVE", schema))


def test_files_are_in_the_order_of_javas_hash_map() -> None:
    """Numbers of files as java.util.HashMap of JDK 17 returns them: at 13 keys it is enlarged."""
    by_java = {
        3: [2, 0, 1],
        12: [11, 2, 0, 3, 9, 5, 7, 4, 1, 10, 8, 6],
        13: [2, 3, 9, 7, 4, 10, 8, 11, 0, 5, 1, 12, 6],
    }
    for count, numbers in by_java.items():
        names = [f"shop/file_{number}.proto" for number in range(count)]
        assert _in_javas_order(names) == [names[number] for number in numbers]
    names = ["\u00e9.proto", "\U0001f600.proto", "google/protobuf/any.proto", "a"]
    assert _in_javas_order(names) == ["a", *names[:3]]


def test_without_the_library_the_error_names_the_extra() -> None:
    assert printed("-c", WITHOUT_PROTOBUF).count("pip install protobuf") == 1


def test_messages_go_through_a_topic(registry: LocalRegistry) -> None:
    cls, conf = message_class("Timestamp"), {"schema.registry.url": registry.url}
    serializer, reader = (
        KafkaPulsarSerializer(conf, TypedSchema("PROTOBUF_NATIVE", cls)),
        KafkaAutoConsumeDeserializer(conf),
    )
    for made in (cls(seconds=5, nanos=6), {"seconds": 5, "nanos": 6}):
        data = serializer.serialize("t", made)
        assert data == b"\x08\5\x10\6"
        found = reader.deserialize("t", data, version=0)
        assert found is not None
        assert (found.schema_type, str(found.native_object)) == ("PROTOBUF_NATIVE", "seconds: 5\nnanos: 6\n")
        assert found.reader_schema is not None
        assert found.reader_schema.native is reader.schema("t", 0).native  # type: ignore[union-attr]
        assert found.reader_schema.native.full_name == "google.protobuf.Timestamp"
    assert registry.calls["POST schema"] == 1
    with pytest.raises(EncodeError, match="topic t, schema version 0"):
        serializer.serialize("t", {"seconds": "x"})
    assert KafkaPulsarSerializer(conf).serialize("t", cls(seconds=5, nanos=6)) == b"\x08\5\x10\6"


@pytest.mark.parametrize("descriptor", [True, False])
def test_a_serializer_of_protobuf_messages_pickles(registry: LocalRegistry, descriptor: bool) -> None:
    cls, conf = message_class("Timestamp"), {"schema.registry.url": registry.url}
    serializer = KafkaPulsarSerializer(conf, TypedSchema("PROTOBUF_NATIVE", cls.DESCRIPTOR if descriptor else cls))
    assert pickle.loads(pickle.dumps(serializer)).serialize("t", cls(seconds=5)) == b"\x08\5"


def test_without_the_library_other_topics_are_read(registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.protobuf", reason="LocalRegistry needs it to accept the descriptor")
    register(registry, "p", "PROTOBUF_NATIVE", text_of("Timestamp"))
    register(registry, "t", "INT8")
    monkeypatch.setitem(sys.modules, "google.protobuf.descriptor_pool", None)
    reader = KafkaAutoConsumeDeserializer({"schema.registry.url": registry.url})
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"the library protobuf \(hint: pip install protobuf\)"):
            reader.deserialize("p", b"")
        found = reader.deserialize("t", b"\5")
        assert found is not None
        assert found.native_object == 5
    schema = reader.schema("p")
    assert schema is not None
    assert schema.info.text == text_of("Timestamp")
