"""Every error of the package: what failed, where it failed, and what to do about it.

The tree::

    SerdesError                        also a confluent_kafka SerializationError and a ValueError
    ├── ConfigError                    an option is missing, unknown or of the wrong kind
    ├── SchemaError                    a schema is invalid, or cannot be used here
    │   └── NestedTooDeeplyError       hit Python's recursion limit; may succeed from a shallower call stack
    ├── EncodeError                    a datum does not fit its schema
    ├── DecodeError                    bytes do not fit their schema
    ├── BatchTooLargeError             a batch exceeds the limits of Arrow columns; smaller parts of it fit
    ├── FileError                      a backup or another file of ours is damaged, or cannot be used here
    └── SchemaRegistryError            the registry refused, or could not be reached
        ├── SchemaNotFoundError        404: no such version, or no schema on the topic
        ├── IncompatibleSchemaError    409: the topic's compatibility strategy refuses a new schema
        ├── InvalidSchemaError         422: the registry does not accept this schema text or type
        ├── MissingEndpointError       404: the registry does not have this endpoint of its API
        ├── AuthenticationError        401: missing or bad credentials; or refused by the OAuth issuer
        ├── AuthorizationError         401 or 403 with a reason: the role lacks the right
        └── RegistryUnavailableError   no usable answer within the time allowed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ._paths import joined
from .serialization import SerializationError

_E = TypeVar("_E", bound="SerdesError")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as received, to be stored, routed or read by other means.

    Args:
        data: the message's value.
        topic: the Kafka topic.
        partition: None if only the bytes are known; then ``offset``, ``key`` and ``headers`` are None too.
        offset: in the partition.
        key: as the client returned it; None also if the message has no key.
        headers: as the client returned them; None also if the message has none.
    """

    data: Any
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    key: Any = None
    headers: Any = None


class SchemaWarning(UserWarning):
    """A schema has a word that Avro ignores, but that probably should have an effect: a misspelt logical type."""


