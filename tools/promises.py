"""Writes docs/promises.md, the map from promises to the tests that prove them; `--check` only compares.

tools/promises.toml has the promises: words of a page, which have to stand there, under a short name. Tests name theirs:
``@pytest.mark.promise("bounded-reads")``. A promise without a test, a name without a promise, and words that have left
their page are errors.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# Promises, and the tests that prove them

A promise is a sentence of a page, and each has at least one test, which names it by a mark (`pytest.mark.promise`).
`tools/promises.py` writes this page out of the marks; `make lint` fails where one has no test, or has left its page.
Speed is not among them: [performance.md](performance.md) says how it is measured.
"""


def marks_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the names in the marks of a test file's functions, and the functions."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.promise":
                    for name in mark.args:
                        yield ast.literal_eval(name), node.name


def proofs(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Promise -> its tests, as the file's path and the function's name."""
    found = defaultdict(list)
    for path in sorted(root.glob("tests/**/test_*.py")):
        for name, function in marks_of(path):
            found[name].append((path.relative_to(root).as_posix(), function))
    return found


def complaints(
    root: Path, promises: dict[str, dict[str, str]], proven: dict[str, list[tuple[str, str]]]
) -> Iterator[str]:
    names = [name for of_page in promises.values() for name in of_page]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: two promises have this name"
    for page, of_page in promises.items():
        text = " ".join((root / page).read_text(encoding="utf-8").split())
        for name, words in of_page.items():
            if words not in text:
                yield f"{name}: {page} does not say: {words}"
            if name not in proven:
                yield f"{name}: no test has the mark promise({name!r})"
    for name in sorted(proven.keys() - set(names)):
        yield f"{name}: a mark, but no promise of tools/promises.toml"


def page_of(promises: dict[str, dict[str, str]], proven: dict[str, list[tuple[str, str]]]) -> str:
    lines = [HEAD]
    for page, of_page in promises.items():
        name = page.removeprefix("docs/")
        link = f"[{name}]({name})" if page.startswith("docs/") else name
        lines += [f"## {link}", "", "| promise | tests |", "|---|---|"]
        for promise, words in of_page.items():
            tests = "<br>".join(f"`{path.removeprefix('tests/')}`: `{function}`" for path, function in proven[promise])
            lines.append(f"| {words.replace('|', chr(92) + '|')} | {tests} |")
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str], root: Path = ROOT) -> int:
    promises = tomllib.loads((root / "tools" / "promises.toml").read_text(encoding="utf-8"))
    proven, page = proofs(root), root / "docs" / "promises.md"
    found = list(complaints(root, promises, proven))
    if not found and arguments != ["--check"]:
        page.write_text(page_of(promises, proven), encoding="utf-8")
    elif not found and page.read_text(encoding="utf-8") != page_of(promises, proven):
        found = ["docs/promises.md is out of date: python tools/promises.py writes it"]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
