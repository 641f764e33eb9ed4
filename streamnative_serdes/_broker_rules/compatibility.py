"""Schema compatibility as the broker checks it: Java Avro's SchemaValidator, and the strategies built on it.

The broker runs ``SchemaValidatorBuilder`` on ``ResolvingGrammarGenerator``. What that refuses is decided by Java's
``org.apache.avro.Resolver`` (implemented in :mod:`streamnative_serdes._schema.resolution`) and ``Symbol.hasErrors``,
which ignore logical types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from streamnative_serdes._schema import AvroType, Schema, Union, all_types, name_of
from streamnative_serdes._schema.resolution import Aliases, DuplicateFieldError, Resolution, Resolver

from .java_avro import NeededDefaults
from .java_text import java_text
from .refusals import AVRO_RUNTIME, BrokerError, IncompatibleError

# Strategy -> (the new schema must read the old ones, the old ones must read the new schema).
DIRECTIONS: Final[Mapping[str, tuple[bool, bool]]] = {
    "BACKWARD": (True, False),
    "FORWARD": (False, True),
    "FULL": (True, True),
    "BACKWARD_TRANSITIVE": (True, False),
    "FORWARD_TRANSITIVE": (False, True),
    "FULL_TRANSITIVE": (True, True),
}
STRATEGIES: Final = ("UNDEFINED", "ALWAYS_INCOMPATIBLE", "ALWAYS_COMPATIBLE", *DIRECTIONS)  # in Java's order


def check(strategy: str, new: Schema, existing: Sequence[Schema]) -> None:
    """Check ``new`` against ``existing``, oldest first; only transitive strategies look at more than the last one.

    Raises:
        IncompatibleError: the strategy refuses ``new``.
        BrokerError: aliases give the same name to two fields of a record or two branches of a union; or a required
            default contains a value that is not a symbol of its enum.
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
        BrokerError: see :func:`check`.
    """
    root = writer.root if writer.same_as(reader) else _renamed(writer.root, reader.root)
    resolver = Resolver(java=True, logical=False, defaults=False)
    resolver.checker = NeededDefaults()
    return not _has_errors(resolver.resolve(root, reader.root), set())


def _renamed(writer: AvroType, reader: AvroType) -> AvroType:
    try:
        root = Aliases(reader).apply(writer)
    except DuplicateFieldError as error:
        raise BrokerError(str(error), AVRO_RUNTIME) from error
    if root is not writer:
        _refuse_twins(root)
    return root


def _refuse_twins(root: AvroType) -> None:
    """Java refuses a union if aliases give two of its branches the same name."""
    for node in all_types(root):
        if isinstance(node, Union):
            names = [name_of(branch) for branch in node.branches]
            for name in names:
                if names.count(name) > 1:
                    raise BrokerError(f"Duplicate in union:{name}", AVRO_RUNTIME)


def _unreadable(strategy: str, writer: Schema, reader: Schema) -> IncompatibleError:
    return IncompatibleError(
        f"Error during schema compatibility check with strategy {strategy}: "
        "org.apache.avro.SchemaValidationException: Unable to read schema: \n"
        f"{java_text(writer.text)}\nusing schema:\n{java_text(reader.text)}"
    )


def _has_errors(step: Resolution, visited: set[int]) -> bool:
    """``Symbol.hasErrors``: whether any datum could fail.

    Raises:
        BrokerError: Java uses a record whose resolution it left incomplete.
    """
    if id(step) in visited:
        return False
    visited.add(id(step))
    if step.late_fault is not None and step.fault is None:
        raise BrokerError(
            'Cannot invoke "org.apache.avro.Schema$Field.pos()" because "fields[i]" is null', "NullPointerException"
        )
    # No short circuit: Java builds the whole grammar before it looks for errors.
    faults = [_has_errors(part, visited) for part in step.parts if part is not None]
    return step.fault is not None or any(faults)
