"""PROTOBUF_NATIVE: messages by the registry's descriptor, as Java wrote them; and invalid descriptors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from schema_types import written

from streamnative_serdes._formats import ProtobufNativeFormat, format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

pytest.importorskip("google.protobuf", reason="the extra protobuf is not installed")

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2, text_format, timestamp_pb2

File = descriptor_pb2.FileDescriptorProto
ROWS = {row.name: row for row in written() if row.type == "PROTOBUF_NATIVE"}


def text_of(*files: Any, root: str = "p.M", file: str = "m.proto") -> str:
    data = descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()
    return text_of_bytes(data, root, file)


def text_of_bytes(data: bytes, root: str = "p.M", file: str = "m.proto") -> str:
    tree = {
        "fileDescriptorSet": base64.b64encode(data).decode(),
        "rootMessageTypeName": root,
        "rootFileDescriptorName": file,
    }
    return json.dumps(tree)


def of(text: str, limits: Limits | None = None) -> ProtobufNativeFormat:
    made = format_of(SchemaInfo(0, "PROTOBUF_NATIVE", text), limits or Limits(), {})
    assert isinstance(made, ProtobufNativeFormat)
    return made


def file(*fields: str, name: str = "m.proto", syntax: str = "proto3", **more: Any) -> Any:
    """A file with message p.M; a field is given as in ``repeated int32 x = 1``."""
    made = File(name=name, package="p", syntax=syntax, **more)
    message = made.message_type.add(name="M")
    for text in fields:
        label, kind, field, number = text.replace("=", " ").split()
        added = message.field.add(name=field, number=int(number), label=f"LABEL_{label.upper()}")
        if kind.startswith("."):
            added.type_name, added.type = kind, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        elif kind == "E":
            added.type_name, added.type = ".p.E", descriptor_pb2.FieldDescriptorProto.TYPE_ENUM
        else:
            added.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
    enum = made.enum_type.add(name="E")
    enum.value.add(name="RED", number=0)
    enum.value.add(name="BLUE", number=5)
    return made


def class_of(made: Any, name: str = "p.M") -> Any:
    """A class of messages in a pool of its own, as another program has it."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(made)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


# --- Java's messages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_javas_message_is_read_value_for_value_and_written_byte_for_byte(name: str) -> None:
    row = ROWS[name]
    format = of(row.schema)
    message = format.decode(row.data)
    assert str(message) == str(text_format.Parse(row.value, type(message)()))  # == has no two equal NaN
    assert message.DESCRIPTOR is format.native
    assert format.native.full_name == json.loads(row.schema)["rootMessageTypeName"]
    assert format.encode(message) == row.data


def test_two_formats_of_the_same_names_do_not_disturb_each_other_or_the_process() -> None:
    first, second = of(text_of(file("optional int32 x = 1"))), of(text_of(file("optional string x = 1")))
    assert first.decode(b"\x08\x01").x == 1
    assert second.decode(b"\x0a\x01a").x == "a"
    assert first.decode(b"\x08\x01").x == 1
    stamp = of(ROWS["PROTOBUF_NATIVE Timestamp"].schema)
    assert type(stamp.decode(b"")) is not timestamp_pb2.Timestamp
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("p.M")


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x0a\x05ab", b"\x08" + b"\xff" * 11, b"\x12\x01\xff", b"\0", b"\x0b" * 200, b"\3\4" + bytes(8)]
)
def test_an_invalid_message_is_a_decode_error_that_names_the_type(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"expected a message p\.M"):
        of(text_of(file("optional int32 x = 1", "optional string s = 2"))).decode(data)


def test_a_missing_required_field_is_an_error_in_both_directions() -> None:
    format = of(text_of(file("required int32 x = 1", "required int32 y = 2", syntax="proto2")))
    assert format.decode(format.encode({"x": 1, "y": 2})).y == 2
    with pytest.raises(DecodeError, match=r"p\.M lacks fields that are required: y"):
        format.decode(b"\x08\x01")
    with pytest.raises(EncodeError, match=r"p\.M cannot be written"):
        format.encode({"x": 1})


def test_unknown_fields_are_kept() -> None:
    format = of(text_of(file("optional int32 x = 1")))
    data = b"\x08\x01\x10\x05"
    assert format.encode(format.decode(data)) == data


# --- writing ----------------------------------------------------------------------------------------------------------

