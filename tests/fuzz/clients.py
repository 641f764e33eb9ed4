"""Messages as a client returns them, compared with a list of their values, and with their parts one by one.

Some are odd: their methods raise, return something else, or change the list that is being read. The bytes of a value
are read where they are, so a mistake here reads what is no longer there.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
from columns import same_batch
from odd_objects import ACTS, ODD
from oracle import Finding

from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.arrow.kafka_columns import KAFKA_COLUMNS, kafka_columns, kafka_schema, without_errors
from streamnative_serdes.errors import DecodeError

MOST = 6  # messages in a list
STAMP = 1_500


class Refused(Exception):
    """What a method of a message raises."""


class Copied(bytes):
    """Bytes that say other things about themselves."""

    def __len__(self) -> int:
        return 1 << 40

    def __bytes__(self) -> bytes:
        return b"others"


class Sent:
    """A message whose class alone has its methods, as those of confluent-kafka; ``act`` runs when it is asked.

    ``taken`` is the list of the values that messages have returned.
    """

    __slots__ = ("act", "fault", "parts", "taken")

    def __init__(self, parts: dict[str, Any], taken: list[Any], act: Callable[[], None] | None = None) -> None:
        self.parts, self.taken, self.act = parts, taken, act
        self.fault: Any = None

    def value(self) -> Any:
        if self.act is not None:
            self.act()
        value = self.parts["value"]
        if isinstance(value, Refused):
            raise value
        self.taken.append(value)
        return value

    def error(self) -> Any:
        return self.fault

    def key(self) -> Any:
        return self.parts["key"]

    def topic(self) -> Any:
        return self.parts["topic"]

    def partition(self) -> Any:
        return self.parts["partition"]

    def offset(self) -> Any:
        return self.parts["offset"]

    def timestamp(self) -> Any:
        return self.parts["timestamp"]

    def headers(self) -> Any:
        return self.parts["headers"]


class Free(Sent):
    """A message whose objects may have methods of their own, as a test double."""

    def __init__(self, parts: dict[str, Any], taken: list[Any], act: Callable[[], None] | None = None) -> None:
        super().__init__(parts, taken, act)
        self.value = lambda: Sent.value(self)  # type: ignore[method-assign]


class Shown(Sent):
    """A message whose method is what a property returns."""

    __slots__ = ()
    value = property(lambda self: lambda: Sent.value(self))  # type: ignore[assignment]


KINDS = (Sent, Sent, Sent, Free, Shown)
# The same bytes in other objects, or others.
FORMS: tuple[Callable[[bytes], Any], ...] = (
    *(lambda data: data,) * 6,
    lambda _: None,
    bytearray,
    memoryview,
    lambda data: memoryview(data * 2)[::2],
    lambda data: memoryview(bytearray(data)),
    Copied,
    lambda data: data[:-1],
)


def message_of(data: bytes, rng: Random, taken: list[Any], act: Callable[[], None] | None = None) -> Sent:
    value = rng.choice(FORMS)(data)
    parts = {"value": value, "key": data[:3], "topic": "t", "partition": 1, "offset": 7, "timestamp": (1, STAMP)}
    return rng.choice(KINDS)({**parts, "headers": [("h", data[:2]), ("n", None)]}, taken, act)


def check_clients(codec: ColumnCodec, data: bytes) -> bool:
    """Read a list of messages with these bytes, and the list of the values that they returned meanwhile."""
    rng = Random(zlib.crc32(data))
    taken: list[Any] = []
    messages: list[Any] = []
    for number in range(rng.randint(1, MOST)):
        act = None
        if rng.random() < 0.1:
            change = rng.choice(ACTS)
            act = lambda change=change, number=number: change(messages, number)  # noqa: E731
        messages.append(message_of(data, rng, taken, act))
    if isinstance(messages[0], Shown):  # the class of the first one tells a client's messages from other objects
        messages[0] = Sent(messages[0].parts, taken, messages[0].act)
    strange = any(each.act is not None for each in messages)
    odd = rng.choice(messages)
    kind = rng.random()
    if kind < 0.06:
        odd.parts["value"] = Refused()
    elif kind < 0.12:
        odd.parts["value"] = rng.choice((data.hex(), 5, [data], object(), Refused))
    elif kind < 0.18:
        odd.fault = object()
    elif kind < 0.24 and len(messages) > 1:
        messages[rng.randrange(1, len(messages))], strange = rng.choice((None, data, 7, Sent)), True
    values = [each.parts["value"] for each in messages if isinstance(each, Sent)]
    given = messages if rng.random() < 0.8 else tuple(messages)
    got = outcome_of(codec, given)
    if not strange and isinstance(got, pa.RecordBatch) and list(map(id, taken)) != list(map(id, values)):
        raise Finding(f"messages have the values {values!r:.300}, and {taken!r:.300} were taken")
    _compare(codec, got, taken, strange)
    return not isinstance(got, Exception)


def outcome_of(codec: ColumnCodec, messages: Any) -> pa.RecordBatch | Exception:
    try:
        return codec.decode(messages, error_column="")
    except (Refused, TypeError, DecodeError) as error:
        return error


def _compare(codec: ColumnCodec, got: pa.RecordBatch | Exception, taken: list[Any], strange: bool) -> None:
    if isinstance(got, Refused):
        return  # the message's own
    if isinstance(got, DecodeError):
        if "the client reports an error" not in str(got) or got.row != len(taken):
            raise Finding(f"after {len(taken)} values, row {got.row}: {got}") from got
        return
    others = [value for value in taken if not isinstance(value, bytes | bytearray | memoryview | None)]
    if isinstance(got, TypeError):
        if not others and not strange:
            raise Finding(f"messages are refused: {got}") from got
        return
    if others:
        raise Finding(f"a value of type {type(others[0]).__name__} is read")
    got.validate(full=True)
    values = outcome_of(codec, taken)
    if isinstance(values, Exception) or not same_batch(got, values):
        raise Finding(f"as messages {got.to_pylist()!r:.300}, as a list of their values {values!r:.300}")


def check_parts(data: bytes) -> bool:
    """Read messages with these bytes as the columns of Spark's Kafka source; one part of one of them may be odd."""
    rng = Random(zlib.crc32(data))
    taken: list[Any] = []
    messages = [message_of(data, rng, taken) for _ in range(rng.randint(1, MOST))]
    expected = pa.RecordBatch.from_pylist([row_of(message) for message in messages], schema=kafka_schema())
    if rng.random() < 0.5:
        return _check_odd(messages, rng)
    found, errors = without_errors(messages)
    if found != messages or errors:
        raise Finding("messages without an error are told to be errors")
    got = kafka_columns(found)
    got.validate(full=True)
    if not got.equals(expected):
        raise Finding(f"expected {expected.to_pylist()!r:.300}, got {got.to_pylist()!r:.300}")
    return True


