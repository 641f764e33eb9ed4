"""validate.strict and validate.strict.allow.default: the objects that they refuse, and their errors."""

from __future__ import annotations

import collections
import io
import itertools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any, ClassVar, NamedTuple

import fastavro
import pytest
from rows import Row
from schemas import array, mapping, record

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError
from streamnative_serdes.testing import LocalRegistry

# A field of each kind: required, with a default, nullable with a default, nullable without one.
FIELDS = [("must", "int"), ("has", "int", 1), ("opt", ["null", "int"], None), ("bare", ["null", "int"])]
ALL = record("All", *FIELDS)
INNER = record("Inner", ("x", "int"), ("y", "int", 0))
USER = record(
    "User", ("name", "string"), ("pet", ["null", INNER], None), ("pets", array("Inner"), []), ("by", mapping("Inner"))
)

MISSING = "the field is missing and has no default"
ASKED = "the field is missing, and validate.strict requires all"

STRICT, LENIENT = {"validate_strict": True}, {"validate_strict_allow_default": True}
BOTH = {**STRICT, **LENIENT}


def named(**values: Any) -> Any:
    return collections.namedtuple("named", values)(**values)  # type: ignore[misc]


def instance(**values: Any) -> Any:
    return make_dataclass("instance", values)(**values)


def slotted(**values: Any) -> Any:
    return make_dataclass("slotted", values, slots=True)(**values)


KINDS = [dict, collections.OrderedDict, collections.UserDict, named, Row, instance, slotted]
KINDS.append(lambda **values: types.MappingProxyType(values))


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("options", [STRICT, LENIENT, BOTH], ids=str)
def test_an_object_with_exactly_the_fields_is_written(make: Any, options: Any) -> None:
    values = {"must": 1, "has": 2, "opt": 3, "bare": None}

    for some in (values, dict(reversed(values.items()))):
        assert Codec(ALL, **options).encode(make(**some)) == Codec(ALL).encode(values)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("options", [STRICT, LENIENT, BOTH], ids=str)
def test_the_error_for_unknown_fields_names_them(make: Any, options: Any) -> None:
    datum = make(must=1, zz=0, has=2, opt=3, bare=None, mist=5)

    with pytest.raises(EncodeError) as caught:
        Codec(ALL, **options).encode(datum)
    text = str(caught.value)
    assert "record All has no field" in text
    assert "'zz'" in text
    assert "'mist'" in text
    assert "must, has, opt, bare" in text
    assert Codec(ALL).encode(datum) == b"\x02\x04\x02\x06\x00"


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    ("options", "without", "reason"),
    [
        (STRICT, "must", ASKED),
        (STRICT, "has", ASKED),
        (STRICT, "opt", ASKED),
        (STRICT, "bare", ASKED),
        (BOTH, "has", ASKED),
        (LENIENT, "must", MISSING),
        (LENIENT, "has", None),
        (LENIENT, "opt", None),
        (LENIENT, "bare", MISSING),
        ({}, "must", MISSING),
        ({}, "bare", None),
    ],
)
def test_missing_fields_are_refused_according_to_the_options(
    make: Any, options: Any, without: str, reason: str | None
) -> None:
    values = {"must": 1, "has": 1, "opt": None, "bare": None}
    del values[without]

    if reason is None:
        assert Codec(ALL, **options).encode(make(**values)) == b"\x02\x02\x00\x00"
        return
    with pytest.raises(EncodeError, match=reason) as caught:
        Codec(ALL, **options).encode(make(**values))
    assert caught.value.path == without


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [
        ({"nmae": 1}, "", "record User has no field 'nmae'"),
        ({"pet": {"x": 1, "y": 1, "z": 1}}, "pet", "record Inner has no field 'z'"),
        ({"pet": ("Inner", {"x": 1, "y": 1, "z": 1})}, "pet", "record Inner has no field 'z'"),
        ({"pet": {"x": 1}}, "pet.y", ASKED),
        ({"pets": [{"x": 1, "y": 1}, {"x": 1, "y": 1, "-x": 1}]}, "pets[1]", "record Inner has no field '-x'"),
        ({"by": {"k": Row(x=1, y=2, z=3)}}, 'by["k"]', "record Inner has no field 'z'"),
        ({5: 1, b"x": 1, "s": 1}, "", "record User has no field 5, b'x', 's'"),
        ({"x" * 10_000: 1}, "", "record User has no field 'xxx"),
        ({f"x{i}": 1 for i in range(1000)}, "", "'x19' (hint"),
    ],
)
def test_the_error_names_the_record_and_its_unknown_fields(change: Any, path: str, text: str) -> None:
    codec = Codec(USER, validate_strict=True)
    good: dict[Any, Any] = {"name": "a", "pet": None, "pets": [], "by": {}}
    codec.encode(good)

    with pytest.raises(EncodeError) as caught:
        codec.encode({**good, **change})
    assert caught.value.path == path
    assert text in str(caught.value)
    assert len(str(caught.value)) < 800


