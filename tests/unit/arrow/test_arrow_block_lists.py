"""Arrays and maps in messages that are read in blocks: where their items are, however they are written."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from wire import varint

pa = pytest.importorskip("pyarrow")

from arrow_blocks import agree, before_protected_memory, in_blocks, protects_memory, same_buffers  # noqa: E402
from arrow_kinds import INNER, INNERS, KINDS, encoded  # noqa: E402
from schemas import array, mapping, record  # noqa: E402

from streamnative_serdes.arrow import ColumnCodec  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402

ITEM = record("Item", ("s", "string"), ("q", "int"), ("n", ["null", "string"]), ("d", "double"))
LISTS: dict[str, Any] = {
    "records": array(ITEM),
    "optional records": array(["null", ITEM]),
    "optional texts": array(["string", "null"]),
    "records of a record": array(record("Outer", ("i", ITEM), ("z", ["null", "Item"]))),
    "unions": array(["int", "string", ITEM]),
    "longs": array("long"),
    "texts": array("string"),
    "doubles": array("double"),
    "arrays": array(array("int")),
    "map of records": mapping(ITEM),
    "map of longs": mapping("long"),
    "map of texts": mapping("string"),
    "map of truths": mapping("boolean"),
    "map of optional longs": mapping(["null", "long"]),
    "optional array": ["null", array(ITEM)],
    "optional map": [mapping("string"), "null"],
}
ROW_BY_ROW = {"arrays"}  # items with items


def value_of(kind: Any, rng: Random) -> Any:
    if isinstance(kind, list):
        return value_of(rng.choice(kind), rng)
    if kind == "null":
        return None
    if isinstance(kind, dict) and kind["type"] == "record":
        return {field["name"]: value_of(field["type"], rng) for field in kind["fields"]}
    if isinstance(kind, dict):
        count = rng.choice([0, 0, 1, 2, 3, rng.randrange(20)])
        if kind["type"] == "map":
            return {f"key {number}" * (number + 1): value_of(kind["values"], rng) for number in range(count)}
        return [value_of(kind["items"], rng) for _ in range(count)]
    some: dict[str, Any] = {
        "int": rng.randrange(-100, 100), "long": rng.randrange(2**50), "string": "t" * rng.randrange(90),
        "double": 0.25, "boolean": rng.random() < 0.5, "Item": None,
    }  # fmt: skip
    return value_of(ITEM, rng) if kind == "Item" else some[kind]


def row_of(kind: Any) -> Any:
    return record("R", ("before", "int"), ("x", kind), ("text", "string"), ("flag", "boolean"))


def messages_of(kind: Any, count: int, seed: int = 0) -> list[bytes]:
    rng, codec = Random(seed), Codec(row_of(kind))
    return [
        codec.encode({"before": row, "x": value_of(kind, rng), "text": "x" * (row % 7), "flag": row % 2 == 0})
        for row in range(count)
    ]


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_any_length_are_read(name: str) -> None:
    kind = LISTS[name]
    columns, messages = ColumnCodec(row_of(kind)), messages_of(kind, 200)
    assert agree(columns, messages)["why"].null_count == 200
    if name not in ROW_BY_ROW:
        assert in_blocks(columns, messages) > 100  # and a block ends with its bytes
    same_buffers(columns, messages)


@pytest.mark.parametrize("name", KINDS)
def test_items_of_each_kind_are_read(name: str) -> None:
    kind, reads, values = KINDS[name]
    data, rng = encoded(kind, values), Random(name)
    in_records = [array(record("I", ("a", one), ("b", "int"))) for one in (kind, reads)]
    for number, (writer, reader) in enumerate(((array(kind), array(reads)), in_records)):
        columns = ColumnCodec(row_of(writer), row_of(reader))
        messages = []
        for row in range(100):
            items = [rng.choice(data) + b"\2" * number for _ in range(rng.choice([0, 1, 2, 5]))]
            body = varint(len(items)) + b"".join(items) + b"\0" if items else b"\0"
            messages.append(b"\2" + body + b"\2t" + bytes([row % 2]))
        assert agree(columns, messages)["why"].null_count == 100
        same_buffers(columns, messages)


@pytest.mark.parametrize("name", ["records", "longs", "map of records", "map of texts"])
def test_lists_in_parts_and_with_declared_sizes_are_read(name: str) -> None:
    """Some writers give the size of a part in bytes, after the negative number of its items."""
    kind, rng = LISTS[name], Random(5)
    items = kind.get("items") or kind["values"]
    columns, good = ColumnCodec(row_of(kind)), messages_of(kind, 90)
    key = Codec("string").encode("k") if "values" in kind else b""

    def part(count: int, declared: bool, lie: int = 0) -> bytes:
        body = b"".join(key + Codec(items).encode(value_of(items, rng)) for _ in range(count))
        return varint(-count) + varint(len(body) + lie) + body if declared else varint(count) + body

    for parts in ([(2, True)], [(1, True), (2, True)], [(2, False), (3, False)], [(1, False), (1, True)], [(70, True)]):
        unusual = b"\2" + b"".join(part(*one) for one in parts) + b"\0" + b"\2t\1"
        for share in (1, 3, 30):
            messages = [unusual if row % share == 0 else good[row] for row in range(90)]
            assert agree(columns, messages)["why"].null_count == 90
        if len(parts) == 1 and len(unusual) < 1_000:
            assert in_blocks(columns, [unusual] * 20) > 0
    for lie in (-1, 1, 2):
        bad = b"\2" + part(2, True, lie) + b"\0" + b"\2t\1"
        batch = agree(columns, [bad if row == 15 else good[row] for row in range(40)])
        assert batch["why"].is_valid().to_pylist() == [row == 15 for row in range(40)]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_damaged_anywhere_is_an_error_of_its_row(name: str) -> None:
    kind, rng = LISTS[name], Random(name)
    columns, good = ColumnCodec(row_of(kind)), messages_of(kind, 30, seed=3)
    long = max(good, key=len)[:400] if name == "arrays" else sorted(good, key=len)[-5]
    for at in range(len(long)):
        for bad in (long[:at], long[:at] + rng.randbytes(1) + long[at + 1 :], long[:at] + b"\xff" + long[at + 1 :]):
            agree(columns, [bad if row == 12 else good[row] for row in range(30)])


def test_fields_of_items_that_the_reader_lacks_or_adds() -> None:
    more = record("Item", ("d", "double"), ("q", "long"), ("more", "string", "some"), ("n", ["null", "string"]))
    few = record("Item", ("n", ["null", "string"]))
    for container, reader in ((array, more), (array, few), (mapping, more), (mapping, few)):
        columns = ColumnCodec(row_of(container(ITEM)), row_of(container(reader)))
        messages = messages_of(container(ITEM), 150)
        assert agree(columns, messages)["why"].null_count == 150
        assert in_blocks(columns, messages) > 100


def test_items_whose_fields_the_reader_lacks_may_have_items() -> None:
    full = record("Item", ("s", "string"), ("l", array("int")), ("r", INNER), ("u", ["int", "string"]), ("q", "int"))
    codec, rng = Codec(row_of(array(full))), Random(1)
    columns = ColumnCodec(row_of(array(full)), row_of(array(record("Item", ("q", "int"), ("s", "string")))))
    messages = []
    for row in range(100):
        items = [
            {"s": "s" * number, "l": [1] * number, "r": INNERS[number % 2], "u": rng.choice([1, "u"]), "q": number}
            for number in range(row % 5)
        ]
        messages.append(codec.encode({"before": row, "x": items, "text": "", "flag": True}))
    assert agree(columns, messages)["why"].null_count == 100


def test_a_map_has_the_last_of_equal_keys_and_all_of_them_in_order() -> None:
    columns = ColumnCodec(row_of(mapping("long")))
    one = b"\2" + varint(3) + b"\2a\2" + b"\2b\4" + b"\2a\6" + b"\0" + b"\2t\1"
    assert agree(columns, [one] * 20)["x"][0].as_py() == [("a", 1), ("b", 2), ("a", 3)]


@pytest.mark.parametrize("count", [64, 65, 127, 128, 129, 1_000, 5_000])
def test_lists_of_many_items_fill_several_blocks(count: int) -> None:
    pair = record("P", ("a", "int"), ("b", "boolean"))
    for kind, item in ((array(pair), b"\2\1"), (array("int"), b"\2"), (mapping(pair), b"\2k\2\1")):
        columns = ColumnCodec(row_of(kind))
        long = b"\2" + varint(count) + item * count + b"\0" + b"\2t\1"
        short = b"\2\2" + item + b"\0\2t\1"
        messages = [*[short] * 20, *[long] * 10, *[short] * 20, long, short]
        batch = agree(columns, messages)
        assert batch["why"].null_count == len(messages)
        assert pa.compute.sum(batch["x"].value_lengths() if kind["type"] == "array" else pa.array([0])).as_py() in (
            0, 11 * count + 41,
        )  # fmt: skip


@protects_memory
@pytest.mark.parametrize("name", LISTS)
def test_nothing_is_read_behind_the_last_message(name: str) -> None:
    kind = LISTS[name]
    columns = ColumnCodec(row_of(kind))
    for seed in range(5):
        messages = messages_of(kind, 20, seed)
        agree(columns, messages, before_protected_memory(messages))
        for cut in range(1, min(30, len(messages[-1]))):
            short = [*messages[:-1], messages[-1][:-cut]]
            agree(columns, short, before_protected_memory(short))


@pytest.mark.parametrize("most", [5, 36, 70, 300])
def test_texts_of_lists_and_maps_may_have_any_size(most: int) -> None:
    """Also where the memory of a column ends in the middle of a row, or there are no bytes at all."""
    rng = Random(most)
    for kind in (array("string"), mapping("string"), mapping("long"), mapping("int")):
        messages, codec = [], Codec(row_of(kind))
        for row in range(400):
            texts = [rng.choice("xé") * rng.choice((0, 1, rng.randrange(most), 31, 32, 33)) for _ in range(row % 9)]
            keys = {f"{key}{'k' * rng.randrange(most)}": text for key, text in enumerate(texts)}
            numbers = {key: len(text) for key, text in keys.items()}
            value = texts if kind["type"] == "array" else keys if kind["values"] == "string" else numbers
            messages.append(codec.encode({"before": row, "x": value, "text": "", "flag": True}))
        columns = ColumnCodec(row_of(kind))
        assert agree(columns, messages)["why"].null_count == len(messages)
        assert in_blocks(columns, messages) > 100
        same_buffers(columns, messages)