ALL = (
    "optional int32 i = 1",
    "optional uint64 u = 2",
    "optional float f = 3",
    "optional double d = 4",
    "optional bool b = 5",
    "optional string s = 6",
    "optional bytes y = 7",
    "optional E e = 8",
    "repeated int32 many = 9",
    "repeated E es = 10",
    "optional .p.M m = 11",
    "repeated .p.M ms = 12",
)


def test_a_dict_is_written_with_messages_lists_and_symbols_in_it() -> None:
    format = of(text_of(file(*ALL)))
    value = {
        "i": -1, "u": 2**64 - 1, "f": 1.5, "d": 2, "b": True, "s": "\u00fc", "y": b"\xff", "e": "BLUE", "many": [1, 2],
        "es": ("RED", 5), "m": {"i": 1, "m": {}}, "ms": [{"s": "a"}, {}],
    }  # fmt: skip
    message = format.decode(format.encode(value))
    assert (message.i, message.u, message.f, message.d, message.b) == (-1, 2**64 - 1, 1.5, 2.0, True)
    assert (message.s, message.y, message.e, list(message.many), list(message.es)) == (
        "\u00fc",
        b"\xff",
        5,
        [1, 2],
        [0, 5],
    )
    assert message.m.i == 1
    assert message.m.HasField("m")
    assert [inner.s for inner in message.ms] == ["a", ""]
    assert format.encode({}) == format.encode({"i": None, "m": None}) == b""


@pytest.mark.parametrize("value", [b"\xff", bytearray(b"\xff"), memoryview(b"\xff")])
def test_bytes_are_written_from_what_avro_takes_for_bytes(value: Any) -> None:
    assert of(text_of(file(*ALL))).encode({"y": value}) == b"\x3a\x01\xff"


def test_messages_of_another_class_are_written_in_a_dict() -> None:
    format, theirs = of(text_of(file(*ALL))), class_of(file(*ALL))
    given = {"m": theirs(), "ms": [theirs(i=1), {"m": theirs(s="a")}]}
    assert format.encode(given) == format.encode({"m": {}, "ms": [{"i": 1}, {"m": {"s": "a"}}]})
    everything = of(ROWS["PROTOBUF_NATIVE Everything"].schema)
    at = timestamp_pb2.Timestamp(seconds=5)
    assert everything.encode({"at": at}) == everything.encode({"at": {"seconds": 5}})
    struct = of(ROWS["PROTOBUF_NATIVE Struct, recursive"].schema)  # whose messages are mappings, too
    inner = struct_pb2.Struct(fields={"b": struct_pb2.Value(bool_value=True)})
    expected = {"fields": {"a": {"struct_value": {"fields": {"b": {"bool_value": True}}}}}}
    assert struct.encode({"fields": {"a": {"struct_value": inner}}}) == struct.encode(expected)


def test_maps_are_written_in_one_order() -> None:
    schema = ROWS["PROTOBUF_NATIVE Everything"].schema
    format = of(schema)
    first = format.encode({"counts": {"b": 2, "a": 1}, "at": {"seconds": 5}})
    assert first == format.encode({"at": {"seconds": 5}, "counts": {"a": 1, "b": 2}})
    assert dict(format.decode(first).counts) == {"a": 1, "b": 2}
    many = [f"{number:02}" for number in range(50)]
    places = [format.encode({"counts": dict.fromkeys(reversed(many), 1)}).index(key.encode()) for key in many]
    assert places == sorted(places)
    struct = of(ROWS["PROTOBUF_NATIVE Struct, recursive"].schema)
    assert struct.encode({"fields": {"a": {"number_value": 1.5}}}) == ROWS["PROTOBUF_NATIVE Struct, recursive"].data


@pytest.mark.parametrize("name", sorted(ROWS.keys() - {"PROTOBUF_NATIVE Everything"}))
def test_the_json_of_what_java_wrote_goes_back_to_the_same_message(name: str) -> None:
    format = of(ROWS[name].schema)
    shown = json.loads(json.dumps(format.to_json(ROWS[name].data), allow_nan=False))
    assert format.decode(format.from_json(shown)) == format.decode(ROWS[name].data)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], r"expected an object for the message p\.M, got list"), (None, r"expected an object for the message p\.M"),
        ({"x": 1}, 'has no field named "x"'), ({"i": 2**31}, "Failed to parse i field"),
        ({"m": 5}, "message p.M as JSON"),
    ],
)  # fmt: skip
def test_json_that_does_not_fit_is_an_encode_error(value: Any, fault: str) -> None:
    with pytest.raises(EncodeError, match=fault):
        of(text_of(file(*ALL))).from_json(value)