def test_for_a_misspelt_field_the_error_names_the_unknown_field_and_not_the_missing_one() -> None:
    for options in (STRICT, LENIENT):
        with pytest.raises(EncodeError, match="has no field 'mist'"):
            Codec(ALL, **options).encode({"mist": 1, "has": 1, "opt": None, "bare": None})


@dataclass
class Declared:
    must: int
    has: int = 2
    opt: int | None = None
    count: ClassVar[int] = 5  # not a field
    label = "x"  # not a field either
    later: int = field(init=False, repr=False)

    @property
    def bare(self) -> None:
        return None


def test_only_declared_fields_of_a_dataclass_count() -> None:
    schema = record("Declared", *FIELDS, ("later", "int", 0))
    datum = Declared(1)
    datum.later = 7
    datum.extra = 1  # type: ignore[attr-defined]

    assert Codec(schema, validate_strict=True).encode(datum) == b"\x02\x04\x00\x00\x0e"
    with pytest.raises(EncodeError, match="record All has no field 'later'"):
        Codec(ALL, validate_strict=True).encode(datum)


def test_a_declared_field_without_a_value_is_an_error_in_every_mode() -> None:
    schema = record("Declared", *FIELDS, ("later", "int", 0))

    for options in ({}, STRICT, LENIENT):
        with pytest.raises(EncodeError, match="reading the value raised AttributeError") as caught:
            Codec(schema, **options).encode(Declared(1))
        assert caught.value.path == "later"


class Counter(NamedTuple):
    x: int


def test_fields_for_which_a_short_row_has_no_value_are_missing() -> None:
    short = Row(x=1)
    short.__fields__ = ["x", "y"]

    assert Codec(INNER).encode(short) == b"\x02\x00"
    with pytest.raises(EncodeError, match=ASKED):
        Codec(INNER, validate_strict=True).encode(short)
    with pytest.raises(EncodeError, match=ASKED):
        Codec(INNER, validate_strict=True).encode(Counter(1))


# --- unions -----------------------------------------------------------------------------------------------------------

ONE, TWO = record("n.One", ("x", "int"), ("y", "int", 0)), record("n.Two", ("x", "int"), ("z", "int", 0))


@pytest.mark.parametrize("options", [STRICT, LENIENT])
def test_a_strict_union_chooses_the_record_without_unknown_fields(options: Any) -> None:
    codec = Codec(["null", ONE, TWO], **options)

    assert codec.encode({"x": 1, "y": 2}) == b"\x02\x02\x04"
    assert codec.encode({"x": 1, "z": 2}) == b"\x04\x02\x04"
    with pytest.raises(EncodeError, match=r"record n\.One has no field 'z'"):
        codec.encode({"x": 1, "y": 2, "z": 3})
    assert Codec(["null", ONE, TWO]).encode({"x": 1, "y": 2, "z": 3}) == b"\x02\x02\x04"


def test_a_dict_that_no_strict_record_accepts_is_written_as_a_map() -> None:
    assert Codec([ONE, mapping("int")], validate_strict=True).encode({"x": 1, "y": 2, "z": 3})[0] == 2
    assert Codec([ONE, mapping("int")], validate_strict=True).encode({"x": 1, "y": 2})[0] == 0


