"""One round of fuzzing: a schema, valid data, every truncation of their messages, and mutants of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

from avro_maker import NoDatum, datum_of, schema_of
from formats import Formats
from hand_picked import HAND_PICKED
from mutations import mutated
from object_changes import spoilt
from oracle import NOTHING, Beyond, Finding, check_bytes, check_object, check_truncations, write
from readings import VERSION, Readings
from recorder import Recorder
from schema_changes import spoilt_schema

from streamnative_serdes import header
from streamnative_serdes._schema import Schema, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError

MUTANTS = 250  # per round
DATA = 10  # valid data per round
STRANGERS = 4  # messages of another schema, to take pieces from
SCHEMA_TRIES = 20
_HEADER = header.pack(VERSION)


class Round:
    """Round ``number`` of the run of ``seed``."""

    def __init__(self, seed: int, number: int, recorder: Recorder) -> None:
        self.number, self.recorder = number, recorder
        self.rng = Random(f"{seed}/{number}")
        self.counts: Counter[str] = Counter()
        self.text = ""
        self.datum: Any = None
        self.messages: list[bytes] = []

    def run(self) -> None:
        """Run the round. Raises Finding, or any error that the codec must not raise."""
        self._prepare()
        for mutant in range(1, MUTANTS + 1):
            kind = self.rng.random()
            if kind < 0.64:
                self._bytes(mutant)
            elif kind < 0.7:
                self._other_type(mutant)
            elif kind < 0.8:
                self._framed(mutant)
            else:
                self._object(mutant)
        self.counts["mutants"] += MUTANTS

    def _prepare(self) -> None:
        self.note(0, b"schema")
        schema = self._schema()
        self.text = schema.text
        self.readings = Readings(schema, self.rng)
        self.codec = self.readings.codec
        self.note(0, b"valid")
        try:
            self.data = [datum_of(schema.root, self.rng) for _ in range(DATA)]
        except NoDatum:
            self.data = [{}, None]
            self.counts["schemas without data"] += 1
        else:
            self.messages = [self._valid(datum) for datum in self.data]
        self.pool = [*self.messages, *self._strangers()]
        self.formats = Formats(schema, self.data, self.codec, self.rng)

    def _schema(self) -> Schema:
        """Return a valid schema, hand-picked or random; or one that is accepted only from a registry."""
        kind = self.rng.random()
        tree = HAND_PICKED[self.rng.choice(list(HAND_PICKED))] if kind < 0.6 else schema_of(self.rng)
        for _ in range(SCHEMA_TRIES if 0.4 < kind < 0.7 else 0):
            wild = spoilt_schema(tree, self.rng)
            self.text = json.dumps(wild)
            try:
                schema = parse(wild, strict=False)
            except SchemaError:
                self.counts["schemas refused"] += 1
                continue
            self.counts["schemas spoilt"] += 1
            return schema
        return parse(tree)

    def _valid(self, datum: Any) -> bytes:
        self.datum = datum
        message = write(self.codec, datum, "a valid datum")
        self.counts["truncations"] += check_truncations(self.codec, message)
        if check_bytes(self.codec, message) is NOTHING:
            raise Finding(f"what was written cannot be read: {message.hex()}")
        return message

    def _strangers(self) -> list[bytes]:
        other = parse(HAND_PICKED[self.rng.choice(list(HAND_PICKED))])
        codec = Codec(other)
        return [codec.encode(datum_of(other.root, self.rng)) for _ in range(STRANGERS)]

    def _bytes(self, mutant: int) -> None:
        """Check the plain way to read, and one of the others."""
        message = mutated(self.rng.choice(self.pool), self.rng, self.pool)
        check = self.rng.choice(self.readings.checks)
        self.note(mutant, check.__name__.encode(), message)
        with shrinking(message, lambda data: check(data, check_bytes(self.codec, data))), suppress(Beyond):
            value = check_bytes(self.codec, message)
            self._count("bytes", value is not NOTHING)
            self._count(check.__name__.removeprefix("check_"), check(message, value))

    def _other_type(self, mutant: int) -> None:
        """Check a message of another type than AVRO."""
        check, message = self.formats.mutant()
        self.note(mutant, check.__name__.encode(), message)
        with shrinking(message, check):
            self._count(check.__name__.removeprefix("check_"), check(message))

    def _framed(self, mutant: int) -> None:
        body = self.rng.choice(self.pool)
        if self.rng.random() < 0.3:
            message = mutated(_HEADER + body, self.rng, self.pool)
        else:
            message = _HEADER + mutated(body, self.rng, self.pool)
        self.note(mutant, b"check_framed", message)
        with shrinking(message, self.readings.check_framed), suppress(Beyond):
            self._count("framed", self.readings.check_framed(message))

    def _object(self, mutant: int) -> None:
        self.note(mutant, b"object")
        self.datum = spoilt(self.rng.choice(self.data), self.rng)
        self._count("objects", check_object(self.rng.choice(self.readings.writers), self.datum))

    def _count(self, what: str, taken: bool) -> None:
        self.counts[f"{what} {'taken' if taken else 'refused'}"] += 1

    def note(self, mutant: int, kind: bytes, data: bytes = b"") -> None:
        self.recorder.write(self.number, mutant, kind, data)

    def describe(self) -> str:
        """Describe a finding: the schema, and the current mutant."""
        note = self.recorder.read()
        datum = f"\ndatum: {shown(self.datum)}" if note.kind in ("object", "valid") else ""
        return f"{note}\nschema: {self.text}{datum}"


@contextmanager
def shrinking(message: bytes, check: Callable[[bytes], object]) -> Iterator[None]:
    """Add the shortest message that fails in the same way to an error raised inside."""
    try:
        yield
    except Exception as error:
        kind = type(error)
        error.add_note(f"shrunk: {shrunk(message, lambda data: fails(check, data, kind)).hex()}")
        raise


def fails(check: Callable[[bytes], object], data: bytes, kind: type[Exception]) -> bool:
    try:
        check(data)
    except kind:
        return True
    except Beyond:
        return False
    return False


def shrunk(data: bytes, failing: Callable[[bytes], bool]) -> bytes:
    """Remove pieces from ``data``, large ones first, as long as it still fails."""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if failing(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


def shown(datum: Any) -> str:
    try:
        return f"{datum!r:.2000}"
    except Exception as error:  # noqa: BLE001 - odd objects fail in any way
        return f"a {type(datum).__name__} that cannot be shown: {type(error).__name__}"
