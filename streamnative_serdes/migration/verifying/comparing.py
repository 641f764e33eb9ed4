"""The comparison of one partition: message i of the source that can be copied has to be message i of the target.

If the two differ, the following messages explain the difference: if both sides agree again a few messages later, the
messages before that place were changed, lost, added or swapped, and comparing continues from there. If the sides do not
agree again within a window, comparing this partition ends, since later messages would prove nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Final

from .contents import TIME_LOST, Difference, Differences, Item, checksum, packed

WINDOW: Final = 32  # messages that may be different before both sides agree again
_AGREEING: Final = 8  # messages that have to agree after a difference
_TOGETHER: Final = 64  # messages that are added to the checksums at once
_RECENT: Final = 32  # copies that a second copy is looked for among


@dataclass(slots=True)
class Counts:
    partition: int  # its number
    source: int = 0  # messages of the source that were read
    copied: int = 0  # messages of the source whose copies in the target are as expected
    bad: int = 0  # messages of the source that cannot be copied
    tombstones: int = 0  # messages without a value, of those that are copied
    undecodable: int = 0  # copied messages whose body neither side can decode, with the same bytes on both sides
    older: int = 0  # messages at the target's beginning whose originals the source has deleted
    newer: int = 0  # messages of the target behind the last copy
    foreign: int = 0  # messages of the target between the copies, if these are allowed
    differences: int = 0  # all differences
    # the checksum of the expected copies of the source's messages
    source_sum: blake2b = field(default_factory=checksum)
    # the checksum of the target's messages that were compared with them
    target_sum: blake2b = field(default_factory=checksum)
    undecodable_at: list[int] = field(default_factory=list)  # the source's offsets of the first undecodable messages
    stopped: str | None = None  # why comparing stopped before the end; None if it did not


class Ahead:
    """Messages in order; the next ones can be looked at before they are taken."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items, self._held = items, deque[Item]()

    def take(self) -> Item | None:
        return self._held.popleft() if self._held else next(self._items, None)

    def look(self, count: int) -> list[Item]:
        self._held.extend(islice(self._items, count - len(self._held)) if len(self._held) < count else ())
        return list(islice(self._held, count))

    def put_back(self, item: Item | None) -> None:
        if item is not None:
            self._held.appendleft(item)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for differences."""

    newer: bool = True  # messages of the target behind the last copy are only counted
    foreign: bool = False  # messages of the target between copies are only counted
    older: int = 0  # how many messages at the target's beginning may be copies of what the source has deleted


class Comparison:
    """Compares one partition, and adds to its counts and the differences; call :meth:`run` once."""

    def __init__(
        self,
        source: Iterator[Item],
        target: Iterator[Item],
        counts: Counts,
        differences: Differences,
        rules: Rules = Rules(),
    ) -> None:
        self._source, self._target = Ahead(source), Ahead(target)
        self._counts, self._differences, self._rules = counts, differences, rules
        self._sums = counts.source_sum, counts.target_sum
        self._recent: deque[Item] = deque(maxlen=_RECENT)
        self._alike = False  # one part of all messages seems to be different

    def run(self, *, to_end: bool = True) -> None:
        """Compare all messages of the source; with ``to_end``, also check the target's messages behind the copies."""
        rules = self._rules
        if rules.older and not rules.foreign and not self._skip_older():
            return
        while self._run_equal():
            if not (self._find_copy() if rules.foreign else self._explain()):
                return
        if to_end:
            self._look_behind()

    def _run_equal(self) -> bool:
        """Continue while both sides agree; returns False at the end of the source."""
        take, other = self._source.take, self._target.take
        agreed: list[Item] = []
        while (left := take()) is not None:
            right = other()
            if right is None or not _same(left, right):
                self._source.put_back(left)
                self._target.put_back(right)
                break
            agreed.append(left)
            if len(agreed) == _TOGETHER:
                self._agreed(agreed)
                agreed.clear()
        self._agreed(agreed)
        return left is not None

    def _agreed(self, items: Sequence[Item]) -> None:
        """Count messages that are equal on both sides, so both checksums get the same bytes."""
        data = b"".join([packed(item.content) for item in items])
        for each in self._sums:
            each.update(data)
        self._count(items)

    def _count(self, items: Sequence[Item]) -> None:
        counts = self._counts
        counts.copied += len(items)
        self._recent.extend(items)
        for item in items:
            value = item.content.value
            if value is None:
                counts.tombstones += 1
            elif not value.decoded:
                counts.undecodable += 1
                if len(counts.undecodable_at) < self._differences.most:
                    counts.undecodable_at.append(item.offset)

    def _explain(self) -> bool:
        """Report the differences up to the place where both sides agree again; False if there is no such place."""
        left, right = self._source.look(WINDOW + _AGREEING), self._target.look(WINDOW + _AGREEING)
        if not right:
            while (item := self._source.take()) is not None:  # the target has ended
                self._miss(item)
            return True
        found = (1, 1) if self._alike and _alike(left, right) else agreeing(left, right)
        if found is None and _alike(left, right):
            found, self._alike = (1, 1), True
        if found is None:
            different = self._took(self._source, 0), self._took(self._target, 1)
            self._report(self._differences.of_pair(*different))
            self._counts.stopped = (
                f"source and target do not agree again within {WINDOW} messages from the source's offset "
                f"{left[0].offset} and the target's offset {right[0].offset}: what follows was not compared"
            )
            return False
        lost = [self._took(self._source, 0) for _ in range(found[0])]
        added = [self._took(self._target, 1) for _ in range(found[1])]
        self._compare_blocks(lost, added)
        return True

    def _compare_blocks(self, lost: Sequence[Item], added: Sequence[Item]) -> None:
        if len(lost) == len(added):
            for left, right in zip(lost, added, strict=True):
                elsewhere = next((item for item in added if _same(left, item)), None)
                if _same(left, right):
                    self._count([left])
                elif elsewhere is not None:
                    self._report(self._differences.of_order(left, elsewhere))
                else:
                    self._report(self._differences.of_pair(left, right))
            return
        left_over = list(added)
        for item in lost:
            same = next((other for other in left_over if _same(item, other)), None)
            if same is None:
                self._report(self._differences.missing(item))
            else:
                left_over.remove(same)
                self._count([item])
        for item in left_over:
            self._report(self._differences.unexpected(item, self._original(item)))

    def _original(self, item: Item) -> Item | None:
        """The message of the source, among the last ones, that this one of the target is a copy of."""
        return next((original for original in self._recent if _same(original, item)), None)

    def _took(self, side: Ahead, number: int) -> Item:
        item = side.take()
        assert item is not None  # it was looked at before
        self._sums[number].update(packed(item.content))
        return item

    def _report(self, difference: Difference) -> None:
        self._counts.differences += 1
        self._differences.add(difference)

    def _miss(self, item: Item) -> None:
        self._sums[0].update(packed(item.content))
        self._report(self._differences.missing(item))

    def _find_copy(self) -> bool:
        """Skip messages of the target up to the copy of the source's next message; False if there is no such copy."""
        left = self._source.take()
        assert left is not None
        skipped = 0
        while (right := self._target.take()) is not None:
            if _same(left, right):
                self._counts.foreign += skipped
                self._source.put_back(left)
                self._target.put_back(right)
                return True
            skipped += 1
        self._miss(left)
        self._counts.stopped = (
            f"the rest of the target has no copy of the source's offset {left.offset}: what follows was not compared"
        )
        return False

    def _skip_older(self) -> bool:
        """Skip copies of messages that the source has deleted; False if no copies of the first messages follow."""
        first = self._source.look(_AGREEING)
        if not first:
            return True
        while not _mostly_agree(first, self._target.look(_AGREEING)):
            if self._counts.older == self._rules.older or self._target.take() is None:
                self._miss(first[0])
                self._counts.stopped = (
                    f"the target has no copies of the source's first messages, from offset {first[0].offset} on"
                )
                return False
            self._counts.older += 1
        return True

    def _look_behind(self) -> None:
        """Count the messages of the target behind the last copy; a second copy of the last ones is a difference."""
        recent = {item.content.value for item in self._recent}  # most newer messages have other values
        while (item := self._target.take()) is not None:
            original = self._original(item) if item.content.value in recent else None
            if self._rules.newer and original is None:
                self._counts.newer += 1
            else:
                self._report(self._differences.unexpected(item, original))


