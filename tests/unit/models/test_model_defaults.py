"""Defaults of classes: they are in schemas without allow_null, not in those with it, and in every reader's schema."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

import pytest

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.models import (
    AvroClass,
    DecimalMeta,
    Float32,
    LocalTimestampMillis,
    TimeMillis,
    TimestampMillis,
    schema_of,
)
from streamnative_serdes.models.derive import reading_schema_of
from streamnative_serdes.testing import LocalRegistry

UTC = datetime.UTC


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "y"


@dataclass(frozen=True)
class Inner:
    x: int = 3
    label: str | None = None


class Outer(Inner):
    pass


@dataclass(frozen=True)
class Either:
    x: str | float = "a"


class Day(datetime.date):
    pass


class Numbers(tuple[int, ...]):
    pass


Amount = Annotated[Decimal, DecimalMeta(6, 2)]
DEFAULTS: list[tuple[Any, Any, Any]] = [  # hint, value, JSON
    (bool, True, True),
    (int, -5, -5),
    (int, Level.LOW, 1),
    (float, 0.5, 0.5),
    (float, 2, 2),
    (str, "é", "é"),
    (bytes, b"\x00\xff", "\x00ÿ"),
    (Colour, Colour.GREEN, "GREEN"),
    (Level, Level.LOW, "LOW"),
    (datetime.datetime, datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), 1_000_005),
    (TimestampMillis, datetime.datetime(1969, 12, 31, 23, 59, 59, 5_000, tzinfo=UTC), -995),
    (LocalTimestampMillis, datetime.datetime(1970, 1, 2), 86_400_000),
    (datetime.date, datetime.date(1970, 1, 11), 10),
    (datetime.time, datetime.time(0, 0, 1, 1), 1_000_001),
    (TimeMillis, datetime.time(1, 0), 3_600_000),
    (uuid.UUID, uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (Amount, Decimal("1.28"), "\x00\x80"),
    (Amount, Decimal("-1.28"), "\x80"),
    (Amount, Decimal("1E+3"), "\x01\x86\xa0"),
    (Amount, Decimal("0"), "\x00"),
    (Amount, Decimal("0.000"), "\x00"),
    (Amount, Decimal("1.2800"), "\x00\x80"),
    (Amount, Decimal("1000.000"), "\x01\x86\xa0"),
    (tuple[int, ...], (1, 2), [1, 2]),
    (Inner, Inner(4), {"x": 4, "label": None}),
    (int | str, "a", "a"),
    (int | str, 1, 1),
    (str | list[int] | None, (1,), [1]),
    (str | float, 1, 1),
    (str | int, Level.LOW, 1),
    (list[int] | Inner, Inner(4), {"x": 4, "label": None}),
    (tuple[int | str | bool, ...], (1, "a", True, "b"), [1, "a", True, "b"]),
    (tuple[str | float, ...], (1, 2.5), [1, 2.5]),
    # Of other types than the hint, which stand for a value of its type
    (Amount, 5, "\x01\xf4"),
    (Amount | None, Level.LOW, "d"),
    (uuid.UUID, "00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000007"),
    (Inner, Outer(4), {"x": 4, "label": None}),
    (str | Inner | None, Outer(4), {"x": 4, "label": None}),
    (datetime.date, Day(1970, 1, 11), 10),
    (list[int], Numbers((1, 2)), [1, 2]),
    (Sequence[int], range(3), [0, 1, 2]),
    (bytes, memoryview(b"\xff"), "ÿ"),
]


def one(hint: Any, **default: Any) -> type:
    return dataclasses.make_dataclass("One", [("f", hint, field(**default))])


@pytest.mark.parametrize(("hint", "value", "json"), DEFAULTS, ids=str)
def test_without_allow_null_a_default_of_the_class_is_in_the_schema(hint: Any, value: Any, json: Any) -> None:
    made = schema_of(one(hint, default=value), allow_null=False)["fields"][0]
    assert made["default"] == json
    assert parse(schema_of(one(hint, default=value), allow_null=False))  # strict, so it checks the default


@pytest.mark.parametrize(("hint", "value", "json"), DEFAULTS, ids=str)
def test_with_allow_null_the_default_is_null_as_in_java(hint: Any, value: Any, json: Any) -> None:
    made = schema_of(one(hint, default=value), allow_null=True)["fields"][0]
    assert made["type"][0] == "null"
    assert made["default"] is None


@pytest.mark.parametrize("allow_null", [True, False])
@pytest.mark.parametrize(("hint", "value", "json"), DEFAULTS, ids=str)
def test_fields_that_the_writer_lacked_get_the_default_of_the_class(
    hint: Any, value: Any, json: Any, allow_null: bool
) -> None:
    writer = {"type": "record", "name": "One", "fields": []}
    codec = Codec(writer, reading_schema_of(one(hint, default=value), allow_null=allow_null))
    (found,) = codec.decode(b"").values()
    expected = dataclasses.asdict(value) if isinstance(value, Inner) else value
    if isinstance(value, enum.Enum) and hint not in (int, str | int, Amount | None):
        expected = value.name
    if hint is uuid.UUID:
        expected = uuid.UUID(str(value))
    assert found == (list(value) if isinstance(value, tuple | range) else expected)


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("hint", [float, Float32])
@pytest.mark.parametrize(("value", "text"), [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")])
def test_a_number_that_json_does_not_have_is_a_default_when_reading(
    hint: Any, value: float, text: str, nullable: bool
) -> None:
    classes = one(hint, default=value), one(hint | None, default=value)
    for cls in classes:
        made = reading_schema_of(cls, allow_null=nullable)
        assert made["fields"][0]["default"] == text
        found = Codec({"type": "record", "name": "One", "fields": []}, made).decode(b"")["f"]
        assert found == value or (math.isnan(found) and math.isnan(value))
        with pytest.raises(SchemaError, match="JSON has no such number"):
            schema_of(cls, allow_null=False)
    nested = one(list[float], default_factory=lambda: [value, 0.5])
    found = Codec({"type": "record", "name": "One", "fields": []}, reading_schema_of(nested, allow_null=True)).decode(
        b""
    )
    assert repr(found["f"]) == repr([value, 0.5])


def test_numbers_of_numpy_are_defaults_as_pythons_are() -> None:
    np = pytest.importorskip("numpy")
    for hint, value, expected in (
        (int, np.int64(-5), -5), (float, np.float32(0.5), 0.5), (float, np.float64(0.1), 0.1), (str, np.str_("é"), "é"),
        (bool, np.bool_(True), True), (str | int, np.uint8(200), 200), (Amount, np.int16(5), Decimal("5.00")),
        (float, np.float32("inf"), math.inf), (Inner, Inner(np.int64(4)), {"x": 4, "label": None}),
        (tuple[int, ...], (np.int32(1), 2), [1, 2]), (bytes, np.bytes_(b"a"), b"a"),
    ):  # fmt: skip
        made = reading_schema_of(one(hint, default=value), allow_null=True)
        assert Codec({"type": "record", "name": "One", "fields": []}, made).decode(b"") == {"f": expected}
    for hint, value in (
        (datetime.datetime, np.datetime64("2020-01-01", "ns")),
        (str, np.int64(1)),
        (int, np.float64(1)),
    ):
        with pytest.raises(SchemaError, match="cannot be written in a schema"):
            reading_schema_of(one(hint, default=value), allow_null=True)


def test_the_default_of_a_class_applies_in_messages_of_a_writer_that_lacks_the_field(registry: LocalRegistry) -> None:
    """With allow.null, as by default; the writer's class has other fields."""
    conf = {"schema.registry.url": registry.url}
    old = dataclasses.make_dataclass("Limits", [("name", str)])
    new = dataclasses.make_dataclass(
        "Limits",
        [("name", str), ("most", float, field(default=math.inf)), ("price", Amount, field(default=0)),
         ("owner", uuid.UUID, field(default="00000000-0000-0000-0000-000000000007"))],
    )  # fmt: skip
    message = KafkaAvroSerializer(conf).serialize("t", old("a"))
    found = KafkaAvroDeserializer({**conf, "value.type": new}).deserialize("t", message)
    assert found == new("a", math.inf, Decimal(0), uuid.UUID(int=7))


