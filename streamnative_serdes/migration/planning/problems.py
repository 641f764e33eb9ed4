"""Problems of a migration, and facts to know before it, each with a name by which users accept it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError, SerdesError

Severity: TypeAlias = Literal["refused", "question", "note"]

# Every name, and how severe it is: what is refused has to be mended, a question can be answered by accepting it.
NAMES: Final[dict[str, Severity]] = {
    # of the source
    "schema-type": "refused",
    "record-types": "refused",
    "schema-rules": "refused",
    "guids": "question",
    "many-ids": "question",
    "no-subject": "note",
    "unknown-ids": "note",
    "other-subjects": "note",
    "no-framing": "note",
    "framed-keys": "note",
    "source-log-append-time": "note",
    "no-timestamps": "note",
    "no-messages": "note",
    # of the target
    "same-topic": "refused",
    "partitions": "refused",
    "uncopied-schemas": "refused",
    "target-schemas": "note",
    "strategy": "note",
    "missing-target": "note",
    "not-empty": "question",
    "log-append-time": "question",
    "timestamp-bounds": "question",
    "retention": "question",
    "compaction": "question",
    "null-keys": "question",
    "message-size": "question",
    "unknown-settings": "note",
    "settings-not-copied": "note",
    "pulsar-retention": "note",
    # of the target's broker, as the probe found it
    "no-transactions": "note",
    "altered-headers": "note",
    "altered-messages": "question",
    "scratch-topic": "note",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    Args:
        name: one of ``NAMES``; stays the same from release to release.
        text: the description, for people.
        hint: the remedy.
        accepted: whether the user has accepted the problem.
    """

    name: str
    text: str
    hint: str | None = None
    accepted: bool = False

    @property
    def severity(self) -> Severity:
        """``refused`` has to be mended; a ``question`` can be accepted; a ``note`` only has to be known."""
        return NAMES[self.name]

    @property
    def blocks(self) -> bool:
        """Whether the migration must not begin."""
        return self.severity == "refused" or (self.severity == "question" and not self.accepted)

    def tree(self) -> dict[str, Any]:
        """The problem as JSON."""
        return {**asdict(self), "severity": self.severity}


class ProblemsError(SerdesError):
    """The migration must not begin before some problems are mended or accepted.

    Args:
        problems: all problems, also the accepted ones.
        topic: the target.
    """

    def __init__(self, problems: Iterable[Problem], topic: str) -> None:
        self.problems = tuple(problems)
        blocking = [problem for problem in self.problems if problem.blocks]
        said = "; ".join(f"{problem.name}: {problem.text}" for problem in blocking)
        questions = [problem.name for problem in blocking if problem.severity == "question"]
        answer = " ".join(f"--accept {name}" for name in dict.fromkeys(questions))
        hints = dict.fromkeys(problem.hint for problem in blocking if problem.hint is not None)
        hint = "; ".join((*hints, *((f"or go on in spite of it with {answer}",) if questions else ())))
        super().__init__(said, topic=topic, hint=hint or None)

    def __reduce__(self) -> Any:
        return type(self), (self.problems, self.topic)


def judged(problems: Iterable[Problem], accept: Collection[str]) -> list[Problem]:
    """The problems, with ``accepted`` set; the most severe problems first.

    Raises:
        ConfigError: a name in ``accept`` does not belong to a problem, or the problem cannot be accepted.
    """
    for name in accept:
        if name not in NAMES:
            raise ConfigError(f"there is no problem called {name!r:.80}", hint=did_you_mean(name, NAMES) or _known())
        if NAMES[name] == "refused":
            raise ConfigError(f"{name} cannot be accepted: it has to be mended")
    order: Sequence[Severity] = ("refused", "question", "note")
    marked = [replace(problem, accepted=problem.name in accept) for problem in problems]
    return sorted(marked, key=lambda problem: order.index(problem.severity))


def require_none(problems: Collection[Problem], topic: str) -> None:
    """Raises ProblemsError if a problem blocks the migration."""
    if any(problem.blocks for problem in problems):
        raise ProblemsError(problems, topic)


def _known() -> str:
    return f"those that can be accepted are {', '.join(name for name, kind in NAMES.items() if kind == 'question')}"
