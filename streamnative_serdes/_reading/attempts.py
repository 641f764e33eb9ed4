"""The attempts to read a message, in order, as data: by which schema and from which byte (SNIP 42, docs/messages.md).

| in the header    | the caller knows | attempts                                                        |
|------------------|------------------|-----------------------------------------------------------------|
| a known version  |                  | by that version, after the header                               |
| a known version  | another version  | the same; then by the caller's, as a whole                      |
| an unknown one   |                  | by the latest, after the header; then by the latest, as a whole |
| an unknown one   | a version        | by the caller's, as a whole                                     |
| none             |                  | by the latest, as a whole                                       |
| none             | a version        | by the caller's, as a whole                                     |
| another sign     | (or a version)   | by the schema with that id; then as a message without a header  |

Without "headerless" in ``framings``, no message is read as a whole by the latest or the caller's version. The last row
is for the framings of other registries (see ``framings``), and its attempts may be in the other order.

Only the first row's message may have bytes behind its datum. In all others nothing but the bytes tells that the schema
is right, so every byte has to be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Final, NamedTuple
from uuid import UUID

from streamnative_serdes import header
from streamnative_serdes._call_path import LATEST, UNFRAMED, Bound, without_header
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError

from .framings import CONFLUENTS, VENDORS, ForeignId, SchemaName, prefix_size

# What is wrong with a message. All else (a registry that is away, a bad token) would fail for a good one too.
ITS_OWN_FAULT: Final = (DecodeError, SchemaError, SchemaNotFoundError)
UNKNOWN: Final = "which the registry does not have"
UNREADABLE: Final = "with which it cannot be read"


class Attempt(NamedTuple):
    """One way to read a message."""

    # of the schema: a version from a header, LATEST, ``without_header(version)``, or a sign of another registry
    key: int
    offset: int  # in bytes, where the datum begins
    # whether a failure means that the topic may have another schema by now, so the registry is asked again. All other
    # failures are reasons in the error of the message.
    fresh: bool = False

    @property
    def whole(self) -> bool:
        """Whether every byte has to be used."""
        return self.key < 0


class Failure(NamedTuple):
    """An attempt that has not read the message, by which version (or -1), and why not; None: by an unknown version."""

    attempt: Attempt
    version: int
    error: SerdesError | None
    reader: Bound | None = None  # of a message that is not read in a batch


def is_sign(key: int) -> bool:
    """Whether ``key`` stands for a schema of a registry beside Pulsar's."""
    return key < UNFRAMED


def by_key(key: int, *, fresh: bool = False) -> Attempt:
    """The first attempt for messages that are bound under ``key``."""
    if key >= 0:
        return Attempt(key, header.SIZE, fresh)
    return Attempt(key, prefix_size(key), fresh)


def headerless(caller: int | None) -> int:
    """The key for messages without a header; ``caller`` is the version that the caller gave."""
    return LATEST if caller is None else without_header(caller)


def attempts_of(
    key: int, caller: int | None = None, sign: int | None = None, *, known: bool, whole: bool
) -> tuple[Attempt, ...]:
    """All attempts at a message that is bound under ``key``, by which the first one is.

    ``caller`` is the version that the caller gave, and ``sign`` the sign of another framing that the message shows.
    ``known``: there is a schema under ``key``. ``whole``: messages without a header are read.
    """
    if key < 0 and sign is not None and whole:
        both = key, headerless(caller) if is_sign(key) else sign
        return tuple(by_key(each, fresh=not is_sign(each)) for each in both)
    as_a_whole = (Attempt(headerless(caller), 0),) if whole else ()
    if key >= 0 and not known:
        return by_key(key), *(() if caller is not None else (Attempt(LATEST, header.SIZE),)), *as_a_whole
    if key >= 0 and caller is not None and whole:  # the header may be Avro that looks like one
        return by_key(key), *as_a_whole
    return (by_key(key, fresh=True),)


def unreadable(topic: str, failed: Sequence[Failure]) -> DecodeError:
    """The error of a message with a version in its header that no attempt has read, with the reason of each."""
    in_header, used = failed[0].attempt.key, failed[-1].version
    if failed[0].error is None:
        first = f"the registry does not have this version, and the message cannot be read with version {used}"
    else:
        first = f"the message can be read neither with this version nor with version {used}"
    reasons = (
        f"{'after the header' if one.attempt.offset else 'as a whole'}: {one.error}" for one in failed if one.error
    )
    return DecodeError(f"{first}; {'; '.join(reasons)}", topic=topic, version=in_header)


def schema_name(which: SchemaName) -> str:
    """A schema of another registry, in errors: by its id, or its GUID of 16 bytes."""
    if isinstance(which, ForeignId):
        return str(which)
    return f"schema id {which}" if isinstance(which, int) else f"GUID {UUID(bytes=which)}"


def vendor_of(which: SchemaName) -> str:
    """Whose framing and registry a name of a schema belongs to."""
    return VENDORS[which.registry if isinstance(which, ForeignId) else CONFLUENTS]


def no_framing(topic: str, which: SchemaName, failed: Sequence[Failure], hint: str | None) -> DecodeError:
    """The error of a message with the sign of another framing that cannot be read so, nor without a header."""
    as_framed, as_bare = sorted(failed, key=lambda one: not is_sign(one.attempt.key))
    if isinstance(as_bare.error, DecodeError):
        as_bare.error.at(version=as_bare.version)
    return DecodeError(
        f"expected {vendor_of(which)} framing with {schema_name(which)}, or Avro without a header; "
        f"as the former: {_reason(as_framed)}; as the latter: {_reason(as_bare)}",
        topic=topic,
        hint=hint,
    )


def _reason(failure: Failure) -> str:
    """The error without topic and hint, which the outer error repeats."""
    inner = copy(failure.error)
    assert inner is not None
    inner.topic = inner.hint = None
    return str(inner)
