"""Locates a fault in a source text, and applies it."""

from __future__ import annotations

from faults import Fault, ListError


def place_of(fault: Fault, text: str) -> tuple[int, int]:
    """Return start and end of ``fault.old`` in ``text``. Raises ListError if it is missing or ambiguous."""
    begin = 0
    if fault.where:
        begin = text.find(fault.where)
        if begin < 0:
            raise ListError(f"{fault.id}: {fault.file} has no {fault.where!r}")
        begin += len(fault.where)
    found = _in_lines(fault, text, begin) if fault.line else _anywhere(fault, text, begin)
    what = fault.line or fault.old
    if len(found) < max(fault.nth, 1):
        raise ListError(f"{fault.id}: {fault.file} has {len(found)} of {what!r} behind {fault.where!r}")
    if len(found) > 1 and not fault.nth and not fault.where:
        raise ListError(f"{fault.id}: {fault.file} has {len(found)} of {what!r}: say which with `nth` or `where`")
    start = found[max(fault.nth, 1) - 1]
    return start, start + len(fault.old)


def _anywhere(fault: Fault, text: str, begin: int) -> list[int]:
    found, at = [], text.find(fault.old, begin)
    while at >= 0:
        found.append(at)
        at = text.find(fault.old, at + 1)
    return found


def _in_lines(fault: Fault, text: str, begin: int) -> list[int]:
    """Return the offset of ``old`` in each line that equals ``fault.line``."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        if at + len(line) > begin and line.strip() == fault.line:
            start = text.find(fault.old, at)
            if not at <= start < at + len(line):
                raise ListError(f"{fault.id}: {fault.line!r} does not hold {fault.old!r}")
            found.append(start)
        at += len(line)
    return found


def changed(fault: Fault, text: str) -> str:
    """Return ``text`` with the fault applied. Raises ListError."""
    start, end = place_of(fault, text)
    return text[:start] + fault.new + text[end:]