def row_of(message: Sent) -> dict[str, Any]:
    """The row of a message in the columns of Spark's Kafka source."""
    parts = message.parts
    value = None if parts["value"] is None else memoryview(parts["value"]).tobytes()
    headers = [{"key": name, "value": part} for name, part in parts["headers"]]
    stamp = {"timestamp": STAMP * 1000, "timestampType": 0}
    return {**parts, "value": value, "headers": headers, **stamp}


def _check_odd(messages: list[Sent], rng: Random) -> bool:
    name = rng.choice(("key", "value", "topic", "partition", "offset", "timestamp", "headers"))
    part = rng.choice(ODD)
    shapes: tuple[Any, ...] = (part, (part, part), (1, part), [part], [(part, b"")], [("h", part)], [("h", b"", part)])
    odd = rng.choice(messages)
    odd.parts[name] = rng.choice(shapes)
    try:
        got = kafka_columns(messages, rng.sample(KAFKA_COLUMNS, rng.randint(1, len(KAFKA_COLUMNS))))
    except KeyError:  # of odd_objects.Failing
        return False
    except DecodeError as error:
        if error.row != messages.index(odd):
            raise Finding(f"row {error.row} is refused instead of {messages.index(odd)}: {error}") from error
        return False
    got.validate(full=True)
    if got.num_rows != len(messages):
        raise Finding(f"{len(messages)} messages are {got.num_rows} rows")
    return True