def test_a_class_whose_default_is_no_value_of_its_type_is_refused_when_the_deserializer_is_made(
    registry: LocalRegistry,
) -> None:
    conf = {"schema.registry.url": registry.url}
    cls = one(int, default="a")
    assert KafkaAvroSerializer(conf).serialize("t", cls(1))
    for make in (lambda: KafkaAvroDeserializer({**conf, "value.type": cls}), lambda: KafkaAvroDeserializer(conf, cls)):
        with pytest.raises(
            SchemaError, match="the default 'a' cannot be written in a schema: it is not of type long"
        ) as caught:
            make()
        assert caught.value.path == "One.f"


@pytest.mark.parametrize("value", [[], [1, 2]])
def test_a_factory_that_always_returns_the_same_value_gives_a_default(value: list[int]) -> None:
    made = schema_of(one(list[int], default_factory=lambda: list(value)), allow_null=False)["fields"][0]
    assert made["default"] == value


def test_a_factory_that_returns_nan_gives_a_default() -> None:
    """NaN is not equal to NaN."""
    for hint, factory in (
        (float, lambda: float("nan")),
        (list[float], lambda: [0.5, float("nan")]),
        (dict[str, float], lambda: {"a": float("nan")}),
        (Either, lambda: Either(float("nan"))),
    ):
        cls = one(hint, default_factory=factory)
        with pytest.raises(SchemaError, match="cannot be written in a schema"):
            schema_of(cls, allow_null=False)
    made = reading_schema_of(one(float, default_factory=lambda: float("nan")), allow_null=True)
    assert made["fields"][0]["default"] == "NaN"


