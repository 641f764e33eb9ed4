"""reader.schema.policy over random histories of versions: what comes out is what a model says, in rows and batches."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import pytest
from avro_evolution import Gentle, definitions, renamed
from avro_strategies import ALL_LOGICAL, Maker
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes import DecodeError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

pytest.importorskip("pyarrow")

TOPICS = ("a", "b")
WHY = "why"
# Fields that versions may have or not: name -> (type, default, values).
POOL: dict[str, tuple[Any, Any, st.SearchStrategy[Any]]] = {
    "text": ("string", "é", st.text(max_size=5)),
    "flag": ("boolean", True, st.booleans()),
    "maybe": (["null", "int"], None, st.none() | st.integers(-9, 9)),
    "list": ({"type": "array", "items": "long"}, [], st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)),
    "color": ({"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}, "BLUE", st.sampled_from(["RED", "BLUE"])),
}
# A number that later versions read as a wider type.
WIDER = ("int", "long", "double")


@dataclass(frozen=True)
class Version:
    """A version of a topic: its fields in order, and the type of the number that each version has."""

    number: int
    fields: tuple[str, ...]
    wide: str

    @property
    def schema(self) -> dict[str, Any]:
        fields = [
            {"name": "number", "type": self.wide},
            *({"name": name, "type": POOL[name][0], "default": POOL[name][1]} for name in self.fields),
            {"name": f"only{self.number}", "type": "int", "default": 0},  # no two versions have the same schema
        ]
        return {"type": "record", "name": "Row", "fields": fields}

    def shown_as(self, datum: dict[str, Any], reader: Version) -> dict[str, Any]:
        """The model: a datum of this version, as ``reader``."""
        found = {"number": float(datum["number"]) if reader.wide == "double" else datum["number"]}
        for name in reader.fields:
            found[name] = datum.get(name, POOL[name][1])
        only = f"only{reader.number}"
        return {**found, only: datum.get(only, 0)}

    def data(self) -> st.SearchStrategy[dict[str, Any]]:
        values = {name: POOL[name][2] for name in self.fields}
        return st.fixed_dictionaries(
            {"number": st.integers(-(2**31), 2**31 - 1), **values, f"only{self.number}": st.integers(-5, 5)}
        )

    def message(self, datum: dict[str, Any], *, header: bool = True) -> bytes:
        return (b"\3\4" + self.number.to_bytes(8, "big") if header else b"") + Codec(self.schema).encode(datum)


@st.composite
def versions(draw: Any) -> list[Version]:
    count = draw(st.integers(1, 5))
    wide = sorted(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    return [
        Version(
            number, tuple(draw(st.permutations(draw(st.sets(st.sampled_from(sorted(POOL))).map(sorted))))), WIDER[kind]
        )
        for number, kind in enumerate(wide)
    ]


@dataclass
class Model:
    """What is expected of a deserializer with ``latest.seen``."""

    topics: dict[str, list[Version]]
    seen: dict[str, Version] = field(default_factory=dict)

    def see(self, topic: str, version: Version) -> Version:
        highest = self.seen.get(topic)
        if highest is None or version.number > highest.number:
            self.seen[topic] = version
        return self.seen[topic]


@dataclass(frozen=True)
class Message:
    """A message of a history: what it was written as, and how its reader gets it."""

    version: Version
    datum: dict[str, Any]
    how: str  # framed, bare (its version is passed), latest (nothing is passed), damaged, null

    @property
    def bytes(self) -> bytes | None:
        if self.how == "null":
            return None
        whole = self.version.message(self.datum, header=self.how in ("framed", "damaged"))
        return whole[:-1] if self.how == "damaged" else whole  # no datum begins with another one


@st.composite
def message(draw: Any, of: list[Version], hows: tuple[str, ...]) -> Message:
    how = draw(st.sampled_from(hows))
    version = of[-1] if how == "latest" else draw(st.sampled_from(of))
    return Message(version, draw(version.data()), how)


@st.composite
def histories(draw: Any) -> tuple[dict[str, list[Version]], list[tuple[str, str, Any]]]:
    """Topics with versions, and steps (what, topic, argument)."""
    topics = {topic: draw(versions()) for topic in TOPICS}
    steps: list[tuple[str, str, Any]] = []
    for _ in range(draw(st.integers(1, 12))):
        what = draw(st.sampled_from(["row", "row", "row", "batch", "batch", "pickle", "rebind", "columns"]))
        topic, argument = draw(st.sampled_from(TOPICS)), None
        if what == "row":
            argument = draw(message(topics[topic], ("framed", "framed", "bare", "latest", "damaged", "null")))
        elif what == "batch":
            each = message(topics[topic], ("framed", "framed", "latest", "damaged", "null"))
            argument = draw(st.lists(each, max_size=6))
        steps.append((what, topic, argument))
    return topics, steps


def accepting(registry: LocalRegistry) -> dict[str, Any]:
    """Let the registry accept each schema; the options for it."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    return {"schema.registry.url": registry.url}


