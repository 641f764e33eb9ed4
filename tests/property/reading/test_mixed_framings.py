"""Messages of all framings in one topic, in random order: none is read by the schema of another.

``FRAMINGS_MESSAGES=10000000 pytest tests/property/reading/test_mixed_framings.py`` reads ten million.
"""

from __future__ import annotations

import json
import os
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from confluent_stand_in import ConfluentStandIn
from foreign_stand_ins import ForeignStandIn, GlueStandIn

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes.testing import LocalRegistry

MESSAGES = int(os.environ.get("FRAMINGS_MESSAGES", "8000"))
BATCH = min(MESSAGES // 2, 20_000)
READ_ALONE = 200  # of each batch, one by one too
SCHEMAS = 10  # of each framing: small ids and large ones
SYMBOLS = [f"{by}_{number}" for by in ("ours", "confluent", "apicurio", "glue", "azure") for number in range(SCHEMAS)]
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
Headers = list[dict[str, Any]]
Way = tuple[str, Callable[[int], tuple[bytes, Headers]]]  # a symbol, and how a number becomes a message


def schema_of(symbols: list[str], extra: int) -> dict[str, Any]:
    kind = {"type": "enum", "name": "E", "symbols": symbols}
    more = [{"name": f"x{number}", "type": "boolean"} for number in range(extra)]
    fields = [{"name": "number", "type": "long"}, {"name": "by", "type": kind}]
    return {"type": "record", "name": "R", "fields": fields + more}


TARGET = schema_of(SYMBOLS, 0)


class Writers:
    """The ways to write of each framing, whose schemas are where the framing has them.

    Whose schema has read a message shows in the symbol, which is not in the data: it is the only one of the schema.
    """

    def __init__(self, registry: LocalRegistry) -> None:
        self.second, self.others, self.glue = ConfluentStandIn(), ForeignStandIn(), GlueStandIn()
        self.ours, self.ways = registry, dict[str, list[Way]]()

    def add_all(self) -> None:
        drawn = random.Random(1)
        symbol, (schema, _) = "ours_0", self._of("ours_0", 0)
        serializer = KafkaAvroSerializer({"schema.registry.url": self.ours.url}, schema)
        self._add(
            "snip42", symbol, lambda number: (serializer.serialize("records", datum(symbol, number, 0)) or b"", [])
        )
        for number in range(SCHEMAS):
            id_ = (drawn.randrange(100) + 1) * SCHEMAS + number if number % 2 else (1 << 24) + drawn.getrandbits(30)
            self._confluent(f"confluent_{number}", number, id_)
            self._apicurio(f"apicurio_{number}", number, id_)
            self._azure(f"azure_{number}", number, f"{drawn.getrandbits(128):032x}")
            self._glue(f"glue_{number}", number, UUID(int=drawn.getrandbits(128)))

    def _confluent(self, symbol: str, number: int, id_: int) -> None:
        schema, encode = self._of(symbol, number)
        self.second.alias(id_, self.second.register("records-value", schema))
        header = [{"key": "__value_schema_id", "value": b"\1" + self.second.guid(id_)}]
        self._add("confluent", symbol, lambda n: (b"\0" + id_.to_bytes(4) + encode(n), []))
        self._add("confluent-header", symbol, lambda n: (encode(n), header))

    def _apicurio(self, symbol: str, number: int, id_: int) -> None:
        schema, encode = self._of(symbol, number)
        self.others.add(f"/ids/globalIds/{id_}", schema)
        self.others.add(f"/ids/contentIds/{id_}", schema)
        header = [{"key": "apicurio.value.globalId", "value": id_.to_bytes(8)}]
        self._add("apicurio", symbol, lambda n: (b"\0" + id_.to_bytes(8) + encode(n), []))
        self._add("apicurio-v3", symbol, lambda n: (b"\0" + id_.to_bytes(4) + encode(n), []))
        self._add("apicurio-header", symbol, lambda n: (encode(n), header))

    def _azure(self, symbol: str, number: int, id_: str) -> None:
        schema, encode = self._of(symbol, number)
        self.others.add(f"/$schemaGroups/$schemas/{id_}", schema)
        kind = f"avro/binary+{id_}".encode()
        self._add("azure", symbol, lambda n: (bytes(4) + id_.encode() + encode(n), []))
        self._add("azure-content-type", symbol, lambda n: (b"\x2c" + kind + encode(n), []))
        self._add("azure-header", symbol, lambda n: (encode(n), [{"key": "content-type", "value": kind}]))

    def _glue(self, symbol: str, number: int, id_: UUID) -> None:
        schema, encode = self._of(symbol, number)
        self.glue.schemas[str(id_)] = json.dumps(schema)
        self._add("glue", symbol, lambda n: (b"\3\0" + id_.bytes + encode(n), []))
        if number == 0:
            self._add("glue", symbol, lambda n: (b"\3\5" + id_.bytes + zlib.compress(encode(n), 1), []))

    @staticmethod
    def _of(symbol: str, number: int) -> tuple[dict[str, Any], Callable[[int], bytes]]:
        schema = schema_of([symbol], number)
        codec = Codec(json.dumps(schema))
        return schema, lambda value: codec.encode(datum(symbol, value, number))

    def _add(self, framing: str, symbol: str, write: Callable[[int], tuple[bytes, Headers]]) -> None:
        self.ways.setdefault(framing, []).append((symbol, write))

    def options(self, framings: list[str]) -> dict[str, Any]:
        found = {
            "schema.registry.url": self.ours.url,
            "apicurio.registry.url": self.others.apicurio,
            "azure.schema.registry.url": self.others.url,
            "glue.registry": self.glue,
            "framings": ["snip42", *framings],
        }
        return found | ({"confluent.schema.registry.url": self.second.url} if "confluent" in framings else {})


def datum(symbol: str, number: int, extra: int) -> dict[str, Any]:
    return {"number": number, "by": symbol, **{f"x{place}": bool(number >> place & 1) for place in range(extra)}}


@pytest.fixture
def writers(registry: LocalRegistry) -> Iterator[Writers]:
    ConfluentSchemas.forget()
    made = Writers(registry)
    with made.second, made.others:
        made.add_all()
        yield made
    ConfluentSchemas.forget()


@pytest.mark.parametrize(
    "left_out", [["apicurio-v3"], ["confluent", "confluent-header"]]
)  # of each, one looks the same
def test_no_message_is_read_by_the_schema_of_another(writers: Writers, left_out: list[str]) -> None:
    framings = [name for name in writers.ways if name not in ("snip42", *left_out)]
    options = writers.options(framings)
    rows, batches = KafkaAvroDeserializer(options), KafkaAvroDeserializer(options, TARGET)
    ways = [writers.ways[name] for name in ("snip42", *framings)]
    drawn = random.Random(len(left_out))
    for _ in range(MESSAGES // 2 // BATCH):
        # Small numbers let a datum begin with the bytes of prefixes: 0x00, 0x03 and 0x2C.
        numbers = [drawn.choice((0, 0, -2, 22, drawn.getrandbits(40))) for _ in range(BATCH)]
        symbols, made = zip(
            *((way[0], way[1](n)) for n in numbers for way in [drawn.choice(drawn.choice(ways))]), strict=True
        )
        messages, headers = pa.array([one for one, _ in made], pa.binary()), pa.array([h for _, h in made], HEADERS)
        batch = batches.deserialize_batch("records", messages, headers=headers)
        assert batch.column("number").to_pylist() == numbers
        assert batch.column("by").to_pylist() == list(symbols)
        for (message, named), number, symbol in list(zip(made, numbers, symbols, strict=True))[:READ_ALONE]:
            found = rows.deserialize("records", message, headers=[(one["key"], one["value"]) for one in named])
            assert found == datum(symbol, number, int(symbol.rpartition("_")[2]))
    counts = batches.stats()
    assert counts["messages"] == MESSAGES // 2 // BATCH * BATCH
    assert (counts["errors"], counts["ambiguous"], counts["headerless"], counts["fallbacks"]) == (0, 0, 0, 0)