@pytest.mark.parametrize("allow_null", [True, False])
@pytest.mark.parametrize(
    ("hint", "value", "order"),
    [
        (dict[str, str | float], {"w": math.inf}, "put double before string"),
        (list[str | bytes], [b"\xff\x00"], "put bytes before string"),
        (list[bytes | str], ["ÿ"], "put string before bytes"),
        (list[str | Colour], [Colour.RED], "put Colour before string"),
        (list[str | Word], [Word.YES], "put Word before string"),
        (list[int | Level | None], [Level.LOW], None),
        (list[Colour | str], ["RED"], "put string before Colour"),
        (list[str | Amount], [Decimal("1.28")], "put decimal before string"),
        (list[int | datetime.date], [datetime.date(1970, 1, 11)], "put date before long"),
        (list[float | int], [1], "put long before double"),
        (list[list[str | bytes] | int], [[b"a"]], "put bytes before string"),
        (list[dict[str, int] | Inner], [Inner(4, None)], None),
        (list[dict[str, int | None] | Inner], [Inner(4)], "put Inner before map"),
        (list[Either | Inner], [Inner(4)], "put Inner before Either"),
        (Inner | Either, Either(math.inf), "put double before string"),
    ],
    ids=str,
)
def test_a_default_that_would_be_read_as_another_type_is_refused(
    hint: Any, value: Any, order: str | None, allow_null: bool
) -> None:
    """A reader takes the first branch that takes the JSON. In the union of a field, the right one is the first."""
    cls = one(hint, default_factory=lambda: value)
    if order is None:
        made = reading_schema_of(cls, allow_null=allow_null)
        found = Codec({"type": "record", "name": "One", "fields": []}, made).decode(b"")["f"]
        assert found == [dataclasses.asdict(each) if isinstance(each, Inner) else each.name for each in value]
        return
    with pytest.raises(SchemaError, match=order):
        reading_schema_of(cls, allow_null=allow_null)


def namesake(namespace: str, kind: str) -> Any:
    words = AvroClass(namespace=namespace)
    if kind == "enum":
        return enum.Enum("Thing", {"__avro__": words, "X": 1})
    return dataclasses.make_dataclass("Thing", [("x", int)], namespace={"__avro__": words})