def register(registry: LocalRegistry, topics: dict[str, list[Version]]) -> dict[str, Any]:
    conf = accepting(registry)
    for topic, of in topics.items():
        for version in of:
            with KafkaAvroSerializer(conf, version.schema) as serializer:
                written = serializer.serialize(topic, version_datum(version))
            assert written is not None
            assert written[:10] == b"\3\4" + version.number.to_bytes(8, "big")
    return conf


def version_datum(version: Version) -> dict[str, Any]:
    defaults = {name: POOL[name][1] for name in version.fields}
    return {"number": 1, **defaults, f"only{version.number}": 0}


class Run:
    """Takes the steps of a history, and compares with the model."""

    def __init__(self, conf: dict[str, Any], topics: dict[str, list[Version]]) -> None:
        self.conf, self.model = conf, Model(topics)
        self.deserializer = KafkaAvroDeserializer({**conf, "reader.schema.policy": "latest.seen"})

    def row(self, topic: str, message: Message) -> None:
        version = message.version.number if message.how == "bare" else None
        if message.how == "damaged":
            with pytest.raises(DecodeError, match=f"topic {topic}"):
                self.deserializer.deserialize(topic, message.bytes)
            return
        found = self.deserializer.deserialize(topic, message.bytes, version)
        if message.how == "null":
            assert found is None
            return
        reader = self.model.see(topic, message.version)
        assert found == message.version.shown_as(message.datum, reader)
        assert type(found["number"]) is (float if reader.wide == "double" else int)

    def batch(self, topic: str, messages: list[Message]) -> None:
        batch = self.deserializer.deserialize_batch(topic, [each.bytes for each in messages], error_column=WHY)
        good = [each for each in messages if each.how in ("framed", "latest")]
        for each in good:
            self.model.see(topic, each.version)
        reader = self.model.seen.get(topic) or self.model.see(topic, self.model.topics[topic][-1])
        rows, why = batch.drop_columns([WHY]).to_pylist(), batch.column(WHY).to_pylist()
        nothing = dict.fromkeys(self.columns_of(reader))
        assert batch.schema.names == [*nothing, WHY]
        for each, row, error in zip(messages, rows, why, strict=True):
            assert row == (each.version.shown_as(each.datum, reader) if each in good else nothing)
            assert (error is not None) == (each.how == "damaged")
        self.equals_its_rows(topic, messages, reader, rows, why)

    def equals_its_rows(self, topic: str, messages: list[Message], reader: Version, rows: list[Any], why: Any) -> None:
        """A batch equals its rows, re-read by the schema that the policy names for it."""
        fixed = KafkaAvroDeserializer({**self.conf, "reader.schema.policy": "fixed"}, reader.schema)
        errors: list[Any] = []
        again = list(fixed.deserialize_many(topic, [each.bytes for each in messages], errors.append))
        assert [row for row, error in zip(rows, why, strict=True) if error is None and row["number"] is not None] == [
            row for row in again if row is not None
        ]
        assert len(errors) == sum(error is not None for error in why)

    @staticmethod
    def columns_of(reader: Version) -> list[str]:
        return [field["name"] for field in reader.schema["fields"]]

    def columns(self, topic: str, _: None) -> None:
        found = self.deserializer.columns(topic).arrow_schema.names
        reader = self.model.seen.get(topic) or self.model.see(topic, self.model.topics[topic][-1])
        assert found == self.columns_of(reader)

    def pickle(self, _topic: str, _: None) -> None:
        data = pickle.dumps(self.deserializer)
        Binding.forget()
        self.deserializer = pickle.loads(data)

    def rebind(self, _topic: str, _: None) -> None:
        self.deserializer.rebind()


