"""Neighbouring messages of one schema version are read in blocks: versions, tombstones and other framings between."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from confluent_stand_in import ConfluentStandIn  # noqa: E402 - requires pyarrow
from versions import SEEN, as_version, bare, damaged, framed, register, schema  # noqa: E402

from streamnative_serdes import Codec, DecodeError, KafkaAvroDeserializer, KafkaAvroSerializer  # noqa: E402
from streamnative_serdes._schema import parse  # noqa: E402
from streamnative_serdes.arrow import Columns  # noqa: E402
from streamnative_serdes.testing import LocalRegistry  # noqa: E402

VERSIONS = 4
WHY = "why"
NULL = dict.fromkeys(as_version(0, VERSIONS - 1))
# Versions of messages; None for a tombstone.
ORDERS: dict[str, list[int | None]] = {
    "runs of 1": [0, 1, 2, 3] * 40,
    "runs of 7": [row // 7 % 3 for row in range(200)],
    "runs of 8": [row // 8 % 4 for row in range(200)],
    "runs of 9": [row // 9 % 2 for row in range(200)],
    "runs of 64": [row // 64 % 3 for row in range(400)],
    "runs of 65": [row // 65 % 2 for row in range(400)],
    "another one between": [3 if row % 30 == 29 else 1 for row in range(300)],
    "tombstones between": [None if row % 11 == 3 else row // 20 % 2 for row in range(300)],
    "tombstones in between runs": [None if row % 12 < 3 else row // 12 % 4 for row in range(300)],
    "at random": [Random(row // 13).choice([0, 1, 2, 3, None]) for row in range(400)],
}


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, Any]:
    """Topic "t" has the versions 0 to 3."""
    register(registry, "t", range(VERSIONS))
    return {"schema.registry.url": registry.url, "retries.total.ms": 1_500}


def message(version: int | None) -> bytes | None:
    return None if version is None else framed(version)


def row_of(version: int | None, shown: int = VERSIONS - 1) -> dict[str, Any]:
    return dict.fromkeys(as_version(0, shown)) if version is None else as_version(version, shown)


@pytest.mark.parametrize("order", ORDERS)
def test_messages_of_each_version_are_read_by_it(conf: dict[str, Any], order: str) -> None:
    versions = ORDERS[order]
    data = [message(version) for version in versions]
    deserializer = KafkaAvroDeserializer(conf)
    for form in (data, pa.array(data), pa.array(data, pa.large_binary()), pa.chunked_array([data[:50], data[50:]])):
        batch = deserializer.deserialize_batch("t", form)
        batch.validate(full=True)
        assert batch.to_pylist() == [row_of(version) for version in versions]
    assert deserializer.stats()["messages"] == 4 * sum(version is not None for version in versions)
    assert deserializer.stats()["errors"] == 0


@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_counted_by_the_version_that_read_them(order: str) -> None:
    columns = Columns(parse(schema(VERSIONS - 1)), {}, "arrow", large_types=False)
    versions = ORDERS[order]

    def find(version: int) -> Any:
        return ((columns.plan(parse(schema(version))), 10, False),)

    def failed(version: int, errors: list[DecodeError], message: bytes) -> DecodeError:
        return errors[0]

    batch, counts, _ = columns.decode(pa.array([message(version) for version in versions]), find, failed)
    assert batch.to_pylist() == [row_of(version) for version in versions]
    assert counts == {(version, 0): count for version, count in Counter(versions).items() if version is not None}

    spoilt = {row for row, version in enumerate(versions) if version is not None and row % 37 == 5}
    data = [damaged(versions[row] or 0) if row in spoilt else message(version) for row, version in enumerate(versions)]
    batch, counts, _ = columns.decode(pa.array(data), find, failed, error_column=WHY)
    assert [row for row, why in enumerate(batch[WHY].to_pylist()) if why] == sorted(spoilt)
    read = Counter(version for row, version in enumerate(versions) if version is not None and row not in spoilt)
    bad = Counter(versions[row] for row in spoilt)
    expected = {(version, 0): count for version, count in read.items()} | {
        (one, "DecodeError"): n for one, n in bad.items()
    }
    assert counts == expected


def test_damaged_messages_among_versions_are_errors_of_their_rows(conf: dict[str, Any]) -> None:
    versions = [row // 20 % VERSIONS for row in range(300)]
    deserializer = KafkaAvroDeserializer(conf)
    for place in (0, 1, 8, 19, 20, 27, 299):
        data = [damaged(version) if row == place else framed(version) for row, version in enumerate(versions)]
        batch = deserializer.deserialize_batch("t", data, error_column=WHY)
        why = batch[WHY].to_pylist()
        assert [row for row, said in enumerate(why) if said] == [place]
        rows = batch.drop_columns([WHY]).to_pylist()
        assert rows == [NULL if row == place else as_version(one, 3) for row, one in enumerate(versions)]
        with pytest.raises(DecodeError, match=f"row {place}, ") as caught:
            deserializer.deserialize_batch("t", data)
        assert (caught.value.row, caught.value.path) == (place, "name")


@pytest.mark.parametrize("ways", [1, 0])
def test_a_row_whose_schemas_change_again_and_again_is_an_error(ways: int) -> None:
    columns = Columns(parse(schema(0)), {}, "arrow", large_types=False)
    routes = ((columns.plan(parse(schema(0))) if ways else None, 10, False),)
    batch, counts, _ = columns.decode([damaged(0)], lambda _: routes, lambda *_: routes, error_column=WHY)
    assert (batch.column("name").to_pylist(), counts) == ([None], {(0, "DecodeError"): 1})
    assert ("field name, byte 11" if ways else "the schemas changed") in batch.column(WHY).to_pylist()[0]


def test_a_version_that_differs_in_the_last_byte_or_the_first_one_ends_a_block() -> None:
    columns = Columns(parse(schema(1)), {}, "arrow", large_types=False)
    asked = []

    def find(version: int) -> Any:
        asked.append(version)
        return ((columns.plan(parse(schema(version % 2))), 10, False),)

    numbers = [0, 1, 1 << 56, (1 << 56) + 1, 256, 257]
    order = [number for number in numbers for _ in range(20)] + [0] * 20 + numbers
    data = [b"\3\4" + number.to_bytes(8, "big") + bare(number % 2) for number in order]

    def failed(version: int, errors: list[DecodeError], message: bytes) -> DecodeError:
        raise AssertionError(errors)

    batch, counts, _ = columns.decode(pa.array(data), find, failed)
    assert batch.to_pylist() == [as_version(number % 2, 1) for number in order]
    assert counts == {(number, 0): count for number, count in Counter(order).items()}
    assert asked == numbers


def test_versions_whose_messages_could_be_read_by_each_other_are_not_mixed() -> None:
    """Two fields that changed places."""
    fields = [[{"name": name, "type": "int"} for name in order] for order in ("ab", "ba")]
    schemas = [parse({"type": "record", "name": "R", "fields": each}) for each in fields]
    columns = Columns(schemas[0], {}, "arrow", large_types=False)
    order = [1 << 56, 0, 1, 256, *[0] * 30, *[1] * 9, 0, *[1] * 70, *[1 << 56] * 8, *[256] * 20, *[257] * 20, *[0] * 20]
    data = [b"\3\4" + number.to_bytes(8, "big") + b"\2\4" for number in order]

    def find(version: int) -> Any:
        return ((columns.plan(schemas[version % 2]), 10, False),)

    def failed(version: int, errors: list[DecodeError], message: bytes) -> DecodeError:
        raise AssertionError(errors)

    batch, counts, _ = columns.decode(pa.array(data), find, failed)
    assert batch.to_pylist() == [{"a": 2, "b": 1} if number % 2 else {"a": 1, "b": 2} for number in order]
    assert counts == {(number, 0): count for number, count in Counter(order).items()}


def test_messages_that_could_be_read_without_their_header_are_read_with_it(registry: LocalRegistry) -> None:
    """The header would be ten numbers, and the datum an array. A message without a header stands before them."""
    names = "abcdefghij"
    numbers = [{"name": name, "type": "long"} for name in names]
    kind = {
        "type": "record",
        "name": "T",
        "fields": [*numbers, {"name": "k", "type": {"type": "array", "items": "long"}}],
    }
    datum = {**dict(zip(names, [9, *range(9)], strict=True)), "k": []}
    conf = {"schema.registry.url": registry.url}
    with KafkaAvroSerializer(conf, kind) as serializer:
        message = serializer.serialize("t", datum)
    assert message is not None
    assert Codec(kind).decode(message)["k"] == list(range(9))
    data = [message, message, message[10:], *[message] * 20, message[10:], *[message] * 20, message[10:]]
    assert KafkaAvroDeserializer(conf).deserialize_batch("t", pa.array(data)).to_pylist() == [datum] * len(data)


@pytest.mark.parametrize("size", range(11))
@pytest.mark.parametrize("place", [1, 10, 39])
def test_a_message_that_is_shorter_than_a_header_is_not_read_as_the_others(
    conf: dict[str, Any], size: int, place: int
) -> None:
    """The bytes behind it are those of the next message."""
    deserializer = KafkaAvroDeserializer(conf)
    data = [framed(3)] * 40
    data[place] = data[place][:size]
    (alone,) = deserializer.deserialize_batch("t", [data[place]], error_column=WHY)[WHY].to_pylist()
    batch = deserializer.deserialize_batch("t", pa.array(data), error_column=WHY)
    assert alone is not None
    assert batch[WHY].to_pylist() == [alone if row == place else None for row in range(40)]
    assert batch.drop_columns([WHY]).to_pylist() == [NULL if row == place else as_version(3, 3) for row in range(40)]


@pytest.mark.parametrize("run", [1, 7, 8, 9, 64])
def test_the_highest_version_that_was_seen_is_what_a_batch_comes_out_as(conf: dict[str, Any], run: int) -> None:
    deserializer = KafkaAvroDeserializer({**conf, **SEEN})
    shown = 0
    for highest in (0, 1, 0, 3):
        shown = max(shown, highest)
        versions = [*[0] * run, *[highest] * run, *[0] * run, None, *[highest] * (run // 2)]
        batch = deserializer.deserialize_batch("t", [message(version) for version in versions])
        assert batch.to_pylist() == [row_of(version, shown) for version in versions]


# --- messages without our header --------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [1, 7, 8, 9, 64])
def test_messages_without_a_header_stand_between_blocks(conf: dict[str, Any], run: int) -> None:
    latest = VERSIONS - 1
    deserializer = KafkaAvroDeserializer(conf)
    data: list[bytes | None] = [*[framed(1)] * run, bare(latest), *[framed(1)] * run, *[bare(latest)] * run, framed(0)]
    batch = deserializer.deserialize_batch("t", pa.array(data))
    shown = [1] * run + [latest] + [1] * run + [latest] * run + [0]
    assert batch.to_pylist() == [as_version(version, latest) for version in shown]
    assert deserializer.stats()["headerless"] == run + 1


@pytest.mark.parametrize("framings", ["snip42,confluent,confluent-header,headerless", "snip42,headerless,confluent"])
@pytest.mark.parametrize("run", [1, 8, 20, 64])
def test_confluents_framings_stand_between_blocks(conf: dict[str, Any], framings: str, run: int) -> None:
    latest = VERSIONS - 1
    second = ConfluentStandIn()
    with second:
        number = second.register("t-value", schema(2))
        prefix = b"\0" + number.to_bytes(4, "big")
        more = {"confluent.schema.registry.url": second.url, "framings": framings}
        deserializer = KafkaAvroDeserializer({**conf, **more})
        data, shown = [], []
        for version, one in [(1, framed(1)), (2, prefix + bare(2)), (latest, bare(latest)), (0, framed(0))] * 3:
            data += [one] * run
            shown += [version] * run
        none = [None] * len(data) if "confluent-header" in framings else None
        batch = deserializer.deserialize_batch("t", pa.array(data), headers=none)
        batch.validate(full=True)
        assert batch.to_pylist() == [as_version(version, latest) for version in shown]
        found = deserializer.stats()
        assert (found["messages"], found["confluent"], found["headerless"]) == (len(data), 3 * run, 3 * run)
        if none is not None:
            headers = [[("__value_schema_id", prefix)] if row % 20 == 7 else None for row in range(len(data))]
            bodies = [bare(2) if header else one for header, one in zip(headers, data, strict=True)]
            batch = deserializer.deserialize_batch("t", bodies, headers=headers)
            assert batch.to_pylist() == [
                as_version(2 if header else version, latest) for header, version in zip(headers, shown, strict=True)
            ]