def test_a_message_that_json_cannot_hold_is_a_decode_error() -> None:
    stamp = of(ROWS["PROTOBUF_NATIVE Timestamp"].schema)
    with pytest.raises(DecodeError, match=r"Timestamp cannot be shown as JSON: .*range"):
        stamp.to_json(b"\x08" + b"\xff" * 8 + b"\x7f")
    everything = ROWS["PROTOBUF_NATIVE Everything"]  # whose Timestamp is the first of all
    with pytest.raises(DecodeError, match=r"Everything cannot be shown as JSON: .*range"):
        of(everything.schema).to_json(everything.data)
    with pytest.raises(DecodeError, match=r"expected a message google\.protobuf\.Timestamp"):
        stamp.to_json(b"\xff")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"x": 1}, "has no field str 'x'"), ({1: 1}, "has no field int 1"),
        ({"i": 2**31}, "(?m)^field i: expected int32, got int 2147483648$"),
        ({"i": "1"}, "(?m)^field i: expected int32, got str '1'$"),
        ({"i": 1.5}, "^field i: "), ({"i": True}, "^field i: "),
        ({"u": -1}, "^field u: "),
        ({"f": 1e39}, "^field f: expected a number that a 32-bit float"), ({"d": "1"}, "^field d: "),
        ({"b": 1}, "^field b: expected bool"),
        ({"s": b"a"}, "^field s: expected str"), ({"s": "\ud83d"}, "^field s: expected text that UTF-8 can hold"),
        ({"y": "a"}, "^field y: expected bytes"), ({"y": memoryview(b"abc")[::2]}, "^field y: "),
        ({"e": "GREEN"}, r"^field e: expected a value of enum p\.E, got str 'GREEN'"), ({"e": 1.5}, "^field e: "),
        ({"many": 1}, "^field many: expected a list"), ({"many": [1, "x"]}, r"^field many\[1\]: "),
        ({"many": [None]}, r"^field many\[0\]: "),
        ({"m": 5}, r"^field m: expected a message p\.M or a dict, got int 5"), ({"m": {"i": "x"}}, r"^field m\.i: "),
        ({"ms": [{}, {"m": {"x": 1}}]}, r"^field ms\[1\]\.m: the message p\.M has no field"),
        ({"ms": {}}, "^field ms: expected a list"),
        ({"m": timestamp_pb2.Timestamp()}, r"^field m: expected a message p\.M, got a message google\.protobuf\.Time"),
        ({"ms": [class_of(file("optional string i = 1"))()]},
         r"^field ms\[0\]: the class of the message differs from the topic's schema: field 1 of p\.M is i, int32 in"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_that_names_the_field(value: Any, fault: str) -> None:
    format = of(text_of(file(*ALL)))
    with pytest.raises(EncodeError, match=fault):
        format.encode(value)
    assert format.encode({"i": 1}) == b"\x08\x01"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"counts": [("a", 1)]}, "^field counts: expected a mapping"),
        ({"counts": {1: 1}}, r"^field counts\[1\]: expected str"),
        ({"counts": {"a": "x"}}, r'^field counts\["a"\]: '), ({"at": {"seconds": 2**63}}, r"^field at\.seconds: "),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_map_is_an_error_that_names_the_key(value: Any, fault: str) -> None:
    with pytest.raises(EncodeError, match=fault):
        of(ROWS["PROTOBUF_NATIVE Everything"].schema).encode(value)
    with pytest.raises(EncodeError, match=r'^field fields\["a"\]\.number_value: '):
        of(ROWS["PROTOBUF_NATIVE Struct, recursive"].schema).encode({"fields": {"a": {"number_value": "x"}}})


def numbered(value: str) -> ProtobufNativeFormat:
    """The format of a message with a map ``by`` from int32."""
    made = file("repeated .p.M.ByEntry by = 1", f"optional {value} x = 2")
    entry = made.message_type[0].nested_type.add(name="ByEntry", options={"map_entry": True})
    entry.field.add(name="key", number=1, label="LABEL_OPTIONAL", type="TYPE_INT32")
    entry.field.add(name="value", number=2, label="LABEL_OPTIONAL").CopyFrom(made.message_type[0].field[1])
    entry.field[1].number, entry.field[1].name = 2, "value"
    return of(text_of(made))