@given(histories())
@examples(100)
def test_latest_seen_is_the_highest_version_that_was_read_in_rows_and_batches(
    history: tuple[dict[str, list[Version]], list[tuple[str, str, Any]]],
) -> None:
    topics, steps = history
    Binding.forget()
    with LocalRegistry() as registry:
        run = Run(register(registry, topics), topics)
        for what, topic, argument in steps:
            step: Callable[[str, Any], None] = getattr(run, what)
            step(topic, argument)
    Binding.forget()


@given(st.data())
@examples(40)
def test_each_policy_names_the_schema_as_which_rows_and_batches_come_out(data: st.DataObject) -> None:
    of = data.draw(versions())
    history = data.draw(st.lists(message(of, ("framed",)), min_size=1, max_size=8))
    fixed = of[-1]
    Binding.forget()
    with LocalRegistry() as registry:
        conf = register(registry, {"a": of})
        expected: dict[str, Callable[[int], Version]] = {
            "writer": lambda step: history[step].version,
            "latest": lambda _: of[-1],
            "fixed": lambda _: fixed,
            "latest.seen": lambda step: max((one.version for one in history[: step + 1]), key=lambda one: one.number),
        }
        for policy, name in expected.items():
            given_schema = fixed.schema if policy == "fixed" else None
            reader = KafkaAvroDeserializer({**conf, "reader.schema.policy": policy}, given_schema)
            found = [reader.deserialize("a", each.bytes) for each in history]
            assert found == [each.version.shown_as(each.datum, name(step)) for step, each in enumerate(history)]
            if policy != "writer":
                last = name(len(history) - 1)
                batch = reader.deserialize_batch("a", [each.bytes for each in history])
                assert batch.to_pylist() == [each.version.shown_as(each.datum, last) for each in history]
    Binding.forget()


@st.composite
def chains(draw: Any) -> tuple[list[Any], Any]:
    """Schemas of records with fields of any type, each of which reads the first, and a datum of the first."""
    maker = Maker(draw, ALL_LOGICAL, False, mixed=False)
    tree, data = maker.record(2)
    keys = definitions(tree)
    names = {key: f"n.{key}" for key in keys}
    found = [renamed(tree, names)]
    for _ in range(draw(st.integers(1, 3))):
        evolver = Gentle(draw, keys, dict(names), Maker(draw, ALL_LOGICAL, mixed=True, count=maker.count))
        found.append(json.loads(json.dumps(renamed(evolver.one(tree), evolver.names))))
    return found, draw(data)


@given(chains(), st.lists(st.integers(0, 3), min_size=1, max_size=5))
@examples(60)
def test_types_of_any_kind_come_out_as_the_codec_resolves_them(
    chain: tuple[list[Any], Any], history: list[int]
) -> None:
    schemas, value = chain
    first = Codec(schemas[0]).encode(value)
    messages: dict[int, tuple[Any, bytes]] = {}  # by version: its schema and a message
    Binding.forget()
    with LocalRegistry() as registry:
        conf = accepting(registry)
        for schema in schemas:
            message = KafkaAvroSerializer(conf, schema).serialize("a", Codec(schemas[0], schema).decode(first))
            assert message is not None
            messages.setdefault(message[9], (schema, message))
        reader = KafkaAvroDeserializer({**conf, "reader.schema.policy": "latest.seen"})
        for seen, step in zip(accumulate(history, max), history, strict=True):
            schema, message = messages[min(seen, max(messages))]
            if seen == step:
                reader.deserialize("a", message)
            found = reader.deserialize("a", b"\3\4" + bytes(8) + first)
            assert repr(found) == repr(Codec(schemas[0], schema).decode(first))
    Binding.forget()
