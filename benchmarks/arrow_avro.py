"""Arrow columns compared with Rust's arrow-avro, which is compiled by cargo and called in this process.

    python benchmarks/arrow_avro.py                  table and goals; builds the crate at the first run
    python benchmarks/arrow_avro.py --write-docs     also write the table in docs/arrow.md
    python benchmarks/arrow_avro.py --rows 1024 --shape tiny --shape flat

What is compared, always with all messages in memory, and one batch of all rows as result:

- decode, bare: ``ColumnCodec.decode`` of an Arrow array; ``Decoder`` of unframed data, the messages in one buffer.
- decode, framed: ``deserialize_batch`` of an Arrow array, with our header of ten bytes; ``Decoder`` with Confluent's of
  five, the messages in one buffer.
- decode, framed, one by one: the same, of a list of bytes; of messages with an allocation each.
- encode, bare and framed: ``ColumnCodec.encode`` and ``serialize_batch``; ``Encoder`` with a hint of the mean row size.
  Each encodes the columns that it decodes. Both make one buffer of messages and an array of offsets.
- 8 versions: messages of eight versions in turn, read as the latest. arrow-avro's ``Decoder`` gives a new batch
  whenever the version changes, so the messages are given to a decoder for each version, and the rows are then put back
  in order by arrow-select. What one decoder takes is told too.

arrow-avro has its fastest settings that give the same columns: no strict mode, the number of rows as the size of
batches, a decoder and an encoder that are kept from round to round, and a build with LTO. Its batches stay in Rust. It
shares malloc with this process, where streamnative_serdes makes malloc keep freed memory, which is good for both.

All values and messages are compared before anything is timed. Rounds are interleaved in shuffled order, a round has at
least 20,000 rows, and the clock is the processor time of all threads. Ratios are medians over the rounds.

"first" encodes 8 MB at once in a process that has not encoded before: each round is a new process.

Needs cargo, and exits with status 2 if cargo is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pyarrow as pa
from arrow import Cell, ratio
from arrow_avro_crate import NoCargoError, Pointer, Rust, build, version
from pages import DOCS, write_docs
from shapes import FLAT, SHAPES, Shape

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

ROWS = (1_024, 10_000, 100_000)
LARGEST = {"text": 10_000}  # 1 GB of text would measure the memory
ROWS_OF_A_ROUND = 20_000
VERSIONS, COLUMN_OF_VERSIONS = 8, "8 versions"
OPERATIONS = ("decode, bare", "decode, framed", "decode, framed, one by one", "encode, bare", "encode, framed")
PEER, ONE_DECODER = "arrow-avro", "arrow-avro, one decoder"
ROWS_OF_ONE_DECODER = 1_024  # a batch for each row takes just as long for each row if there are more of them
FIRST_BYTES, FIRST_ROUNDS = 8 << 20, 9
AHEAD = 1.0
MARKER = "<!-- benchmark of arrow-avro -->\n"

Cells = dict[tuple[str, str, str], Cell]  # by operation with its number of rows, column of the table, library
Work = Callable[[], object]


def named(operation: str, rows: int) -> str:
    return f"{operation}, {rows:,} rows"


def cell(work: Work, rows: int) -> Cell:
    """A cell whose round repeats small batches."""
    times = max(1, ROWS_OF_A_ROUND // rows)

    def repeated() -> None:
        for _ in range(times):
            work()

    return Cell(repeated, times * rows)


def bodies_of(shape: Shape, rows: int) -> list[bytes]:
    """Bare data, each in a bytes object of its own."""
    codec = Codec(shape.schema)
    return [codec.encode(shape.records[number % len(shape.records)]) for number in range(rows)]


def confluent(bodies: list[bytes], versions: int = 1) -> pa.Array:
    """Messages with Confluent's header; their ids are 0, 1, ... in turn."""
    return pa.array([b"\0" + (number % versions).to_bytes(4, "big") + body for number, body in enumerate(bodies)])


