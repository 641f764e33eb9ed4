"""tools/phrases.py finds phrases that readers stumble over, and leaves good English alone."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "phrases.py"

pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="tools/ is not available when a wheel is tested")


@pytest.fixture(scope="module")
def phrases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("phrases", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["phrases"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("A topic that is deleted and made anew.", "anew"),
        ("a column's type is none of its field's", "is none of"),
        ("they are none of them", "are none of"),
        ("Raises ValueError: the body is none.", "is none"),
        ("SerdesError: there is none.", "there is none"),
        ("What is no record has one column.", "What is no"),
        ("text that is no UTF-8", "that is no"),
        ("columns that are no fields", "that are no"),
        ("This is no fault of the user.", "is no fault"),
        ("who comes here is the only one", "who comes"),
        ("Likewise.", "Likewise"),
        ('pip install "streamnative-serdes[spark]"', 'pip install "streamnative-serdes'),
        ("An int. Likewise for a long.", "Likewise"),
        ("| OAUTHBEARER | likewise |", "likewise"),
        ("work found no room for the first of its rows", "found no room"),
        ("auditwheel has its say on Linux", "has its say"),
        ("``from_dict`` is left aside", "left aside"),
        ("a thread that waits for ever", "for ever"),
        ("while a request is under way", "under way"),
        ("types inside of a union", "inside of"),
        ("dicts are written as ever", "as ever"),
        ("a full name goes before a short one", "goes before a"),
        ("bytes behind the header", "behind the header"),
        ("an object comes back as it went", "comes back as"),
        ("some faults, chosen by lot", "by lot"),
        ("def test_a_topic_made_anew_is_noticed():", "anew"),
    ],
)
def test_a_banned_phrase_is_found_with_a_replacement(phrases: ModuleType, text: str, written: str) -> None:
    ((line, found, instead),) = phrases.findings(text)
    assert (line, found) == (1, written)
    assert instead


@pytest.mark.parametrize(
    "text",
    [
        "x = value is None",
        "None of the fields is set.",
        "Returns -1 if there is none.",
        "There is none of them left.",
        "There is no default.",
        "A version that is no longer used.",
        "a change that is no problem for readers",
        "the codec is none the worse",
        "There are no rows, and no columns either.",
        "A long is likewise read.",
        "There is room for one row.",
        "A new topic, a renewed token.",
        "def made_anew(topic):",
        "the value at ``inside_of``",
        "The codec comes back to the start, and behind the scenes nothing changes.",
        "as everyone knows",
    ],
)
def test_good_english_and_code_are_left_alone(phrases: ModuleType, text: str) -> None:
    assert list(phrases.findings(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "# a comment that is\n# none of these\n",
        "/* a comment that is\n * none of these */\n",
        '    "a string that is "\n    "none of these"\n',
        '    "a string that is "\n    f"none of these"\n',
        '    """A docstring that is\n    none of these.\n    """\n',
        "- a list that is\n  none of these\n",
        "> a quotation that is\n> none of these\n",
    ],
)
def test_a_phrase_is_found_across_the_end_of_a_line(phrases: ModuleType, text: str) -> None:
    ((line, found, _),) = phrases.findings(text)
    assert (line, found) == (1, "is none of")


def test_a_phrase_does_not_continue_in_the_next_paragraph(phrases: ModuleType) -> None:
    assert list(phrases.findings("what this is\n\nnone of these\n")) == []


def test_each_finding_has_the_line_on_which_it_begins(phrases: ModuleType) -> None:
    text = "# good\n\nmade anew\n    # who comes\n\t# it found\n# no room\n"
    assert [line for line, _, _ in phrases.findings(text)] == [3, 4, 5]


def test_the_command_prints_findings_and_fails(
    phrases: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.md", tmp_path / "good.md"
    bad.write_text("# Title\n\nA topic made anew.\n")
    good.write_text("A recreated topic.\n")
    assert phrases.main([str(good)]) == 0
    assert phrases.main([str(bad), str(good)]) == 1
    out = capsys.readouterr().out
    assert "/bad.md:3: 'anew' -> " in out  # the path is relative inside the checkout
    assert len(out.splitlines()) == 1


def test_every_kind_of_source_is_checked(phrases: ModuleType) -> None:
    found = phrases.sources()
    assert {path.suffix for path in found} >= {".h", ".md", ".pxd", ".py", ".pyi", ".pyx", ".toml"}
    assert TOOL not in found
    assert not [path for path in found if {"build", ".venv"} & {*path.parts}]


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("streamnative_serdes/a.py", '"""What is read."""\n\n\ndef f():\n    """Which one."""\n', [1, 5]),
        ("tools/a.py", '"""The data that is read."""\n', []),
        ("tests/a.py", '"""What is read."""\n', []),
        ("streamnative_serdes/a.pyx", '"""What is read."""\n', []),
    ],
)
def test_docstrings_of_the_package_begin_with_a_noun(
    phrases: ModuleType, path: str, text: str, lines: list[int]
) -> None:
    assert [line for line, _, _ in phrases.docstrings(Path(path), text)] == lines
