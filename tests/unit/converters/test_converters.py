"""Message converters (PIP 94): the chain, its loading and validation, the three samples, and the framings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from kop_entries import _number, _text, pulsar_entry, sealed

from streamnative_serdes import header
from streamnative_serdes.converters import (
    BytesConverter,
    ConfluentFramingConverter,
    ConverterChain,
    EchoConverter,
    HeaderlessConverter,
    MessageConverter,
    PulsarEntryReader,
    RejectAllConverter,
    VersionFramingConverter,
    validate,
)
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError

if TYPE_CHECKING:
    from typing_extensions import Buffer

HERE = "streamnative_serdes.converters"


class Recorder(MessageConverter):
    """Writes down what happens to it."""

    def __init__(self, name: str, log: list[str], accepts: bool = True) -> None:
        self.name, self.log, self.accepts = name, log, accepts

    def init(self) -> None:
        self.log.append(f"init {self.name}")

    def close(self) -> None:
        self.log.append(f"close {self.name}")

    def accept(self, buffer: memoryview) -> bool:
        return self.accepts

    def convert(self, buffer: memoryview) -> Buffer:
        return self.name.encode()


# The three converters of PIP 94's unit tests


def test_reject_all_converter_converts_nothing() -> None:
    with ConverterChain([RejectAllConverter]) as chain:
        assert chain.convert(b"as it is") == b"as it is"


def test_echo_converter_returns_the_original_buffer() -> None:
    with ConverterChain(["streamnative_serdes.converters.EchoConverter"]) as chain:
        data = bytes(range(256))
        assert chain.convert(data) == data
        assert chain.convert(data).obj is data


def test_bytes_converter_makes_raw_bytes_a_batch_of_one() -> None:
    pytest.importorskip("google_crc32c")
    metadata = _text(1, b"p") + _number(2, 7) + _number(3, 1_600_000_000_000)
    raw = sealed(metadata + _text(4, _text(1, b"entry.format") + _text(2, b"bytes")), b"raw bytes")
    with ConverterChain([BytesConverter]) as chain:
        converted = chain.convert(raw)
        other = pulsar_entry(b"value", b"")
        assert chain.convert(other) == other
        assert chain.convert(b"no entry") == b"no entry"
    (message,) = PulsarEntryReader().entry(converted)
    assert (message.value, message.timestamp) == (b"raw bytes", 1_600_000_000_000)
    assert metadata in bytes(converted)
    assert b"\x58\x01" in bytes(converted)


def test_bytes_converter_refuses_a_damaged_entry() -> None:
    pytest.importorskip("google_crc32c")
    metadata = _number(3, 1) + _text(4, _text(1, b"entry.format") + _text(2, b"bytes"))
    damaged = bytearray(sealed(metadata, b"raw bytes"))
    damaged[-1] ^= 1
    with ConverterChain([BytesConverter]) as chain, pytest.raises(DecodeError, match="checksum"):
        chain.convert(damaged)


# The chain


def test_the_first_converter_that_accepts_wins() -> None:
    log: list[str] = []
    chain = ConverterChain([Recorder("a", log, accepts=False), Recorder("b", log), Recorder("c", log)])
    assert [bytes(chain.convert(b"x")), bytes(chain.convert(b"y"))] == [b"b", b"b"]


def test_an_empty_chain_returns_the_buffer() -> None:
    assert ConverterChain().convert(b"x") == b"x"


def test_each_converter_is_initialized_in_order_and_closed_once_in_reverse() -> None:
    log: list[str] = []
    with ConverterChain([Recorder("a", log), Recorder("b", log)]) as chain:
        assert log == ["init a", "init b"]
    chain.close()
    assert log == ["init a", "init b", "close b", "close a"]


def test_if_one_cannot_be_initialized_those_before_it_are_closed() -> None:
    log: list[str] = []

    class Failing(Recorder):
        def init(self) -> None:
            raise OSError("no such resource")

    with pytest.raises(OSError, match="no such resource"):
        ConverterChain([Recorder("a", log), Failing("b", log), Recorder("c", log)])
    assert log == ["init a", "close a"]


def test_if_one_cannot_be_closed_the_others_are() -> None:
    log: list[str] = []

    class Failing(Recorder):
        def close(self) -> None:
            raise OSError("still in use")

    chain = ConverterChain([Recorder("a", log), Failing("b", log), Recorder("c", log)])
    with pytest.raises(OSError, match="still in use"):
        chain.close()
    assert log == ["init a", "init b", "init c", "close c", "close a"]


def test_a_closed_chain_converts_nothing() -> None:
    chain = ConverterChain([EchoConverter])
    chain.close()
    with pytest.raises(ConfigError, match="closed"):
        chain.convert(b"x")


def test_a_converter_cannot_change_its_input() -> None:
    class Writer(EchoConverter):
        def convert(self, buffer: memoryview) -> Buffer:
            buffer[0] = 0
            return buffer

    data = bytearray(b"abc")
    with ConverterChain([Writer]) as chain, pytest.raises(TypeError, match="read-only"):
        chain.convert(data)
    assert data == b"abc"


def test_a_converter_sees_bytes_whatever_the_buffer_has() -> None:
    import array

    class Counter(EchoConverter):
        def convert(self, buffer: memoryview) -> Buffer:
            return str((len(buffer), buffer.format)).encode()

    with ConverterChain([Counter]) as chain:
        assert bytes(chain.convert(array.array("i", [1, 2]))) == b"(8, 'B')"


@pytest.mark.parametrize(("method", "returned"), [("convert", "text"), ("convert", None), ("accept", 1)])
def test_what_a_converter_may_not_return_is_an_error_with_its_name(method: str, returned: Any) -> None:
    broken = type("Broken", (EchoConverter,), {method: lambda self, buffer: returned})
    with ConverterChain([broken]) as chain, pytest.raises(ConfigError, match=rf"Broken\.{method}\(\): expected .*got"):
        chain.convert(b"x")


# Loading


@pytest.mark.parametrize(
    "names",
    [
        f"{HERE}.RejectAllConverter, {HERE}.EchoConverter,",
        [f"{HERE}.RejectAllConverter", f"{HERE}.EchoConverter"],
        (f"{HERE}.RejectAllConverter", EchoConverter()),
    ],
)
def test_the_brokers_option_is_a_list_or_names_with_commas(names: Any) -> None:
    chain = ConverterChain.from_config({"messageConverters": names})
    assert [type(each) for each in chain.converters] == [RejectAllConverter, EchoConverter]


@pytest.mark.parametrize("conf", [{}, {"messageConverters": ""}, {"messageConverters": []}])
def test_without_the_option_the_chain_is_empty(conf: dict[str, Any]) -> None:
    assert ConverterChain.from_config(conf).converters == ()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("EchoConverter", "expected package.module.Class, got 'EchoConverter'"),
        (".", r"expected package\.module\.Class, got '\.'"),
        ("..x", r"expected package\.module\.Class, got '\.\.x'"),
        ("a..x", "there is no module a"),
        ("no_such_package.Echo", "there is no module no_such_package"),
        (f"{HERE}.nothing.Echo", "there is no module"),
        (f"{HERE}.EchoConvertor", "has no EchoConvertor .*did you mean EchoConverter"),
        (f"{HERE}.framed", "framed is not a message converter: expected a class, got function"),
        (f"{HERE}.MessageConverter", r"it lacks accept\(\); it lacks convert\(\)"),
        (f"{HERE}.HeaderlessConverter", "its constructor needs version"),
    ],
)
def test_a_class_that_cannot_be_loaded_is_named(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ConverterChain([name])


@pytest.mark.parametrize("option", [7, {"a": 1}, None])
def test_an_option_of_another_kind_is_refused(option: Any) -> None:
    with pytest.raises(ConfigError, match="messageConverters: expected a list"):
        ConverterChain.from_config({"messageConverters": option})


def test_a_text_is_no_list_of_names() -> None:
    with pytest.raises(ConfigError, match="expected a list of converters"):
        ConverterChain(f"{HERE}.EchoConverter")


# The validator


async def asynchronous(self: Any, buffer: memoryview) -> bool:
    return True


async def asynchronous_generator(self: Any, buffer: memoryview) -> Any:
    yield True


def generator(self: Any, buffer: memoryview) -> Iterator[bool]:
    yield True


def no_buffer(self: Any) -> bool:
    return True


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"accept": asynchronous}, r"accept\(\) is asynchronous"),
        ({"accept": asynchronous_generator}, r"accept\(\) is asynchronous"),
        ({"convert": generator}, r"convert\(\) is a generator"),
        ({"accept": no_buffer}, r"accept\(\) cannot be called with a buffer"),
        ({"init": lambda self, more: None}, r"init\(\) cannot be called with no arguments"),
        ({"close": 7}, "close is not a method"),
        ({"accept": None}, r"it lacks accept\(\)"),
        ({"accept": no_buffer, "close": 7}, r"close is not a method; accept\(\) cannot"),
        ({"__init__": lambda self, path: None}, "its constructor needs path"),
    ],
)
def test_the_validator_names_every_fault(members: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"Faulty is not a message converter: {said}"):
        validate(type("Faulty", (EchoConverter,), members))


def test_the_validator_refuses_what_only_looks_like_a_converter() -> None:
    class Duck:
        init = close = lambda self: None
        accept = convert = lambda self, buffer: buffer

    with pytest.raises(ConfigError, match=r"(?m)Duck is not .*: it is not a subclass of MessageConverter$"):
        validate(Duck)


@pytest.mark.parametrize("wrapped", [staticmethod(lambda buffer: True), classmethod(lambda cls, buffer: True)])
def test_static_and_class_methods_are_methods(wrapped: Any) -> None:
    assert validate(type("Fine", (EchoConverter,), {"accept": wrapped}))


def test_the_constructor_may_have_optional_arguments() -> None:
    def construct(self: Any, path: str = "", *rest: int, **more: int) -> None: ...

    assert validate(type("Fine", (EchoConverter,), {"__init__": construct}))


# Framings


@pytest.mark.parametrize(
    ("value", "converted"),
    [
        (header.pack_id(7) + b"datum", header.pack(0) + b"datum"),
        (header.pack_id(2**31 - 1), header.pack(2**63 - 1)),
        (header.pack(5) + b"datum", header.pack(5) + b"datum"),
        (b"datum", header.pack(3) + b"datum"),
        (b"", header.pack(3)),
    ],
)
def test_a_chain_of_framings_gives_every_value_a_schema_version(value: bytes, converted: bytes) -> None:
    chain = ConverterChain([ConfluentFramingConverter({7: 0, 2**31 - 1: 2**63 - 1}), HeaderlessConverter(3)])
    assert chain.convert(value) == converted


def test_framings_are_converted_back() -> None:
    chain = ConverterChain([ConfluentFramingConverter({7: 4, 8: 5}, [7])])
    assert chain.convert(header.pack_id(7) + b"hi") == header.pack(4) + b"\4hi"
    assert chain.convert(header.pack_id(8) + b"hi") == header.pack(5) + b"hi"
    chain = ConverterChain([VersionFramingConverter({4: 7, 5: 8}, [4])])
    assert chain.convert(header.pack(4) + b"\4hi") == header.pack_id(7) + b"hi"
    assert chain.convert(header.pack(5) + b"\4hi") == header.pack_id(8) + b"\4hi"
    chain = ConverterChain([VersionFramingConverter({4: 9})])
    assert chain.convert(header.pack(4) + b"datum") == header.pack_id(9) + b"datum"
    assert chain.convert(b"datum") == b"datum"


@pytest.mark.parametrize(
    "convert",
    [
        lambda: ConfluentFramingConverter({}).convert(memoryview(header.pack_id(1))),
        lambda: VersionFramingConverter({}).convert(memoryview(header.pack(1))),
    ],
)
def test_a_schema_without_a_counterpart_is_an_error(convert: Callable[[], object]) -> None:
    with pytest.raises(SchemaError, match="schema 1 has not been copied"):
        convert()
