"""Dead letters: for each row that could not be read, why, and the message as it was received."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

# Those of Spark's DataFrames have the same fields.
DEAD_LETTER: Final = pa.struct(
    {
        "error": pa.string(),
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
    }
)


def dead_letters(errors: pa.Array, topic: str, messages: Mapping[str, pa.Array]) -> pa.StructArray:
    """A dead letter for each row that has an error, and nulls for the others.

    Args:
        errors: text, or null for a row that could be read.
        topic: the topic of all rows, unless ``messages`` has a column of topics.
        messages: the other fields of a dead letter that are known, by name, for all rows.
    """
    well, rows = pc.is_null(errors), len(errors)
    # Nulls for decoded messages, so that only dead letters are copied. By take(), since if_else of pyarrow 20 returns
    # an invalid array for a slice of binaries.
    dead = pc.if_else(well, None, pa.array(range(rows)))
    given = {"topic": pa.array([topic] * rows), **messages}
    found = {name: array.take(dead).cast(DEAD_LETTER.field(name).type) for name, array in given.items()}
    found["error"] = errors
    arrays = [found.get(field.name, pa.nulls(rows, field.type)) for field in DEAD_LETTER]
    return pa.StructArray.from_arrays(arrays, fields=list(DEAD_LETTER), mask=well)
