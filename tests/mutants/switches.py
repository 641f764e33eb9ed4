"""Switchable faults: one compiled module contains many faults, and an environment variable selects one.

An expression ``A`` becomes ``(B if sns_fault == 7 else A)``, or the same with `and` and `or`. If ``old`` consists of
whole lines, both are statements, and become the branches of an ``if``. In C, the same is done with ``?:`` and braces.
One build contains the faults of all modules; each costs a comparison of a C int.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from faults import Fault, ListError
from places import place_of

VARIABLE = "SERDES_FAULT"

# Included at the start of each C file. Every module has its own variable, which is set when the module is loaded.
FAULT_H = f"""
#include <stdlib.h>
static int sns_fault = 0;
__attribute__((constructor)) static void sns_choose_fault(void) {{
    const char *number = getenv("{VARIABLE}");
    sns_fault = number ? atoi(number) : 0;
}}
"""

# Text that is not a whole expression: it would not compile in parentheses.
_CUT = re.compile(r"(?:if|elif|while|or|and)\b|[\w.\[\]]+ = |.*\b(?:or|and|not|if|else)$", re.DOTALL)

DECLARED = "cdef extern from *:\n    int sns_fault\n\n"


@dataclass
class Span:
    start: int
    end: int
    number: int
    fault: Fault
    inner: list[Span] = field(default_factory=list)


def with_switches(text: str, numbered: dict[int, Fault], is_c: bool) -> str:
    """Return ``text`` with all these faults of one file, each switched by its number. Raises ListError."""
    spans = [Span(*place_of(fault, text), number, fault) for number, fault in numbered.items()]
    return _render(text, 0, len(text), _nested(spans), is_c)


def declared(text: str) -> str:
    """Return the text of a .pyx or .pxd file (not an included one) with the declaration of the switch."""
    docstring = re.match(r'(?:\s*(?:#[^\n]*)?\n)*(?:"""(?:.|\n)*?"""\n)?', text)
    end = docstring.end() if docstring else 0
    return f"{text[:end]}\n{DECLARED}{text[end:]}"


def _nested(spans: list[Span]) -> list[Span]:
    """Return the outermost spans, each with the spans inside it; of two equal spans, one counts as inside the other."""
    outermost: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end, s.number)):
        place = outermost
        while place and span.start < place[-1].end:
            if span.end > place[-1].end:
                raise ListError(f"{span.fault.id} and {place[-1].fault.id} overlap in {span.fault.file}")
            place = place[-1].inner
        place.append(span)
    return outermost


def _render(text: str, start: int, end: int, spans: list[Span], is_c: bool) -> str:
    parts = []
    for span in spans:
        parts.append(text[start : span.start])
        old = _render(text, span.start, span.end, span.inner, is_c)
        form = _in_c if is_c else _in_cython
        parts.append(form(text, span, old))
        start = span.end
    return "".join([*parts, text[start:end]])


def _in_c(_text: str, span: Span, old: str) -> str:
    new = span.fault.new
    if old.endswith((";", "}")):
        return f"{{ if (sns_fault == {span.number}) {{ {new} }} else {{ {old} }} }}"
    return f"(sns_fault == {span.number} ? ({new}) : ({old}))"


def _in_cython(text: str, span: Span, old: str) -> str:
    if not _is_statement(text, span):
        for part in (span.fault.old.strip(), span.fault.new.strip()):
            if _CUT.match(part):
                raise ListError(f"{span.fault.id}: {part!r} is not a whole expression")
        if _is_truth(span.fault.old) or span.fault.new in ("True", "False"):
            # For `x if y else z`, Cython chooses one type for both, which a truth value does not need.
            return f"((sns_fault == {span.number} and ({span.fault.new})) or (sns_fault != {span.number} and ({old})))"
        return f"(({span.fault.new}) if sns_fault == {span.number} else ({old}))"
    if span.fault.old.rstrip().endswith(":"):
        raise ListError(f"{span.fault.id}: {span.fault.old!r} is the head of a block without its body")
    indent = " " * (span.start - text.rfind("\n", 0, span.start) - 1)
    more = indent + "    "
    new = textwrap.indent(textwrap.dedent(span.fault.new), more)
    kept = textwrap.indent(textwrap.dedent(indent + old), more)
    return f"if sns_fault == {span.number}:\n{new}\n{indent}else:\n{kept}"


def _is_statement(text: str, span: Span) -> bool:
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    after = text[span.end :].partition("\n")[0].strip()
    return not before.strip() and (not after or after.startswith("#"))


def _is_truth(expression: str) -> bool:
    """Whether it is a comparison, or a combination of comparisons."""
    depth, outside = 0, ""
    for letter in expression:
        depth -= letter in ")]}"
        outside += letter if not depth else " "
        depth += letter in "([{"
    return bool(re.search(r"\b(?:and|or|not|is|in)\b| (?:[<>]|[<>=!]=) ", outside)) and " if " not in outside
