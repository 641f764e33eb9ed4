"""Arrow columns compared with Rust's arrow-avro, which is compiled by cargo and called in this process.

    python benchmarks/arrow_avro.py                  table and goals; builds the crate at the first run
    python benchmarks/arrow_avro.py --write-docs     also write the table in docs/arrow-performance.md
    python benchmarks/arrow_avro.py --rows 1024 --shape tiny --shape flat

docs/arrow-performance.md describes what is compared, with all messages in memory and one batch of all rows as result.
arrow-avro has its fastest settings that give the same columns: no strict mode, the number of rows as the size of
batches, decoders and encoders that are kept from round to round, and a build with LTO. Its batches stay in Rust. It
shares malloc with this process, where streamnative_serdes makes malloc keep freed memory, which is good for both.

All values and messages are compared before anything is timed. A round has at least 20,000 rows, and the clock is the
processor time of all threads.

Needs cargo, and exits with status 2 if cargo is not installed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from arrow_avro_crate import NoCargoError, Rust, build, version
from arrow_avro_jobs import OURS, PEER, STRUCTS, bare, bodies_of, check, framed
from arrow_avro_readers import ONE_DECODER, eight_versions, few
from arrow_avro_table import speed
from column_shapes import COLUMN_SHAPES, COLUMNS_BY_NAME, DIFFERENT
from harness import DOCS, Goal, Job, Results, Told, judged, machine, measure, nothing, options, write_docs

from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.testing import LocalRegistry

ROWS = (1_024, 10_000, 100_000)
LARGEST = {"text": 10_000}  # 1 GB of text would measure the memory
FIRST_BYTES, FIRST_ROUNDS, AHEAD = 8 << 20, 9, 1.0
MARKER = "<!-- benchmark of arrow-avro -->\n"


def measured(rust: Rust, chosen: list[str], sizes: list[int], rounds: int) -> Results:
    """One shape and number of rows after another, which keeps the memory bounded."""
    cells = Results()
    with LocalRegistry() as registry:
        for rows in sizes:
            for shape in COLUMN_SHAPES:
                if shape.name in chosen and rows <= LARGEST.get(shape.name, rows):
                    cells |= timed([*bare(rust, shape, rows), *framed(rust, registry.url, shape, rows)], rounds)
            if "versions" in chosen:
                cells |= timed(list(eight_versions(rust, registry.url, rows)), rounds)
            if "few" in chosen:
                cells |= timed(list(few(rust, registry.url, rows)), rounds)
    return cells


def timed(jobs: list[Job], rounds: int) -> Results:
    for job in jobs:
        job.work()  # the first round of each pays for its memory
    cells = measure(jobs, rounds, grouped=False)
    for job in jobs:
        job.work = nothing  # lets go of messages and columns
    return cells


def first(rust: Rust, library: Path) -> Results:
    """Encode ``FIRST_BYTES`` at once, in a new process for each round."""
    shape = COLUMNS_BY_NAME["flat"]
    mean = ceil(sum(map(len, bodies_of(shape, DIFFERENT))) / DIFFERENT)
    rows = FIRST_BYTES // mean
    data = pa.array(bodies_of(shape, rows))
    theirs = rust.columns(rust.reader([shape.text], rows, framed=False), rust.messages(data, apart=False))
    with TemporaryDirectory() as folder:
        schema, digests, jobs = Path(folder) / "schema.avsc", set[str](), []
        schema.write_text(shape.text)
        columns = {OURS: ColumnCodec(shape.schema).decode(data), PEER: theirs}
        for side, more in ((OURS, []), (PEER, [str(library), str(mean)])):
            file = Path(folder) / f"{side}.arrow"
            with pa.ipc.new_file(file, columns[side].schema) as out:
                out.write_batch(columns[side])
            work = partial(in_new_process, digests, str(file), str(schema), *more)
            jobs.append(Told((f"first, {rows:,} rows", shape.title, side), work, rows))
        cells = measure(jobs, FIRST_ROUNDS)
        check(len(digests) == 1, "8 MB encoded in a new process")
    return cells


def in_new_process(digests: set[str], *arguments: str) -> float:
    program = Path(__file__).with_name("arrow_avro_first.py")
    shown = subprocess.run([sys.executable, program, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
    taken, digest = shown.split()
    digests.add(digest)
    return int(taken) / 1e9


def goals(cells: Results) -> Iterator[Goal]:
    for name, column, library in cells:
        if library in (PEER, STRUCTS):
            times = cells.times((name, column, library), (name, column, OURS))
            yield Goal(f"{name}, {column}: >= {AHEAD:g}x {library}", times, AHEAD)


def into_structs(cells: Results) -> str:
    """The time of serde_avro_fast for the same messages, in one sentence."""
    found = [(name, column) for name, column, library in cells if library == STRUCTS]
    each = [f"{cells[*key, STRUCTS].ns:,.0f} ns ({key[1]}, {key[0].rpartition(', ')[2]})" for key in found]
    return f"serde_avro_fast {version(STRUCTS)}, into structs, framed: {'; '.join(each)}. " if each else ""


def main() -> int:
    parser, names = options(__doc__, 21, "--write-docs"), [*COLUMNS_BY_NAME, "versions", "few", "first"]
    parser.add_argument("--rows", type=int, action="append", help=f"instead of {', '.join(map(str, ROWS))}")
    parser.add_argument("--shape", choices=names, action="append", help="instead of all of them")
    given = parser.parse_args()
    if given.write_docs and (given.rows or given.shape):
        parser.error("--write-docs needs all shapes and numbers of rows")
    try:
        library = build()
    except NoCargoError as error:
        print(error, file=sys.stderr)
        return 2
    rust, chosen = Rust(library), given.shape or names
    alone = first(rust, library) if "first" in chosen else Results()
    cells = Results({**measured(rust, chosen, given.rows or list(ROWS), given.rounds), **alone})
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    one = next((job for key, job in cells.items() if key[-1] == ONE_DECODER), None)
    more = f"Eight versions with one decoder of arrow-avro: {one.ns:,.0f} ns per row. " if one else ""
    more += into_structs(cells)
    text = f"{speed(cells)}\n\n{more}{machine('pyarrow')}, arrow-avro {version()}, Rust {rustc}."
    print(text, "", sep="\n")
    if given.write_docs:
        write_docs(DOCS / "arrow-performance.md", text, MARKER)
    return judged(goals(cells))


if __name__ == "__main__":
    sys.exit(main())
