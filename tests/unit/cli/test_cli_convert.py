"""The command ``convert``: entries in files become JSON lines, Pulsar's entries or Kafka's batches, and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

from command import CommandLine
from java_entries import Topic, changed, golden
from kop_entries import _number, _text, pulsar_entry, sealed

from streamnative_serdes.converters import (
    DumpWriter,
    EntryReader,
    KafkaEntryReader,
    Message,
    StoredEntry,
    framed,
    read_dump,
)
from streamnative_serdes.errors import EncodeError

TRANSACTIONS = golden()["transactions"]
DAMAGED = TRANSACTIONS.entries[0][:-1]
PLACES = [(0, 12, number) for number in range(len(TRANSACTIONS.entries))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> CommandLine:
    return CommandLine()


def dump(*entries: StoredEntry | bytes, name: str = "a.dump") -> str:
    with Path(name).open("wb") as file:
        writer = DumpWriter(file)
        for entry in entries:
            writer.write(entry if isinstance(entry, StoredEntry) else StoredEntry(entry))
        writer.finish()
    return name


def of(topic: Topic, partition: int = 0) -> list[StoredEntry]:
    return [StoredEntry(data, partition, 12, number) for number, data in enumerate(topic.entries)]


def read(name: str) -> list[StoredEntry]:
    with Path(name).open("rb") as file:
        return list(read_dump(file))


def data(shown: Any) -> bytes | None:
    if shown is None:
        return None
    return base64.b64decode(shown["base64"]) if isinstance(shown, dict) else str(shown).encode()


def messages(lines: Iterable[Any]) -> list[Message]:
    return [
        Message(
            data(line["value"]),
            key=data(line["key"]),
            headers=[(name, data(value)) for name, value in line["headers"]],
            offset=line["offset"],
            schema_version=line["version"],
            producer_id=line.get("producer_id", -1),
            transactional=line.get("transactional", False),
        )
        for line in lines
    ]


def without_time(found: Iterable[Message]) -> list[Message]:
    return [changed(message, timestamp=-1) for message in found]


def expected(topic: Topic, **options: Any) -> list[Message]:
    reader = EntryReader(**options)
    return [message for entry in topic.entries for message in reader.entry(entry)]


# Results


@pytest.mark.parametrize("name", ["transactions", "several batches", "pulsar zstd", "pulsar chunks"])
def test_lines_have_all_of_each_message(run: CommandLine, name: str) -> None:
    found = run("convert", dump(*of(golden()[name]))).lines
    assert messages(found) == without_time(expected(golden()[name]))
    assert {line["partition"] for line in found} == {0}


def test_a_line(run: CommandLine) -> None:
    assert run("convert", dump(*of(TRANSACTIONS))).lines[1] == {
        "partition": 0, "entry": "12:0", "offset": 1, "timestamp": "2020-09-13T12:26:40.001Z",
        "key": {"base64": "AP/+"}, "headers": [], "version": 2**63 - 1, "value": "b",
        "producer_id": 1, "transactional": True,
    }  # fmt: skip
    (line,) = run("convert", "--input-format", "entry", "-", stdin=pulsar_entry(b"v", b"")).lines
    assert line == {
        "offset": None, "timestamp": "2020-09-13T12:26:40.000Z", "key": None, "headers": [], "version": None,
        "value": "v",
    }  # fmt: skip


def test_standard_input_and_several_files_are_read(run: CommandLine) -> None:
    first, second = dump(*of(golden()["none"])), dump(*of(golden()["gzip"]), name="b.dump")
    assert len(run("convert", stdin=Path(first).read_bytes()).lines) == 18
    assert len(run("convert", first, second).lines) == 36


def test_read_committed_leaves_open_and_aborted_records_out(run: CommandLine) -> None:
    ended = run("convert", "--isolation", "read_committed", dump(*of(TRANSACTIONS)))
    assert [line["offset"] for line in ended.lines] == sorted(TRANSACTIONS.committed)
    assert ended.err == ""
    assert not any("entry" in line for line in ended.lines)  # that of the marker would mislead
    run("convert", "--isolation", "read_committed", "--to", "pulsar", "a.dump", "-o", "out.dump")
    assert {(entry.partition, entry.ledger, entry.entry) for entry in read("out.dump")} == {(0, -1, -1)}
    ended = run("convert", "--isolation", "read_committed", dump(*of(TRANSACTIONS)[1:3], name="b.dump"))
    assert ended.lines == []
    assert ended.err.splitlines() == [
        "Warning: partition 0: 12 messages not written, because transactions have not ended: producer 2 from offset 6",
        "Warning: partition 0: transactions may have begun before the first entry: those of producers 2",
    ]


def test_transactions_belong_to_their_partition(run: CommandLine) -> None:
    entries = of(TRANSACTIONS, 0), of(TRANSACTIONS, 1)
    mixed = [entry for pair in zip(*entries, strict=True) for entry in pair]
    found = run("convert", "--isolation", "read_committed", dump(*mixed)).lines
    for partition in (0, 1):
        offsets = [line["offset"] for line in found if line["partition"] == partition]
        assert offsets == sorted(TRANSACTIONS.committed)
    alone = run("convert", "--isolation", "read_committed", "--partition", "1", dump(*mixed, name="c.dump")).lines
    assert alone == [line for line in found if line["partition"] == 1]


def test_kafkas_entries_become_pulsars_and_pulsars_stay(run: CommandLine) -> None:
    other = StoredEntry(pulsar_entry(b"v", bytes(8)), 0, 13, 0)
    ended = run("convert", "--to", "pulsar", dump(*of(TRANSACTIONS), other), "--output", "out.dump")
    assert ended.out == "out.dump: 10 entries converted\n"
    entries = read("out.dump")
    assert entries[-1] == other
    assert {entry.entry for entry in entries[:-1]} == {0, 1, 2, 4, 8}  # markers are nobody's messages
    reader = EntryReader()
    found = [message for entry in entries[:-1] for message in reader.entry(entry.data)]
    assert [(m.offset, m.key, m.headers, framed(m)) for m in found] == [
        (m.offset, m.key, m.headers, m.value) for m in TRANSACTIONS.messages
    ]


def test_batches_go_to_kafka_and_back(run: CommandLine) -> None:
    run("convert", "--to", "kafka", dump(*of(golden()["several batches"])), "--output", "out.log")
    plain = KafkaEntryReader(schema_header=False)
    assert list(plain.batches(Path("out.log").read_bytes())) == list(golden()["several batches"].messages)
    run("convert", "--input-format", "batches", "out.log", "--to", "pulsar", "--output", "back.dump")
    reader = EntryReader()
    assert [(m.offset, framed(m)) for entry in read("back.dump") for m in reader.entry(entry.data)] == [
        (m.offset, m.value) for m in golden()["several batches"].messages
    ]
    lines = run("convert", "--input-format", "batches", "out.log").lines
    assert messages(lines) == without_time(expected(golden()["several batches"]))


def test_messages_without_offsets_are_numbered_over_all_entries(run: CommandLine) -> None:
    run("convert", "--to", "kafka", dump(*[pulsar_entry(b"v", b"")] * 3), "--output", "out.log")
    assert [m.offset for m in KafkaEntryReader().batches(Path("out.log").read_bytes())] == [0, 1, 2]


def test_entries_can_stay_as_they_are(run: CommandLine) -> None:
    name = dump(*of(TRANSACTIONS), StoredEntry(b"not even an entry"))
    run("convert", "--to", "entries", name, "--output", "out.dump")
    assert Path("out.dump").read_bytes() == Path(name).read_bytes()
    run("convert", "--to", "entries", "--partition", "5", dump(*of(TRANSACTIONS)), "--output", "none.dump")
    assert read("none.dump") == []


def test_the_schema_header_can_stay_on_the_values(run: CommandLine) -> None:
    found = run("convert", "--keep-header", dump(*of(golden()["none"]))).lines
    assert [data(line["value"]) for line in found] == [m.value for m in golden()["none"].messages]
    assert {line["version"] for line in found} == {None}


def test_the_topics_name_is_in_no_line_of_a_file(run: CommandLine) -> None:
    assert "topic" not in run("convert", dump(*of(TRANSACTIONS))).lines[0]


# Failures


def test_an_entry_that_cannot_be_read_ends_the_command(run: CommandLine) -> None:
    good, bad = of(golden()["none"])[0], StoredEntry(DAMAGED, 0, 12, 7)
    ended = run("convert", dump(good, bad, good), code=1)
    assert len(ended.lines) == 6
    assert ended.err.startswith("Error: partition 0, entry 12:7: byte ")
    assert "Hint: --failed FILE keeps what cannot be read, and goes on" in ended.err
    assert run("convert", "--json", "a.dump", code=1).error["error"]["kind"] == "DecodeError"


def test_an_entry_that_cannot_be_read_is_kept_and_the_others_are_converted(run: CommandLine) -> None:
    good, bad = of(golden()["none"])[0], StoredEntry(DAMAGED, 0, 12, 7)
    unnamed = StoredEntry(b"neither")
    for target in ("json", "kafka", "pulsar"):
        name, kept = f"{target}.out", f"{target}.failed"
        entries = dump(good, bad, unnamed, good, name=f"{target}.dump")
        if target == "kafka":
            entries = dump(good, bad, StoredEntry(b"neither", 0), name="kafka.dump")
        ended = run("convert", "--to", target, entries, "-o", name, "--failed", kept, code=1)
        assert [entry.data for entry in read(kept)] == [DAMAGED, b"neither"]
        assert read(kept)[0] == bad
        assert "partition 0, entry 12:7: byte " in ended.err
        assert f"Error: 2 of {3 if target == 'kafka' else 4} entries cannot be read" in ended.err
    assert len(Path("json.out").read_text().splitlines()) == 12
    assert len(read("pulsar.out")) == 2 * 4  # runs of one schema version
    assert "entry 3: " in ended.err


def test_an_entry_is_converted_as_a_whole_or_not_at_all(run: CommandLine) -> None:
    """The second batch of the entry is damaged, the first is not."""
    entry = bytearray(golden()["none"].entries[1])
    entry[-1] ^= 1
    for target in ("json", "kafka", "pulsar"):
        run("convert", "--to", target, dump(bytes(entry), name=f"{target}.dump"), "-o", f"{target}.out", code=1)
        assert not Path(f"{target}.out").exists()


def test_a_damaged_entry_inside_a_transaction_leaves_the_transaction_as_it_was(run: CommandLine) -> None:
    entries = of(TRANSACTIONS)
    damaged = bytearray(golden()["none"].entries[1])
    damaged[-1] ^= 1
    mixed = [*entries[:1], StoredEntry(bytes(damaged), 0, 12, 99), *entries[1:]]
    ended = run("convert", "--isolation", "read_committed", "--failed", "kept", dump(*mixed), code=1)
    assert [line["offset"] for line in ended.lines] == sorted(TRANSACTIONS.committed)
    assert [entry.entry for entry in read("kept")] == [99]


def test_the_bound_of_held_records_ends_the_command_in_any_case(run: CommandLine) -> None:
    arguments = "--isolation", "read_committed", "--max-held", "5000", "--failed", "kept"
    ended = run("convert", *arguments, dump(*of(TRANSACTIONS)), code=1)
    assert ended.err.startswith("Error: partition 0, entry 12:2: ")
    assert "expected the end of the open transactions" in ended.err
    assert "goes on" not in ended.err
    assert not Path("kept").exists()


def test_a_batch_that_would_be_too_large_is_kept(run: CommandLine) -> None:
    many = _text(1, b"") + _number(2, 0) + _number(3, 1) + _number(11, 1000)
    entry = sealed(many, bytes(4000))
    arguments = "--to", "kafka", "--max-batch-size", "5000", "--failed", "kept", "-o", "out.log"
    ended = run("convert", *arguments, dump(entry, pulsar_entry(b"v", b"")), code=1)
    assert "expected a batch of at most 5000 bytes" in ended.err
    assert [each.data for each in read("kept")] == [entry]
    assert [m.offset for m in KafkaEntryReader().batches(Path("out.log").read_bytes())] == [0]


def test_a_damaged_dump_ends_the_command_and_is_named(run: CommandLine) -> None:
    name = dump(*of(golden()["none"]))
    Path(name).write_bytes(Path(name).read_bytes()[:-1])
    ended = run("convert", "--failed", "kept", name, code=1)
    assert len(ended.lines) == 6
    assert f"{name}: dump: entry: expected" in ended.err


def test_several_partitions_cannot_become_one_file_of_batches(run: CommandLine) -> None:
    name = dump(*of(golden()["none"]), *of(golden()["none"], 1))
    ended = run("convert", "--to", "kafka", name, "-o", "out.log", code=1)
    assert "expected one partition for --to kafka, got 0 and 1" in ended.err
    run("convert", "--to", "kafka", "--partition", "1", name, "-o", "one.log")


def test_a_failed_command_leaves_no_empty_file(run: CommandLine) -> None:
    before = dump(*of(golden()["none"]))
    files = ("--output", "out", "--failed", "kept")
    assert "address is missing" in run("convert", "--topic", "t", *files, code=2).err
    assert "exists" in run("convert", before, "--output", "out", "--failed", before, code=2).err
    assert [str(path) for path in Path().iterdir()] == [before]
    run("convert", before, *files)
    assert len(Path("out").read_text().splitlines()) == 18
    Path("bad.dump").write_bytes(Path(before).read_bytes()[:-1])
    run("convert", "bad.dump", "--output", "part", code=1)
    assert len(Path("part").read_text().splitlines()) == 6


def test_files_that_exist_are_not_overwritten(run: CommandLine) -> None:
    name = dump(*of(golden()["none"]))
    before = Path(name).read_bytes()
    for option in ("--output", "--failed"):
        assert f"{name} exists, and is not overwritten" in run("convert", name, option, name, code=2).err
    assert Path(name).read_bytes() == before
    assert "cannot be written" in run("convert", name, "-o", "no/such/folder", code=2).err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--topic", "t", "a.dump"], "--topic needs no FILES"),
        (["--topic", "t", "--input-format", "batches"], "--topic needs no FILES"),
        (["--input-format", "batches", "--to", "entries", "a.dump"], "Kafka's batches are no entries"),
        (["--start", "1:0", "a.dump"], "--start and --blanks need --topic"),
        (["--blanks", "a.dump"], "--start and --blanks need --topic"),
        (["--start", "1", "--topic", "t"], "expected LEDGER:ENTRY"),
        (["--topic", "t"], "the registry's address is missing"),
        (["--partition", "0", "--input-format", "entry", "a.dump"], "--partition is for dumps and --topic"),
        (["--partition", "0", "--input-format", "batches", "a.dump"], "--partition is for dumps and --topic"),
        (["--partition", "0", "b.dump"], "--partition 0: entry 2 does not name its partition"),
        (["--partition", "0", "c.dump"], "--partition 0: entry 12:7 does not name its partition"),
        (["--max-batch-size", "0", "a.dump"], "Invalid value for '--max-batch-size'"),
    ],
)
def test_what_does_not_go_together_is_said(run: CommandLine, arguments: list[str], said: str) -> None:
    dump()
    dump(StoredEntry(b"x", 1), StoredEntry(b"x"), name="b.dump")
    dump(StoredEntry(b"x", -1, 12, 7), name="c.dump")
    assert said in run("convert", *arguments, code=2).err


def test_bytes_are_not_written_to_a_terminal(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamnative_serdes.cli.convert._is_terminal", lambda: True)
    assert "add --output FILE" in run("convert", "--to", "kafka", dump(), code=2).err


def test_the_report_is_json_if_asked(run: CommandLine) -> None:
    name = dump(*of(golden()["none"]), b"neither")
    ended = run("convert", "--json", name, "-o", "out.jsonl", "--failed", "kept", code=1)
    assert ended.json == {"file": "out.jsonl", "entries": 3, "failed": 1}
    assert json.loads(Path("out.jsonl").read_text().splitlines()[0])["offset"] == 0


def test_an_entry_of_more_than_an_int32_is_refused(folder: Path) -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return 2**31

    with (folder / "x").open("wb") as file, pytest.raises(EncodeError, match=r"fewer than 2\*\*31 bytes"):
        DumpWriter(file).write(StoredEntry(Huge()))