@pytest.mark.parametrize("schema", [ONE, ["null", ONE], [ONE, TWO], ["null", "int", ONE]], ids=str)
@pytest.mark.parametrize("options", [STRICT, LENIENT, BOTH], ids=str)
@pytest.mark.parametrize("make", [dict, collections.OrderedDict, collections.UserDict])
def test_a_type_hint_does_not_count_as_an_unknown_field(schema: Any, options: Any, make: Any) -> None:
    datum = make({"-type": "n.One", "x": 1, "y": 2})

    assert Codec(schema, **options).encode(datum) == Codec(schema).encode({"x": 1, "y": 2})


# --- compared with fastavro -------------------------------------------------------------------------------------------


def accepts(write: Any, *arguments: Any, **options: Any) -> bool:
    try:
        write(*arguments, **options)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("options", [{}, STRICT, LENIENT, BOTH], ids=str)
def test_strict_modes_refuse_the_same_objects_as_fastavro(options: Any) -> None:
    theirs = {name.removeprefix("validate_"): value for name, value in options.items()}
    schema, codec = fastavro.parse_schema(ALL), Codec(ALL, **options)
    kept = []
    for names in itertools.product(*[[True, False]] * 5):
        values = {"must": 1, "has": 2, "opt": 3, "bare": 4, "zz": 5}
        datum = {name: value for (name, value), there in zip(values.items(), names, strict=True) if there}
        out = io.BytesIO()
        expected = accepts(fastavro.schemaless_writer, out, schema, datum, **theirs)
        kept.append(expected)

        assert accepts(codec.encode, datum) == expected, datum
        assert not expected or codec.encode(datum) == out.getvalue()
    assert 0 < sum(kept) < 32


def test_strict_mode_accepts_a_type_hint_that_fastavro_refuses() -> None:
    datum, parsed = {"-type": "n.One", "x": 1, "y": 2}, fastavro.parse_schema(["null", ONE, TWO])

    assert not accepts(fastavro.schemaless_writer, io.BytesIO(), parsed, datum, strict=True)
    assert Codec(["null", ONE, TWO], validate_strict=True).encode(datum) == b"\x02\x02\x04"


# --- objects of user code, the serializer ---------------------------------------------------------------------------


class Endless(Mapping[Any, Any]):
    """A mapping whose keys are those of a given function, and may never end."""

    def __init__(self, names: Any) -> None:
        self.names = names

    def __getitem__(self, key: Any) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names())

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize("names", [lambda: itertools.repeat("x"), itertools.count, lambda: iter([[], {}])])
def test_a_mapping_with_endless_keys_ends_in_a_value_or_an_error(names: Any) -> None:
    accepts(Codec(INNER, validate_strict=True).encode, Endless(names))
    accepts(Codec([INNER, ONE], validate_strict=True).encode, Endless(names))


def test_keys_that_change_the_dict_during_the_check_are_an_error() -> None:
    class Key(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return hash("zz")

        def __eq__(self, other: object) -> bool:
            datum.clear()
            return False

    datum: dict[str, int] = {Key("x"): 1, "x": 1, "y": 2}
    codec = Codec(record("R", ("x", "int"), ("y", "int"), ("zz", "int")), validate_strict=True)
    with pytest.raises(EncodeError):
        codec.encode(datum)


@pytest.mark.parametrize("key", ["validate.strict", "validate.strict.allow.default"])
def test_the_options_of_the_serializer_apply(key: str) -> None:
    with LocalRegistry() as registry:
        strict = KafkaAvroSerializer({"schema.registry.url": registry.url, key: True}, INNER)
        plain = KafkaAvroSerializer({"schema.registry.url": registry.url}, INNER)

        assert strict.serialize("t", {"x": 1, "y": 0}) == plain.serialize("t", {"x": 1, "zz": 1})
        with pytest.raises(EncodeError, match="topic t, schema version 0: record Inner has no field 'zz'"):
            strict.serialize("t", {"x": 1, "y": 0, "zz": 1})


def test_an_error_at_the_root_has_an_empty_path() -> None:
    """None would mean that its place is not known."""
    with pytest.raises(EncodeError) as written:
        Codec("long").encode("x")
    with pytest.raises(DecodeError) as read:
        Codec("long").decode(b"")
    assert (written.value.path, read.value.path) == ("", "")
