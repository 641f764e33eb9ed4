"""Commit messages: what each task of a write tells the driver, which logs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql.datasource import WriterCommitMessage

from streamnative_serdes._log import logger


@dataclass
class Sent(WriterCommitMessage):
    """What one task has written.

    Args:
        partition: of the task.
        messages: how many.
        ends: the offset of the last one by topic and partition; empty if another attempt had written them.
        again: another attempt had committed them before; only with transactions.
    """

    partition: int
    messages: int = 0
    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    again: bool = False


def report(sent: Sequence[WriterCommitMessage | None], batch: int | None) -> None:
    """Log what a write has written."""
    tasks = [each for each in sent if isinstance(each, Sent)]
    ends: dict[tuple[str, int], int] = defaultdict(int)
    for task in tasks:
        for place, offset in task.ends.items():
            ends[place] = max(ends[place], offset)
    places = ", ".join(f"{topic}[{partition}] up to {offset}" for (topic, partition), offset in sorted(ends.items()))
    again = sum(task.again for task in tasks)
    logger.info(
        "%s: %d messages of %d tasks%s%s",
        _name(batch),
        sum(task.messages for task in tasks),
        len(tasks),
        f" ({again} had committed before)" if again else "",
        f": {places}" if places else "",
    )


def report_failure(sent: Sequence[WriterCommitMessage | None], batch: int | None) -> None:
    """Log what a write that failed leaves behind: nothing can take it back."""
    done = [each for each in sent if isinstance(each, Sent) and each.messages]
    logger.warning(
        "%s failed; the messages of its other tasks stay in the topic: %d messages of %d tasks (partitions %s)",
        _name(batch),
        sum(each.messages for each in done),
        len(done),
        ", ".join(str(each.partition) for each in done)[:500] or "none",
    )


def _name(batch: int | None) -> str:
    return "a batch write" if batch is None else f"batch {batch} of a stream"
