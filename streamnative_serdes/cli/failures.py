"""Failures: each becomes one message with its hint, and an exit code that programs can rely on.

| code | meaning |
|---|---|
| 0 | done |
| 1 | a check failed: incompatible, different, undecodable, a damaged file, a refused confirmation |
| 2 | usage: unknown or contradicting options, a bad configuration |
| 3 | a server refused, or could not be reached |
| 130 | interrupted by Ctrl-C |
"""

from __future__ import annotations

import sys
import traceback
from typing import Any, Final, NoReturn

import click
from confluent_kafka import KafkaException

from streamnative_serdes._kafka import BrokerRefusedError, BrokerUnavailableError
from streamnative_serdes.errors import ConfigError, SchemaRegistryError, SerdesError

from .output import json_text, say, visible

CHECK_FAILED: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
INTERRUPTED: Final = 130


class FailureError(Exception):
    """What a command reports on stderr: text and hint for people, or JSON with the parts of the error."""

    def __init__(self, message: str, code: int = CHECK_FAILED, **parts: Any) -> None:
        super().__init__(message)
        self.code = code
        self.parts = {"message": message, **{name: part for name, part in parts.items() if part is not None}}

    def more(self) -> dict[str, Any]:
        """The parts besides the message."""
        return {name: part for name, part in self.parts.items() if name != "message"}

    def show(self, *, as_json: bool) -> None:
        """Print it."""
        if as_json:
            click.echo(json_text({"error": self.parts, "exit_code": self.code}), err=True)
            return
        say(visible(f"Error: {self}"), err=True)
        if "hint" in self.parts:
            say(visible(f"Hint: {self.parts['hint']}"), err=True)


class Command(click.Command):
    """A command that reports errors of ours and of Kafka's client as failures; ``--debug`` adds the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FailureError as failure:
            _fail(ctx, failure, failure)
        except (SerdesError, KafkaException) as error:
            _fail(ctx, error, failure_of(error))
        except RecursionError as error:
            _fail(ctx, error, FailureError("the data is nested too deeply"))
        except KeyboardInterrupt as error:
            _fail(ctx, error, FailureError("interrupted", INTERRUPTED))


def _fail(ctx: click.Context, error: BaseException, failure: FailureError) -> NoReturn:
    if ctx.meta.get("debug"):
        traceback.print_exception(error, file=sys.stderr)
    failure.show(as_json=bool(ctx.meta.get("json")))
    ctx.exit(failure.code)


def failure_of(error: SerdesError | KafkaException) -> FailureError:
    """The failure for an error; one of the registry, or of Kafka's client, is a server's refusal."""
    if not isinstance(error, SerdesError):
        fault = error.args[0] if error.args else error
        text = fault.str() if hasattr(fault, "str") else str(fault)
        return FailureError(f"Kafka: {text}", REFUSED, kind=type(error).__name__)
    hint, error.hint = error.hint, None
    try:
        message = str(error)
    finally:
        error.hint = hint
    code = CHECK_FAILED
    if isinstance(error, ConfigError):
        code = USAGE
    elif isinstance(error, SchemaRegistryError | BrokerUnavailableError | BrokerRefusedError):
        code = REFUSED
    more = {name: getattr(error, name, None) for name in ("topic", "version", "path", "status", "url")}
    return FailureError(message, code, kind=type(error).__name__, hint=hint, **more)
