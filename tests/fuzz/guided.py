"""Coverage-guided fuzzing: libFuzzer, from atheris, searches for bytes that make the compiled codec run new code.

`make fuzz-guided` builds and runs it. GUIDED_ARGS are options of libFuzzer: -max_total_time=600, or the file of a
failure, to repeat it. It needs Linux and gcc; atheris has wheels for x86-64 and Python 3.11 to 3.13.

    offset 0        1       2
           | schema | check | a message, or for check_object a message of JSON_LIKE whose datum is encoded

Inputs that reach new code are kept in build/guided/corpus, from which the next run continues. The compiled modules are
instrumented, the Python code around them is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import atheris
from avro_maker import datum_of
from hand_picked import HAND_PICKED, JSON_LIKE
from oracle import NOTHING, Beyond, check_bytes, check_object, read
from readings import VERSION, Readings

from streamnative_serdes import header
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec

SEEDS = 6  # initial messages of each schema
CHECKS = 8
_OBJECTS = Codec(JSON_LIKE)


class Target:
    """One schema, and the checks of its messages."""

    def __init__(self, tree: object) -> None:
        self.schema = parse(tree)
        self.readings = Readings(self.schema, Random(0))
        self.codec = self.readings.codec
        others = [*self.readings.checks, *self.readings.checks][: CHECKS - 2]
        self.checks: list[Callable[[bytes], object]] = [
            self.framed,
            self.object,
            *(lambda data, check=check: check(data, check_bytes(self.codec, data)) for check in others),
        ]

    def framed(self, data: bytes) -> None:
        self.readings.check_framed(data)

    def object(self, data: bytes) -> None:
        datum = read(_OBJECTS.decode, data)
        if datum is not NOTHING:
            check_object(self.codec, datum["value"])

    def seeds(self, rng: Random) -> list[bytes]:
        messages = [self.codec.encode(datum_of(self.schema.root, rng)) for _ in range(SEEDS)]
        return [*messages, header.pack(VERSION) + messages[0]]


TARGETS = [Target(tree) for tree in HAND_PICKED.values()]


def one_input(data: bytes) -> None:
    if len(data) >= 2:
        target = TARGETS[data[0] % len(TARGETS)]
        with suppress(Beyond):
            target.checks[data[1] % CHECKS](data[2:])


def plant(folder: Path) -> None:
    """Write the initial valid messages."""
    rng = Random(0)
    for at, target in enumerate(TARGETS):
        for number, message in enumerate(target.seeds(rng)):
            (folder / f"seed-{at}-{number}").write_bytes(bytes([at, rng.randrange(CHECKS)]) + message)


if __name__ == "__main__":
    corpora = [Path(argument) for argument in sys.argv[1:] if Path(argument).is_dir()]
    for corpus in corpora:
        if not any(corpus.iterdir()):
            plant(corpus)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
