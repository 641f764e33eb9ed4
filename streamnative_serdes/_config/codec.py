"""The options of a codec, by dotted key and as keyword arguments of Codec."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, TypedDict, cast

from streamnative_serdes._nearest import nearest

from . import checks
from .option import Option, checked

# Dotted keys of the codec options; as a keyword argument of Codec, `max.depth` is max_depth.
CODEC_OPTIONS = (
    Option(
        "avro.logical.types",
        True,
        checks.flag,
        "Convert logical types. With false, they are ignored in both directions: a timestamp is an int, a decimal is "
        "bytes.",
    ),
    Option(
        "max.depth",
        256,
        checks.between(1, 1_000),
        "Maximum nesting depth of records, arrays and maps in one message. Each level takes up to 1 KB of the C stack, "
        "so increase it only if all threads have large stacks.",
    ),
)

WRITE_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "validate.strict",
        False,
        checks.flag,
        "Require objects to have exactly the fields of their record, including those with a default. This also applies "
        "to the columns of a batch or a DataFrame. Set it to detect misspelt fields.",
    ),
    Option(
        "validate.strict.allow.default",
        False,
        checks.flag,
        "Like `validate.strict`, but fields with a default may be missing.",
    ),
    Option(
        "unmatched.columns",
        "error",
        checks.one_of("error", "ignore"),
        "What to do if columns of a batch or a DataFrame, or of Spark's rows, have no field, while fields have no "
        "column: a column was probably renamed. `error` raises an error, because the field would be written as its "
        "default; `ignore` drops such columns and writes the defaults. Only additional columns, or only missing fields "
        "with a default, are accepted in either case.",
    ),
    Option(
        "truncate.times",
        False,
        checks.flag,
        "Drop what a type cannot hold of a time: nanoseconds, in timestamps and times of micro- and milliseconds, and "
        "the time of day of a column of type date64, in dates. With false, they are an error. Microseconds are rounded "
        "down to milliseconds in either case.",
    ),
    Option(
        "confluent.leniency",
        False,
        checks.flag,
        "Accept True and False as the numbers 1 and 0, and a naive datetime as local time of the machine, like "
        "Confluent's serializer. With false, both are errors.",
    ),
)

READ_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "return.record.name",
        False,
        checks.flag,
        "Return a record in a union as a tuple of its full name and the dict. Such tuples can be written again. Set it "
        "if a program has to know which record of a union it got.",
    ),
    Option(
        "ignore.trailing.bytes",
        False,
        checks.flag,
        "Ignore bytes after the datum, like Confluent's deserializer. With false, they are an error. In a message "
        "without the header of a known version they are always an error, because only the exact length shows that the "
        "schema is the right one.",
    ),
    Option(
        "schema.resolution",
        "java",
        checks.one_of("java", "spec"),
        "The rules for reading with another schema, where Java and Avro's specification differ: `java` or `spec`, see "
        "[avro-conformance.md](avro-conformance.md).",
    ),
    Option(
        "max.empty.values",
        1 << 20,
        checks.between(0, 1 << 40),
        "Maximum number of values in one message that take no bytes (null, records without fields). It limits the "
        "memory that a short message can take.",
    ),
    Option(
        "max.items",
        10_000_000,
        checks.between(0, 1 << 40),
        "Maximum number of items in all arrays and maps of one message, plus values filled in from the reader's "
        "defaults. It limits the memory that a message can take.",
    ),
)


class CodecArguments(TypedDict, total=False):
    """Map the options of a codec to its keyword arguments: dots become underscores."""

    avro_logical_types: bool
    max_depth: int
    validate_strict: bool
    validate_strict_allow_default: bool
    unmatched_columns: Literal["error", "ignore"]
    truncate_times: bool
    confluent_leniency: bool
    return_record_name: bool
    ignore_trailing_bytes: bool
    schema_resolution: Literal["java", "spec"]
    max_empty_values: int
    max_items: int


_ALL_OF_CODEC = {option.key.replace(".", "_"): option for option in (*WRITE_OPTIONS, *READ_OPTIONS)}


def codec_arguments(conf: Mapping[str, Any]) -> CodecArguments:
    """Return the keyword arguments of Codec for validated options."""
    given = {name: conf[option.key] for name, option in _ALL_OF_CODEC.items() if option.key in conf}
    return cast(CodecArguments, given)


def codec_options(arguments: CodecArguments) -> dict[str, Any]:
    """Return all options of a codec by dotted key, validated.

    Raises:
        ConfigError: a value is invalid.
        TypeError: there is no such keyword argument.
    """
    for name in arguments:
        if name not in _ALL_OF_CODEC:
            near = nearest(name, _ALL_OF_CODEC)
            raise TypeError(f"a codec takes no argument {name!r}" + (f"; did you mean {near!r}?" if near else ""))
    names, values = tuple(arguments), tuple(arguments.values())
    try:
        return _checked(names, values, tuple(map(type, values))).copy()
    except TypeError:  # a value without a hash, which the check of its option refuses
        return _checked.__wrapped__(names, values, ())


@lru_cache(64)
def _checked(names: tuple[str, ...], values: tuple[object, ...], _types: tuple[type, ...]) -> dict[str, Any]:
    """All options with these values; most codecs have those of another one. True and 1 are equal, so types count."""
    options = {option.key: option.default for option in _ALL_OF_CODEC.values()}
    for name, value in zip(names, values, strict=True):
        options[_ALL_OF_CODEC[name].key] = checked(_ALL_OF_CODEC[name], value)
    return options
