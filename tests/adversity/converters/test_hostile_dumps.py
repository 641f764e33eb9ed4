"""Hostile dumps, and hostile answers of the admin API, only raise our errors, in bounded memory."""

from __future__ import annotations

import io
import json
import random
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("google_crc32c")

from child import run_limited
from command import CommandLine
from java_entries import golden
from kop_entries import varint
from raw_server import RawServer
from scripted_registry import Answer, Clock, ScriptedRegistry
from wire import damaged

from streamnative_serdes.converters import AdminEntryReader, DumpWriter, EntryReader, StoredEntry, read_dump
from streamnative_serdes.converters.admin_headers import entry_of
from streamnative_serdes.converters.entry import read_entry
from streamnative_serdes.converters.stored import read_batches_one_by_one, read_one
from streamnative_serdes.errors import (
    AuthorizationError,
    ConfigError,
    DecodeError,
    IncompatibleSchemaError,
    RegistryUnavailableError,
    SchemaRegistryError,
    SerdesError,
)

ENTRIES = [StoredEntry(data, 2, 12, number) for number, data in enumerate(golden()["transactions"].entries[:2])]
FRONT = struct.Struct(">iqqi")


def dump(*entries: StoredEntry) -> bytes:
    file = io.BytesIO()
    writer = DumpWriter(file)
    for entry in entries:
        writer.write(entry)
    writer.finish()
    return file.getvalue()


