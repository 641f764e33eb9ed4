"""The attempts to read a message, in order, as data: by which schema and from which byte (SNIP 42, docs/messages.md).

| in the header    | the caller knows | attempts                                                        |
|------------------|------------------|-----------------------------------------------------------------|
| a known version  |                  | by that version, after the header                               |
| a known version  | another version  | the same; then by the caller's, as a whole                      |
| an unknown one   |                  | by the latest, after the header; then by the latest, as a whole |
| an unknown one   | a version        | by the caller's, as a whole                                     |
| none             |                  | by the latest, as a whole                                       |
| none             | a version        | by the caller's, as a whole                                     |
| Confluent's sign | (or a version)   | by the schema with that id; then as a message without a header  |

Without "headerless" in ``framings``, no message is read as a whole by the latest or the caller's version. The last row
is for framings of Confluent (see ``framings``), and its attempts may be in the other order.

Only the first row's message may have bytes behind its datum. In all others nothing but the bytes tells that the schema
is right, so every byte has to be used.
"""

from __future__ import annotations

from copy import copy
from typing import Final, NamedTuple
from uuid import UUID

from streamnative_serdes import header
from streamnative_serdes._call_path import BY_HEADER, LATEST, without_header
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError

PREFIX_SIZE: Final = 5  # bytes of Confluent's prefix
# What is wrong with a message. All else (a registry that is away, a bad token) would fail for a good one too.
ITS_OWN_FAULT: Final = (DecodeError, SchemaError, SchemaNotFoundError)
UNKNOWN: Final = "which the registry does not have"
UNREADABLE: Final = "with which it cannot be read"


class Attempt(NamedTuple):
    """One way to read a message.

    Args:
        key: of the schema: a version from a header, LATEST, ``without_header(version)``, or a sign of Confluent's.
        offset: in bytes, where the datum begins.
    """

    key: int
    offset: int

    @property
    def whole(self) -> bool:
        """Whether every byte has to be used."""
        return self.key < 0


def by_key(key: int) -> Attempt:
    """The first attempt for messages that are bound under ``key``."""
    if key >= 0:
        return Attempt(key, header.SIZE)
    return Attempt(key, PREFIX_SIZE if key < BY_HEADER else 0)


def headerless(caller: int | None) -> int:
    """The key for messages without a header; ``caller`` is the version that the caller gave."""
    return LATEST if caller is None else without_header(caller)


def without_version(caller: int | None, *, whole: bool) -> tuple[Attempt, ...]:
    """The attempts that leave the header's version aside; ``whole``: messages without a header are read."""
    as_a_whole = (Attempt(headerless(caller), 0),) if whole else ()
    return as_a_whole if caller is not None else (Attempt(LATEST, header.SIZE), *as_a_whole)


def unreadable(
    topic: str, in_header: int, why: str, used: int, failed: list[tuple[Attempt, DecodeError]]
) -> DecodeError:
    """The error of a message that no attempt has read, with the reason of each.

    Args:
        topic: the topic of the message.
        in_header: the version in its header.
        why: UNKNOWN or UNREADABLE.
        used: the version that was tried in its place.
        failed: all attempts, in order.
    """
    if why == UNKNOWN:
        first = f"the registry does not have this version, and the message cannot be read with version {used}"
    else:
        first = f"the message can be read neither with this version nor with version {used}"
    reasons = (f"{'after the header' if attempt.offset else 'as a whole'}: {error}" for attempt, error in failed)
    return DecodeError(f"{first}; {'; '.join(reasons)}", topic=topic, version=in_header)


def schema_name(which: int | bytes) -> str:
    """A schema of the second registry, in errors: by its id, or its GUID of 16 bytes."""
    return f"schema id {which}" if isinstance(which, int) else f"GUID {UUID(bytes=which)}"


def no_framing(
    topic: str, which: int | bytes, as_confluent: SerdesError, as_bare: SerdesError, hint: str | None
) -> DecodeError:
    """The error of a message with a sign of Confluent's framing that cannot be read so, nor without a header."""
    return DecodeError(
        f"expected Confluent's framing with {schema_name(which)}, or Avro without a header; "
        f"as the former: {_reason(as_confluent)}; as the latter: {_reason(as_bare)}",
        topic=topic,
        hint=hint,
    )


def _reason(error: SerdesError) -> str:
    """The error without topic and hint, which the outer error repeats."""
    inner = copy(error)
    inner.topic = inner.hint = None
    return str(inner)
