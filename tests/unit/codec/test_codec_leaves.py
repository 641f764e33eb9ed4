"""Decimals, dates, UUIDs, text and numbers that the codec creates itself equal those of Python's constructors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Clamped, Context, Decimal, Inexact, Rounded, Subnormal, localcontext
from typing import Any
from uuid import UUID, SafeUUID

import pytest
from wire import sized, varint

from streamnative_serdes import DecodeError, EncodeError
from streamnative_serdes.codec import Codec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970-01-01
CONTEXTS = {
    "default": Context(),
    "1 digit": Context(prec=1),
    "18 digits": Context(prec=18),
    "19 digits": Context(prec=19),
    "exponents up to 0": Context(prec=28, Emax=0),
    "exponents up to 18": Context(prec=19, Emax=18),
    "exponents from 0": Context(prec=28, Emin=0),
    "exponents from -63": Context(prec=28, Emin=-63),
    "IEEE decimal32": Context(prec=7, Emax=96, Emin=-95, clamp=1),
    "IEEE decimal64": Context(prec=16, Emax=384, Emin=-383, clamp=1),
    "clamped": Context(prec=30, Emax=29, Emin=-64, clamp=1),
    "traps": Context(traps=[Inexact, Rounded, Subnormal, Clamped]),
    "traps, 5 digits, no exponents": Context(prec=5, Emax=0, Emin=0, traps=[Inexact, Rounded, Subnormal, Clamped]),
}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("scale", [0, 1, 2, 18, 19, 63, 64, 65])
def test_a_decimal_is_exact_in_any_context(scale: int, context: Context) -> None:
    codec = Codec({"type": "array", "items": decimal(80, scale)})
    powers = [10**n + d for n in range(19) for d in (-1, 0, 1)]
    numbers = [0, *powers, 2**63 - 1, 2**62, *(-n for n in powers), -(2**63), 1 << 64, -(1 << 64), 12345678901234567890]
    expected = [Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale)) for n in numbers]
    data = codec.encode(expected)
    with localcontext(context) as current:
        read = codec.decode(data)
        assert not any(current.flags.values())  # no step rounded
    assert [one.as_tuple() for one in read] == [one.as_tuple() for one in expected]
    assert {type(one) for one in read} == {Decimal}


def test_the_decimal_context_is_read_again_for_each_message() -> None:
    codec = Codec(decimal(10, 2))
    data = codec.encode(Decimal("12345.67"))
    for digits in (28, 3, 28, 3):
        with localcontext(prec=digits):
            assert str(codec.decode(data)) == "12345.67"


def days() -> Iterator[int]:
    """Yield a sample of all days: ends and beginnings of each year, the last of February, and every 97th day."""
    yield from range(FIRST_DAY, LAST_DAY + 1, 97)
    for year in range(1, 10_000):
        first = date(year, 1, 1).toordinal() + FIRST_DAY - 1
        yield from (first, first + 58, first + 59, first + 60, first + 364)


def test_dates_are_converted_as_by_datetime() -> None:
    codec = Codec({"type": "array", "items": {"type": "int", "logicalType": "date"}})
    numbers = list(days())
    expected = [date.fromordinal(number - FIRST_DAY + 1) for number in numbers]
    data = b"".join([varint(len(numbers)), *map(varint, numbers), b"\0"])
    assert codec.decode(data) == expected
    assert codec.encode(expected) == data


@pytest.mark.parametrize(("unit", "micros"), [("millis", 1000), ("micros", 1)])
@pytest.mark.parametrize("zone", ["timestamp", "local-timestamp"])
def test_timestamps_are_converted_as_by_datetime(zone: str, unit: str, micros: int) -> None:
    codec = Codec({"type": "array", "items": {"type": "long", "logicalType": f"{zone}-{unit}"}})
    source, per_day = random.Random(1), 86_400_000_000 // micros
    first, last = FIRST_DAY * per_day, (LAST_DAY + 1) * per_day - 1
    numbers = [first, last, -1, 0, 1, per_day - 1, per_day, -per_day, -per_day - 1]
    numbers += [source.randint(first, last) for _ in range(20_000)]
    start = EPOCH if zone == "timestamp" else EPOCH.replace(tzinfo=None)
    expected = [start + timedelta(microseconds=number * micros) for number in numbers]
    data = b"".join([varint(len(numbers)), *map(varint, numbers), b"\0"])
    assert codec.decode(data) == expected
    assert codec.encode(expected) == data
    for beyond in (first - 1, last + 1, -(2**63), 2**63 - 1):
        with pytest.raises(DecodeError, match="outside of the years 1 to 9999"):
            codec.decode(varint(1) + varint(beyond) + b"\0")


@pytest.mark.parametrize("beyond", [FIRST_DAY - 1, LAST_DAY + 1, -(2**31), 2**31 - 1])
def test_a_day_beyond_the_range_of_date_is_an_error(beyond: int) -> None:
    with pytest.raises(DecodeError, match="outside of the years 1 to 9999"):
        Codec({"type": "int", "logicalType": "date"}).decode(varint(beyond))


TEXT_UUID = Codec({"type": "string", "logicalType": "uuid"})
FIXED_UUID = Codec({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"})


def test_a_decoded_uuid_equals_that_of_the_constructor() -> None:
    source = random.Random(1)
    numbers = [0, 1, 2**64 - 1, 2**64, 2**127, 2**128 - 1, *(source.getrandbits(128) for _ in range(500))]
    for expected in (UUID(int=number) for number in numbers):
        for text in (str(expected), str(expected).upper()):
            read = TEXT_UUID.decode(sized(text.encode()))
            assert (read, hash(read), repr(read)) == (expected, hash(expected), repr(expected))
            assert (type(read), read.is_safe) == (UUID, SafeUUID.unknown)
        assert FIXED_UUID.decode(expected.bytes) == expected
        assert TEXT_UUID.encode(expected) == sized(str(expected).encode())
        assert FIXED_UUID.encode(expected) == expected.bytes


def test_text_with_a_character_that_is_not_a_hex_digit_is_not_a_uuid() -> None:
    text = str(UUID(int=0x0123456789ABCDEF0123456789ABCDEF))
    for place in range(36):
        for wrong in "g/:@`G-\0 \x7f":
            changed = f"{text[:place]}{wrong}{text[place + 1 :]}"
            try:
                expected = UUID(changed)
            except ValueError:
                with pytest.raises(DecodeError, match="expected uuid"):
                    TEXT_UUID.decode(sized(changed.encode()))
            else:
                assert TEXT_UUID.decode(sized(changed.encode())) == expected


@pytest.mark.parametrize("number", [-1, 2**128, 2**200, -(2**200)])
@pytest.mark.parametrize("codec", [TEXT_UUID, FIXED_UUID], ids=["text", "fixed"])
def test_a_uuid_object_with_an_invalid_number_is_refused(codec: Codec, number: int) -> None:
    uuid = UUID(int=0)
    object.__setattr__(uuid, "int", number)
    # Python 3.15 cannot even show such an object.
    with pytest.raises(EncodeError, match=r"128 bits|reading the value raised OverflowError"):
        codec.encode(uuid)


def test_text_of_every_length_is_decoded_as_by_python() -> None:
    codec = Codec("string")
    for length in [*range(140), 1000, 10_241]:
        plain = bytes(33 + place % 90 for place in range(length))
        assert codec.decode(sized(plain)) == plain.decode()
        for place in {0, 1, length // 2, length - 2, length - 1} & set(range(length)):
            for wide in ("é", "語", "😀"):
                changed = (plain[:place] + wide.encode() + plain[place + 1 :]).decode()
                assert codec.decode(sized(changed.encode())) == changed
            with pytest.raises(DecodeError, match="UTF-8"):
                codec.decode(sized(plain[:place] + b"\xff" + plain[place + 1 :]))


def test_numbers_of_up_to_64_bits_are_read_and_wider_ones_are_errors() -> None:
    codec = Codec("long")
    for bits in range(64):
        for number in (2**bits - 1, -(2**bits)):
            data = varint(number)
            assert codec.decode(data) == number
            for end in range(len(data)):
                with pytest.raises(DecodeError, match="ends in the middle of a number"):
                    codec.decode(data[:end])
    for wide in (b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x00", b"\x80" * 9 + b"\x7f", b"\x80" * 20):
        with pytest.raises(DecodeError, match="of at most 64 bits, got a larger one"):
            codec.decode(wide)