class Dripping(io.BytesIO):
    """Gives a byte at a time, as a pipe may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(1, -1 if size is None else size))


def read(data: bytes, **options: Any) -> list[StoredEntry]:
    return list(read_dump(io.BytesIO(data), **options))


# Dumps


def test_a_dump_is_read_as_it_was_written() -> None:
    assert read(dump(*ENTRIES)) == list(read_dump(Dripping(dump(*ENTRIES)))) == ENTRIES
    assert read(dump(StoredEntry(b""))) == [StoredEntry(b"")]
    assert read(dump()) == []
    largest = StoredEntry(b"x", 2**31 - 1, 2**63 - 1, 2**63 - 1)
    assert read(dump(largest)) == [largest]


def test_a_dump_that_is_cut_off_at_any_byte_is_an_error_after_its_whole_entries() -> None:
    whole = dump(*ENTRIES)
    ends = [len(dump(*ENTRIES[:count])) for count in range(3)]
    for end in range(len(whole)):
        found = []
        if end in ends:
            assert read(whole[:end]) == ENTRIES[: ends.index(end)]
            continue
        with pytest.raises(DecodeError) as caught:
            found.extend(read_dump(io.BytesIO(whole[:end])))
        assert caught.value.offset is not None
        assert caught.value.offset <= end


@pytest.mark.parametrize(
    ("partition", "ledger", "entry", "size"),
    [
        (-2, 0, 0, 0),
        (0, -2, 0, 0),
        (0, 0, -2, 0),
        (0, 0, 0, -1),
        (0, 0, 0, 101),
        (0, 0, 0, 2**31 - 1),
        (0, 0, 0, -(2**31)),
    ],
)
def test_impossible_numbers_in_a_dump(partition: int, ledger: int, entry: int, size: int) -> None:
    front = dump(StoredEntry(bytes(100)))
    assert len(read(front, max_entry_size=100)) == 1
    with pytest.raises(DecodeError, match="dump: expected places from -1 and an entry of 0 to 100 bytes") as caught:
        read(front + FRONT.pack(partition, ledger, entry, size) + bytes(200), max_entry_size=100)
    assert caught.value.offset == len(front)


@pytest.mark.parametrize("data", [b"", b"e", b"entries\x02", b"entries\x00" + bytes(24), golden()["none"].entries[0]])
def test_a_file_of_another_kind_is_named(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"expected a dump of entries, which begins with b'entries\\x01'"):
        read(data)


@pytest.mark.parametrize("length", [-1, 89, 2**31 - 1])
def test_impossible_lengths_of_batches(length: int) -> None:
    good = struct.pack(">qi", 0, 88) + bytes(88)
    assert list(read_batches_one_by_one(Dripping(good + good), max_size=100)) == [(0, good), (100, good)]
    found = read_batches_one_by_one(io.BytesIO(good + struct.pack(">qi", 0, length) + bytes(200)), max_size=100)
    assert next(found) == (0, good)
    with pytest.raises(DecodeError, match="with a length from 0 to 88") as caught:
        next(found)
    assert caught.value.offset == 100
    for end in range(1, len(good)):
        with pytest.raises(DecodeError):
            list(read_batches_one_by_one(io.BytesIO(good[:end])))


def test_a_file_of_one_entry_is_bounded() -> None:
    assert read_one(Dripping(bytes(100)), max_size=100) == bytes(100)
    with pytest.raises(DecodeError, match="of at most 99 bytes, got more"):
        read_one(io.BytesIO(bytes(100)), max_size=99)


@pytest.mark.parametrize("size", [0, -1, 2**31])
def test_impossible_bounds_are_refused(size: int) -> None:
    calls: list[Callable[[], object]] = [
        lambda: read(dump(), max_entry_size=size),
        lambda: list(read_batches_one_by_one(io.BytesIO(), max_size=size)),
        lambda: read_one(io.BytesIO(), max_size=size),
    ]
    for call in calls:
        with pytest.raises(ConfigError, match=r"max_(entry_)?size: expected 1 to"):
            call()


def test_any_damaged_dump_is_converted_or_refused(tmp_path: Any) -> None:
    rng, codes = random.Random(7), set()
    whole = dump(*ENTRIES)
    for number in range(150):
        target = ("json", "kafka", "pulsar", "entries")[number % 4]
        arguments = "--to", target, "--failed", str(tmp_path / f"{number}"), "-o", str(tmp_path / f"{number}.out")
        codes.add(CommandLine()("convert", *arguments, stdin=bytes(damaged(whole, rng)), code=None).code)
    assert codes == {0, 1}


@pytest.mark.not_sanitized(reason="the sanitizers need memory of their own")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_memory_of_a_conversion_is_bounded() -> None:
    """Of bombs, of sizes that lie, and of as many lines as a batch can have: 64 MiB and twice the declared maximum."""
    said = run_limited(
        """
        import contextlib, io, os, struct
        import cramjam
        from streamnative_serdes.cli.convert import Conversion, EntryReaders
        from streamnative_serdes.cli.targets import Item, Lines
        from streamnative_serdes.converters import DumpWriter, StoredEntry, read_dump
        MIB = 1 << 20
        def batch(codec, records, count):
            covered = struct.pack(">hiqqqhii", codec, count - 1, 0, 0, -1, -1, -1, count) + records
            import google_crc32c
            return struct.pack(">qiibI", 0, len(covered) + 9, 0, 2, google_crc32c.value(covered)) + covered
        many = batch(4, bytes(cramjam.zstd.compress(b"\\x0c\\0\\0\\0\\1\\1\\0" * 100_000)), 100_000)
        bomb = batch(4, bytes(cramjam.zstd.compress(bytes(256 * MIB))), 1)
        lying = struct.pack(">iqqi", 0, 0, 0, 32 * MIB) + b"short"
        before = peak()
        kept = DumpWriter(io.BytesIO())
        out = open(os.devnull, "wb")
        conversion = Conversion(Lines(None, True), EntryReaders("read_committed", 32 * MIB, MIB, True), out, kept)
        for data in (many, bomb):
            with contextlib.redirect_stderr(io.StringIO()):
                conversion.add(Item(StoredEntry(data), 0))
        print(conversion.items, conversion.failures)
        try:
            list(read_dump(io.BytesIO(b"entries\\x01" + lying), max_entry_size=32 * MIB))
        except Exception as error:
            print(type(error).__name__)
        print(peak() - before <= 64 + 2 * 32)
        """
    )
    assert said == "2 1\nDecodeError\nTrue\n"


# Answers of the admin API

GOOD = {
    "X-Pulsar-Message-ID": "12:0",
    "X-Pulsar-PROPERTY": '{"entry.format":"kafka"}',
    "X-Pulsar-Broker-Entry-METADATA-index": "5",
    "X-Pulsar-publish-time": "2020-09-13T12:26:40Z",
    "X-Pulsar-num-batch-message": "6",
    "X-Pulsar-producer-name": "",
    "X-Pulsar-sequence-id": "0",
}
PAYLOAD = bytes(read_entry(memoryview(golden()["none"].entries[0])).payload)
STATS = {"ledgers": [{"ledgerId": 12, "entries": 0}], "lastConfirmedEntry": "12:0"}
HASTE = {"retries.total.ms": 300.0, "retries.wait.ms": 50.0}


@contextmanager
def asking(*answers: Answer) -> Iterator[tuple[AdminEntryReader, ScriptedRegistry]]:
    clock = Clock()
    with (
        ScriptedRegistry(*answers) as server,
        AdminEntryReader({"schema.registry.url": server.url, **HASTE}, clock=clock, sleep=clock.sleep) as reader,
    ):
        yield reader, server


def refused(match: str, *given: Answer, kind: type[SerdesError] = SchemaRegistryError) -> SerdesError:
    """The error of reading the topic t when the server gives these answers."""
    with asking(*given) as (reader, _), pytest.raises(kind, match=match) as caught:
        list(reader.entries("t"))
    return caught.value


def answers(headers: Mapping[str, str], payload: bytes = PAYLOAD, stats: Any = STATS) -> tuple[Answer, ...]:
    return Answer(body={"partitions": 0}), Answer(body=stats), Answer(body=payload, headers=headers)


def test_a_good_answer_is_the_golden_entry() -> None:
    with asking(*answers(GOOD)) as (reader, server):
        (entry,) = reader.entries("t")
        assert entry == StoredEntry(golden()["none"].entries[0], -1, 12, 0)
        paths = [asked.path for asked in server.asked]
    front = "/admin/v2/persistent/public/default/t"
    assert paths == [f"{front}/partitions", f"{front}/internalStats", f"{front}/ledger/12/entry/0"]


def test_properties_in_headers_of_their_own_are_read_too() -> None:
    """Pulsar before 4.0."""
    headers = {name: value for name, value in GOOD.items() if name != "X-Pulsar-PROPERTY"}
    assert entry_of({**headers, "X-Pulsar-PROPERTY-entry.format": "kafka"}, PAYLOAD) == golden()["none"].entries[0]
    chunk = {"X-Pulsar-PROPERTY-TOTAL-CHUNKS": "2", "X-Pulsar-chunk-id": "0", "X-Pulsar-PROPERTY-p": "q"}
    (message,) = EntryReader().entry(entry_of({"X-Pulsar-sequence-id": "0", **chunk}, b"v"))
    assert message.headers == (("p", b"q"),)


def test_the_start_counts_in_its_own_ledger_only() -> None:
    listed = [{"ledgerId": number, "entries": 2} for number in (11, 12, 14)]
    stats = Answer(body={"ledgers": listed, "lastConfirmedEntry": "14:1"})
    asked = ["12:1", "14:0", "14:1"]
    entries = [Answer(body=PAYLOAD, headers={**GOOD, "X-Pulsar-Message-ID": place}) for place in asked]
    with asking(Answer(body={"partitions": 4}), stats, *entries) as (reader, _):
        found = reader.entries("t-partition-3", start=(12, 1))
        assert [entry.place for entry in found] == [f"partition 3, entry {place}" for place in asked]


@pytest.mark.parametrize("given", [{"topic": "t-partition-4"}, {"topic": "t", "partition": 4}])
def test_a_partition_that_the_topic_does_not_have_is_named(given: Any) -> None:
    with (
        asking(Answer(body={"partitions": 4})) as (reader, _),
        pytest.raises(ConfigError, match="the topic has no partition 4: it has 4"),
    ):
        list(reader.entries(**given))


def test_a_conflict_is_not_one_of_schemas() -> None:
    reason = Answer(status=409, body={"reason": "Illegal topic partition name t-partition-5"})
    with asking(reason) as (reader, _), pytest.raises(SchemaRegistryError, match="HTTP 409") as caught:
        reader.entry("t", 1, 1, partition=5)
    assert not isinstance(caught.value, IncompatibleSchemaError)
    assert (caught.value.status, caught.value.hint) == (409, "has the topic this partition?")


SINGLE = {"X-Pulsar-sequence-id": "0"}


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"partition-key": ""}, "partition key without blanks"),
        ({"partition-key": "a b"}, "partition key without blanks"),
        ({"partition-key": "a ", "partition-key-b64-encoded": "false"}, "partition key without blanks"),
        ({"PROPERTY": '{"a":" "}'}, "properties without blanks"),
        ({"PROPERTY": '{" ":"a"}'}, "properties without blanks"),
    ],
)
def test_blanks_that_may_be_other_characters_are_errors(headers: dict[str, str], said: str) -> None:
    given = SINGLE | {f"X-Pulsar-{name}": value for name, value in headers.items()}
    with pytest.raises(DecodeError, match=said):
        entry_of(given, b"v")
    assert len(list(EntryReader().entry(entry_of(given, b"v", blanks=True)))) == 1
    assert entry_of({**given, "X-Pulsar-num-batch-message": "1"}, b"v")  # its messages have their own


@pytest.mark.parametrize(
    "headers",
    [
        {"partition-key": "YSBi", "partition-key-b64-encoded": "true"},
        {"PROPERTY": '{"a":" ","streamnative.serdes.kafka.headers":"AgJhAiA="}'},
    ],
    ids=["base64", "exact headers"],
)
def test_blanks_where_the_exact_bytes_are_known_are_no_doubt(headers: dict[str, str]) -> None:
    given = SINGLE | {f"X-Pulsar-{name}": value for name, value in headers.items()}
    (message,) = EntryReader().entry(entry_of(given, b"v"))
    assert message.key == b"a b" or message.headers == (("a", b" "),)


def test_a_part_of_a_compressed_message_is_refused() -> None:
    chunks = {**SINGLE, "X-Pulsar-uuid": "u", "X-Pulsar-num-chunks-from-msg": "2", "X-Pulsar-chunk-id": "0"}
    with pytest.raises(DecodeError, match="got one of 2 chunks of a compressed one"):
        entry_of({**chunks, "X-Pulsar-compression": "LZ4"}, b"v")
    for more in ({}, {"X-Pulsar-compression": "NONE"}):
        assert list(EntryReader().entry(entry_of({**chunks, **more}, b"v"))) == []
    alone = {**chunks, "X-Pulsar-num-chunks-from-msg": "1", "X-Pulsar-compression": "LZ4"}
    assert len(list(EntryReader().entry(entry_of(alone, b"v")))) == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PROPERTY", "{", "expected a JSON object of text"),
        ("PROPERTY", "[]", "expected a JSON object of text"),
        ("PROPERTY", '{"a":1}', "expected a JSON object of text"),
        ("PROPERTY", "[" * 5000, "expected a JSON object of text"),
        ("PROPERTY", r'{"a":"\ud800"}', "expected text"),
        ("sequence-id", "x", "expected a number"),
        ("sequence-id", "9" * 5000, "expected a number"),
        ("sequence-id", "\u0661", "expected a number"),
        ("publish-time", "now", "expected a time"),
        ("publish-time", "2020-02-30T00:00:00Z", "expected a time"),
        ("publish-time", "2020-01-01T25:00:00Z", "expected a time"),
        ("event-time", "9" * 5000, "expected a time"),
        ("null-value", "yes", "expected true or false"),
        ("Base64-schema-version", "!", "expected base64"),
        ("Base64-ordering-key", "\u00fc", "expected base64"),
        ("num-chunks-from-msg", "two", "expected a number"),
    ],
)
def test_a_header_that_pulsar_would_not_send_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(DecodeError, match=said) as caught:
        entry_of({**GOOD, f"X-Pulsar-{name}": value}, PAYLOAD)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("shown", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2020-09-13T12:26:40.1Z", 1_600_000_000_100),
        ("2000-02-29T00:00:00.12Z", 951_782_400_120),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("+10000-01-01T00:00:00Z", 253_402_300_800_000),
        ("+146140482-04-24T15:36:27.904Z", 2**62),
        ("+292278994-08-17T07:12:55.807Z", 2**63 - 1),
        ("-292275055-05-16T16:47:04.192Z", -(2**63)),
    ],
)
def test_every_moment_of_java_is_read(shown: str, milliseconds: int) -> None:
    entry = entry_of({"X-Pulsar-publish-time": shown}, b"v")
    field = b"\x18" + varint(milliseconds % 2**64)
    assert entry[10:].startswith(field)


def test_any_damaged_headers_are_read_or_refused() -> None:
    rng, refused = random.Random(7), 0
    values = [
        "",
        "-1",
        "0",
        str(2**63),
        "true",
        "{}",
        '{"entry.format":"kafka"}',
        "AAAA",
        "2020-01-01T00:00:00Z",
        "x" * 9,
    ]
    names = [
        *GOOD,
        *(f"X-Pulsar-{name}" for name in ("chunk-id", "uuid", "event-time", "partition-key", "marker-type")),
    ]
    for _ in range(3000):
        headers = {**GOOD, **{rng.choice(names): rng.choice(values) for _ in range(3)}}
        try:
            list(EntryReader().entry(entry_of(headers, PAYLOAD)))
        except DecodeError:
            refused += 1
    assert 500 < refused < 3000


@pytest.mark.parametrize(
    "stats",
    [
        [], {}, {"ledgers": {}, "lastConfirmedEntry": "1:1"}, {"ledgers": [], "lastConfirmedEntry": "x"},
        {"ledgers": []},
        {"ledgers": [1], "lastConfirmedEntry": "1:1"}, {"ledgers": [{"ledgerId": 1}], "lastConfirmedEntry": "1:1"},
        {"ledgers": [{"ledgerId": -1, "entries": 1}], "lastConfirmedEntry": "1:1"},
        {"ledgers": [{"ledgerId": 1, "entries": True}], "lastConfirmedEntry": "1:1"},
        {"ledgers": [{"ledgerId": 1, "entries": 2**63}], "lastConfirmedEntry": "1:1"},
    ],
)  # fmt: skip
def test_ledgers_that_pulsar_would_not_list_are_refused(stats: Any) -> None:
    said = "cannot list the ledgers of the topic: expected"
    assert refused(said, *answers(GOOD, stats=stats)).topic == "t"


@pytest.mark.parametrize("count", [-1, 2**31, "1", None, True])
def test_an_impossible_number_of_partitions_is_refused(count: Any) -> None:
    refused("cannot list the partitions", Answer(body={"partitions": count}))


def test_a_number_of_entries_that_lies_costs_one_request_at_a_time() -> None:
    stats = {"ledgers": [{"ledgerId": 12, "entries": 2**63 - 1}], "lastConfirmedEntry": "12:0"}
    with asking(*answers(GOOD, stats=stats)) as (reader, server):
        assert next(reader.entries("t")).entry == 0
        assert len(server.asked) == 3


@pytest.mark.parametrize("headers", [{}, {"X-Pulsar-Message-ID": "12:1"}, {"X-Pulsar-Message-ID": "x" * 5000}])
def test_an_answer_for_another_entry_is_refused(headers: dict[str, str]) -> None:
    said = "cannot read entry 12:0: expected an answer whose header X-Pulsar-Message"
    refused(said, *answers({**headers, "X-Pulsar-sequence-id": "0"}, b"<html>Sign in</html>"))


def test_a_broker_that_never_answers_is_named() -> None:
    first, second, _ = answers(GOOD)
    with (
        ScriptedRegistry(first, second, Answer(hold=True)) as server,
        AdminEntryReader({"schema.registry.url": server.url, **HASTE}) as reader,
        pytest.raises(RegistryUnavailableError, match="never answers for a payload that it cannot decompress"),
    ):
        list(reader.entries("t"))


@pytest.mark.parametrize("status", [401, 403])
def test_a_role_without_the_right_is_told_which(status: int) -> None:
    body = {"reason": "Unauthorized to validateTopicOperation for operation [PEEK_MESSAGES]"}
    first, second, _ = answers(GOOD)
    said = "the role needs the right to consume from the topic"
    refused(said, first, second, Answer(status, body), kind=AuthorizationError)


def http(body: bytes, **headers: str) -> bytes:
    lines = [
        f"{name.replace('_', '-')}: {value}" for name, value in ({"Content_Length": str(len(body))} | headers).items()
    ]
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode("latin-1") + body


HOSTILE = {
    "endless": http(b"x" * 4096, Content_Length=str(2**40), **GOOD),
    "cut off": http(PAYLOAD, Content_Length=str(len(PAYLOAD) + 1), **GOOD),
    "longer than it says": http(PAYLOAD, Content_Length="3", **GOOD),
    "many headers": http(b"", **{f"X-Pulsar-PROPERTY-{number}": "x" for number in range(200)}),
    "a long header": http(b"", **{**GOOD, "X-Pulsar-PROPERTY": "x" * 70_000}),
    "two answers in one header": http(b"", **{**GOOD, "X-Pulsar-sequence-id": "0, 0"}),
    "not gzip": http(b"x", Content_Encoding="gzip", **GOOD),
    "nothing": b"",
    "no HTTP": b"\0" * 100,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_is_one_of_our_errors(name: str) -> None:
    with RawServer(lambda *_: [HOSTILE[name]]) as server:
        conf = {"schema.registry.url": server.url, "retries.total.ms": 100.0, "retries.wait.ms": 50.0}
        with AdminEntryReader(conf) as reader, pytest.raises(SerdesError) as caught:
            list(EntryReader().entry(reader.entry("t", 12, 0).data))
    assert len(str(caught.value)) < 5000


def test_credentials_that_an_answer_repeats_are_hidden() -> None:
    secret = "s3cr3t-token-of-this-test"
    first, second, _ = answers(GOOD)
    bad = Answer(body=PAYLOAD, headers={**GOOD, "X-Pulsar-sequence-id": secret})
    with ScriptedRegistry(first, second, bad) as server:
        conf = {"schema.registry.url": server.url, "bearer.auth.token": secret}
        with AdminEntryReader(conf) as reader, pytest.raises(DecodeError, match=r"got '\[hidden\]'"):
            list(reader.entries("t"))


@pytest.mark.promise("limits")
@pytest.mark.not_sanitized(reason="the sanitizers need memory of their own")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_answer_that_expands_without_end_is_bounded() -> None:
    import zlib

    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    bomb = b"".join([packer.compress(bytes(1 << 20)) for _ in range(128)]) + packer.flush()
    with RawServer(lambda *_: [http(bomb, Content_Encoding="gzip", **GOOD)]) as server:
        said = run_limited(
            f"""
            from streamnative_serdes.converters import AdminEntryReader
            from streamnative_serdes.errors import SchemaRegistryError
            with AdminEntryReader({json.dumps({"schema.registry.url": server.url})}) as reader:
                before = peak()
                try:
                    reader.entry("t", 12, 0)
                except SchemaRegistryError as error:
                    print("larger than 16777216 bytes" in str(error), peak() - before)
            """
        )
    outcome, used = said.split()
    assert outcome == "True"
    assert int(used) <= 64 + 2 * 64  # MiB
