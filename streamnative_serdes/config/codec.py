"""Options of a codec, as dotted keys and as keyword arguments."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast

from . import checks
from .option import Option, checked

# What a codec can be told, here and as keyword arguments of Codec: `max.depth` is max_depth there.
CODEC_OPTIONS = (
    Option(
        "avro.logical.types",
        True,
        checks.flag,
        "With false, logical types are left aside in both directions: a timestamp is an int, a decimal is bytes.",
    ),
    Option(
        "max.depth",
        256,
        checks.between(1, 1_000),
        "Levels that records, arrays and maps of one message may nest. Each takes up to 1 KB of the C stack.",
    ),
)

WRITE_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "validate.strict",
        False,
        checks.flag,
        "An object must have all fields of its record, those with a default too, and no others; so must the columns of "
        "a batch or a DataFrame.",
    ),
    Option(
        "validate.strict.allow.default",
        False,
        checks.flag,
        "An object must have all fields of its record but those with a default, and no others; so must the columns of "
        "a batch or a DataFrame.",
    ),
    Option(
        "unmatched.columns",
        "error",
        checks.one_of("error", "ignore"),
        "For the columns of batches and DataFrames, and for Spark's rows. With `error`, columns that are no fields of "
        "the record are an error if fields have no column as well: a column that was renamed would be written as the "
        "field's default. With `ignore` they are left out. Columns too many alone, or fields with a default that are "
        "missing alone, are no error in either case.",
    ),
    Option(
        "confluent.leniency",
        False,
        checks.flag,
        "Write True and False for a number as 1 and 0, and a datetime without a zone as local time of the machine, as "
        "Confluent's serializer does. They are errors otherwise.",
    ),
)

READ_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "return.record.name",
        False,
        checks.flag,
        "A record in a union is read as a tuple of its full name and the dict, which can be written again.",
    ),
    Option(
        "ignore.trailing.bytes",
        False,
        checks.flag,
        "Ignore what follows the datum, as Confluent's deserializer does. It is an error otherwise; and always in a "
        "message without the header of a known version, for nothing else tells that it is of this schema.",
    ),
    Option(
        "schema.resolution",
        "java",
        checks.one_of("java", "spec"),
        "Where Java and the letter of Avro's specification differ in reading by another schema: see "
        "[avro-conformance.md](avro-conformance.md).",
    ),
    Option(
        "max.empty.values",
        1 << 20,
        checks.between(0, 1 << 40),
        "Values of one message that take no bytes (null, records without fields), which cost a sender nothing.",
    ),
    Option(
        "max.items",
        10_000_000,
        checks.between(0, 1 << 40),
        "Items of all arrays and maps of one message, and fields that are filled in from the reader's defaults.",
    ),
)


class CodecArguments(TypedDict, total=False):
    """The options of a codec as its keyword arguments: dots are underscores there."""

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
    """The keyword arguments of Codec that ``conf``, checked options, asks for."""
    given = {name: conf[option.key] for name, option in _ALL_OF_CODEC.items() if option.key in conf}
    return cast(CodecArguments, given)


def codec_options(arguments: CodecArguments) -> dict[str, Any]:
    """All options of a codec by dotted key, checked.

    Raises:
        ConfigError: a bad value.
        TypeError: no such keyword argument.
    """
    for name in arguments:
        if name not in _ALL_OF_CODEC:
            near = difflib.get_close_matches(name, _ALL_OF_CODEC, n=1)
            raise TypeError(f"a codec takes no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return {option.key: checked(option, arguments.get(name)) for name, option in _ALL_OF_CODEC.items()}
