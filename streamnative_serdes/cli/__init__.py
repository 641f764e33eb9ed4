"""The command line ``streamnative-serdes``: schemas and messages, for the person on call and for scripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

try:
    import click
    import rich  # noqa: F401 - most commands need it, and all should fail alike
except ModuleNotFoundError as missing:
    sys.stderr.write(f"{missing.name} is not installed: pip install {missing.name}\n")
    raise SystemExit(2) from None

__all__ = ["main"]

_COMMANDS: Final = {
    "convert": "convert",
    "decode": "messages",
    "migrate": "migrate",
    "ping": "servers",
    "produce": "messages",
    "registry": "registry",
    "schemas": "schemas",
    "tail": "messages",
    "topics": "schemas",
}


class CommandGroup(click.Group):
    """Commands that are imported when they are called, so that one does not wait for what another needs.

    ``modules`` has the module of each command below ``package``, in the order of ``--help``.
    """

    def __init__(self, *, modules: Mapping[str, str], package: str, **others: Any) -> None:
        super().__init__(**others)
        self._modules, self._package = modules, package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._modules:
            return None
        try:
            found = getattr(import_module(f"{self._package}.{self._modules[cmd_name]}"), cmd_name)
        except ModuleNotFoundError as error:
            if error.name not in ("confluent-kafka", "confluent_kafka"):
                raise
            from .output import unavailable

            return unavailable(cmd_name, "Kafka's client is not installed: pip install confluent-kafka")
        assert isinstance(found, click.Command)
        return found


class _Main(CommandGroup):
    def make_context(self, info_name: str | None, args: list[str], *others: Any, **extra: Any) -> click.Context:
        from .output import output_required, usage_reported

        as_json = "--json" in args
        # --help writes, too; click itself would end with the code of a failed check
        with output_required(), usage_reported(as_json=as_json):
            context = super().make_context(info_name, args, *others, **extra)
        context.meta["json"] = as_json
        return context

    def invoke(self, ctx: click.Context) -> Any:
        from .output import output_required, usage_reported

        with output_required(ctx), usage_reported(as_json=ctx.meta["json"]):
            return super().invoke(ctx)


@click.command(
    cls=_Main,
    modules=_COMMANDS,
    package=__name__,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="streamnative-serdes")
def main() -> None:
    """Avro SerDes for Kafka clients that talk to Apache Pulsar (SNIP 42): schemas and messages of topics.

    Exit codes: 0 done, 1 a check failed, 2 usage, 3 a server refused, 4 the output cannot be written. docs/cli.md has
    examples.
    """
