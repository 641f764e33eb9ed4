"""Instructions per message of two builds, counted by callgrind: for changes too small for a clock.

python benchmarks/instructions.py ../before .               a table: each call on three shapes, and the ratio
python benchmarks/instructions.py ../before . --check 0.5   fail if a line takes over 0.5 % more instructions
python benchmarks/instructions.py ../before . --record FILE add a line of JSON: the commit, and the ratios
python benchmarks/instructions.py . . --observed            what OpenTelemetry adds to a hit: the second one is observed

Both are checkouts with compiled modules (`python setup.py build_ext --inplace`); nothing is built here. The counts are
exact: the topic's schema is known, the registry is shut down, and there is no garbage collection. They vary by a few
instructions with the addresses of objects.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import options
from shapes import BY_NAME

SHAPE_NAMES = ("tiny", "flat", "nested")
# Calls of each, in one process. The difference of the two counts has no cost of the loop's beginning and end.
FEW, MANY = 320, 1_600
MARK = "getppid"  # callgrind writes its counts, and begins again at 0, when this function of libc is entered


def calls(*, observed: bool) -> Iterator[tuple[str, Callable[[Any, Any], Any], list[tuple[Any, Any]]]]:
    """Names of the calls, functions, and the arguments of each message."""
    from confluent_kafka.serialization import MessageField, SerializationContext

    from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
    from streamnative_serdes.testing import LocalRegistry

    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        for name in SHAPE_NAMES:
            shape, topic = BY_NAME[name], f"bench-{name}"
            context = SerializationContext(topic, MessageField.VALUE)
            serializer, deserializer = KafkaAvroSerializer(conf, shape.schema), KafkaAvroDeserializer(conf)
            if observed:
                from streamnative_serdes.integrations import otel

                otel.observe(serializer, by_topic=True)
                otel.observe(deserializer, by_topic=True)
            messages = [serializer(record, context) for record in shape.records]
            if [deserializer(message, context) for message in messages] != list(shape.records):
                raise SystemExit(f"{name}: the records that were read are not those that were written")
            yield f"{name}: serializer(obj, ctx)", serializer, [(record, context) for record in shape.records]
            yield f"{name}: serialize(topic, obj)", serializer.serialize, [(topic, record) for record in shape.records]
            yield f"{name}: deserializer(data, ctx)", deserializer, [(message, context) for message in messages]
            yield f"{name}: deserialize(topic, data)", deserializer.deserialize, [(topic, data) for data in messages]


def run_calls(*, observed: bool) -> None:
    """The program that callgrind runs: print the names of the calls, and mark the part that is counted."""
    made = list(calls(observed=observed))
    gc.collect()
    gc.disable()
    for name, function, arguments in made:
        for count in (FEW, FEW, MANY):  # the first to warm up
            chosen = arguments * (count // len(arguments))
            os.getppid()
            for one, other in chosen:
                function(one, other)
            os.getppid()
        print(name)


def counted(checkout: Path, *, observed: bool = False) -> dict[str, float]:
    """Instructions per call, with the modules of this checkout."""
    with TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={folder}/counts"]
        alike = {"PYTHONPATH": str(checkout.resolve()), "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}
        command += [sys.executable, str(Path(__file__).resolve()), "--run", *(["--observed"] if observed else [])]
        run = subprocess.run(command, env=os.environ | alike, cwd=folder, text=True, capture_output=True, check=False)
        if run.returncode:
            raise SystemExit(f"{checkout}: the run under callgrind failed\n{run.stderr[-2_000:]}")
        names = run.stdout.splitlines()
        inside = [total(Path(folder, f"counts.{number}")) for number in range(2, 6 * len(names) + 1, 2)]
    # For each call: to warm up, FEW, MANY.
    spent = [(many - few) / (MANY - FEW) for few, many in zip(inside[1::3], inside[2::3], strict=True)]
    return dict(zip(names, spent, strict=True))


def total(part: Path) -> int:
    """The instructions that callgrind counted since the mark before."""
    return next(int(line.split()[1]) for line in part.read_text().splitlines() if line.startswith("totals:"))


def record(path: Path, checkout: Path, ratios: dict[str, float]) -> None:
    """Add a line for the commit of this checkout, for tools/instruction_history.py."""
    command = ["git", "-C", str(checkout), "log", "-1", "--format=%h %cs"]
    commit, date = subprocess.run(command, text=True, capture_output=True, check=True).stdout.split()
    rounded = {name: round(ratio, 5) for name, ratio in ratios.items()}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": commit, "date": date, "ratios": rounded}) + "\n")


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("checkouts", type=Path, nargs="*", metavar="CHECKOUT", help="the one before, the one after")
    parser.add_argument("--check", type=float, metavar="PERCENT", help="exit with status 1 if a call takes more")
    parser.add_argument("--record", type=Path, metavar="FILE", help="add the ratios to a file, as a line of JSON")
    parser.add_argument("--observed", action="store_true", help="observe the SerDes of the one after by OpenTelemetry")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        run_calls(observed=chosen.observed)
        return 0
    if len(chosen.checkouts) != 2:
        parser.error("expected two checkouts")
    before, after = counted(chosen.checkouts[0]), counted(chosen.checkouts[1], observed=chosen.observed)
    ratios = {name: spent / before[name] for name, spent in after.items()}
    if chosen.record is not None:
        record(chosen.record, chosen.checkouts[1], ratios)
    changes = {name: (ratio - 1) * 100 for name, ratio in ratios.items()}
    for name, percent in changes.items():
        print(f"{name:40} {before[name]:10,.1f} {after[name]:10,.1f} {percent:+7.2f} %")
    return int(chosen.check is not None and any(percent > chosen.check for percent in changes.values()))


if __name__ == "__main__":
    sys.exit(main())
