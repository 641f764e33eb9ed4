# ruff: noqa: E501 - one mistake per line
"""The fuzzer itself: a short run finds nothing, and deliberate mistakes are found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MUTATE = Path(__file__).with_name("mutate.py")

# Code that puts a mistake into the codec, and the expected finding.
MISTAKES = {
    "decode takes what is cut off": ("decode=lambda self, data: right.decode(self, data or b'\\0')", "for a whole message"),
    "skip ends early": ("skip=lambda self, data: max(right.skip(self, data) - 1, 0)", "skip"),
    "decode raises another error": ("decode=lambda self, data: right.decode(self, data) if data else [][0]", "IndexError"),
    "encode raises another error": (
        "encode=lambda self, datum: right.encode(self, datum) if datum is not None else [][0]", "IndexError",
    ),
    "encode writes what cannot be read": ("encode=lambda self, datum: right.encode(self, datum)[:-1]", "cannot be read"),
    "a crash": ("decode=lambda self, data: os.abort() if len(data) > 40 else right.decode(self, data)", "check_"),
    "a hang": ("skip=lambda self, data: time.sleep(600) if len(data) > 40 else right.skip(self, data)", "check_"),
}  # fmt: skip

# Code that puts a mistake into what reads other types than AVRO, and the expected finding.
OTHER_MISTAKES = {
    "JSON raises another error": ("json_format.parse_json = lambda data, _: [][0]", "IndexError"),
    "JSON takes memory": (
        "once = []; json_format.parse_json = lambda data, _: None if once else once.append(b'x' * 400_000_000)", "MB",
    ),
    "times are written as others": ("moments.count_of = lambda *_: 5; moments.nanos_of_moment = lambda *_, **__: 0", "is written, and read as"),
    "a pair's lengths are not checked": ("formats._call_path.read_by = lambda bound, data, _: None", "a pair is read as"),
}  # fmt: skip

# Code that puts a mistake into what reads a client's messages, and the expected finding.
CLIENT_MISTAKES = {
    "values are of other messages": ("pieces.Values = lambda data, part=None: right(list(data)[::-1], part) if part else right(data)", "were taken"),
    "errors are read": (
        "pieces.Values = lambda data, part=None: right([each.value() for each in list(data)]) if part else right(data)", "AttributeError",
    ),
    "a part is of another message": (
        "clients.kafka_columns = lambda found, *names: columns(found[:1] * len(found), *names)", "expected [{",
    ),
}  # fmt: skip

# How columns read many messages with a mistake, and the expected finding.
COLUMN_MISTAKES = {
    "a message among many is another one": ("right(self, data.take([0] * len(data)) if len(data) > 8 else data, **more)", "among"),
    "a message among many changes the last": (
        "right(self, data.take([*range(len(data) - 1), len(data) // 2]) if len(data) > 8 else data, **more)", "among",
    ),
}  # fmt: skip

IN_CODEC = """
import streamnative_serdes.codec as module
right = module.Codec
module.Codec = type("Codec", (right,), dict({mistake}))
"""
IN_FORMATS = """
import formats
from streamnative_serdes._formats import moments
json_format = sys.modules["streamnative_serdes._formats.json_format"]  # the package has a function of this name
{mistake}
"""
IN_CLIENTS = """
import clients
from streamnative_serdes.arrow import pieces
right, columns = pieces.Values, clients.kafka_columns
{mistake}
"""
IN_COLUMNS = """
import columns
right = columns.ColumnCodec.decode
columns.ColumnCodec.decode = lambda self, data, **more: {mistake}
"""
TEMPLATES = [
    (MISTAKES, IN_CODEC),
    (OTHER_MISTAKES, IN_FORMATS),
    (CLIENT_MISTAKES, IN_CLIENTS),
    (COLUMN_MISTAKES, IN_COLUMNS),
]
SABOTAGED = """
import os, sys, time
sys.path.insert(0, {folder!r})
{sabotage}
import mutate
mutate.PATIENCE = {patience}
mutate.__file__ = __file__
sys.exit(mutate.main())
"""


def fuzz(*arguments: object, program: Path = MUTATE) -> subprocess.CompletedProcess[str]:
    # Only this program may import the modules of its folder.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    command = [sys.executable, program, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_a_short_run_finds_nothing() -> None:
    done = fuzz("--mutants", 2500, "--jobs", 2)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "fuzz: 2500 mutants" in done.stdout


@pytest.mark.long
def test_the_same_seed_gives_the_same_mutants_with_any_number_of_processes() -> None:
    one, two = (fuzz("--mutants", 1000, "--seed", 3, "--jobs", jobs).stdout for jobs in (1, 3))

    assert one.partition("second;")[2] == two.partition("second;")[2] != ""


# One of each way to find something; the others differ in where the fuzzer compares.
ALWAYS = {"decode takes what is cut off", "a hang", "JSON takes memory", "errors are read"}
ALWAYS |= {"a message among many is another one", "a crash"}


@pytest.mark.parametrize(
    "name",
    [
        name if name in ALWAYS else pytest.param(name, marks=pytest.mark.long)
        for mistakes, _ in TEMPLATES
        for name in mistakes
    ],
)
def test_a_mistake_is_found(name: str, tmp_path: Path) -> None:
    mistakes, template = next((mistakes, template) for mistakes, template in TEMPLATES if name in mistakes)
    mistake, said = mistakes[name]
    sabotage = template.format(mistake=mistake)
    program = tmp_path / "sabotaged.py"
    patience = 5 if name == "a hang" else 60  # seconds
    program.write_text(SABOTAGED.format(sabotage=sabotage, folder=str(MUTATE.parent), patience=patience))

    done = fuzz("--mutants", 2500, "--jobs", 1, program=program)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "FOUND, seed 0" in done.stdout
    assert said in done.stdout
