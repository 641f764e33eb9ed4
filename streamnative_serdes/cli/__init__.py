"""The command line ``streamnative-serdes``: schemas and messages, for the person on call and for scripts."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

try:
    import click
    import rich  # noqa: F401 - most commands need it, and all should fail alike
except ModuleNotFoundError as missing:
    sys.stderr.write(f"{missing.name} is not installed: pip install {missing.name}\n")
    raise SystemExit(2) from None

__all__ = ["main"]

# Where each command is. It is imported when it is called, so that one command does not wait for what another needs.
_COMMANDS: Final = {
    "convert": "convert:convert",
    "decode": "messages:decode",
    "migrate": "migrate:migrate",
    "ping": "ping:ping",
    "produce": "messages:produce",
    "registry": "local:registry",
    "schemas": "schemas:schemas",
}


class _Commands(click.Group):
    """The commands, each imported at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(f"{__name__}.{module}"), name)
        assert isinstance(found, click.Command)
        return found

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        from .failures import output_required

        with output_required():  # --help writes, too; click itself would end with the code of a failed check
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        from .failures import output_required

        with output_required(ctx):
            return super().invoke(ctx)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="streamnative-serdes")
def main() -> None:
    """Avro SerDes for Kafka clients that talk to Apache Pulsar (SNIP 42): schemas and messages of topics.

    Exit codes: 0 done, 1 a check failed, 2 usage, 3 a server refused, 4 the output cannot be written. docs/cli.md has
    examples.
    """
