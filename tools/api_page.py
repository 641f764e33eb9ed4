"""Write docs/api.md: every public name by module, with the first sentence of its docstring.

A module is public if no part of its name begins with an underscore. Modules inside a package that has ``__all__`` are
not listed, except those that users import by Confluent's names. The code is parsed, not imported, so its dependencies
need not be installed. ``--check`` writes nothing, and exits with status 1 if the page differs from the code.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from syntax import bound_by

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "streamnative_serdes"
PAGE = ROOT / "docs" / "api.md"
BY_NAME = (
    # As in confluent_kafka.schema_registry.
    "compat.avro",
    "compat.error",
    "compat.json_schema",
    "compat.protobuf",
    "spark.connect",  # its names are also those of spark itself, for Avro
)
INTRODUCTION = """# Public names

This page lists every name that programs may import, by module. Everything else may change without notice: modules whose
names begin with an underscore, and modules inside a package that is listed here. `make docs-api` makes this page.
"""


class Code:
    """The modules of a package as syntax trees, by dotted name relative to the package, which itself is ""."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, Path] = {}
        for path in sorted(folder.rglob("*.py*")):
            if path.suffix in (".py", ".pyi"):
                parts = path.relative_to(folder).with_suffix("").parts
                self._paths.setdefault(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path)
        self._trees: dict[str, ast.Module] = {}

    def names(self) -> list[str]:
        return sorted(self._paths)

    def tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            self._trees[module] = ast.parse(self._paths[module].read_text(encoding="utf-8"))
        return self._trees[module]

    def is_package(self, module: str) -> bool:
        return self._paths[module].stem == "__init__"

    def exported(self, module: str) -> list[str] | None:
        """Return ``__all__``, or None."""
        for node in self.tree(module).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return [str(name) for name in ast.literal_eval(node.value)]
        return None

    def public(self, module: str) -> list[str]:
        """Return ``__all__``, or the names without an underscore that the module itself defines."""
        exported = self.exported(module)
        if exported is not None:
            return sorted(exported)
        own = {name for node in self.tree(module).body for name in bound_by(node)}
        return sorted(name for name in own if not name.startswith("_"))

    def sentence(self, module: str, name: str) -> str:
        """Return the first sentence of the docstring of ``name``, wherever the package defines it; "" if none."""
        for node in ast.walk(self.tree(module)):
            if name in bound_by(node):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    return first_sentence(ast.get_docstring(node) or "")
                return ""
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    source = self._source(module, node)
                    if (alias.asname or alias.name) == name and source is not None:
                        return self.sentence(source, alias.name)
        return ""

    def _source(self, module: str, node: ast.ImportFrom) -> str | None:
        """Return the module of this package that ``node`` imports from."""
        parts = module.split(".") if module else []
        if node.level:
            up = node.level - self.is_package(module)
            base = parts[: len(parts) - up] + (node.module.split(".") if node.module else [])
        elif (node.module or "").split(".")[0] == PACKAGE:
            base = (node.module or "").split(".")[1:]
        else:
            return None
        found = ".".join(base)
        return found if found in self._paths else None


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring as a line of Markdown, with plain backquotes for code."""
    paragraph = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    for role in ("class", "meth", "func", "mod", "exc", "attr"):
        paragraph = paragraph.replace(f":{role}:`~", "`").replace(f":{role}:`", "`")
    paragraph = paragraph.replace("``", "`").replace("|", r"\|")
    end = paragraph.find(". ")
    return (paragraph if end < 0 else paragraph[: end + 1]).rstrip(":").removesuffix(".")


def modules(code: Code) -> list[str]:
    """Return the public modules that have names to list."""
    found = []
    for module in code.names():
        parts = module.split(".") if module else []
        if any(part.startswith("_") for part in parts):
            continue
        packages = (".".join(parts[:length]) for length in range(1, len(parts)))
        if any(code.exported(package) for package in packages) and module not in BY_NAME:
            continue
        if code.public(module):
            found.append(module)
    return found


def page(code: Code) -> str:
    sections = [INTRODUCTION]
    for module in modules(code):
        title = f"{PACKAGE}.{module}" if module else PACKAGE
        about = first_sentence(ast.get_docstring(code.tree(module)) or "")
        rows = "".join(f"| `{name}` | {code.sentence(module, name)} |\n" for name in code.public(module))
        sections.append(f"## {title}\n\n{about}.\n\n| Name | |\n|---|---|\n{rows}")
    return "\n".join(sections)


def main() -> None:
    text = page(Code(ROOT / PACKAGE))
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        raise SystemExit(f"{PAGE.relative_to(ROOT)} is not what the code says: make docs-api")


if __name__ == "__main__":
    main()
