"""Syntax trees, as the linters and the page of public names read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a statement defines: a function, a class, or assigned names."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
