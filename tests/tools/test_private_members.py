"""The check of private members finds each kind of access, and allows a class its own members."""

from __future__ import annotations

from pathlib import Path

import private_members
import pytest

BASE = """
class Base:
    def __init__(self):
        self._state = 1

    def _hook(self):
        return self._state

def _helper():
    pass
"""


def kinds(folder: Path, text: str) -> list[tuple[str, str]]:
    package = folder / "package"
    package.mkdir()
    (package / "base.py").write_text(BASE)
    (package / "other.py").write_text(text)
    found = private_members.findings(folder, "package")
    assert all(one.file == "package/other.py" for one in found)
    return [(one.kind, one.text) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    return x._state\n", ("touched", "x._state")),
        ("def f(x):\n    x._state = 2\n", ("touched", "x._state")),
        ("def f(x):\n    return getattr(x, '_state')\n", ("touched", "getattr(x, '_state')")),
        ("from . import base\nbase._helper()\n", ("touched", "base._helper")),
        ("from .base import _helper\n", ("imported", "_helper from base")),
        ("class Mine(Base):\n    def _hook(self):\n        return 2\n", ("overridden", "Mine._hook of Base")),
        ("class Mine(Base):\n    _hook = None\n", ("overridden", "Mine._hook of Base")),
        ("class Mine(Base):\n    def f(self):\n        self._state = 2\n", ("overridden", "Mine._state of Base")),
        (
            "class Mine(base.Base):\n    def f(self):\n        return self._hook()\n",
            ("inherited", "Mine uses _hook of Base"),
        ),
        (
            "class A(Base): pass\nclass B(A):\n    def _hook(self):\n        return 2\n",
            ("overridden", "B._hook of Base"),
        ),
    ],
    ids=["read", "written", "by getattr", "of a module", "imported", "method", "attribute", "state", "used", "child"],
)
def test_each_kind_of_access_is_found(tmp_path: Path, text: str, expected: tuple[str, str]) -> None:
    assert kinds(tmp_path, text) == [expected]


def test_a_file_may_use_the_private_members_that_it_defines(tmp_path: Path) -> None:
    text = """
class Node:
    def __init__(self, other):
        self._next = other._next
        self.__dict__ = other.__dict__

class Longer(Node):
    def f(self, others):
        return [other._next for other in others] + [self._next, Row()._replace(a=1), _helper()]

def _helper():
    pass
"""
    assert kinds(tmp_path, text) == []


def test_an_unused_exemption_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = tmp_path / "allowed.toml"
    allowed.write_text('[[allowed]]\nfile = "package/gone.py"\ntext = "x._state"\nreason = "was once so"\n')
    monkeypatch.setattr(private_members, "ALLOWED", allowed)
    monkeypatch.setattr(private_members, "findings", lambda root: [])
    with pytest.raises(SystemExit) as end:
        private_members.main()
    assert end.value.code == 1
    assert "no longer found: package/gone.py: x._state" in capsys.readouterr().out
