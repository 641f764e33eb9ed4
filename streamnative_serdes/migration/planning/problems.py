"""Problems of a migration, and facts to know before it, each with a name by which users accept it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError, SerdesError

Tree: TypeAlias = dict[str, Any]
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
_MOST_SHOWN: Final = 5  # schemas in a sentence
# Cases of the probe that matter only where messages use them.
_HEADERS: Final = ("null_headers", "empty_headers", "raw_headers", "repeated_headers")
_MESSAGES: Final = ("null_keys", "empty_keys", "empty_values", "tombstones")


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
    """The problems, with ``accepted`` set; the most severe problems first. Raises ConfigError."""
    others = f"those that can be accepted are {', '.join(name for name, kind in NAMES.items() if kind == 'question')}"
    for name in accept:
        if name not in NAMES:
            raise ConfigError(f"there is no problem called {name!r:.80}", hint=did_you_mean(name, NAMES) or others)
        if NAMES[name] == "refused":
            raise ConfigError(f"{name} cannot be accepted: it has to be mended")
    order: Sequence[Severity] = ("refused", "question", "note")
    marked = [replace(problem, accepted=problem.name in accept) for problem in problems]
    return sorted(marked, key=lambda problem: order.index(problem.severity))


def require_none(problems: Collection[Problem], topic: str) -> None:
    if any(problem.blocks for problem in problems):
        raise ProblemsError(problems, topic)


def of_source(tree: Tree, subject: str | None) -> Iterator[Problem]:
    """The problems in the source; ``subject`` is None on the way back."""
    schemas = _distinct([*tree["ids"], *(tree["listed"] or ())])
    yield from _types(schemas, tree)
    yield from _names(schemas)
    yield from _rules(schemas)
    yield from _unknown(tree)
    yield from _subjects(tree, subject)
    yield from _keys(tree)
    yield from _kinds(tree)


def _distinct(schemas: Sequence[Tree]) -> list[Tree]:
    found: dict[str, Tree] = {}
    for entry in schemas:
        found.setdefault(str(entry["id"]), entry)
    return list(found.values())


def _types(schemas: Sequence[Tree], tree: Tree) -> Iterator[Problem]:
    for kind in sorted({entry["type"] for entry in schemas} - {"AVRO"}):
        used = [entry for entry in tree["ids"] if entry["type"] == kind]
        place = f"the first message is {_first(used)}" if used else "no message that was read has them"
        yield Problem(
            "schema-type",
            f"{_shown([entry for entry in schemas if entry['type'] == kind])} of type {kind}, and only AVRO can be "
            f"migrated; {place}",
            "copy a topic whose schemas are all of type AVRO",
        )


def _names(schemas: Sequence[Tree]) -> Iterator[Problem]:
    """The problem of several types in a topic. Names that aliases connect belong to a single, renamed type."""
    groups: list[set[str]] = []
    for entry in schemas:
        if entry["name"] is not None:
            group = {entry["name"], *entry["aliases"]}
            group |= {name for other in groups if other & group for name in other}
            groups = [*(other for other in groups if not other & group), group]
    if len(groups) > 1:
        names = sorted({entry["name"] for entry in schemas if entry["name"] is not None})
        yield Problem(
            "record-types",
            f"the topic has several types, {listed(names)}, and a topic of Pulsar's has the versions of one",
            "copy them to topics of their own",
        )


def _rules(schemas: Sequence[Tree]) -> Iterator[Problem]:
    ruled = [entry for entry in schemas if entry["rules"]]
    if ruled:
        yield Problem(
            "schema-rules",
            f"{_shown(ruled)} with rules, such as for the encryption of fields, which Pulsar does not have",
            "copy a topic whose schemas have no rules",
        )


def _unknown(tree: Tree) -> Iterator[Problem]:
    unknown = tree["unknown_ids"]
    guids = [entry for entry in unknown if isinstance(entry["id"], str)] if not tree["guids"] else []
    others = [entry for entry in unknown if entry not in guids]
    if guids:
        yield Problem(
            "guids",
            f"{_messages(_sum(guids), 'name')} a schema by GUID, and the registry does not support GUIDs: to the dead "
            f"letters; the first one is {_first(guids)}",
            "give the address of the registry that the producers use",
        )
    if others:
        yield Problem(
            "unknown-ids",
            f"{_messages(_sum(others), 'name')} {_shown(others)}, which the registry does not have: to the dead "
            f"letters; the first one is {_first(others)}",
            "a first byte 00 is no proof of Confluent's framing: look at such a message",
        )
    if tree["more_ids"]["count"]:
        yield Problem(
            "many-ids",
            f"more than {len(tree['ids']) + len(unknown)} different schemas are named; "
            f"{_messages(tree['more_ids']['count'], 'name')} others, which were not looked up; the first one is "
            f"{_place(tree['more_ids'])}",
            "most of them are probably not framed: look at some of them",
        )


def _subjects(tree: Tree, subject: str | None) -> Iterator[Problem]:
    if tree["listed"] is None:
        what = f"subject {subject} does not exist" if subject is not None else "the topic has no schemas"
        hint = None if tree["whole"] else "--whole finds all of them"
        yield Problem("no-subject", f"{what}: only schemas that messages name can be copied", hint)
    others = [entry for entry in tree["ids"] if entry["subjects"] and subject not in entry["subjects"]]
    if subject is not None and others:
        names = sorted({name for entry in others for name in entry["subjects"]})
        yield Problem(
            "other-subjects", f"{_shown(others)} of subject {listed(names)}, not of {subject}; they are copied too"
        )


def _keys(tree: Tree) -> Iterator[Problem]:
    keys = tree["key_ids"]
    if keys:
        yield Problem(
            "framed-keys",
            f"{_messages(_sum(keys), 'have')} a key that names {_shown(keys)}, the first one {_first(keys)}. With "
            "--keys keep, the default, readers of keys still need the old registry. With --keys strip, keys are bare "
            "Avro and copies stay in their partition, but new producers choose another partition for the same key; "
            "see docs/migration.md#keys",
        )


def _kinds(tree: Tree) -> Iterator[Problem]:
    counts = tree["counts"]
    if not tree["messages"]:
        yield Problem("no-messages", "the source has no messages, so nothing is known about them")
    if "no_framing" in counts:
        ours = counts.get("target_framing")
        more = f"; {_messages(ours['count'], 'have')} the target's framing already" if ours else ""
        yield Problem(
            "no-framing",
            f"{_messages(counts['no_framing']['count'], 'lack')} the source's framing: to the dead letters; the first "
            f"one is {_place(counts['no_framing'])}{more}",
        )
    if "no_timestamp" in counts:
        yield Problem(
            "no-timestamps",
            f"{_messages(counts['no_timestamp']['count'], 'have')} no time: to the dead letters, or copied with the "
            f"time of copying (--allow-time-loss); the first one is {_place(counts['no_timestamp'])}",
        )
    if "log_append_time" in counts:
        yield Problem(
            "source-log-append-time",
            "the source's broker has set the timestamps (LogAppendTime); copies keep them, as if producers had",
        )


def of_probe(tree: Tree, left: str | None) -> Iterator[Problem]:
    """Problems that the target's broker causes for the messages; ``left`` is a scratch topic that is still there."""
    probed = tree["probe"]
    if left is not None:
        yield Problem("scratch-topic", left, "delete the topic by hand")
    if probed is None:
        return
    if not probed["transactions"]:
        yield Problem(
            "no-transactions",
            f"messages are copied without transactions ({probed['reasons']['transactions']}): each copy gets "
            "a header with its place in the source",
        )
    yield from _altered(tree["counts"], probed)


