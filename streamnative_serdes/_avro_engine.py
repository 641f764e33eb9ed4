"""The library that encodes and decodes the data of messages, as ``avro.engine`` says: our compiled codec, or fastavro.

The call path calls a codec of ours without any Python. fastavro is called like the formats of other schema types: by a
pair of functions, which policies bind in the codec's place. It is imported here alone, and only when asked for.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamnative_serdes import _call_path
from streamnative_serdes._config import FASTAVRO
from streamnative_serdes._schema import Schema
from streamnative_serdes._topics.cache import Memo
from streamnative_serdes.codec import Codec, made_with
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaError
from streamnative_serdes.key_value import KeyValue

_HINT: Final = "avro.engine=fastavro; without it, the error names the field"
_MOST: Final = 1_000  # codecs whose schemas are kept as fastavro parsed them


class Engine(NamedTuple):
    """Makes what policies bind of a codec: ``half`` takes a codec, and ``bound`` the arguments of Bound."""

    half: Callable[[Codec], _call_path.Half]
    bound: Callable[..., _call_path.Bound]
    has_columns: bool


def engine_of(conf: Mapping[str, Any]) -> Engine:
    """The engine by checked options. Raises ConfigError: it is not installed."""
    if conf.get("avro.engine") != FASTAVRO:
        return _COMPILED
    _library()
    return _BY_FASTAVRO


def refuse_columns(engine: Engine, topic: str | None = None) -> None:
    """Raise ConfigError if columns are asked for with an engine that has only objects."""
    if not engine.has_columns:
        hint = "use a SerDes without this option for batches and DataFrames"
        raise ConfigError("avro.engine=fastavro has no columns, only objects", topic=topic, hint=hint)


def _library() -> Any:
    try:
        import fastavro
    except ImportError as error:
        raise ConfigError(
            f"avro.engine=fastavro, and fastavro cannot be imported: {error}", hint="pip install fastavro"
        ) from error
    return fastavro


class _ByFastavro:
    """fastavro in place of one codec.

    Raises:
        ConfigError: objects of classes are to be written or read.
        SchemaError: fastavro refuses the schema.
    """

    def __init__(self, codec: Codec) -> None:
        shapes, self._options = made_with(codec)
        if shapes:
            raise ConfigError(
                f"avro.engine=fastavro knows no classes, and {next(iter(shapes))} is to be an object of one",
                hint="convert objects with to_dict and from_dict, or leave out avro.engine",
            )
        self._library, self._codec = _library(), codec
        self._writer = self._parsed(codec.schema)
        self._reader = None if codec.reader_schema.same_as(codec.schema) else self._parsed(codec.reader_schema)

    def _parsed(self, schema: Schema) -> Any:
        try:
            return self._library.parse_schema(json.loads(schema.text))
        except Exception as error:
            raise SchemaError(f"fastavro refuses the schema: {error!r:.200}", hint="leave out avro.engine") from error

    def encode(self, obj: Any) -> bytes:
        """The datum as fastavro writes it."""
        most, out = self._options["max.depth"], io.BytesIO()
        try:
            if not _fits(obj, most):
                raise EncodeError(f"expected at most {most} levels of containers")  # more would crash the process
            self._library.schemaless_writer(
                out,
                self._writer,
                obj,
                strict=self._options["validate.strict"],
                strict_allow_default=self._options["validate.strict.allow.default"],
            )
        except (EncodeError, MemoryError):
            raise
        except Exception as error:  # fastavro has no errors of its own, and the object may raise any
            raise EncodeError(f"fastavro: {error!r:.400}", hint=_HINT) from error
        return out.getvalue()

    def decode(self, data: bytes) -> Any:
        """The value as fastavro reads it, once the codec has found the end: bytes could crash fastavro otherwise."""
        end = self._codec.skip(data)
        if end != len(data) and not self._options["ignore.trailing.bytes"]:
            raise DecodeError(f"expected the end of the message, got {len(data) - end} more bytes", offset=end)
        source = io.BytesIO(data[:end])
        try:
            datum = self._library.schemaless_reader(
                source, self._writer, self._reader, return_record_name=self._options["return.record.name"]
            )
        except MemoryError:
            raise
        except Exception as error:
            raise DecodeError(f"fastavro: {error!r:.400}", hint=_HINT) from error
        if source.tell() != end:
            raise DecodeError(f"expected a datum of {end} bytes, but fastavro has read {source.tell()} bytes")
        return datum


def _fits(obj: Any, levels: int) -> bool:
    """Whether at most this many containers are inside each other."""
    if isinstance(obj, Mapping):
        return levels > 0 and all(_fits(value, levels - 1) for value in obj.values())
    if isinstance(obj, Sequence) and not isinstance(obj, (str, bytes, bytearray, memoryview)):
        return levels > 0 and all(_fits(value, levels - 1) for value in obj)
    return True


# Of one codec always the same functions: what is bound is compared by them.
_by_codec: Memo[Codec, _ByFastavro] = Memo(_MOST)


def _half(codec: Codec) -> _call_path.Half:
    by = _by_codec.get(codec) or _by_codec.keep(codec, _ByFastavro(codec))
    return _call_path.Half(None, by.encode, by.decode)


def _bound(
    topic: str, key: Any, version: int, header: bytes | None, codec: Codec | None, lifetime: float = math.inf
) -> _call_path.Bound:
    try:
        pair = None if codec is None else _call_path.Pair(None, _half(codec), KeyValue)
    except (ConfigError, SchemaError) as error:
        raise error.at(topic=topic, version=version) from None
    return _call_path.Bound(topic, key, version, header, None, lifetime, pair)


_COMPILED: Final = Engine(_call_path.Half, _call_path.Bound, has_columns=True)
_BY_FASTAVRO: Final = Engine(_half, _bound, has_columns=False)
