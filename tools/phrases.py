"""Find phrases that readers stumble over, and name a plain one instead.

    python tools/phrases.py [FILE ...]      without files: all sources and documents of the checkout

Prints one line per finding, "file:line: phrase -> what to write", and exits with status 1 if there is any. A phrase is
also found if it continues on the next line of a comment, docstring or string. Names of tests are read as text; other
names with underscores are not.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "docs", "examples", "ext", "streamnative_serdes", "tests", "tools")
SUFFIXES = {".h", ".md", ".pxd", ".pxi", ".py", ".pyi", ".pyx", ".toml"}
# These two have to quote the phrases.
QUOTING = {ROOT / "tools" / "phrases.py", ROOT / "tests" / "tools" / "test_phrases.py"}

# Where a docstring begins with the noun that it is about.
NOUNS_FIRST = ("benchmarks", "examples", "streamnative_serdes", "tools")
_RELATIVE = re.compile(r'"""(?:What|Which|That)\b')

# Between two words: blanks, or the end of a line with the marks of a comment, a quotation or a continued string.
_GAP = re.compile(r'[ \t]*(?:\\n)?"?[ \t]*\n[ \t]*(?:[#*>]+|//|[bfru]*"(?!"")|\')?[ \t]*|[ \t]+')
_TEST = re.compile(r"(?<=def )test_\w+")
# "is no longer", "that is no problem" and the like are good English.
_IDIOM = r"(?!longer\b|more\b|less\b|fewer\b|better\b|worse\b|different\b|match\b|problem\b|reason\b|surprise\b|use\b)"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase to avoid, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


PHRASES = tuple(
    Phrase(re.compile(pattern), instead)
    for pattern, instead in (
        (r"\b[Aa]new\b", '"again"; a topic is "recreated"'),
        (r"(?<!here )\b(?:is|are|was|were) none of\b", '"is not one of", "does not match"'),
        (
            r"(?<!here )\b(?:is|are|was|were) none\b(?! (?:of|other|the|too)\b)",
            'repeat the noun: "is not a ...", "does not exist"',
        ),
        (r"[:;] there (?:is|are) none\b", "name what is missing"),
        (r"\b(?:[Ww]hat|[Ww]hich|[Tt]hat|[Tt]hose|[Ww]ho) (?:is|are) no \b" + _IDIOM, '"that is not a ..."'),
        (r"\bis no fault\b", '"is not caused by"'),
        (r"\b[Ww]ho comes\b", "name the caller"),
        (r"\bLikewise\b|\| likewise \|", "say what is the same"),
        (r"\b(?:find|finds|found) no room\b", '"does not fit", "exceeds the limit"'),
        (r"\b(?:has|have|had) (?:its|their|a) say\b", "say what it does"),
        (r"\bleft aside\b", '"ignored"'),
        (r"\bfor ever\b", '"forever", "endlessly"'),
        (r"\bunder way\b", '"running", "in progress"'),
        (r"\b[Ii]nside of\b", '"inside"'),
        (r"\b[Aa]s ever\b(?! (?:before|since)\b)", '"as before", "still"'),
        (r"\bgoes before (?:the|that|its|an?)\b", '"takes precedence over"'),
        (r"\bbehind the (?:header|datum|value)\b", '"after"'),
        (r"\bcomes? back (?:as|equal)\b", '"is read back"'),
        (r"\bby lot\b", '"at random"'),
        # Nothing is published, so pip would find nothing, or what somebody else has published under this name.
        (r"pip install ['\"]?streamnative-serdes\b", 'name the library that is missing, or ".[extra]" in the checkout'),
    )
)


def sources() -> list[Path]:
    """All files to check: the sources and documents of the checkout, without what a build leaves there."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")] + list(ROOT.glob("*"))
    return sorted(path for path in found if path.suffix in SUFFIXES and path.is_file() and path not in QUOTING)


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line number, phrase as written, what to write instead) for each phrase in ``text``, in their order."""
    flat, places, offsets = _flat(_TEST.sub(lambda name: name[0].replace("_", " "), text))
    hits = [(match.start(), match[0], phrase.instead) for phrase in PHRASES for match in phrase.pattern.finditer(flat)]
    for start, written, instead in sorted(hits):
        piece = bisect_right(places, start) - 1
        offset = offsets[piece] + start - places[piece]
        yield text.count("\n", 0, offset) + 1, written.strip(" :;|"), instead


def docstrings(path: Path, text: str) -> Iterator[tuple[int, str, str]]:
    """As :func:`findings`, for docstrings of Python files whose subject is a clause."""
    if path.suffix == ".py" and path.parts[0] in NOUNS_FIRST:
        for match in _RELATIVE.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[0], 'the noun: "The ... that"'


def _flat(text: str) -> tuple[str, list[int], list[int]]:
    """``text`` with one blank for each gap; where its pieces begin in the result, and where in ``text``."""
    flat, places, offsets, end = "", [0], [0], 0
    for gap in _GAP.finditer(text):
        flat += f"{text[end : gap.start()]} "
        end = gap.end()
        places.append(len(flat))
        offsets.append(end)
    return flat + text[end:], places, offsets


def main(arguments: Sequence[str]) -> int:
    """Print all findings. Returns 1 if there are any, else 0."""
    paths: Iterable[Path] = [Path(argument).resolve() for argument in arguments] or sources()
    count = 0
    for path in paths:
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        text = path.read_text(encoding="utf-8")
        for line, written, instead in [*findings(text), *docstrings(shown, text)]:
            print(f"{shown}:{line}: {written!r} -> {instead}")
            count += 1
    print(f"{count} phrases to replace" if count else "no phrases to replace", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
