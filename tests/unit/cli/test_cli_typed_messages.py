"""The commands ``decode`` and ``produce`` on KEY_VALUE topics, JSON, protobuf and primitive types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from command import CommandLine
from confluent_kafka import Producer
from first_messages import first_messages

from streamnative_serdes import KafkaAvroSerializer, KafkaPulsarSerializer, KeyValueSchema, TypedSchema, header
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry, MockBroker

QUIET: Final = {"log_level": "0"}
KEY: Final = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}
USER: Final = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "since", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "id", "type": ["null", "int", "string"], "default": None},
    ],
}
ADA: Final = {"name": "Ada", "since": "2026-11-23T13:45:00.123Z", "id": {"string": "a"}}
BODY: Final = Codec(USER, avro_logical_types=False).encode({"name": "Ada", "since": 1795441500123, "id": "a"})
KEY1: Final = Codec(KEY).encode({"id": 1})


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    topics = ["separated", "inline", "framed", "mixed", "json", "strict", "copy", "again", "bad", "proto", "pairs"]
    topics += ["numbers", "renumbered", "digits", "copied"]
    with MockBroker(dict.fromkeys([*topics, *VALUES, "BYTES", "NONE"], 1)) as broker:
        yield broker


@pytest.fixture
def run(registry: LocalRegistry, broker: MockBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(registry.url, broker.bootstrap_servers)


def send(broker: MockBroker, topic: str, *messages: tuple[bytes | None, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **QUIET})
    for key, value in messages:
        producer.produce(topic, value, key)
    assert producer.flush(60) == 0


def received(broker: MockBroker, topic: str, count: int) -> list[Any]:
    return [(message.key(), message.value()) for message in first_messages(broker, topic, count)]


def post(registry: LocalRegistry, topic: str, kind: str, text: str = "") -> None:
    url = f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema"
    requests.post(url, json={"type": kind, "schema": text, "properties": {}}, timeout=10).raise_for_status()


def registered(registry: LocalRegistry, topic: str, schema: KeyValueSchema) -> None:
    KafkaAvroSerializer({"schema.registry.url": registry.url}, schema).warm_up(topic)


def joined(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(b"\xff" * 4 if half is None else len(half).to_bytes(4) + half for half in (key, value))


def lines_of(lines: list[Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def shown(lines: list[Any]) -> list[tuple[Any, ...]]:
    return [(line.get("key", "-"), line["framing"], line["version"], line["value"]) for line in lines]


# KEY_VALUE


def test_keys_and_values_of_separated_topics_are_data_and_go_back_to_the_same_messages(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker
) -> None:
    for topic in ("separated", "copy"):
        registered(registry, topic, KeyValueSchema(KEY, USER, "SEPARATED"))
    messages = [(KEY1, BODY), (KEY1, None), (None, BODY), (None, None)]
    send(broker, "separated", *messages)
    lines = run("decode", "separated").lines
    assert shown(lines) == [
        ({"id": 1}, "headerless", 0, ADA),
        ({"id": 1}, None, None, None),
        (None, "headerless", 0, ADA),
        (None, None, None, None),
    ]
    assert [(line["topic"], line["offset"]) for line in lines] == [("separated", number) for number in range(4)]
    assert run("produce", "copy", stdin=lines_of(lines)).out == "copy: 4 messages sent, schema version 0\n"
    assert received(broker, "copy", 4) == messages
    assert run("decode", "separated", "--values", "--max", "1").lines == [ADA]


def test_both_halves_of_inline_topics_are_data(run: CommandLine, registry: LocalRegistry, broker: MockBroker) -> None:
    for topic in ("inline", "again"):
        registered(registry, topic, KeyValueSchema(KEY, USER, "INLINE"))
    messages = [
        (None, joined(KEY1, BODY)), (b"k", joined(None, BODY)), (None, joined(None, None)), (b"\xff", None)
    ]  # fmt: skip
    send(broker, "inline", *messages)
    lines = run("decode", "inline").lines
    assert shown(lines) == [
        ({"id": 1}, "headerless", 0, ADA),
        (None, "headerless", 0, ADA),
        (None, "headerless", 0, None),
        ("-", None, None, None),
    ]
    assert [line.get("message_key") for line in lines] == [None, "k", None, {"base64": "/w=="}]
    run("produce", "again", stdin=lines_of(lines))
    assert received(broker, "again", 4) == messages
    values = run("decode", "inline", "--values").lines
    assert values == [{"key": {"id": 1}, "value": ADA}, {"key": None, "value": ADA}, {"key": None, "value": None}, None]
    again = run("produce", "again", "--values", "--dry-run", stdin=lines_of(values))
    assert again.out == "again: would send 4 messages\n"


def test_framed_values_are_read_by_their_version_and_written_with_the_option(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker
) -> None:
    wider = {**USER, "fields": [*USER["fields"], {"name": "more", "type": "int", "default": 1}]}
    registered(registry, "framed", KeyValueSchema(KEY, USER, "SEPARATED"))
    registered(registry, "framed", KeyValueSchema(KEY, wider, "SEPARATED"))
    newer = BODY + b"\x04"
    messages = [(KEY1, header.pack(0) + BODY), (KEY1, header.pack(1) + newer), (KEY1, newer)]
    send(broker, "framed", *messages, (KEY1, header.pack(9) + newer))
    lines = run("decode", "framed").lines
    assert [(line["framing"], line["version"], line.get("header_version")) for line in lines] == [
        ("snip42", 0, None), ("snip42", 1, None), ("headerless", 1, None), ("snip42", 1, 9)
    ]  # fmt: skip
    assert [line["value"].get("more") for line in lines] == [None, 2, 2, 2]
    framed = ("--set", "key.value.framing=value")
    produced = run("produce", "framed", *framed, stdin=lines_of(lines[1:2]))
    assert produced.out == "framed: 1 message sent, schema version 1\n"
    assert received(broker, "framed", 5)[4] == messages[1]
    old = {**lines[0], "value": ADA}
    run("produce", "framed", "--schema-version", "0", stdin=lines_of([old]))
    assert received(broker, "framed", 6)[5] == (KEY1, BODY)


def test_halves_of_other_types_and_messages_that_cannot_be_read(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker
) -> None:
    person = {"type": "record", "name": "P", "fields": [{"name": "name", "type": "string"}]}
    registered(registry, "mixed", KeyValueSchema("INT32", TypedSchema("JSON", person), "SEPARATED"))
    send(broker, "mixed", (b"\0\0\0\7", b'{"name":"ada","x":1}'), (b"\7", b'{"name":"ada"}'), (b"\0\0\0\1", b"{"))
    ended = run("decode", "mixed", code=1)
    assert "2 of 3 messages cannot be read" in ended.err
    good, *bad = ended.lines
    assert (good["key"], good["value"]) == (7, {"name": "ada", "x": 1})
    assert [line["error"].split(":")[0] for line in bad] == [
        "topic mixed, schema version 0, field key, byte 1", "topic mixed, schema version 0, byte 1"
    ]  # fmt: skip
    for line, expected in (
        ({"key": "x", "value": None}, "line 1: topic mixed, schema version 0, field key: expected"),
        ({"key": 1, "value": {"name": 5}}, "field value.name: expected string, got int 5"),
        ({"key": 1, "value": {"name": "a", "more": 1}}, "field value: record P has no field 'more'"),
        ({"key": 1, "value": {}}, "field value.name: "),
        ({"value": 1, "keys": 1}, "it has 'keys'"),
    ):
        assert expected in run("produce", "mixed", stdin=lines_of([line]), code=1).err
    assert "it has 'message_key'" in run("produce", "mixed", stdin=lines_of([{"value": None, "message_key": "x"}]),
                                         code=1).err  # fmt: skip
    assert "--schema is for topics of type AVRO" in decoded_with_schema(run, "mixed")


def decoded_with_schema(run: CommandLine, topic: str) -> str:
    Path("user.avsc").write_text(json.dumps(USER))
    return run("decode", topic, "--schema", "user.avsc", code=2).err


def test_messages_from_a_file_have_no_keys(run: CommandLine, registry: LocalRegistry) -> None:
    registered(registry, "separated", KeyValueSchema(KEY, USER, "SEPARATED"))
    registered(registry, "inline", KeyValueSchema(KEY, USER, "INLINE"))
    hexed = ("decode", "--input", "-", "--input-format", "hex")
    [line] = run(hexed[0], "separated", *hexed[1:], stdin=BODY.hex() + "\n").lines
    assert line == {"line": 1, "framing": "headerless", "version": 0, "value": ADA}
    [line] = run(hexed[0], "inline", *hexed[1:], stdin=joined(KEY1, BODY).hex() + "\n").lines
    assert line == {"line": 1, "key": {"id": 1}, "framing": "headerless", "version": 0, "value": ADA}


def test_inline_lines_of_another_form_are_errors(run: CommandLine, registry: LocalRegistry) -> None:
    registered(registry, "bad", KeyValueSchema(KEY, USER, "INLINE"))
    for line, expected in (
        (ADA, 'expected {"key": ..., "value": ...}, since the encoding is INLINE'),
        ([1], 'expected {"key": ..., "value": ...}'),
        ({"key": {"id": "x"}, "value": None}, "field key.id: expected long, got str"),
    ):
        arguments = ("produce", "bad", "--values", "--dry-run")
        assert expected in run(*arguments, stdin=lines_of([line]), code=1).err


# JSON and primitive types


def test_json_is_shown_as_it_is_and_goes_back_to_the_same_bytes(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker
) -> None:
    schema = {"type": "record", "name": "P", "fields": [
        {"name": "name", "type": "string"}, {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "score", "type": ["null", "double"], "default": None}]}  # fmt: skip
    post(registry, "json", "JSON", json.dumps(schema))
    post(registry, "strict", "JSON", json.dumps(schema))
    texts = ['{"name":"zoë","born":1,"score":1.5}', '{"name":"b","born":2}', '{"score":"NaN","name":"c","born":3}']
    send(broker, "json", *[(b"k", text.encode()) for text in texts], (b"k", None), (b"k", b'{"name":1}'))
    ended = run("decode", "json", code=1)
    lines = ended.lines
    assert [line.get("value") for line in lines] == [*map(json.loads, texts), None, None]
    assert [(line["key"], line["framing"], line["version"]) for line in lines[:3]] == [("k", "headerless", 0)] * 3
    assert lines[4]["error"] == "topic json, schema version 0, field name: expected string, got int 1"
    run("produce", "strict", stdin=lines_of(lines[:4]))
    assert received(broker, "strict", 4) == [*[(b"k", text.encode()) for text in texts], (b"k", None)]
    for value, expected in (
        ({"name": "x", "born": 1, "more": 1}, "record P has no field 'more'"),
        ({"name": "x"}, "field born"),
        ({"name": "x", "born": "soon"}, "field born: "),
        ([], "expected an object for record P"),
    ):
        assert expected in run("produce", "strict", stdin=lines_of([{"value": value}]), code=1).err
    assert "--schema is for topics of type AVRO" in decoded_with_schema(run, "json")


NUMBERS: Final = {
    "type": "record", "name": "N", "fields": [
        {"name": "d", "type": ["null", {"type": "string", "java-class": "java.math.BigDecimal"}], "default": None},
        {"name": "x", "type": ["null", "double"], "default": None},
    ],
}  # fmt: skip
TEXTS_OF_NUMBERS: Final = [b'{"d":12345678901234567890.12,"x":null}', b'{"d":1.50}', b'{"d":1E+400}', b'{"x":-0}']


def test_numbers_of_json_keep_their_text(run: CommandLine, registry: LocalRegistry, broker: MockBroker) -> None:
    for topic in ("numbers", "renumbered"):
        post(registry, topic, "JSON", json.dumps(NUMBERS))
    send(broker, "numbers", *[(None, text) for text in TEXTS_OF_NUMBERS])
    decoded = run("decode", "numbers", "--values").out
    assert [line.replace(" ", "").encode() for line in decoded.splitlines()] == TEXTS_OF_NUMBERS
    assert '"d": 1E+400' in run("decode", "numbers", "--pretty").out
    run("produce", "renumbered", "--values", stdin=decoded)
    assert [value for _, value in received(broker, "renumbered", 4)] == TEXTS_OF_NUMBERS
    dry = ("produce", "renumbered", "--values", "--dry-run")
    assert "a float can hold" in run(*dry, stdin='{"x": 1e999}\n', code=1).err


def test_numbers_of_json_keep_their_text_in_both_halves(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker
) -> None:
    half = TypedSchema("JSON", NUMBERS)
    for topic in ("digits", "copied"):
        registered(registry, topic, KeyValueSchema(half, half, "SEPARATED"))
    messages = [(text, text) for text in TEXTS_OF_NUMBERS]
    send(broker, "digits", *messages)
    run("produce", "copied", stdin=run("decode", "digits").out)
    assert received(broker, "copied", 4) == messages


@pytest.mark.parametrize("kind", ["BYTES", "NONE"])
def test_bytes_are_text_with_one_character_for_each(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker, kind: str
) -> None:
    post(registry, kind, kind)
    send(broker, kind, (b"k", b"\0\xff"))
    [line] = run("decode", kind).lines
    assert line["value"] == "\0\xff"
    run("produce", kind, stdin=lines_of([line]))
    assert received(broker, kind, 2) == [(b"k", b"\0\xff")] * 2
    for value in ("\u0100", {}):
        assert "expected" in run("produce", kind, stdin=lines_of([{"value": value}]), code=1).err


# PROTOBUF_NATIVE


def test_protobuf_is_shown_as_its_own_json_and_goes_back_to_the_same_bytes(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker
) -> None:
    pytest.importorskip("google.protobuf", reason="the extra protobuf is not installed")
    from google.protobuf.descriptor_pb2 import UninterpretedOption
    from google.protobuf.timestamp_pb2 import Timestamp

    option = UninterpretedOption(positive_int_value=2**63, double_value=float("inf"), string_value=b"\0\xff")
    option.name.add(name_part="a", is_extension=True)
    payload = option.SerializeToString()
    shown_as = {
        "name": [{"name_part": "a", "is_extension": True}],
        "positive_int_value": "9223372036854775808",
        "double_value": "Infinity",
        "string_value": "AP8=",
    }
    conf = {"schema.registry.url": registry.url}
    KafkaPulsarSerializer(conf, TypedSchema("PROTOBUF_NATIVE", UninterpretedOption)).warm_up("proto")
    send(broker, "proto", (b"k", payload), (None, None), (b"k", b"\xff"))
    ended = run("decode", "proto", code=1)
    lines = ended.lines
    assert [line.get("value") for line in lines] == [shown_as, None, None]
    assert [(line["framing"], line["version"]) for line in lines[:2]] == [("headerless", 0), (None, None)]
    assert "expected a message google.protobuf.UninterpretedOption" in lines[2]["error"]
    run("produce", "proto", stdin=lines_of(lines[:2]))
    assert received(broker, "proto", 5)[3:] == [(b"k", payload), (None, None)]
    for value, expected in (
        ({"more": 1}, 'has no field named "more"'),
        ({"positive_int_value": "x"}, "line 1: topic proto, schema version 0: expected a message"),
        ({"name": [{"name_part": "a"}]}, "cannot be written"),
        (5, "as JSON: "),
    ):
        assert expected in run("produce", "proto", stdin=lines_of([{"value": value}]), code=1).err

    pair = KeyValueSchema("INT32", TypedSchema("PROTOBUF_NATIVE", Timestamp), "SEPARATED")
    registered(registry, "pairs", pair)
    messages = [(b"\0\0\0\7", b"\x08\x05"), (b"\0\0\0\7", b"\x08" + b"\xff" * 8 + b"\x7f")]
    send(broker, "pairs", *messages)
    good, bad = run("decode", "pairs", code=1).lines
    assert (good["key"], good["value"]) == (7, "1970-01-01T00:00:05Z")
    assert "the message google.protobuf.Timestamp cannot be shown as JSON: " in bad["error"]
    run("produce", "pairs", stdin=lines_of([good]))
    assert received(broker, "pairs", 3)[2] == messages[0]


VALUES: Final[dict[str, tuple[bytes, Any]]] = {
    "BOOLEAN": (b"\1", True),
    "INT8": (b"\xff", -1),
    "INT16": (b"\x01\x00", 256),
    "INT32": (b"\0\0\0\7", 7),
    "INT64": (b"\x7f" + b"\xff" * 7, 2**63 - 1),
    "FLOAT": (b"\x3f\xc0\0\0", 1.5),
    "DOUBLE": (b"\x7f\xf0" + bytes(6), "Infinity"),
    "STRING": ("zoë".encode(), "zoë"),
    "DATE": ((1795441500123).to_bytes(8), "2026-11-23T13:45:00.123Z"),
    "TIME": ((1795441500123).to_bytes(8), "2026-11-23T13:45:00.123Z"),
    "TIMESTAMP": (b"\xff" * 8, "1969-12-31T23:59:59.999Z"),
    "INSTANT": ((1).to_bytes(8) + (5).to_bytes(4), "1970-01-01T00:00:01.000000005Z"),
    "LOCAL_DATE": ((1).to_bytes(8), "1970-01-02"),
    "LOCAL_TIME": ((1_000_000_005).to_bytes(8), "00:00:01.000000005"),
    "LOCAL_DATE_TIME": ((1).to_bytes(8) + (7).to_bytes(8), "1970-01-02T00:00:00.000000007"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_primitive_types_are_shown_and_written(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker, kind: str
) -> None:
    payload, value = VALUES[kind]
    post(registry, kind, kind)
    send(broker, kind, (b"k", payload), (None, None), (None, bytes(3) if kind != "STRING" else b"\xff"))
    ended = run("decode", kind, code=1)
    lines = ended.lines
    assert [line.get("value") for line in lines] == [value, None, None]
    assert type(lines[0]["value"]) is type(value)
    assert lines[2]["error"].startswith(f"topic {kind}, schema version 0, byte ")
    run("produce", kind, stdin=lines_of(lines[:2]))
    assert received(broker, kind, 5)[3:] == [(b"k", payload), (None, None)]
    assert "expected" in run("produce", kind, stdin=lines_of([{"value": {}}]), code=1).err


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("TIMESTAMP", 253402300800000),
        ("DATE", -62135596800001),
        ("TIME", 2**63 - 1),
        ("LOCAL_DATE", 2932897),
        ("LOCAL_DATE", -(2**63)),
    ],
)
def test_dates_beyond_the_calendar_are_numbers_and_go_back_to_the_same_bytes(
    run: CommandLine, registry: LocalRegistry, broker: MockBroker, kind: str, number: int
) -> None:
    post(registry, kind, kind)
    payload, before = number.to_bytes(8, signed=True), len(run("decode", kind, code=None).lines)
    send(broker, kind, (b"k", payload))
    [line] = run("decode", kind, "--from", "-1").lines
    assert line["value"] == number
    run("produce", kind, stdin=lines_of([line]))
    assert received(broker, kind, before + 2)[-2:] == [(b"k", payload)] * 2
    for value in (2**63, True, 1.0):
        assert "expected" in run("produce", kind, "--values", "--dry-run", stdin=json.dumps(value), code=1).err


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("LOCAL_TIME", b"\xff" * 8),
        ("LOCAL_DATE_TIME", bytes(8) + b"\xff" * 8),
        ("INSTANT", b"\x7f" + b"\xff" * 7 + bytes(4)),
    ],
)
def test_times_that_java_cannot_read_are_refused(
    run: CommandLine, registry: LocalRegistry, kind: str, data: bytes
) -> None:
    post(registry, kind, kind)
    ended = run("decode", kind, "--input", "-", stdin=data, code=1)
    assert f"{kind} is " in ended.json["error"]
