"""Cost of objects of classes compared with dicts: the SerDes read and write both alternately."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import pydantic
from measure import ObjectCost, duration
from shapes import SHAPES

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry

TOPIC = "bench"
SHAPE = next(shape for shape in SHAPES if shape.name == "flat")
SLICE = 0.001  # seconds


def classes() -> dict[str, Any]:
    """One class of each kind, with the fields of the shape."""
    names, title = [field["name"] for field in SHAPE.schema["fields"]], SHAPE.schema["name"]
    fields = [(name, Any) for name in names]
    required: dict[str, Any] = dict.fromkeys(names, (Any, ...))
    return {
        "dataclass(slots=True)": dataclasses.make_dataclass(title, fields, slots=True),
        "NamedTuple": NamedTuple(title, fields),
        "dataclass": dataclasses.make_dataclass(title, fields),
        "pydantic.BaseModel": pydantic.create_model(title, **required),
    }


def measure_objects(slices: int) -> dict[str, ObjectCost]:
    """Measure the cost by kind of class."""
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer = KafkaAvroSerializer(conf, SHAPE.schema)
        messages = [serializer.serialize(TOPIC, record) for record in SHAPE.records]
        dicts = _runs(serializer, KafkaAvroDeserializer(conf, SHAPE.schema), messages)
        return {
            kind: _compared(
                dicts,
                _runs(
                    KafkaAvroSerializer(conf, SHAPE.schema),
                    KafkaAvroDeserializer({**conf, "value.type": cls}, SHAPE.schema),
                    messages,
                ),
                slices,
            )
            for kind, cls in classes().items()
        }


def _runs(serializer: Any, deserializer: Any, messages: list[bytes | None]) -> list[Callable[[int], float]]:
    """Return functions that time reading and writing, in nanoseconds per message; the argument is the number of passes.

    Checks the results first.
    """
    objects = [deserializer.deserialize(TOPIC, message) for message in messages]
    if [serializer.serialize(TOPIC, value) for value in objects] != messages:
        raise RuntimeError("an object that was read is written as different bytes")
    return [
        lambda loops: duration("work(topic, value)", deserializer.deserialize, TOPIC, messages, loops),
        lambda loops: duration("work(topic, value)", serializer.serialize, TOPIC, objects, loops),
    ]


def _compared(dicts: list[Callable[[int], float]], objects: list[Callable[[int], float]], slices: int) -> ObjectCost:
    costs = []
    for ours, theirs in zip(objects, dicts, strict=True):
        loops = max(1, round(SLICE / (min(theirs(1) for _ in range(5)) * 1e-9 * len(SHAPE.records))))
        rows = [(theirs(loops), ours(loops)) for _ in range(slices)]
        costs.append((median(row[1] for row in rows), median(row[1] / row[0] for row in rows)))
    (read, read_times), (write, write_times) = costs
    return ObjectCost(read, read_times, write, write_times)