@pytest.mark.parametrize(("kind", "item"), [("E", "BLUE"), ("string", "a"), (".p.M", {})])
def test_a_key_that_does_not_fit_a_map_is_the_culprit(kind: str, item: Any) -> None:
    format = numbered(kind)
    assert len(format.decode(format.encode({"by": {1: item, 2: item}})).by) == 2
    for key in ("1", 2**31, 1.5):
        with pytest.raises(EncodeError, match=rf"^field by\[.*\]: expected int32, got {type(key).__name__} .?{key}"):
            format.encode({"by": {key: item}})


def test_two_members_of_one_oneof_are_an_error_that_names_both() -> None:
    format = of(ROWS["PROTOBUF_NATIVE Struct, recursive"].schema)
    assert format.encode({"fields": {"a": {"null_value": None, "bool_value": True}}})
    with pytest.raises(EncodeError, match=r'^field fields\["a"\]\.bool_value: the oneof kind has number_value already'):
        format.encode({"fields": {"a": {"number_value": 0, "bool_value": True}}})


def test_a_message_of_another_class_with_the_same_name_is_written() -> None:
    stamp = of(ROWS["PROTOBUF_NATIVE Timestamp"].schema)
    assert (
        stamp.encode(timestamp_pb2.Timestamp(seconds=1_357_016_400, nanos=5)) == ROWS["PROTOBUF_NATIVE Timestamp"].data
    )
    older = class_of(file("optional int32 x = 1"))
    assert of(text_of(file("optional int32 x = 1", "optional string s = 2"))).encode(older(x=1)) == b"\x08\x01"


@pytest.mark.parametrize(
    ("theirs", "fault"),
    [
        ("optional string x = 1", "field 1 of p.M is x, int32 in the schema, but x, string in the class"),
        ("repeated int32 x = 1", "but x, repeated int32 in the class"),
        ("optional int32 z = 1", "but z, int32 in the class"),
    ],
)
def test_a_class_that_contradicts_the_schema_is_an_error_that_names_the_field(theirs: str, fault: str) -> None:
    with pytest.raises(EncodeError, match=fault):
        of(text_of(file("optional int32 x = 1"))).encode(class_of(file(theirs))())


def test_a_contradiction_in_a_message_inside_is_found_and_recursion_ends() -> None:
    def nested(kind: str) -> Any:
        made = file("optional .p.M m = 1", "optional .p.I i = 2")
        inner = made.message_type.add(name="I")
        inner.field.add(name="x", number=1, type=f"TYPE_{kind}", label="LABEL_OPTIONAL")
        return made

    format = of(text_of(nested("INT32")))
    assert format.encode(class_of(nested("INT32"))(m={"i": {"x": 1}})) == b"\x0a\x04\x12\x02\x08\x01"
    with pytest.raises(EncodeError, match=r"field 1 of p\.I is x, int32"):
        format.encode(class_of(nested("STRING"))())


@pytest.mark.parametrize("value", [None, 5, b"", "text", [("x", 1)], timestamp_pb2.Timestamp()])
def test_objects_of_other_types_are_refused(value: Any) -> None:
    with pytest.raises(EncodeError, match=r"expected a message p\.M"):
        of(text_of(file("optional int32 x = 1"))).encode(value)


def test_a_dict_that_contains_itself_is_an_error() -> None:
    endless: dict[str, Any] = {}
    endless["m"] = endless
    with pytest.raises(EncodeError, match="nested deeper than 90 messages"):
        of(text_of(file(*ALL))).encode(endless)


def test_a_message_too_deep_to_be_read_is_an_error_in_a_dict() -> None:
    deep = class_of(file(*ALL))()
    inner = deep
    for _ in range(150):
        inner = inner.m
    inner.i = 1
    with pytest.raises(EncodeError, match=r"^field m: the message p\.M cannot be written: "):
        of(text_of(file(*ALL))).encode({"m": deep})


# --- descriptors ------------------------------------------------------------------------------------------------------