@pytest.mark.parametrize("around", ["", "a", "b"])
@pytest.mark.parametrize("kind", ["record", "enum"])
@pytest.mark.parametrize("is_list", [True, False])
def test_a_default_of_a_namesake_is_not_taken_for_one_of_the_other_class(is_list: bool, kind: str, around: str) -> None:
    first, second = namesake("a", kind), namesake("b", kind)
    for own, fault in ((first, None), (second, r"put b\.Thing before a\.Thing")):
        thing = own.X if kind == "enum" else own(1)
        hint, value = (list[first | second], [thing]) if is_list else (dict[str, first | second], {"k": thing})
        fields = [("f", first | None), ("g", hint, field(default_factory=lambda value=value: value))]
        cls = dataclasses.make_dataclass("One", fields, namespace={"__avro__": AvroClass(namespace=around)})
        if fault is None:
            assert reading_schema_of(cls, allow_null=False)["fields"][1]["default"]
            continue
        with pytest.raises(SchemaError, match=fault):
            reading_schema_of(cls, allow_null=False)


@pytest.mark.parametrize(("hint", "value"), [(Float32 | str, 1e300), (int | float, 2**70)], ids=str)
def test_a_number_out_of_the_range_of_its_type_is_not_read_as_another_branch(hint: Any, value: Any) -> None:
    with pytest.raises(SchemaError, match=r"it does not fit into (float|long)"):
        reading_schema_of(one(hint, default=value), allow_null=True)


COUNT = itertools.count()


@pytest.mark.parametrize(
    ("hint", "factory"),
    [
        (uuid.UUID, uuid.uuid4),
        (datetime.datetime, lambda: datetime.datetime.now(UTC)),
        (datetime.date, datetime.date.today),
        (int, lambda: next(COUNT)),
    ],
)
def test_a_factory_that_returns_different_values_gives_no_default(hint: Any, factory: Any) -> None:
    cls = one(hint, default_factory=factory)
    assert "default" not in schema_of(cls, allow_null=False)["fields"][0]
    reading = reading_schema_of(cls, allow_null=True)["fields"][0]
    assert "default" not in reading  # not null either, because no object of the class has None there


def test_a_factory_that_fails_is_an_error_that_names_it() -> None:
    cls = dataclasses.make_dataclass("Broken", [("x", int, field(default_factory=lambda: {}["nothing"]))])
    with pytest.raises(SchemaError, match=r"the default_factory of Broken\.x failed: KeyError: 'nothing'") as caught:
        schema_of(cls, allow_null=False)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_default_of_none_makes_a_field_nullable() -> None:
    made = schema_of(one(int, default=None), allow_null=False)["fields"][0]
    assert made == {"name": "f", "type": ["null", "long"], "default": None}


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, "a"),
        (int, True),
        (str, 1),
        (int | str, 0.5),
        (bool, 1),
        (list[int], "12"),
        (bytes, "a"),
        (Amount, True),
        (Amount, "1.5"),
        (datetime.datetime, datetime.datetime(2020, 1, 1)),
        (LocalTimestampMillis, datetime.datetime(2020, 1, 1, tzinfo=UTC)),
        (TimeMillis, datetime.time(0, 0, 0, 1)),
        (datetime.date, datetime.datetime(2020, 1, 1)),
        (Amount, Decimal("0.001")),
        (Amount, Decimal("12345.00")),
        (Amount, Decimal("NaN")),
        (Colour, "RED"),
        (Inner, Colour.RED),
        (list[int], ("a",)),
        (dict[str, int], ()),
        (uuid.UUID, "7"),
        (uuid.UUID, 7),
    ],
    ids=str,
)
def test_the_error_for_a_default_that_cannot_be_in_a_schema_names_the_field(hint: Any, value: Any) -> None:
    with pytest.raises(SchemaError, match="cannot be written in a schema") as caught:
        schema_of(one(hint, default=value), allow_null=False)
    assert caught.value.path == "One.f"
    with pytest.raises(SchemaError, match="cannot be written in a schema") as caught:
        reading_schema_of(one(hint, default=value), allow_null=True)
    assert caught.value.path == "One.f"
    assert schema_of(one(hint, default=value), allow_null=True)["fields"][0]["default"] is None
