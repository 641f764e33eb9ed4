from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from typing_extensions import Buffer

from ._schema import Field
from .arrow import Dialect, Routes
from .arrow.columns import RowCounts
from .errors import DecodeError, SerdesError

@final
class Layout:
    """The Arrow columns of a schema. Immutable, and shared by all plans that fill them."""

    def __new__(cls, schema: Any, logical: bool, dialect: Dialect, large: bool) -> Layout: ...
    @property
    def wrapped(self) -> bool: ...
    def __arrow_c_schema__(self) -> object:
        """Return the Arrow schema of a row, a struct, as a capsule (Arrow's PyCapsule protocol)."""

@final
class Same:
    """The resolution of a type with itself: same interface as Resolution."""

    def __new__(cls, schema: Any) -> Same: ...

@final
class Plan:
    """Decodes data of one writer's schema into the columns of ``layout``.

    ``resolution`` is None if the writer's schema is also the reader's. ``default_of(field)`` returns (Avro bytes of the
    default, number of values in it, None), or (None, 0, why there is no usable default). With ``skips``, it can tell
    too whether bytes are a datum, without columns. With ``unsized``, the writer's root is ``bytes`` without length.
    """

    def __new__(
        cls,
        layout: Layout,
        resolution: Any,
        schema: Any,
        default_of: Callable[[Field], tuple[bytes | None, int, str | None]],
        skips: bool = False,
        unsized: bool = False,
    ) -> Plan: ...
    @property
    def layout(self) -> Layout: ...

def rows_in_blocks() -> int: ...
def decode_batch(
    layout: Layout,
    options: Mapping[str, Any],
    framed: bool,
    schema: object,
    arrays: Iterable[object],
    find: Callable[[int], Routes | SerdesError],
    failed: Callable[[int, list[DecodeError], bytes], Routes | SerdesError],
    error_column: str | None,
    signs: Any = None,
    keys: Buffer | None = None,
    message_keys: tuple[object, object] | None = None,
) -> tuple[object, RowCounts, int]:
    """Decode the messages in ``arrays`` into a struct of the layout's columns, a row for each message.

    Returns (array capsule, {(version, index of the plan that read it, or the class of the error): rows}, bytes of all
    messages). Its schema is that of the layout, with the error column if there is one.

    ``options`` are validated codec options, by dotted key. Without ``framed``, messages have no header and count as
    version -1. ``schema`` is the capsule of the arrays' schema, of bytes; ``arrays`` yields the capsules of the arrays.
    With None as ``schema``, ``arrays`` yields Values.
    ``find(version)`` returns how to read messages of a version: (plan, offset, whole) tuples, tried in order, or an
    error for all of them. A first plan of None keeps the version out of the loop; ``whole`` forbids trailing bytes,
    whatever the options say.
    ``failed(version, errors, message)`` is called for a row that none of the plans could read; it returns more such
    tuples, or the error. With ``error_column``, a last column of that name holds the error texts; without it, the
    first error is raised. A row that is null, or cannot be read, is null in all columns.
    With ``signs`` (_reading/framings.py), messages with Confluent's framings are read too: ``find`` gets the key of
    their sign in place of a version. ``keys`` is a buffer with such a key as int64 for each row, from its header; 0
    where it has none. Rows that could be read both ways count under the index -2 too.
    ``message_keys``, for KEY_VALUE messages with the encoding SEPARATED: (schema capsule, array capsule) of an array of
    bytes with the key of each message, or (None, Values). A message that is null, but has a key, is read under
    version -1.
    """

@final
class WritePlan:
    """Encodes batches of one Arrow schema, the capsule ``arrow``, as messages of the Avro schema ``root``.

    ``options`` are validated codec options, by dotted key; ``default_of`` is as for a Plan.
    """

    def __new__(
        cls,
        root: Any,
        arrow: object,
        options: Mapping[str, Any],
        default_of: Callable[[Field], tuple[bytes | None, int, str | None]],
    ) -> WritePlan: ...

def encode_batch(plan: WritePlan, arrays: Iterable[object], header: bytes, large: bool) -> object:
    """Encode the rows of ``arrays``, capsules of arrays of the plan's Arrow schema, as messages that begin with header.

    A row that is null as a whole gives a null. Returns the capsule of the array, binary or large_binary. The row number
    of an error counts over all arrays.
    """

@final
class Values:
    """The bytes of each item of a list, where the decoder reads them: no array of them is made.

    ``part`` is the method of the items that returns them, such as ``value`` for confluent-kafka's messages; None: the
    items are bytes themselves. None stands for no message. Any other item raises TypeError.
    """

    def __new__(cls, messages: Iterable[Any], part: str | None = None) -> Values: ...
    def __len__(self) -> int: ...

@final
class Taken(list[Any]):
    """The messages that a client returned, in order; ``errors`` has what it returned for an error or an end."""

    def __init__(self, messages: Iterable[Any]) -> None: ...
    @property
    def errors(self) -> list[Any]: ...

def ends_of(messages: Iterable[Any]) -> dict[int, int]:
    """Return, by partition, the offset that follows its last message; ``messages`` are of one topic."""

def bytes_list(schema: object, array: object) -> list[bytes | None]:
    """Return the rows of an array of bytes or text (capsules of schema and array) as bytes objects; None for a null.

    Raises DecodeError for a damaged array, and TypeError for another type.
    """

def new_array() -> object:
    """Return a capsule of an array that is yet to be exported into it."""

def address_of(array: object) -> int:
    """Return where the struct is that the capsule of an array holds, as an int."""

def kafka_columns(layout: Layout, messages: list[Any]) -> object:
    """Return the parts of messages as a struct of the layout's columns, a row each: the capsule of an array.

    ``layout`` is that of a record with some of the fields key, value, topic, partition, offset, timestamp,
    timestampType and headers, in the types of Spark's Kafka source. ``messages`` are confluent-kafka's.

    Raises DecodeError, with ``row``, if one is an error of the client or has another type than expected, and
    BatchTooLargeError, with ``row``, if they do not fit into one batch.
    """

@final
class Stream:
    """An iterator over the arrays of ``capsule``, an Arrow stream. Yields their capsules; can be iterated only once.

    Raises SerdesError, here and during iteration, if the stream was already read or its producer fails.
    """

    def __new__(cls, capsule: object) -> Stream: ...
    @property
    def schema(self) -> object: ...
    def __iter__(self) -> Stream: ...
    def __next__(self) -> object: ...
