"""Shapes JSON data by a schema: the value that the Avro codec would give for the same object of Java.

Null stands for a missing value wherever Java's client may write it, whatever the schema says: it leaves out fields
that are null, and writes null as an item of an array. A field that is missing has its default if its type does not
allow null. Fields that the schema does not have are kept, as in the JsonNode that Java's AUTO_CONSUME gives.

The functions made here take a value, and the budget of this message for what it lacks. Each level of the value is one
Python call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._formats import moments
from streamnative_serdes._formats.faults import not_decodable
from streamnative_serdes._paths import entry
from streamnative_serdes._schema import (
    MISSING,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
)
from streamnative_serdes.codec import Codec, weight
from streamnative_serdes.errors import DecodeError, SchemaError

from .branches import choose, ranker_of
from .java_classes import DATES, is_of_java, is_pairs
from .leaves import LEAVES
from .logical import reader_of
from .parsing import parse, plain


class Budget:
    """How many fields, and values of their defaults, may be filled in: a small message must not become large."""

    __slots__ = ("_left",)

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """Raises DecodeError if there are not so many left."""
        if count > 0:
            self._left -= count
            if self._left < 0:
                raise DecodeError("the message lacks more fields than may be filled in", hint="max.items is the limit")


class Default:
    """The default of a field, compiled when a message first lacks the field; by each thread that does so at once."""

    def __init__(self, record: Record, field: Field, options: CodecArguments) -> None:
        self._record = record
        self._field = field
        self._options = options
        self._codec: Codec | None = None

    def value(self, budget: Budget) -> Any:
        """A new value. Raises DecodeError: the default does not fit the type of the field, or is too large."""
        try:
            value = self._compiled().decode(b"")[self._field.name]
        except (DecodeError, SchemaError) as error:
            raise DecodeError(
                f"the field is missing, and its default: {error.message}", path=self._field.name
            ) from None
        budget.take(weight(value))
        return value

    def _compiled(self) -> Codec:
        codec = self._codec
        if codec is None:
            # A record that was written without fields, read with this one.
            name = self._record.name
            written, read = Schema("written", Record(name)), Schema("read", Record(name, (self._field,)))
            self._codec = codec = Codec(written, read, **self._options)
        return codec


Shape = Callable[[Any, Budget], Any]


class Shaper:
    """Makes the function for each type of a schema; for a record once, since it may contain itself."""

    def __init__(self, options: CodecArguments) -> None:
        self._options = options
        self._logical = options.get("avro_logical_types", True)
        self._named = options.get("return_record_name", False)
        self._records: dict[int, Shape] = {}

    def of(self, node: AvroType) -> Shape:
        """The function for values of this type; they are not None."""
        if isinstance(node, Record):
            return self._records.get(id(node)) or self._record(node)
        if isinstance(node, Array):
            return self._pairs(node) if is_pairs(node) else self._array(node)
        if isinstance(node, Map):
            return self._map(node)
        if isinstance(node, Union):
            return self._union(node)
        return self._enum(node) if isinstance(node, Enum) else self._leaf(node)

    def _record(self, node: Record) -> Shape:
        fields: dict[str, tuple[Shape, Default | None]] = {}
        other = self._not_an_object(node)

        def shape(value: Any, budget: Budget) -> Any:
            if not isinstance(value, dict):
                return other(value)
            budget.take(len(fields) - len(value))  # an empty object may have many fields
            shaped: dict[str, Any] = {}
            for name, (convert, default) in fields.items():
                item = value.pop(name, None)
                if item is not None:
                    try:
                        item = convert(item, budget)
                    except DecodeError as error:
                        raise error.inside(name) from None
                elif default is not None:
                    item = default.value(budget)
                shaped[name] = item
            if value:
                shaped.update(plain(value))
            return shaped

        self._records[id(node)] = shape  # for the record inside itself
        for part in node.fields:
            default = None if part.default is MISSING or allows_null(part) else Default(node, part, self._options)
            fields[part.name] = self.of(part.type), default
        return shape

    def _not_an_object(self, node: Record) -> Callable[[Any], Any]:
        """A record of a class of Java's own, whose fields are private: Jackson writes something else than an object."""
        date = node.name in DATES and self._logical

        def read(value: Any) -> Any:
            if date and isinstance(value, int) and not isinstance(value, bool):
                return moments.to_datetime(value * 1_000_000, node.name, utc=True)
            if is_of_java(node):
                return plain(value)
            raise not_decodable(f"an object for record {node.name}", value)

        return read

    def _array(self, node: Array) -> Shape:
        convert = self.of(node.items)

        def shape(value: Any, budget: Budget) -> Any:
            if not isinstance(value, list):
                raise not_decodable("array", value)
            for number, item in enumerate(value):
                if item is not None:
                    try:
                        value[number] = convert(item, budget)
                    except DecodeError as error:
                        raise error.inside(f"[{number}]") from None
            return value

        return shape

    def _map(self, node: Map) -> Shape:
        convert = self.of(node.values)

        def shape(value: Any, budget: Budget) -> Any:
            if not isinstance(value, dict):
                raise not_decodable("map", value)
            for key, item in value.items():
                if item is not None:
                    try:
                        value[key] = convert(item, budget)
                    except DecodeError as error:
                        raise error.inside(entry(key)) from None
            return value

        return shape

    def _pairs(self, node: Array) -> Shape:
        """A map of Java whose keys are no text: an object in JSON, but an array of pairs in the schema."""
        assert isinstance(node.items, Record)
        key_type, value_type = (part.type for part in node.items.fields)
        to_key, convert, listed = self._key(key_type), self.of(value_type), self._array(node)

        def shape(value: Any, budget: Budget) -> Any:
            if not isinstance(value, dict):
                return listed(value, budget)
            pairs = []
            for key, item in value.items():
                try:
                    shaped = None if item is None else convert(item, budget)
                    pairs.append({"key": to_key(key, budget), "value": shaped})
                except DecodeError as error:
                    raise error.inside(entry(key)) from None
            return pairs

        return shape

    def _key(self, node: AvroType) -> Shape:
        convert = self.of(node)
        if node.kind not in ("int", "long", "float", "double", "boolean"):
            return convert

        def read(key: str, budget: Budget) -> Any:
            try:
                value = parse(key.encode(errors="replace"), 1)
            except DecodeError:
                value = key  # which does not fit
            return convert(value, budget)

        return read

    def _union(self, node: Union) -> Shape:
        nodes = [branch for branch in node.branches if branch.kind != "null"]
        shapes = [self._branch(branch) for branch in nodes]
        if len(nodes) == 1:
            return shapes[0]
        rankers = list(map(ranker_of, nodes, shapes))

        def shape(value: Any, budget: Budget) -> Any:
            return shapes[choose(rankers, nodes, value)](value, budget)

        return shape

    def _branch(self, node: AvroType) -> Shape:
        convert = self.of(node)
        if not (self._named and isinstance(node, Record)):
            return convert
        return lambda value, budget: (node.name, convert(value, budget))

    def _enum(self, node: Enum) -> Shape:
        symbols = frozenset(node.symbols)

        def shape(value: Any, _: Budget) -> Any:
            # pulsar-client for Python writes the value of a member, which is a number as a rule, not its name.
            if type(value) is int or (isinstance(value, str) and value in symbols):
                return value
            raise not_decodable(f"a symbol of enum {node.name}", value)

        return shape

    def _leaf(self, node: Primitive | Fixed) -> Shape:
        convert = reader_of(node, logical=self._logical)
        if convert is None:
            convert = LEAVES[node.kind](node)
        return lambda value, _: convert(value)


def allows_null(part: Field) -> bool:
    """Whether null is a value of the field."""
    branches = part.type.branches if isinstance(part.type, Union) else (part.type,)
    return any(branch.kind == "null" for branch in branches)