def check(same: bool, what: str) -> None:
    if not same:
        raise SystemExit(f"{what}: arrow-avro and streamnative_serdes differ, so nothing is timed")


def same_columns(theirs: pa.RecordBatch, ours: pa.RecordBatch) -> bool:
    """Whether the values are the same.

    arrow-avro has milliseconds where we have microseconds, a dictionary for an enum, and 16 bytes for a UUID.
    """
    names = theirs.schema.names == ours.schema.names
    pairs = zip(theirs.columns, ours.columns, strict=True)
    return names and all(as_type(column, own.type).equals(own) for column, own in pairs)


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == pa.binary(16):
        return pa.array([None if value is None else str(UUID(bytes=value)) for value in column.to_pylist()], kind)
    return column.cast(kind)


def bare_cells(rust: Rust, shape: Shape, rows: int) -> Iterator[tuple[str, str, Cell]]:
    """Yield (operation, library, cell) for data without a header."""
    codec, data = ColumnCodec(shape.schema), pa.array(bodies_of(shape, rows))
    columns = codec.decode(data)
    reader, messages = rust.reader([shape.text], rows, framed=False), rust.messages(data, apart=False)
    theirs = rust.columns(reader, messages)
    check(same_columns(theirs, columns), f"{shape.name}, {rows} rows decoded")
    yield "decode, bare", "ours", cell(lambda: codec.decode(data), rows)
    yield "decode, bare", PEER, cell(lambda: rust.read(reader, messages), rows)
    writer = rust.writer(theirs, shape.text, framed=False, row_bytes=data.nbytes // rows)
    check(codec.encode(columns) == data == rust.written(writer), f"{shape.name}, {rows} rows encoded")
    yield "encode, bare", "ours", cell(lambda: codec.encode(columns), rows)
    yield "encode, bare", PEER, cell(lambda: rust.write(writer), rows)


def framed_cells(rust: Rust, url: str, shape: Shape, rows: int) -> Iterator[tuple[str, str, Cell]]:
    """The same for data with a header: ours is in the registry, theirs in a store of schemas."""
    conf, topic = {"schema.registry.url": url}, f"{shape.name}-{rows}"
    serializer, deserializer = KafkaAvroSerializer(conf, shape.schema), KafkaAvroDeserializer(conf)
    bodies = bodies_of(shape, rows)
    columns = ColumnCodec(shape.schema).decode(pa.array(bodies))
    data, framed = serializer.serialize_batch(topic, columns), confluent(bodies)
    check([message[10:] for message in data.to_pylist()] == bodies, f"{shape.name}, {rows} rows encoded with a header")
    reader = rust.reader([shape.text], rows, framed=True)
    yield from decode_cells(rust, reader, framed, deserializer, topic, data)
    theirs = rust.columns(reader, rust.messages(framed, apart=False))
    writer = rust.writer(theirs, shape.text, framed=True, row_bytes=framed.nbytes // rows)
    check(rust.written(writer) == framed, f"{shape.name}, {rows} rows encoded with a header by arrow-avro")
    yield "encode, framed", "ours", cell(lambda: serializer.serialize_batch(topic, columns), rows)
    yield "encode, framed", PEER, cell(lambda: rust.write(writer), rows)


def decode_cells(
    rust: Rust, reader: Pointer, framed: pa.Array, deserializer: KafkaAvroDeserializer, topic: str, data: pa.Array
) -> Iterator[tuple[str, str, Cell]]:
    """Both ways to have messages: in one array, and one by one."""
    rows, ours = len(data), deserializer.deserialize_batch(topic, data)
    for operation, mine, apart in (("decode, framed", data, False), (OPERATIONS[2], data.to_pylist(), True)):
        messages = rust.messages(framed, apart=apart)
        check(same_columns(rust.columns(reader, messages), ours), f"{topic}, {rows} rows decoded with a header")
        check(deserializer.deserialize_batch(topic, mine) == ours, f"{topic}, {operation}")
        yield operation, "ours", cell(partial(deserializer.deserialize_batch, topic, mine), rows)
        yield operation, PEER, cell(partial(rust.read, reader, messages), rows)


def version_of(number: int) -> dict[str, Any]:
    """The flat schema, with as many fields added as versions came before."""
    added = [{"name": f"added_{which}", "type": "string", "default": "none"} for which in range(number)]
    return {**FLAT, "fields": [*FLAT["fields"], *added]}


def version_cells(rust: Rust, url: str, rows: int) -> Iterator[tuple[str, str, Cell]]:
    """Messages of eight versions in turn, read as the latest."""
    conf, topic = {"schema.registry.url": url}, f"versions-{rows}"
    schemas = [version_of(number) for number in range(VERSIONS)]
    records = next(shape for shape in SHAPES if shape.name == "flat").records
    bodies, data = [b""] * rows, [b""] * rows
    for number, schema in enumerate(schemas):
        codec, serializer = Codec(schema), KafkaAvroSerializer(conf, schema)
        for row in range(number, rows, VERSIONS):
            # Not the row's number: eight versions in turn would get two of the sixteen records each.
            record = records[row // VERSIONS % len(records)] | {f"added_{which}": "some" for which in range(number)}
            bodies[row], data[row] = codec.encode(record), serializer.serialize(topic, record) or b""
    texts = [json.dumps(schema) for schema in schemas]
    framed, deserializer = confluent(bodies, VERSIONS), KafkaAvroDeserializer(conf, schemas[-1])
    reader = rust.reader(texts, rows, framed=True, reader=texts[-1], by_id=True)
    yield from decode_cells(rust, reader, framed, deserializer, topic, pa.array(data))
    if rows == ROWS_OF_ONE_DECODER:
        one, messages = rust.reader(texts, rows, framed=True, reader=texts[-1]), rust.messages(framed, apart=False)
        ours = deserializer.deserialize_batch(topic, data)
        check(same_columns(rust.columns(one, messages), ours), "8 versions, one decoder")
        yield "decode, framed", ONE_DECODER, Cell(lambda: rust.read(one, messages), rows)


def groups(rust: Rust, url: str, chosen: list[str], sizes: list[int]) -> Iterator[Cells]:
    """Yield the cells of one shape and number of rows after another, which keeps the memory bounded."""
    for rows in sizes:
        for shape in SHAPES:
            if shape.name in chosen and rows <= LARGEST.get(shape.name, rows):
                found = [*bare_cells(rust, shape, rows), *framed_cells(rust, url, shape, rows)]
                yield {(named(operation, rows), shape.title, library): one for operation, library, one in found}
        if "versions" in chosen:
            found = list(version_cells(rust, url, rows))
            yield {(named(operation, rows), COLUMN_OF_VERSIONS, library): one for operation, library, one in found}


def measure(rust: Rust, chosen: list[str], sizes: list[int], rounds: int) -> Cells:
    order, cells = random.Random(0), Cells()
    with LocalRegistry() as registry:
        for group in groups(rust, registry.url, chosen, sizes):
            for one in group.values():
                one.work()  # the first round of each pays for its memory
            for _ in range(rounds):
                for key in order.sample(list(group), len(group)):
                    group[key].time()
            for one in group.values():
                one.work = done  # lets go of messages and columns
            cells |= group
    return cells


def done() -> None:
    raise RuntimeError("this cell has been measured")


def first(rust: Rust, library: Path) -> Cells:
    """Encode ``FIRST_BYTES`` at once, in a new process for each round."""
    shape = next(shape for shape in SHAPES if shape.name == "flat")
    some = bodies_of(shape, len(shape.records))
    mean = ceil(sum(map(len, some)) / len(some))
    rows = FIRST_BYTES // mean
    data = pa.array(bodies_of(shape, rows))
    theirs = rust.columns(rust.reader([shape.text], rows, framed=False), rust.messages(data, apart=False))
    cells = {(named("first", rows), shape.title, side): Cell(done, rows) for side in ("ours", PEER)}
    with TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.avsc"
        schema.write_text(shape.text)
        files = {"ours": Path(folder) / "ours.arrow", "rust": Path(folder) / "rust.arrow"}
        for side, batch in (("ours", ColumnCodec(shape.schema).decode(data)), ("rust", theirs)):
            with pa.ipc.new_file(files[side], batch.schema) as file:
                file.write_batch(batch)
        for _ in range(FIRST_ROUNDS):
            seen = set()
            for side, more in (("ours", []), ("rust", [str(library), str(mean)])):
                taken, digest = in_new_process(side, str(files[side]), str(schema), *more)
                cells[named("first", rows), shape.title, side if side == "ours" else PEER].rounds.append(taken / rows)
                seen.add(digest)
            check(len(seen) == 1, "8 MB encoded in a new process")
    return cells


def in_new_process(*arguments: str) -> tuple[int, str]:
    program = Path(__file__).with_name("arrow_avro_first.py")
    shown = subprocess.run([sys.executable, program, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
    taken, digest = shown.split()
    return int(taken), digest


def table(cells: Cells) -> str:
    titles = list(dict.fromkeys(column for _, column, _ in cells))
    ordered = sorted({name for name, _, _ in cells}, key=place)
    lines = ["| ns per row | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(titles)]
    lines += [f"| {name} | " + " | ".join(told(cells, name, title) for title in titles) + " |" for name in ordered]
    return "\n".join(lines)


def place(name: str) -> tuple[int, int]:
    """Order operations as above, then by rows; those of new processes come last."""
    operation, _, rows = name.removesuffix(" rows").rpartition(", ")
    return OPERATIONS.index(operation) if operation in OPERATIONS else len(OPERATIONS), int(rows.replace(",", ""))


def told(cells: Cells, name: str, column: str) -> str:
    times = ratio(cells, name, column, PEER)
    if times is None:
        return "-"
    ours, theirs = (median(cells[name, column, library].rounds) for library in ("ours", PEER))
    return f"**{ours:,.0f}** : {theirs:,.0f} ({times:.2f}x)"


def goals(cells: Cells) -> Iterator[tuple[str, float]]:
    for name, column, library in cells:
        if library == PEER:
            yield f"{name}, {column}", ratio(cells, name, column, PEER) or 0.0


def one_decoder(cells: Cells) -> str:
    """What arrow-avro takes without decoders of our own choosing, or nothing if that was not measured."""
    found = [one for (_, _, library), one in cells.items() if library == ONE_DECODER]
    if not found:
        return ""
    return f"Eight versions with one decoder of arrow-avro: {median(found[0].rounds):,.0f} ns per row. "


def machine() -> str:
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    return (
        f"CPython {platform.python_version()}, {os.cpu_count()} cores; pyarrow {metadata.version('pyarrow')}, "
        f"arrow-avro {version()}, Rust {rustc}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*(shape.name for shape in SHAPES), "versions", "first"]
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--rows", type=int, action="append", help=f"instead of {', '.join(map(str, ROWS))}")
    parser.add_argument("--shape", choices=names, action="append", help="instead of all of them")
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    if given.write_docs and (given.rows or given.shape):
        parser.error("--write-docs needs all shapes and numbers of rows")
    try:
        library = build()
    except NoCargoError as error:
        print(error, file=sys.stderr)
        return 2
    rust, chosen = Rust(library), given.shape or names
    alone = first(rust, library) if "first" in chosen else Cells()
    cells = measure(rust, chosen, given.rows or list(ROWS), given.rounds) | alone
    text = f"{table(cells)}\n\n{one_decoder(cells)}{machine()}."
    print(text, "", sep="\n")
    reached = list(goals(cells))
    for what, got in reached:
        print(f"{'ok    ' if got >= AHEAD else 'MISSED'} {what}: {got:.2f}x, wanted {AHEAD:g}x")
    if given.write_docs:
        write_docs(DOCS / "arrow.md", text, MARKER)
    return 0 if all(got >= AHEAD for _, got in reached) else 1


if __name__ == "__main__":
    sys.exit(main())
