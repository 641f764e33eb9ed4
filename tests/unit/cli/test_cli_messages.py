"""The commands ``decode`` and ``produce``: what is on a topic becomes JSON lines, and these the same messages again."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from command import CommandLine, started
from confluent_stand_in import ConfluentStandIn
from consumed import Message
from first_messages import first_messages, send
from foreign_stand_ins import ForeignStandIn
from schemas import record
from vendor_framings import AZURE_ID, SCHEMA, golden
from waiting import elsewhere
from wire import sized, varint

from streamnative_serdes import KafkaAvroSerializer, header
from streamnative_serdes.cli.kafka_clients import Start
from streamnative_serdes.cli.message_json import place_of
from streamnative_serdes.testing import Fault, LocalRegistry, MockBroker

USER = record(
    "User",
    ("name", "string"),
    ("since", {"type": "long", "logicalType": "timestamp-millis"}),
    ("id", ["null", "int", "string"], None),
)
SECOND = {**USER, "fields": [*USER["fields"], {"name": "mail", "type": ["null", "string"], "default": None}]}
ADA = {"name": "Ada", "since": "2026-11-23T13:45:00.123Z", "id": {"string": "a"}}
BODY = sized(b"Ada") + varint(1795441500123) + varint(2) + sized(b"a")


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker({"users": 1, "copy": 1, "wide": 3}) as broker:
        yield broker


@pytest.fixture
def run(registry: LocalRegistry, broker: MockBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """In a folder with the schema; the topic users has it as version 0."""
    monkeypatch.chdir(tmp_path)
    Path("user.avsc").write_text(json.dumps(USER))
    run = CommandLine(registry.url, broker.bootstrap_servers)
    run("schemas", "register", "users", "user.avsc")
    return run


@pytest.fixture(scope="module")
def shared() -> Iterator[CommandLine]:
    """For tests that need no topic of their own: users has a schema and five messages; a broker takes a second."""
    with LocalRegistry() as registry, MockBroker({"users": 1, "lines": 1, "words": 1, "empty": 1}) as broker:
        run = CommandLine(registry.url, broker.bootstrap_servers)
        for topic in ("users", "lines"):
            run("schemas", "register", topic, "-", stdin=json.dumps(USER))
        run("schemas", "register", "words", "-", "--type", "STRING", stdin="")
        send(broker, "users", *[header.pack(0) + BODY] * 5)
        yield run


def received(broker: MockBroker, topic: str, count: int) -> list[Any]:
    """Key, headers and value of the first messages of partition 0."""
    return [(message.key(), message.headers(), message.value()) for message in first_messages(broker, topic, count)]


def line(value: Any, **more: Any) -> str:
    return json.dumps({"value": value, **more}) + "\n"


# decode: framings


def test_framing_and_version_of_each_message_are_shown(run: CommandLine, broker: MockBroker) -> None:
    framed, unknown = header.pack(0) + BODY, header.pack(7) + BODY
    send(broker, "users", framed, BODY, unknown, None)
    lines = run("decode", "users").lines
    parts = [(one["framing"], one["version"], one.get("header_version"), one["value"]) for one in lines]
    assert parts == [
        ("snip42", 0, None, ADA),
        ("headerless", 0, None, ADA),
        ("snip42", 0, 7, ADA),
        (None, None, None, None),
    ]
    assert [(one["topic"], one["partition"], one["offset"]) for one in lines] == [("users", 0, i) for i in range(4)]


def test_a_message_whose_header_is_its_datum_is_headerless(run: CommandLine, broker: MockBroker) -> None:
    numbers = record("Numbers", *((name, "long") for name in "abcdefghij"))
    run("schemas", "register", "copy", "-", stdin=json.dumps(numbers))
    send(broker, "copy", b"\x03\x04" + bytes(7) + b"\x09")
    (found,) = run("decode", "copy").lines
    assert (found["framing"], found["version"], found["header_version"]) == ("headerless", 0, 9)
    assert list(found["value"].values()) == [-2, 2, *[0] * 7, -5]


def test_each_message_is_shown_by_its_own_version(run: CommandLine, broker: MockBroker) -> None:
    run("schemas", "register", "users", "-", stdin=json.dumps(SECOND))
    send(broker, "users", header.pack(0) + BODY, header.pack(1) + BODY + b"\x02\x02m")
    lines = run("decode", "users").lines
    assert [(one["version"], one["value"]) for one in lines] == [(0, ADA), (1, {**ADA, "mail": "m"})]
    # By a reader's schema all have the same form, and so have they with an option of the deserializer's in the way.
    Path("second.avsc").write_text(json.dumps(SECOND))
    more = ("--values", "--schema", "second.avsc", "--set", "use.latest.version=true")
    assert run("decode", "users", *more).lines == [{**ADA, "mail": None}, {**ADA, "mail": "m"}]
    for ignored in ("use.latest.version=true", "reader.schema.policy=latest"):
        assert run("decode", "users", "--values", "--set", ignored).lines[0] == ADA


def test_messages_without_a_header_are_read_by_the_version_that_is_given(run: CommandLine, broker: MockBroker) -> None:
    run("schemas", "register", "users", "-", stdin=json.dumps(SECOND))
    send(broker, "users", BODY)
    assert "error" in run("decode", "users", code=1).lines[0]
    (found,) = run("decode", "users", "--schema-version", "0").lines
    assert (found["framing"], found["version"], found["value"]) == ("headerless", 0, ADA)


def test_a_topic_that_is_not_migrated_shows_what_its_messages_look_like(run: CommandLine, broker: MockBroker) -> None:
    send(broker, "copy", b"\0\0\0\0\1" + BODY)
    ended = run("decode", "copy", code=1)
    assert "begins like those of Confluent's serializer (0x00, schema id 1)" in ended.lines[0]["error"]
    assert "`streamnative-serdes migrate` copies the topic" in run("decode", "copy", "--values", code=1).err


def test_messages_in_confluents_framings_are_shown_by_the_options_that_the_hint_names(
    run: CommandLine, broker: MockBroker
) -> None:
    with ConfluentStandIn() as second:
        second.register("copy-value", json.dumps(USER))
        second.register("raw-value", '"bytes"')
        guid = second.guid(1)
        send(broker, "copy", b"\0\0\0\0\1" + BODY, b"\0\0\0\0\2hi", b"\0\0\0\0\7" + BODY)
        send(broker, "copy", BODY, headers=[("__value_schema_id", b"\1" + guid)])
        send(broker, "copy", BODY, headers=[("__value_schema_id", b"\0\0\0\0\1")])
        framings = "framings=snip42,confluent,confluent-header,headerless"
        options = ("--set", framings, "--set", f"confluent.schema.registry.url={second.url}")
        lines = run("decode", "copy", *options, code=1).lines
        Path("name.avsc").write_text(json.dumps(record("User", ("name", "string"))))
        named = run("decode", "copy", *options, "--max", "1", "--schema", "name.avsc", "--values").lines
    assert named == [{"name": "Ada"}]
    assert [(one["framing"], one["version"], one.get("schema_id"), one.get("value")) for one in lines] == [
        ("confluent", None, 1, ADA),
        ("confluent", None, 2, "hi"),
        (None, None, None, None),
        ("confluent-header", None, str(UUID(bytes=guid)), ADA),
        ("confluent-header", None, 1, ADA),
    ]
    assert "schema id 7" in lines[2]["error"]


def test_messages_in_the_framings_of_other_registries_are_shown(run: CommandLine, broker: MockBroker) -> None:
    with ForeignStandIn() as others:
        for path in ("/ids/globalIds/2", "/ids/contentIds/1", f"/$schemaGroups/$schemas/{AZURE_ID}"):
            others.add(path, SCHEMA)
        written = [one for one in golden() if one.use_id is None and one.framing != "glue"]
        for one in written:
            send(broker, "copy", one.message, headers=one.headers)
        send(broker, "copy", b"\0" + (9).to_bytes(8) + b"\2\2x")
        framings = "snip42,apicurio-header,azure-header,apicurio,apicurio-v3,azure,azure-content-type"
        registries = (f"apicurio.registry.url={others.apicurio}", f"azure.schema.registry.url={others.url}")
        options = [part for text in (f"framings={framings}", *registries) for part in ("--set", text)]
        lines = run("decode", "copy", *options, code=1).lines
    assert "globalId 9" in lines.pop()["error"]
    ids = {"apicurio": 2, "apicurio-v3": 1, "apicurio-header": None}
    for one, shown in zip(written, lines, strict=True):
        named = ids.get(one.framing, AZURE_ID) or int.from_bytes(one.headers[0][1])
        found = shown["framing"], shown.get("schema_id"), shown.get("value")
        assert found == (one.framing, named, one.datum), shown


# decode: damage, and what surrounds a value


def test_a_message_that_cannot_be_read_is_shown_with_its_bytes_and_the_others_follow(
    run: CommandLine, broker: MockBroker
) -> None:
    damaged = header.pack(0) + BODY[:-1]
    send(broker, "users", damaged, b"\x1b[31mred", header.pack(0) + BODY)
    ended = run("decode", "users", code=1)
    bad, red, good = ended.lines
    assert (bad["framing"], bad["version"], base64.b64decode(bad["raw"]["base64"])) == ("snip42", 0, damaged)
    assert bad["error"].startswith("topic users, schema version 0, field id")
    assert (red["framing"], red["version"], "value" in red) == (None, None, False)
    assert good["value"] == ADA
    assert ended.err.splitlines()[-1] == "Error: 2 of 3 messages cannot be read"

    ended = run("decode", "users", "--values", code=1)
    assert ended.lines == [ADA]
    assert ended.err.startswith("partition 0, offset 0: topic users, schema version 0")


def test_a_registry_that_refuses_ends_the_command(
    run: CommandLine, broker: MockBroker, registry: LocalRegistry
) -> None:
    send(broker, "users", header.pack(0) + BODY)
    registry.fail(Fault.status(401, "Unauthorized to validateTopicOperation"), times=None)
    ended = run("decode", "users", code=3)
    assert ended.out == ""
    assert "Hint: the role needs the right to produce or consume" in ended.err


def test_keys_headers_and_times_are_shown(run: CommandLine, broker: MockBroker) -> None:
    headers = [("trace", b"a1"), ("trace", None), ("bin", b"\xff\x00")]
    send(broker, "users", header.pack(0) + BODY, key=b"k\xc3\xa9y", headers=headers, timestamp=1234567890123)
    send(broker, "users", None, key=b"\xff")
    first, second = run("decode", "users").lines
    assert first["key"] == "kéy"
    assert first["headers"] == [["trace", "a1"], ["trace", None], ["bin", {"base64": "/wA="}]]
    assert first["timestamp"] == "2009-02-13T23:31:30.123Z"
    assert second["key"] == {"base64": "/w=="}


def test_control_characters_of_messages_do_not_reach_the_terminal(run: CommandLine, broker: MockBroker) -> None:
    nasty = "\x1b]0;owned\x07\x9b2J\u202e\x7f"
    stdin = line({**ADA, "name": nasty}, key=nasty, headers=[[nasty, nasty]])
    run("produce", "users", stdin=stdin)
    for pretty in ((), ("--pretty",)):
        shown = run("decode", "users", *pretty).out
        assert not set(nasty) & set(shown) - set("]0;owned2J")
        found = json.loads(shown)
        assert (found["value"]["name"], found["key"], found["headers"]) == (nasty, nasty, [[nasty, nasty]])


# decode: which messages


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ((), [0, 1, 2, 3, 4]),
        (("--max", "2"), [0, 1]),
        (("--from", "3"), [3, 4]),
        (("--from", "5"), []),
        (("--from", "-2"), [3, 4]),
        (("--from", "-99"), [0, 1, 2, 3, 4]),
        (("--from", "end"), []),
        (("--from", "-3", "--max", "1"), [2]),
    ],
)
def test_messages_are_chosen_by_place(shared: CommandLine, options: tuple[str, ...], offsets: list[int]) -> None:
    assert [one["offset"] for one in shared("decode", "users", *options).lines] == offsets


def test_partitions_can_be_chosen(run: CommandLine, broker: MockBroker) -> None:
    run("schemas", "register", "wide", "user.avsc")
    for partition in range(3):
        send(broker, "wide", header.pack(0) + BODY, partition=partition)
    some = run("decode", "wide", "--partition", "2", "--partition", "0").lines
    assert sorted(one["partition"] for one in some) == [0, 2]
    assert len(run("decode", "wide").lines) == 3
    assert "an offset is one of a partition" in run("decode", "wide", "--from", "0", code=2).err
    assert "has no partition 3" in run("decode", "wide", "--partition", "3", code=2).err


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("nothing",), 3, "the broker does not have topic nothing"),
        (("users", "--from", "7"), 2, "partition 0 has offsets 0 to 5, not 7"),
        (("users", "--from", "yesterday"), 2, "expected beginning, end, an offset, -N, an age such as -10m, or a time"),
        (("users", "--max", "0"), 2, "--max"),
        (("a/b",), 2, "invalid topic name"),
        (("users", "--bootstrap", "127.0.0.1:1"), 3, "no response from a Kafka broker at 127.0.0.1:1"),
        (("users", "--set", "security.protocol=x"), 2, "the Kafka client refuses its configuration"),
        (("users", "--schema", "nowhere.avsc"), 2, "nowhere.avsc"),
    ],
)
def test_what_cannot_be_consumed_is_said(
    shared: CommandLine, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    ended = shared("decode", *arguments, code=code)
    assert ended.out == ""
    assert complaint in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("beginning", Start()),
        ("end", Start("end")),
        ("12", Start("offset", 12)),
        ("-12", Start("last", 12)),
        ("1970-01-01T00:00:01Z", Start("time", 1000)),
        ("1970-01-01T01:00:01.5+01:00", Start("time", 1500)),
        ("1970-01-02", Start("time", 86_400_000)),
    ],
)
def test_a_start_may_be_written_in_several_ways(text: str, start: Start) -> None:
    assert Start.parse(text) == start


@pytest.mark.parametrize(("age", "seconds"), [("-30s", 30), ("-10m", 600), ("-2h", 7_200), ("-1d", 86_400), ("-0s", 0)])
def test_a_start_may_be_an_age(age: str, seconds: int) -> None:
    before = time.time()
    start = Start.parse(age)
    after = time.time()
    assert start.kind == "time"
    assert int((before - seconds) * 1000) <= start.number <= int((after - seconds) * 1000)


@pytest.mark.parametrize("text", ["-10w", "10m", "--10m", "-1.5h", "-m", "-9999999999m"])
def test_another_start_is_refused(shared: CommandLine, text: str) -> None:
    assert "an age such as -10m" in shared("decode", "users", f"--from={text}", code=2).err


def test_the_end_of_a_topic_is_its_last_ten_messages(run: CommandLine, broker: MockBroker) -> None:
    send(broker, "users", *[header.pack(0) + BODY] * 12)
    assert [one["offset"] for one in run("tail", "users").lines] == list(range(2, 12))
    assert [one["offset"] for one in run("tail", "users", "--from", "-3").lines] == [9, 10, 11]
    assert run("decode", "users", "--max", "1").lines[0]["offset"] == 0


def test_messages_are_chosen_by_key(run: CommandLine, broker: MockBroker) -> None:
    for key in (b"a", b"b", None, b"a", b"\xff"):
        send(broker, "users", header.pack(0) + BODY, key=key)
    send(broker, "users", b"\x03", key=b"a")
    send(broker, "users", b"\x03", key=b"b")
    shown = run("decode", "users", "--key", "a", code=1)
    assert [(one["offset"], "error" in one) for one in shown.lines] == [(0, False), (3, False), (5, True)]
    assert "1 of 3 messages cannot be read" in shown.err
    assert [one["offset"] for one in run("decode", "users", "--key", "a", "--max", "2").lines] == [0, 3]
    assert run("decode", "users", "--key", "none").out == ""
    assert [one["offset"] for one in run("decode", "users", "--key", "\udcff").lines] == [4]


def test_each_message_is_a_line_of_the_format(run: CommandLine, broker: MockBroker) -> None:
    send(broker, "users", header.pack(0) + BODY, key=b"a\x1b", headers=[("h", b"1")], timestamp=1)
    send(broker, "users", None, b"\x03")
    out = run("decode", "users", "--format", r"%t[%p]@%o %T\t%k %h %f %v 100%%\\n %s", code=1)
    assert out.out.splitlines() == [
        "users[0]@0 1970-01-01T00:00:00.001Z\ta\\x1b " + '[["h", "1"]] snip42 0 100%\\n ' + json.dumps(ADA),
        f"users[0]@1 {run('decode', 'users', '--max', '2').lines[1]['timestamp']}\tnull [] null null 100%\\n null",
    ]
    assert "partition 0, offset 2: " in out.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "%q"), "%q is unknown"),
        (("--format", "%"), "% is unknown"),
        (("--format", r"\x"), r"\x is unknown"),
        (("--format", "%s", "--values"), "--format excludes"),
        (("--format", "%s", "--pretty"), "--format excludes"),
        (("--format", "%s", "--json"), "--format excludes --values, --pretty and --json"),
    ],
)
def test_a_format_that_cannot_be_filled_is_refused(shared: CommandLine, options: tuple[str, ...], said: str) -> None:
    assert said in shared("decode", "users", *options, code=2).err


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT to one process alone")
def test_following_shows_new_messages_until_ctrl_c(run: CommandLine, broker: MockBroker) -> None:
    places = ("--registry", str(run.registry), "--bootstrap", str(run.bootstrap))
    send(broker, "users", header.pack(0) + BODY)
    with started("decode", "users", "--follow", *places) as process:
        try:
            assert process.stdout is not None
            for offset in range(2):
                assert json.loads(elsewhere(process.stdout.readline))["offset"] == offset
                send(broker, "users", header.pack(0) + BODY)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


# decode: files


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("raw", header.pack(0) + BODY),
        ("hex", (header.pack(0) + BODY).hex().encode() + b"\n \n" + BODY.hex().encode()),
        ("base64", base64.b64encode(header.pack(0) + BODY) + b"\r\n" + base64.b64encode(BODY) + b"\n\r\n"),
    ],
)
def test_messages_are_read_from_a_file_or_from_standard_input(
    shared: CommandLine, tmp_path: Path, form: str, content: bytes
) -> None:
    path = tmp_path / "messages"
    path.write_bytes(content)
    options = ("--input-format", form, "--bootstrap", "")
    from_file = shared("decode", "users", "--input", str(path), *options).lines
    assert from_file == shared("decode", "users", "--input", "-", *options, stdin=content).lines
    assert [(one["framing"], one["value"]) for one in from_file] == [("snip42", ADA), ("headerless", ADA)][
        : len(from_file)
    ]
    assert len(from_file) == (1 if form == "raw" else 2)


@pytest.mark.parametrize("form", ["hex", "base64"])
def test_a_file_of_another_form_is_refused(shared: CommandLine, form: str) -> None:
    ended = shared("decode", "users", "--input", "-", "--input-format", form, stdin=b"\xffno", code=1)
    assert f"line 1 is not {form}" in ended.err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--from", "beginning"), "--from"),
        (("--partition", "0"), "--partition"),
        (("-f",), "--follow"),
        (("--key", "a"), "--key"),
        (("--partition", "0", "--from", "-1"), "--from, --partition"),
    ],
)
def test_messages_from_a_file_are_not_chosen_by_place_or_key(
    shared: CommandLine, options: tuple[str, ...], named: str
) -> None:
    for command in ("decode", "tail"):
        ended = shared(command, "users", "--input", "-", *options, stdin=BODY, code=2)
        assert f"{named}: messages from a file (--input) have no place and no key" in " ".join(ended.err.split())
    assert shared("tail", "users", "--input", "-", "--values", stdin=BODY).lines == [ADA]


# produce


def test_lines_become_framed_messages_with_keys_and_headers(run: CommandLine, broker: MockBroker) -> None:
    lines = line(ADA, key="k", headers=[["a", "b"], ["a", None]]) + "\n" + line(None, key={"base64": "/w=="})
    ended = run("produce", "users", stdin=lines)
    assert ended.out == "users: 2 messages sent, schema version 0\n"
    assert received(broker, "users", 2) == [
        (b"k", [("a", b"b"), ("a", None)], header.pack(0) + BODY),
        (b"\xff", None, None),
    ]


def test_a_schema_in_a_file_is_registered(run: CommandLine, registry: LocalRegistry) -> None:
    ended = run("produce", "copy", "--schema", "user.avsc", "--json", stdin=line(ADA))
    assert ended.json == {"topic": "copy", "version": 0, "messages": 1, "partitions": {"0": 1}, "dry_run": False}
    assert len(registry.store.versions("public/default/copy")) == 1


def test_a_version_can_be_chosen(run: CommandLine, broker: MockBroker) -> None:
    run("schemas", "register", "users", "-", stdin=json.dumps(SECOND))
    run("produce", "users", "--values", stdin=json.dumps(ADA))
    run("produce", "users", "--values", "--schema-version", "0", stdin=json.dumps(ADA))
    values = [value for _, _, value in received(broker, "users", 2)]
    assert values == [header.pack(1) + BODY + b"\x00", header.pack(0) + BODY]


def test_a_dry_run_checks_all_lines_and_sends_and_registers_nothing(run: CommandLine, registry: LocalRegistry) -> None:
    registry.reset_calls()
    assert run("produce", "users", "--dry-run", stdin=line(ADA) * 3).out == "users: would send 3 messages\n"
    run("produce", "copy", "--dry-run", "--schema", "user.avsc", stdin=line(ADA))
    ended = run("produce", "users", "--dry-run", stdin=line(ADA) + line({"name": 5}), code=1)
    assert ended.err.startswith("Error: line 2: ")
    assert "; nothing was sent\n" in ended.err
    assert not {kind for kind in registry.calls if not kind.startswith("GET ")}
    assert run("decode", "users").out == ""


BAD_LINES: list[tuple[str, str]] = [
    ("{\n", "line 2: not a line of JSON"),
    (line({**ADA, "nmae": "x"}), "record User has no field 'nmae'"),
    (line({"name": "Ada"}), "field since: the field is missing"),
    (line({**ADA, "name": 5}), "field name: expected string, got int 5"),
    (line({**ADA, "id": 5}), 'field id: expected {"int": ...} or {"string": ...}, got 5'),
    (line({**ADA, "id": {"int": 2**40}}), "field id"),
    (line({**ADA, "since": "now"}), "field since: expected a time such as"),
    (line(ADA, partition=7), "Unknown partition"),
]


@pytest.mark.parametrize(("bad", "complaint"), BAD_LINES)
def test_a_bad_line_ends_the_command_and_says_what_was_sent(shared: CommandLine, bad: str, complaint: str) -> None:
    before = len(shared("decode", "lines").lines)
    ended = shared("produce", "lines", stdin=line(ADA) + bad + line(ADA), code=None)
    assert ended.code == (3 if "partition" in complaint else 1)
    assert complaint in ended.err
    assert "; sent before: 1 message\n" in ended.err
    assert len(shared("decode", "lines").lines) == before + 1


def test_keys_choose_the_partition_where_that_is_wanted(run: CommandLine, broker: MockBroker) -> None:
    assert "Hint: --any-partition" in run("produce", "users", stdin=line(ADA, partition=7), code=3).err
    run("produce", "users", "--any-partition", stdin=line(ADA, partition=7))


def test_a_topic_is_not_made_by_accident(run: CommandLine) -> None:
    ended = run("produce", "uesrs", "--schema", "user.avsc", stdin=line(ADA), code=3)
    assert "the broker does not have topic uesrs" in ended.err
    assert "Hint: --create lets it make one" in ended.err
    assert run("produce", "uesrs", "--create", "--schema", "user.avsc", stdin=line(ADA)).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("empty",), 3, "Schema not found"),
        (("words",), 1, "line 1: topic words, schema version 0: expected string, got dict"),
        (("users", "--schema-version", "7"), 3, "Schema not found"),
        (("users", "--schema", "user.avsc", "--schema-version", "0"), 2, "exclude each other"),
        (("users", "--bootstrap", "127.0.0.1:1"), 3, "no response from a Kafka broker"),
        (("users", "nowhere.jsonl"), 2, "nowhere.jsonl"),
    ],
)
def test_what_cannot_be_produced_is_said(
    shared: CommandLine, tmp_path: Path, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    (tmp_path / "user.avsc").write_text(json.dumps(USER))
    arguments = tuple(part.replace("user.avsc", str(tmp_path / "user.avsc")) for part in arguments)
    assert complaint in shared("produce", *arguments, stdin=line(ADA), code=code).err


def test_more_messages_than_the_clients_queue_holds_are_sent(run: CommandLine, broker: MockBroker) -> None:
    ended = run("produce", "users", "--set", "queue.buffering.max.messages=10", stdin=line(ADA) * 500)
    assert ended.out.startswith("users: 500 messages sent")


def test_what_decode_shows_produce_writes_again(run: CommandLine, broker: MockBroker, registry: LocalRegistry) -> None:
    run("schemas", "register", "copy", "user.avsc")
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url, "avro.logical.types": False}, USER)
    values = [
        {"name": name, "since": since, "id": id_}
        for name, since, id_ in [("", 0, None), ("\x00é", -1, 5), ("x" * 1000, 2**62, "5")]
    ]
    framed = [serializer.serialize("users", value) for value in values]
    send(broker, "users", *framed, None, key=b"\xfe", headers=[("h", b"\xff"), ("h", None)], timestamp=1000)
    shown = run("decode", "users").out
    run("produce", "copy", stdin=shown)
    assert received(broker, "copy", 4) == received(broker, "users", 4)
    again = [{**one, "topic": "users"} for one in run("decode", "copy").lines]
    assert again == [json.loads(one) for one in shown.splitlines()]


@pytest.mark.parametrize(
    ("timestamp", "shown"), [((1, 0), "1970-01-01T00:00:00.000Z"), ((2, 1), "1970-01-01T00:00:00.001Z"), ((0, 0), None)]
)
def test_the_first_millisecond_of_1970_is_a_time_and_a_message_without_one_has_none(timestamp: Any, shown: Any) -> None:
    message: Any = Message(key=b"", headers=[("a", b"")], timestamp=timestamp)
    parts = {"topic": "t", "partition": 0, "offset": 0, "timestamp": shown, "key": "", "headers": [["a", ""]]}
    assert place_of(message) == parts
