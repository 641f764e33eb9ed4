"""Schema compatibility as the broker decides it: Java Avro's SchemaValidator, and the strategies built on it.

The broker runs ``SchemaValidatorBuilder`` over ``ResolvingGrammarGenerator``. What that refuses is decided by Java's
``org.apache.avro.Resolver``, whose rules stand in :mod:`streamnative_serdes.schema.resolution`, and
``Symbol.hasErrors``. Logical types do not count there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..schema import Schema
from ..schema.aliases import Aliases
from ..schema.resolution import Resolution, Resolver

# Strategy -> (the new schema must read the old ones, the old ones must read the new schema).
DIRECTIONS: Final[Mapping[str, tuple[bool, bool]]] = {
    "BACKWARD": (True, False),
    "FORWARD": (False, True),
    "FULL": (True, True),
    "BACKWARD_TRANSITIVE": (True, False),
    "FORWARD_TRANSITIVE": (False, True),
    "FULL_TRANSITIVE": (True, True),
}
STRATEGIES: Final = (*DIRECTIONS, "ALWAYS_COMPATIBLE", "ALWAYS_INCOMPATIBLE", "UNDEFINED")


class IncompatibleError(Exception):
    """The strategy refuses the new schema; the text is the broker's own."""


def check(strategy: str, new: Schema, existing: Sequence[Schema]) -> None:
    """Check ``new`` against ``existing``, oldest first, of which only transitive strategies look past the last.

    Raises:
        IncompatibleError: the strategy refuses ``new``.
        DuplicateFieldError: aliases give two fields of a record one name; the broker answers 500.
    """
    if strategy == "ALWAYS_COMPATIBLE" or not existing:
        return
    if strategy == "ALWAYS_INCOMPATIBLE":
        raise _unreadable(strategy, new, new)
    reads, is_read = DIRECTIONS[strategy]
    for old in reversed(existing if strategy.endswith("_TRANSITIVE") else existing[-1:]):
        if is_read and not can_read(new, old):
            raise _unreadable(strategy, new, old)
        if reads and not can_read(old, new):
            raise _unreadable(strategy, old, new)


def can_read(writer: Schema, reader: Schema) -> bool:
    """Whether Java Avro can read every datum of ``writer`` with ``reader``.

    Raises:
        DuplicateFieldError: see :func:`check`.
    """
    root = writer.root if writer.same_as(reader) else Aliases(reader.root).apply(writer.root)
    return not _has_errors(Resolver(java=True, logical=False, defaults=False).resolve(root, reader.root), set())


def _unreadable(strategy: str, writer: Schema, reader: Schema) -> IncompatibleError:
    return IncompatibleError(
        f"Error during schema compatibility check with strategy {strategy}: "
        "org.apache.avro.SchemaValidationException: Unable to read schema: \n"
        f"{_pretty(json.loads(writer.text))}\nusing schema:\n{_pretty(json.loads(reader.text))}"
    )


def _pretty(value: Any, level: int = 0) -> str:
    """JSON in the layout of Jackson's default pretty printer, as Java's ``Schema.toString(true)`` has it."""
    rows = []  # filled by loops: a comprehension costs one more frame per level, and there may be 200 levels
    if isinstance(value, dict) and value:
        gap = "\n" + "  " * (level + 1)
        for key, item in value.items():
            rows.append(f"{gap}{json.dumps(key)} : {_pretty(item, level + 1)}")
        return "{" + ",".join(rows) + "\n" + "  " * level + "}"
    if isinstance(value, list) and value:
        for item in value:
            rows.append(_pretty(item, level))  # noqa: PERF401
        return "[ " + ", ".join(rows) + " ]"
    return json.dumps(value, ensure_ascii=False)


def _has_errors(step: Resolution, visited: set[int]) -> bool:
    """``Symbol.hasErrors``: whether any datum could fail."""
    if id(step) in visited:
        return False
    visited.add(id(step))
    return step.fault is not None or any(part is not None and _has_errors(part, visited) for part in step.parts)