def _altered(counts: Tree, probed: Tree) -> Iterator[Problem]:
    for case in _HEADERS:
        if not probed[case] and case in counts:
            yield Problem(
                "altered-headers",
                f"{_messages(counts[case]['count'], 'have')} {_words(case)}, which the target's broker does not keep "
                f"({probed['reasons'][case]}): to the dead letters, or copied without them (--allow-header-loss); the "
                f"first one is {_place(counts[case])}",
            )
    for case in ("values", "timestamps", *_MESSAGES):
        if not probed[case] and (case in counts or case not in _MESSAGES):
            yield Problem(
                "altered-messages",
                f"the target's broker does not keep {_words(case)} ({probed['reasons'][case]})",
                "choose another broker, or other settings of this one",
            )


def _words(case: str) -> str:
    return "headers that are not UTF-8" if case == "raw_headers" else case.replace("_", " ")


def _place(entry: Tree) -> str:
    partition, offset = entry["first"]
    return f"at partition {partition}, offset {offset}"


def _first(entries: Sequence[Tree]) -> str:
    return _place(min(entries, key=lambda entry: list(entry["first"])))


def _messages(count: int, verb: str) -> str:
    """``1 message has`` or ``2 messages have``."""
    if count == 1:
        return f"1 message {'has' if verb == 'have' else f'{verb}s'}"
    return f"{count} messages {verb}"


def _sum(entries: Sequence[Tree]) -> int:
    return sum(int(entry["count"]) for entry in entries)


def _shown(entries: Sequence[Tree]) -> str:
    names: list[Any] = [entry["id"] for entry in entries]
    return f"schema{'s' if len(names) > 1 else ''} {listed([str(name) for name in names])}"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more
