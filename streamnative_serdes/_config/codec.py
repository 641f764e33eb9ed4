"""The options of a codec, by dotted key and as keyword arguments of Codec."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast

from . import checks
from .option import Option, checked

# Dotted keys of the codec options; as a keyword argument of Codec, `max.depth` is max_depth.
CODEC_OPTIONS = (
    Option(
        "avro.logical.types",
        True,
        checks.flag,
        "With false, logical types are ignored in both directions: a timestamp is an int, a decimal is bytes.",
    ),
    Option(
        "max.depth",
        256,
        checks.between(1, 1_000),
        "How many levels deep records, arrays and maps of one message may nest. Each level takes up to 1 KB of the C "
        "stack.",
    ),
)

WRITE_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "validate.strict",
        False,
        checks.flag,
        "An object must have exactly the fields of its record, including those with a default. The same holds for the "
        "columns of a batch or a DataFrame.",
    ),
    Option(
        "validate.strict.allow.default",
        False,
        checks.flag,
        "As `validate.strict`, but fields with a default may be missing.",
    ),
    Option(
        "unmatched.columns",
        "error",
        checks.one_of("error", "ignore"),
        "For the columns of batches and DataFrames, and for Spark's rows. With `error`, it is an error if some columns "
        "have no field and some fields have no column: a column was probably renamed, and its field would be written "
        "as the default. With `ignore`, such columns are left out. Only extra columns, or only missing fields with a "
        "default, are accepted in either case.",
    ),
    Option(
        "confluent.leniency",
        False,
        checks.flag,
        "Write True and False as 1 and 0 where a number is expected, and a naive datetime as local time of the "
        "machine, as Confluent's serializer does. Otherwise both are errors.",
    ),
)

READ_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "return.record.name",
        False,
        checks.flag,
        "Return a record in a union as a tuple of its full name and the dict. Such tuples can be written again.",
    ),
    Option(
        "ignore.trailing.bytes",
        False,
        checks.flag,
        "Ignore bytes after the datum, as Confluent's deserializer does. Otherwise they are an error. In a message "
        "without the header of a known version they are always an error, because nothing else shows that the schema "
        "is the right one.",
    ),
    Option(
        "schema.resolution",
        "java",
        checks.one_of("java", "spec"),
        "Which rules to follow when reading with another schema, where Java and Avro's specification differ: see "
        "[avro-conformance.md](avro-conformance.md).",
    ),
    Option(
        "max.empty.values",
        1 << 20,
        checks.between(0, 1 << 40),
        "Maximum number of values in one message that take no bytes (null, records without fields); they cost the "
        "sender nothing.",
    ),
    Option(
        "max.items",
        10_000_000,
        checks.between(0, 1 << 40),
        "Maximum number of items in all arrays and maps of one message, plus fields filled in from the reader's "
        "defaults.",
    ),
)


class CodecArguments(TypedDict, total=False):
    """Map the options of a codec to its keyword arguments: dots become underscores."""

    avro_logical_types: bool
    max_depth: int
    validate_strict: bool
    validate_strict_allow_default: bool
    unmatched_columns: Literal["error", "ignore"]
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
            near = difflib.get_close_matches(name, _ALL_OF_CODEC, n=1)
            raise TypeError(f"a codec takes no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return {option.key: checked(option, arguments.get(name)) for name, option in _ALL_OF_CODEC.items()}