def test_the_order_of_the_files_does_not_matter_and_others_are_not_needed() -> None:
    a = file("optional .q.A a = 1", dependency=["a.proto"])
    inner = File(name="a.proto", package="q", syntax="proto3")
    inner.message_type.add(name="A").field.add(name="x", number=1, type="TYPE_INT32", label="LABEL_OPTIONAL")
    broken = File(name="broken.proto", dependency=["nothing.proto"])
    for files in ((a, inner), (inner, a), (broken, a, inner), (a, inner, broken)):
        assert of(text_of(*files)).encode({"a": {"x": 1}}) == b"\x0a\x02\x08\x01"


def test_a_message_inside_another_can_be_the_root() -> None:
    made = file("optional .p.M.N n = 1")
    made.message_type[0].nested_type.add(name="N").field.add(
        name="x", number=1, type="TYPE_INT32", label="LABEL_OPTIONAL"
    )
    assert of(text_of(made, root="p.M.N")).encode({"x": 1}) == b"\x08\x01"


def with_import(name: str) -> Any:
    return file("optional int32 x = 1", dependency=[name])


BAD: dict[str, tuple[Callable[[], str], str]] = {
    "no JSON": (lambda: "{", "not JSON"),
    "empty": (lambda: "", "not JSON"),
    "no object": (lambda: "[]", "not a JSON object"),
    "deep JSON": (lambda: "[" * 100_000, "not JSON"),
    "a key is missing": (lambda: '{"fileDescriptorSet":"","rootMessageTypeName":"p.M"}', "rootFileDescriptorName"),
    "a key is null": (lambda: text_of(file()).replace('"p.M"', "null"), "rootMessageTypeName"),
    "a key is a number": (lambda: '{"fileDescriptorSet":5}', "fileDescriptorSet"),
    "no base64": (lambda: text_of(file()).replace('Set": "', 'Set": "!'), "expected base64"),
    "base64 cut short": (lambda: text_of_bytes(b"ab").replace("=", ""), "expected base64"),
    "no descriptors": (lambda: text_of_bytes(b"\xff\xff"), "expected a FileDescriptorSet"),
    "descriptors cut short": (lambda: text_of_bytes(b"\x0a\x7f\x0a"), "expected a FileDescriptorSet"),
    "no file": (text_of, "lacks the descriptor str 'm.proto'"),
    "another file": (lambda: text_of(file(), file="x.proto"), "lacks the descriptor str 'x.proto'"),
    "a missing import": (
        lambda: text_of(with_import("b.proto")),
        "lacks the descriptor str 'b.proto', which str 'm.proto' imports",
    ),
    "imports itself": (lambda: text_of(with_import("m.proto")), "'m.proto' imports itself"),
    "imports in a circle": (
        lambda: text_of(
            with_import("a.proto"),
            file(name="a.proto", dependency=["b.proto"]),
            file(name="b.proto", dependency=["m.proto"]),
        ),
        "'m.proto' imports itself",
    ),
    "no such message": (lambda: text_of(file(), root="p.X"), "lacks the message str 'p.X'"),
    "an enum as message": (lambda: text_of(file(), root="p.E"), "lacks the message str 'p.E'"),
    "no name": (lambda: text_of(file(), root=""), "lacks the message str ''"),
    "a type that is missing": (lambda: text_of(file("optional .p.X x = 1")), "descriptor str 'm.proto' is invalid"),
    "a number twice": (lambda: text_of(file("optional int32 x = 1", "optional int32 y = 1")), "is invalid"),
    "a bad number": (lambda: text_of(file("optional int32 x = 0")), "is invalid"),
    "a bad name": (lambda: text_of(file("optional int32 x. = 1")), "is invalid"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_descriptor_is_a_short_schema_error_that_says_what_is_wrong(name: str) -> None:
    make, fault = BAD[name]
    with pytest.raises(SchemaError, match=fault) as caught:
        of(make())
    assert len(str(caught.value)) < 700


def test_limits_hold_for_the_text_and_the_names() -> None:
    made = file()
    message = made.message_type[0]
    for _ in range(3):
        message = message.nested_type.add(name="N")
        message.enum_type.add(name="F").value.add(name="X", number=0)
    text = text_of(made)
    assert of(text, Limits(size=len(text), names=8)).native.full_name == "p.M"
    with pytest.raises(SchemaError, match="more than 7 names"):
        of(text, Limits(names=7))
    with pytest.raises(SchemaError, match=f"has {len(text)} characters, the limit is {len(text) - 1}"):
        of(text, Limits(size=len(text) - 1))
