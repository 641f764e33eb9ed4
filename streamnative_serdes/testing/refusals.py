"""Why a broker refuses a schema; the texts are its own."""

from __future__ import annotations

from typing import Final

AVRO_RUNTIME: Final = "org.apache.avro.AvroRuntimeException"


class IncompatibleError(Exception):
    """The strategy refuses the new schema: status 409."""


class InvalidDataError(Exception):
    """The schema is not what its type asks for: status 422."""


class BrokerError(Exception):
    """The broker stumbles over the request: status 500; the text is empty where Java has none.

    Args:
        text: Java's.
        kind: Java's class, in ``java.lang`` if no package is named.
    """

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind if "." in kind else f"java.lang.{kind}"
