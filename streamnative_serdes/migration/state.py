"""The state file of a migration: findings, the mapping of schemas, and strategies that have to be put back.

The file is written by ``migrate plan`` and ``migrate schemas``, and read by all other steps. The progress of copying is
not in the file, but in a topic beside the target, where it is part of the same transaction as the messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from streamnative_serdes import _files as files
from streamnative_serdes._rewriting import Name, Rewriter
from streamnative_serdes._schema import Limits, parse
from streamnative_serdes.errors import FileError

from .route import Route

KIND: Final = "migration state"
_LIMITS: Final = Limits(size=1 << 30, names=1_000_000, depth=1_000)  # the registries have taken the schema


@dataclass(frozen=True, slots=True)
class Widened:
    """A compatibility strategy of Pulsar's that was changed, and its old value.

    Args:
        scope: of a ``topic`` or of a whole ``namespace``.
        place: the full name of the topic or namespace.
        old: the strategy before; None if unset.
        in_force: the strategy that applied to the migration's topic before, from any place.
    """

    scope: Literal["topic", "namespace"]
    place: str
    old: str | None
    in_force: str | None = None


@dataclass(slots=True)
class State:
    """The state of one migration; :meth:`save` writes it.

    Args:
        path: the file.
        route: the migration.
        mapping: name of a schema in the source's messages -> number of the schema in the target.
        bytes_roots: names of schemas whose root is ``bytes``: their data have no length in Confluent's framing.
        widened: strategies that have to be put back.
        findings: of ``migrate plan``, as JSON; None before.
        backups: files with the schemas that the target had before.
    """

    path: Path
    route: Route
    mapping: dict[Name, int] = field(default_factory=dict)
    widened: list[Widened] = field(default_factory=list)
    findings: dict[str, Any] | None = None
    backups: list[str] = field(default_factory=list)
    bytes_roots: set[Name] = field(default_factory=set)

    @classmethod
    def load(cls, path: Path, route: Route) -> State:
        """Read the file; if it does not exist, begin an empty state.

        Raises:
            FileError: the file cannot be read, is damaged, or is of another migration.
        """
        if not path.exists():
            return cls(path, route)
        document = files.load(path, KIND)
        if document.source != route.identity:
            raise FileError(
                f"{path} is of another migration: {document.source}",
                hint=f"this one is {route.identity}. To go on with that one, give its topics, registries and direction "
                "again; for this one, name another file with --state",
            )
        body = document.body
        try:
            mapping = {_name(name): int(number) for name, number in body["mapping"].items()}
            widened = [Widened(**entry) for entry in body["widened"]]
            bytes_roots = {_name(name) for name in body["bytes_roots"]}
            return cls(path, route, mapping, widened, body["findings"], list(body["backups"]), bytes_roots)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"{path} is not the state of a migration: {error}") from error

    def map(self, names: Iterable[Name], number: int, text: str) -> None:
        """Note that the schema with these names in messages, and this text, has this number in the target."""
        for name in names:
            self.mapping[name] = number
            of_confluent = self.route.framings is None
            if of_confluent and parse(text, strict=False, limits=_LIMITS).in_confluents_framing().unsized:
                self.bytes_roots.add(name)

    def save(self) -> None:
        """Write the file, mode 0600, beside its name and renamed.

        Raises:
            FileError: the file cannot be written; the old file is unchanged.
        """
        body = {
            "mapping": {str(name): number for name, number in self.mapping.items()},
            "widened": [asdict(entry) for entry in self.widened],
            "findings": self.findings,
            "backups": self.backups,
            "bytes_roots": sorted(str(name) for name in self.bytes_roots),
        }
        files.save(self.path, files.Document(KIND, self.route.identity, body))

    def renewed(self, name: Name) -> Rewriter | None:
        """The rewriter by the file as it is now, if `migrate schemas` has added this schema since; otherwise None.

        Raises:
            FileError: the file cannot be read, or is damaged.
        """
        found = State.load(self.path, self.route)
        if name not in found.mapping:
            return None
        self.mapping, self.bytes_roots = found.mapping, found.bytes_roots
        return self.rewriter()

    def save_findings(self) -> None:
        """Write the findings, and leave the rest of the file: another step may have written it since it was loaded.

        Raises:
            FileError: as for :meth:`load` and :meth:`save`.
        """
        now = State.load(self.path, self.route) if self.path.exists() else self
        now.findings = self.findings
        now.save()

    def rewriter(self) -> Rewriter:
        """The rewriter of this migration's values.

        Raises:
            FileError: ``migrate schemas`` has not run.
        """
        if not self.mapping:
            raise FileError(f"{self.path} has no schemas", hint="run `migrate schemas` first")
        return self.route.rewriter(self.mapping, self.bytes_roots)


def default_path(route: Route) -> Path:
    names = (route.source, route.target)
    safe = ("".join(char if char.isalnum() or char in "-_." else "_" for char in name)[:80] for name in names)
    return Path("-to-".join(safe) + ".migration.json")


def _name(text: str) -> Name:
    return int(text) if text.lstrip("-").isdigit() else text
