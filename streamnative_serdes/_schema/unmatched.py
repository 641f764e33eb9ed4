"""The error for columns without a field beside fields without a column: most likely a column was renamed."""

from __future__ import annotations

from collections.abc import Sequence

from streamnative_serdes._nearest import nearest

_MOST_NAMED = 5  # in an error
_MOST_COMPARED = 100
_ALIKE = 0.7  # of 1: "nots" and "note" are, "other" and "note" are not


def unmatched(record: str, columns: Sequence[str], fields: Sequence[str]) -> tuple[str, str]:
    """Return the text of the error, and its hint.

    Args:
        record: the record's name.
        columns: columns without a field.
        fields: fields without a column.
    """
    text = (
        f"record {record} has no field for {_named('column', columns)}, and no column for its {_named('field', fields)}"
    )
    return text, (
        f"{_meant(columns, fields)}rename or drop columns; without validate.strict, unmatched.columns=ignore drops "
        "them and writes the fields' defaults"
    )


def _named(kind: str, names: Sequence[str]) -> str:
    shown = ", ".join(f"{name!r:.80}" for name in names[:_MOST_NAMED])
    return f"{kind}{'s' if len(names) > 1 else ''} {shown}{', ...' if len(names) > _MOST_NAMED else ''}"


def _meant(columns: Sequence[str], fields: Sequence[str]) -> str:
    for column in columns[:_MOST_COMPARED]:
        if near := nearest(column, fields[:_MOST_COMPARED], _ALIKE):
            return f"is column {column!r:.80} the field {near!r:.80}? "
    return ""
