"""The values that the codec accepts for each type: subclasses, sequences, mappings, buffers; and those it refuses."""

from __future__ import annotations

import array as machine
import collections
import enum as py_enum
import itertools
import mmap
import queue
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from schemas import array, enum, fixed, mapping, record

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

SUIT = enum("Suit", "SPADES", "HEARTS", "CLUBS")


def ident(sample: object) -> str:
    return str(sample)[:40] if isinstance(sample, str | int | float) else ""


# --- values -----------------------------------------------------------------------------------------------------------


class Index:
    def __index__(self) -> int:
        return 7


class Real:
    def __float__(self) -> float:
        return 0.5


class Text(str):
    """A str whose methods lie about its text."""

    __slots__ = ()

    def __str__(self) -> str:
        return "lie"

    def encode(self, *_: Any) -> bytes:  # type: ignore[override]
        return b"lie"


class Number(int):
    def __index__(self) -> int:
        return 99


class Ratio(float):
    def __float__(self) -> float:
        return 99.0


class Raw(bytes):
    def __len__(self) -> int:
        return 1


class Items(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([99])

    def __len__(self) -> int:
        return 99

    def __getitem__(self, key: Any) -> Any:
        return 99


class Own:
    """A sequence by its methods only, not registered as one."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Colour(py_enum.Enum):
    SPADES = 1


class Suit(py_enum.StrEnum):
    HEARTS = "hearts"
    OTHER = "CLUBS"


class Small(py_enum.IntEnum):
    FIVE = 5


INTS, MAP = array("int"), mapping("int")
ACCEPTED: list[tuple[Any, Any, Any]] = [
    ("int", Index(), 7),
    ("long", Number(5), 5),
    ("long", Small.FIVE, 5),
    ("double", Real(), 0.5),
    ("double", Ratio(1.5), 1.5),
    ("double", Fraction(1, 4), 0.25),
    ("double", 3, 3.0),
    ("double", 2**53, 2.0**53),
    ("float", 16_777_216, 16_777_216.0),
    ("string", Text("é"), "é"),
    ("string", Text("plain"), "plain"),
    ("string", Suit.HEARTS, "hearts"),
    ("bytes", Raw(b"abc"), b"abc"),
    ("bytes", bytearray(b"ab"), b"ab"),
    ("bytes", memoryview(b"ab"), b"ab"),
    ("bytes", memoryview(bytearray(b"abcd"))[1:3], b"bc"),
    ("bytes", memoryview(b"abcd").cast("B", (2, 2)), b"abcd"),
    ("bytes", memoryview(b"ab").cast("c"), b"ab"),
    ("bytes", machine.array("B", [1, 2]), b"\x01\x02"),
    (fixed("F", 2), bytearray(b"ab"), b"ab"),
    (fixed("F", 3), Raw(b"abc"), b"abc"),
    (SUIT, Colour.SPADES, "SPADES"),
    (SUIT, Suit.HEARTS, "HEARTS"),
    (SUIT, Suit.OTHER, "CLUBS"),
    (SUIT, Text("CLUBS"), "CLUBS"),
    (INTS, (1, 2), [1, 2]),
    (INTS, Items([1, 2]), [1, 2]),
    (INTS, range(3), [0, 1, 2]),
    (INTS, collections.deque([1, 2]), [1, 2]),
    (INTS, collections.UserList([1, 2]), [1, 2]),
    (INTS, machine.array("i", [1, 2]), [1, 2]),
    (INTS, Own(1, 2), [1, 2]),
    (INTS, Own(), []),
    (MAP, types.MappingProxyType({"a": 1}), {"a": 1}),
    (MAP, collections.OrderedDict(a=1), {"a": 1}),
    (MAP, collections.UserDict({"a": 1}), {"a": 1}),
    (MAP, collections.ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
    (MAP, {Text("é"): 1}, {"é": 1}),
]


@pytest.mark.parametrize(("schema", "datum", "back"), ACCEPTED, ids=ident)
def test_values_that_represent_a_type_are_accepted(schema: Any, datum: Any, back: Any) -> None:
    for kind in (schema, ["null", schema], ["null", schema, "boolean"]):
        result = Codec(kind).decode(Codec(kind).encode(datum))

        assert (result, type(result)) == (back, type(back))


LOOSE = "(hint: pass list(value) to write the items of an iterable)"


@pytest.mark.parametrize(
    ("schema", "datum", "expected"),
    [
        (
            "bytes",
            memoryview(b"abcd")[::2],
            "expected a readable buffer, got memoryview: memoryview: underlying buffer is not C-con",
        ),
        ("bytes", memoryview(b"abcd")[::-1], "not C-contiguous"),
        ("bytes", memoryview(machine.array("i", [1])), "got memoryview (hint: its items are not bytes"),
        ("bytes", machine.array("d", [1]), "got array (hint: its items are not bytes; pass value.tobytes()"),
        ("bytes", memoryview(b"a").cast("?"), "its items are not bytes"),
        ("bytes", 3, "expected bytes, got int 3"),
        ("bytes", [1, 2], "expected bytes, got list"),
        ("bytes", "ab", "encode text first"),
        (fixed("F", 2), memoryview(b"abcd")[::2], "not C-contiguous"),
        ("string", b"ab", "expected string, got bytes"),
        (INTS, {1, 2}, f"expected array, got set {LOOSE}"),
        (INTS, frozenset([1]), LOOSE),
        (INTS, (i for i in [1]), f"expected array, got generator {LOOSE}"),
        (INTS, iter([1]), LOOSE),
        (INTS, map(int, "12"), LOOSE),
        (INTS, zip([1], strict=True), LOOSE),
        (INTS, {1: 1}.keys(), LOOSE),
        (INTS, {1: 1}.values(), LOOSE),
        (INTS, {1: 1}, "expected array, got dict"),
        (INTS, "12", "expected array, got str '12'"),
        (INTS, b"12", "expected array, got bytes"),
        (INTS, bytearray(b"12"), "expected array, got bytearray"),
        (INTS, memoryview(b"12"), "expected array, got memoryview"),
        (INTS, collections.UserDict({0: 1}), "expected array, got UserDict"),
        (INTS, types.SimpleNamespace(), "expected array, got SimpleNamespace"),
        (INTS, list, "expected array, got type"),
        (MAP, [("a", 1)], "expected map, got list"),
        (MAP, {"a", "b"}, "expected map, got set"),
        (MAP, collections.UserDict({1: 1}), "expected a string as map key, got int 1"),
        (MAP, queue.Queue(), "expected map, got Queue"),
        ("boolean", 1, "expected boolean, got int 1"),
        ("null", 0, "expected null, got int 0"),
        ("double", "1", "expected double, got str '1'"),
        ("double", 1j, "expected double, got complex"),
    ],
    ids=ident,
)
def test_values_of_a_wrong_type_are_refused(schema: Any, datum: Any, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(schema).encode(datum)
    assert expected in str(caught.value).replace("got a ", "got ")
    for kind in (["null", schema], ["null", schema, "float" if schema == "boolean" else "boolean"]):
        if kind[2:] == ["float"] or schema == "null":
            continue
        with pytest.raises(EncodeError):
            Codec(kind).encode(datum)


def test_a_released_memoryview_is_an_error() -> None:
    view = memoryview(b"ab")
    view.release()
    with pytest.raises(EncodeError, match="expected a readable buffer, got memoryview: operation forbidden"):
        Codec("bytes").encode(view)


def test_an_mmap_is_written_as_bytes() -> None:
    with mmap.mmap(-1, 4) as memory:
        memory[:] = b"abcd"
        assert Codec("bytes").encode(memory) == b"\x08abcd"
        assert Codec(["null", "bytes", array("int")]).encode(memory) == b"\x02\x08abcd"


# --- sequences and mappings that lie about their length ---------------------------------------------------------------


class Claims(Sequence[int]):
    """A sequence whose len() differs from the number of its items."""

    def __init__(self, length: int, items: Any) -> None:
        self.length, self.items = length, items

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        return iter(self.items)


class Pairs(Mapping[str, int]):
    """A mapping with the given len() and items()."""

    def __init__(self, length: int, pairs: Any) -> None:
        self.length, self.pairs = length, pairs

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __getitem__(self, key: str) -> int:
        return 1

    def items(self) -> Any:
        return self.pairs


@pytest.mark.parametrize(
    ("schema", "datum", "expected"),
    [
        (INTS, Claims(2, itertools.repeat(1)), "is 2, but it has more distinct items"),
        (INTS, Claims(2, [1]), "is 2, but it has 1 distinct items"),
        (INTS, Claims(-1, []), "reading the value raised ValueError"),
        (INTS, Claims(2**80, []), "reading the value raised OverflowError"),
        (MAP, Pairs(2, itertools.repeat(("a", 1))), "is 2, but it has 1 distinct items"),
        (
            MAP,
            Pairs(1, zip(map(str, itertools.count()), itertools.repeat(1))),
            "is 1, but it has more distinct items",
        ),
        (MAP, Pairs(2, [("a", 1), ("a", 2)]), "is 2, but it has 1 distinct items"),  # two values for one key
        (MAP, Pairs(1, [("a",)]), "reading the value raised ValueError"),
        (MAP, Pairs(1, [([], 1)]), "reading the value raised TypeError"),
        (MAP, Pairs(1, 5), "reading the value raised TypeError"),
    ],
    ids=ident,
)
def test_a_len_that_differs_from_the_number_of_items_is_an_error(schema: Any, datum: Any, expected: str) -> None:
    with pytest.raises(EncodeError, match=expected):
        Codec(record("R", ("f", schema))).encode({"f": datum})


class Unreadable:
    def __index__(self) -> int:
        raise KeyError("no")


@pytest.mark.parametrize("datum", ["text", Unreadable()], ids=ident)
def test_the_path_of_an_error_is_empty_for_the_whole_datum_and_none_for_an_unknown_place(datum: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec('"int"').encode(datum)
    assert caught.value.path == ""
    assert EncodeError("no").path is None


class Doubling(dict[str, int]):
    """A dict some of whose methods return twice the stored values."""

    def __getitem__(self, key: str) -> int:
        return 2 * super().__getitem__(key)

    def __missing__(self, key: str) -> int:
        return 99


class DoublingGet(Doubling):
    def get(self, key: str, default: Any = None) -> Any:
        return 2 * super().get(key) if key in self else default


class DoublingItems(Doubling):
    def items(self) -> Any:
        return [(key, 2 * value) for key, value in super().items()]


@pytest.mark.parametrize(
    ("make", "record_factor", "map_factor"), [(Doubling, 1, 1), (DoublingGet, 2, 1), (DoublingItems, 1, 2)]
)
def test_an_overridden_get_is_used_for_records_and_overridden_items_for_maps(
    make: Any, record_factor: int, map_factor: int
) -> None:
    datum = make(a=1, b=2)
    schema = record("R", ("a", "int"), ("b", "int"), ("c", "int", 7))

    assert Codec(schema).decode(Codec(schema).encode(datum)) == {"a": record_factor, "b": 2 * record_factor, "c": 7}
    assert Codec(MAP).decode(Codec(MAP).encode(datum)) == {"a": map_factor, "b": 2 * map_factor}


class Endless(collections.UserList):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return sys.maxsize


class EndlessMap(collections.UserDict):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return sys.maxsize


@pytest.mark.parametrize(("kind", "datum"), [("array", Endless([1, 2])), ("map", EndlessMap(a=1, b=2))])
def test_a_len_of_maxsize_is_compared_with_the_number_of_items(kind: str, datum: Any) -> None:
    codec = Codec({"type": kind, "items" if kind == "array" else "values": "int"})

    with pytest.raises(EncodeError, match=f"of the value is {sys.maxsize}, but it has 2 distinct items"):
        codec.encode(datum)
