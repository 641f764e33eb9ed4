"""The broker's reasons to refuse a schema, as exceptions; the texts are the broker's own."""

from __future__ import annotations

from typing import Final

AVRO_RUNTIME: Final = "org.apache.avro.AvroRuntimeException"


class IncompatibleError(Exception):
    """The strategy refuses the new schema: status 409."""


class InvalidDataError(Exception):
    """The schema is not valid for its type: status 422."""


class BrokerError(Exception):
    """The broker fails on the request: status 500.

    Args:
        text: the Java exception's message; empty if it is null.
        kind: the Java exception's class; ``java.lang`` is added if it has no package.
    """

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind if "." in kind else f"java.lang.{kind}"