class SerdesError(SerializationError, ValueError):
    """Base of all errors of this package.

    Args:
        message: the expected and the actual value, in one line.
        topic: the Kafka topic, where known.
        version: the schema version, where known.
        path: dotted path of the field inside the datum, such as ``user.tags["a"][3]``; empty for the whole datum.
        offset: position in the message, in bytes from its first byte; ``str()`` calls it "byte", and Kafka's "offset".
        hint: the remedy, for the user.

    Clients report only ``str(error)``, so its first line contains all of this. ``help`` is the section of the
    documentation on this kind of error, or None; it is a note on the error, so tracebacks end with it. Errors of
    :meth:`KafkaAvroDeserializer.deserialize_many` have the message that could not be read in ``raw``; errors of a batch
    of Arrow columns have the row number in ``row``.
    """

    raw: RawMessage | None = None
    row: int | None = None  # in an Arrow batch
    help: ClassVar[str | None] = None

    def __init__(
        self,
        message: str,
        *,
        topic: str | None = None,
        version: int | None = None,
        path: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.topic = topic
        self.version = version
        self.path = path
        self.offset = offset
        self.hint = hint
        if self.help:
            self.add_note(f"see {self.help}")

    def at(self: _E, *, topic: str | None = None, version: int | None = None) -> _E:
        """Add where the error happened; keep what is already known. A version below 0 is not shown."""
        if self.topic is None:
            self.topic = topic
        if self.version is None and (version is None or version >= 0):
            self.version = version
        return self

    def inside(self: _E, step: str) -> _E:
        """Put a step in front of ``path``: the name of the field around it, ``[3]`` of an item, ``["a"]`` of a key."""
        self.path = joined(step, self.path) or None
        return self

    def __str__(self) -> str:
        where = [
            f"{name} {value}"
            for name, value in (
                ("topic", self.topic),
                ("row", self.row),
                ("partition", self.raw and self.raw.partition),
                ("offset", self.raw and self.raw.offset),
                ("schema version", self.version),
                ("field", self.path),
                ("byte", self.offset),
            )
            if value is not None and value != ""
        ]
        text = f"{', '.join(where)}: {self.message}" if where else self.message
        return f"{text} (hint: {self.hint})" if self.hint else text

    def __reduce__(self) -> tuple[Callable[..., SerdesError], tuple[Any, ...]]:
        return _rebuild, (type(self), self.message, vars(self).copy())


def _rebuild(cls: type[SerdesError], message: str, fields: dict[str, Any]) -> SerdesError:
    error = cls.__new__(cls, message)  # subclasses may have other arguments
    vars(error).update(fields)
    if "__notes__" in fields:
        vars(error)["__notes__"] = list(fields["__notes__"])  # a copy's own, to which a user may add
    return error


class ConfigError(SerdesError):
    """An option is missing, unknown or of the wrong kind."""

    help = "docs/troubleshooting.md#an-option-is-unknown"


class SchemaError(SerdesError):
    """A schema is not a valid Avro schema, or cannot be used for what was asked."""

    help = "docs/troubleshooting.md#a-schema-cannot-be-used"


class NestedTooDeeplyError(SchemaError):
    """Schemas are nested too deeply for the remaining depth of Python's recursion limit."""

    def __init__(self, message: str = "the schema is nested too deeply", **where: Any) -> None:
        super().__init__(message, **{"hint": "Python's recursion limit was reached", **where})


class EncodeError(SerdesError):
    """A datum does not fit its schema; ``path`` names the field."""

    help = "docs/troubleshooting.md#a-value-does-not-fit-its-field"


class DecodeError(SerdesError):
    """Bytes do not fit their schema; ``path`` names the field, ``offset`` the byte."""

    help = "docs/troubleshooting.md#a-message-cannot-be-read"


class BatchTooLargeError(SerdesError):
    """Each message is fine by itself, but together they exceed the limits of a batch of Arrow columns.

    ``row`` is the first row that did not fit; the rows before it fit in a batch of their own. It is never 0.
    :func:`streamnative_serdes.arrow.in_parts` splits a batch there.
    """

    help = "docs/troubleshooting.md#a-batch-is-too-large"


class FileError(SerdesError):
    """A backup or another file of ours is damaged, is of another kind or source, or cannot be read or written."""

    help = "docs/troubleshooting.md#a-backup-cannot-be-used"


class SchemaRegistryError(SerdesError):
    """The registry refused a request, or could not be reached.

    Args:
        message: the request and the response. Mocks may give Confluent's three arguments instead: HTTP status, error
            code and message.
        status: HTTP status code; None when there was no answer.
        reason: the broker's own text, unescaped.
        url: the address asked, without credentials.
        retriable: whether the same request may succeed later.
        code: Confluent's error code, as a registry with Confluent's API sent it; None if there was none.
        **where: as for :class:`SerdesError`.
    """

    def __init__(
        self,
        message: str | int,
        code: int | None = None,
        error_message: str | None = None,
        *,
        status: int | None = None,
        reason: str | None = None,
        url: str | None = None,
        retriable: bool = False,
        **where: Any,
    ) -> None:
        if isinstance(message, int):
            status, message = message, error_message or ""
        super().__init__(message, **where)
        self.status = status
        self.reason = reason
        self.url = url
        self.retriable = retriable
        self.code = code

    # The same, under the names of Confluent's error

    @property
    def http_status_code(self) -> int:
        """``status``, or -1 when there was no answer."""
        return -1 if self.status is None else self.status

    @property
    def error_code(self) -> int:
        """Confluent's error code: 40401 no schemas, 40402 no such version, 42201 invalid schema; else the status."""
        if self.code:
            return self.code
        if self.http_status_code == 404:
            return 40401 if self.version is None else 40402
        return 42201 if self.status == 422 else self.http_status_code

    @property
    def error_message(self) -> str:
        return str(self)


class SchemaNotFoundError(SchemaRegistryError):
    """404: the version, the topic's schema or the namespace does not exist."""

    help = "docs/troubleshooting.md#schema-not-found-http-404"

    @property
    def http_status_code(self) -> int:
        return 404


class IncompatibleSchemaError(SchemaRegistryError):
    """409: the topic's compatibility strategy refuses this new schema."""

    help = "docs/troubleshooting.md#a-new-schema-is-refused-http-409"


class InvalidSchemaError(SchemaRegistryError):
    """422: the registry does not accept this schema text or type."""

    help = "docs/troubleshooting.md#a-schema-is-not-accepted-http-422"


class MissingEndpointError(SchemaRegistryError):
    """404, but not for a missing schema: the registry does not have this endpoint, or the address is wrong."""

    help = "docs/troubleshooting.md#the-registry-lacks-an-endpoint-http-404"

    @property
    def error_code(self) -> int:
        return self.code or self.http_status_code  # Apicurio's code is 0


class AuthenticationError(SchemaRegistryError):
    """Credentials are missing, or refused by the registry (Pulsar: 401 without a reason) or the OAuth issuer."""

    help = "docs/troubleshooting.md#not-signed-in-or-no-right-http-401-403"


class AuthorizationError(SchemaRegistryError):
    """401 or 403 with a reason: the credentials are good, the role lacks the right."""

    help = "docs/troubleshooting.md#not-signed-in-or-no-right-http-401-403"


class RegistryUnavailableError(SchemaRegistryError):
    """No usable answer within the total time allowed."""

    help = "docs/troubleshooting.md#the-registry-cannot-be-reached"