def _same(original: Item, copy: Item) -> bool:
    """Whether the copy is the expected one, whose time may be any if it had to be lost."""
    left, right = original.content, copy.content
    lost = left.timestamp == TIME_LOST
    return left == right or (lost and left[:2] == right[:2] and left.value == right.value)


def agreeing(left: Sequence[Item], right: Sequence[Item]) -> tuple[int, int] | None:
    """The numbers of messages on either side before both sides agree again; None if they do not.

    The shortest such block is taken; among these, a block of equal length on both sides is preferred.
    """
    for most in range(1, WINDOW + 1):
        places = [(most, most)]
        for less in range(most - 1, -1, -1):
            places += [(most, less), (less, most)]
        for lost, added in places:
            # What is left of the source may be fewer messages, and the target may have newer ones behind them.
            rest = left[lost : lost + _AGREEING], right[added:]
            if lost <= len(left) and added <= len(right) and _agree(*rest):
                return lost, added
    return None


def _agree(left: Sequence[Item], right: Sequence[Item]) -> bool:
    return len(left) <= len(right) and all(map(_same, left, right))


def _mostly_agree(left: Sequence[Item], right: Sequence[Item]) -> bool:
    """Whether more than half of the messages agree, so that a changed one among them does not matter."""
    return sum(map(_same, left, right)) * 2 > len(left)


def _alike(left: Sequence[Item], right: Sequence[Item]) -> bool:
    """Whether the next messages have the same values, or the same keys and timestamps, in the same places."""
    pairs = [(one.content, other.content) for one, other in zip(left[:_AGREEING], right[:_AGREEING], strict=False)]
    return all(one.value == other.value for one, other in pairs) or all(
        (one.key, one.timestamp) == (other.key, other.timestamp) for one, other in pairs
    )
