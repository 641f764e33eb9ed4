from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from typing_extensions import disjoint_base

from .arrow import Dialect, Routes
from .errors import DecodeError, SerdesError
from .schema import AvroType, Field, Resolution

@final
class Layout:
    """The columns of a schema: immutable, and shared by all plans that fill them."""

    def __new__(cls, schema: AvroType, logical: bool, dialect: Dialect, large: bool) -> Layout: ...
    @property
    def wrapped(self) -> bool: ...
    def __arrow_c_schema__(self) -> object:
        """The struct of a row, as a capsule (Arrow's PyCapsule protocol)."""

@final
class Plan:
    """Reads one writer's schema into the columns of ``layout``.

    ``resolution`` is None for a writer's schema that is the reader's; ``default_of(field)`` gives (Avro bytes of the
    default, their weight in values, None), or (None, 0, why there are none).
    """

    def __new__(
        cls,
        layout: Layout,
        resolution: Resolution | None,
        schema: AvroType,
        default_of: Callable[[Field], tuple[bytes | None, int, str | None]],
    ) -> Plan: ...
    @property
    def layout(self) -> Layout: ...

@disjoint_base
class Decoder:
    """Reads batches of messages into the columns of ``layout``. Never changes, so any number of threads may use it.

    ``options`` are checked options of a codec, by dotted key. Without ``framed``, all messages are bare datums: Avro
    without a header, of version -1.
    """

    def __new__(cls, layout: Layout, options: Mapping[str, Any], framed: bool) -> Decoder: ...
    @property
    def layout(self) -> Layout: ...
    def decode(
        self,
        schema: object,
        arrays: Iterable[object],
        find: Callable[[int], Routes | SerdesError],
        failed: Callable[[int, list[DecodeError], bytes], Routes | SerdesError],
        error_column: str | None,
    ) -> tuple[tuple[object, object], dict[tuple[int, int], int]]:
        """The messages in ``arrays``, as the two capsules of a struct of the layout's columns, a row each.

        ``schema`` is the capsule of the arrays' schema, of bytes; ``arrays`` gives the capsule of one after the other.
        ``find(version)`` tells how messages of a version are read: a tuple of (plan, offset, whole), tried one after
        the other, or the error that all of them get. A first plan of None keeps the version out of the loop; ``whole``
        lets no bytes follow the datum, whatever the options say.
        ``failed(version, errors, message)`` is asked about a row that none of them could read; it gives another such
        tuple, or the error. With ``error_column``, a column of that name comes last and has the errors' texts; without,
        the first of them is raised. A row that is null, or cannot be read, is null in all columns.

        Also returns {(version, which of its plans, or -1 for none): rows}.
        """

@final
class WritePlan:
    """Writes batches of one Arrow schema, the capsule ``arrow``, as messages of the schema ``root``.

    ``options`` are checked options of a codec, by dotted key; ``default_of`` is as for a Plan.
    """

    def __new__(
        cls,
        root: AvroType,
        arrow: object,
        options: Mapping[str, Any],
        default_of: Callable[[Field], tuple[bytes | None, int, str | None]],
    ) -> WritePlan: ...

def encode_batch(plan: WritePlan, arrays: Iterable[object], header: bytes, large: bool) -> tuple[object, object]:
    """The rows of ``arrays``, capsules of arrays of the plan's schema, as messages that begin with ``header``.

    A row that is null as a whole is a null. Gives the capsules of schema and array, binary or large_binary. An error's
    row is that of all arrays together.
    """

@final
class Stream:
    """The arrays of ``capsule``, an Arrow stream: iterating gives the capsules of one after the other, once.

    Raises SerdesError, here and while iterating, for a stream that was read already, and for what its producer says.
    """

    def __new__(cls, capsule: object) -> Stream: ...
    @property
    def schema(self) -> object: ...
    def __iter__(self) -> Stream: ...
    def __next__(self) -> object: ...
