"""Failures: each becomes one message with its hint, and an exit code that programs can rely on.

| code | meaning |
|---|---|
| 0 | done |
| 1 | a check failed: incompatible, different, undecodable, a damaged file, a refused confirmation |
| 2 | usage: unknown or contradicting options, a bad configuration |
| 3 | a server refused, or could not be reached |
| 4 | the output could not be written: a full disk, a closed pipe |
| 130 | interrupted by Ctrl-C |
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn

import click
from confluent_kafka import KafkaException

from streamnative_serdes._kafka import BrokerRefusedError, BrokerUnavailableError
from streamnative_serdes._log import logger
from streamnative_serdes.errors import ConfigError, SchemaRegistryError, SerdesError

from .output import json_text, say, visible

CHECK_FAILED: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
UNWRITTEN: Final = 4
INTERRUPTED: Final = 130
# Errors of writing to what is open already. Whatever is opened by its name has typed errors of its own.
_UNWRITTEN: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class FailureError(Exception):
    """A failure that a command reports on stderr: text and hint for people, or JSON with the parts of the error.

    ``hint_first``, set by the code that raises the failure: people see the hint before the text.
    """

    def __init__(self, message: str, code: int = CHECK_FAILED, **parts: Any) -> None:
        super().__init__(message)
        self.code, self.hint_first = code, False
        self.parts = {"message": message, **{name: part for name, part in parts.items() if part is not None}}

    def told(self, before: str = "", after: str = "", **parts: Any) -> FailureError:
        """The same failure with more text, and other parts."""
        rest = {name: part for name, part in {**self.parts, **parts}.items() if name != "message"}
        return FailureError(f"{before}{self}{after}", self.code, **rest)

    def show(self, *, as_json: bool) -> None:
        with suppress(OSError):  # there is no place left to tell it; the exit code does
            if as_json:
                click.echo(json_text({"error": self.parts, "exit_code": self.code}), err=True)
                return
            lines = [f"Error: {self}", *([f"Hint: {self.parts['hint']}"] if "hint" in self.parts else [])]
            for line in reversed(lines) if self.hint_first else lines:
                say(visible(line), err=True)


@contextmanager
def output_required(ctx: click.Context | None = None) -> Iterator[None]:
    """If standard output is closed or cannot take the block's output, end with a line and exit code ``UNWRITTEN``."""
    try:
        if sys.stdout is None:  # Python's word for a closed one
            raise OSError(errno.EBADF, "standard output is closed")
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITTEN:
            raise
        with suppress(OSError, ValueError, AttributeError):  # what is left would be written at the end of the process
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        failure = FailureError(f"cannot write the output: {error.strerror}", UNWRITTEN)
        failure.show(as_json=bool(ctx and ctx.meta.get("json")))
        raise click.exceptions.Exit(UNWRITTEN) from None


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage(), err=True)


@contextmanager
def _logged(*, as_json: bool) -> Iterator[None]:
    """Print each of Python's warnings as a line; with ``--json``, print warnings and log records as JSON."""
    handler = _Lines(logging.WARNING)
    if as_json:
        logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(
                str(message) if as_json else f"Warning: {message}", err=True
            )
            yield
    finally:
        logger.removeHandler(handler)


class Command(click.Command):
    """A command that reports errors of ours and of Kafka's client as failures; ``--debug`` adds the traceback."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        as_json = "--json" in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if as_json:
                _refuse(error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _logged(as_json=bool(ctx.params.get("json"))):
                return super().invoke(ctx)
        except click.UsageError as error:
            if ctx.meta.get("json"):
                _refuse(error)
            raise
        except (FailureError, SerdesError, KafkaException, RecursionError, KeyboardInterrupt) as error:
            _fail(ctx, error)


def _refuse(error: click.UsageError) -> NoReturn:
    FailureError(error.format_message(), USAGE, kind=type(error).__name__).show(as_json=True)
    raise click.exceptions.Exit(USAGE)


def _fail(ctx: click.Context, error: BaseException) -> NoReturn:
    if ctx.meta.get("debug"):
        traceback.print_exception(error, file=sys.stderr)
    failure = failure_of(error)
    failure.show(as_json=bool(ctx.meta.get("json")))
    ctx.exit(failure.code)


def failure_of(error: BaseException) -> FailureError:
    """The failure for an error; one of the registry, or of Kafka's client, is a server's refusal."""
    if isinstance(error, FailureError):
        return error
    if isinstance(error, RecursionError):
        return FailureError("the data is nested too deeply")
    if isinstance(error, KeyboardInterrupt):
        return FailureError("interrupted", INTERRUPTED)
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
