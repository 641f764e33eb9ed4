"""Output of the command line: what others have written cannot control the terminal, and JSON stays equal."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import CommandLine

from streamnative_serdes.cli.output import json_text, say, show_json, show_raw, show_schema, show_table, visible
from streamnative_serdes.testing import LocalRegistry

CONTROLS = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0041\ud800",
]


class Terminal(io.StringIO):
    """Says that it is one."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def unprintable(text: str) -> list[str]:
    return [char for char in text if char in CONTROLS and char != "\n"]


@pytest.mark.parametrize("char", CONTROLS, ids=lambda char: f"U+{ord(char):04X}")
def test_what_controls_a_terminal_is_shown_as_an_escape(char: str) -> None:
    assert visible(f"a{char}b") in (f"a\\x{ord(char):02x}b", f"a\\u{ord(char):04x}b", "a\\udb40\\udc41b")
    value = {f"k{char}": [f"a{char}b"]}
    for indent in (None, 2):
        text = json_text(value, indent=indent)
        assert json.loads(text) == value
        assert unprintable(text) == []


def test_other_text_is_left_as_it_is() -> None:
    text = 'Zoë 北京 😀 👨‍👩‍👧 "quoted" \\ back'
    assert visible(text) == text
    assert json.loads(json_text(text)) == text
    assert "Zoë 北京 😀" in json_text(text)


def test_lines_stay_lines_where_they_are_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    say("one\n\ttwo\x1b[31m")
    assert capsys.readouterr().out == "one\n\ttwo\\x1b[31m\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_on_a_terminal_has_no_control_characters_of_the_data(
    monkeypatch: pytest.MonkeyPatch, indent: int | None
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "dumb")
    value = {"text": "".join(CONTROLS), "bar": ["[bold]x[/bold]", ":smile:"]}
    show_json(value, indent=indent)
    shown = terminal.getvalue()
    assert unprintable(shown) == []
    assert json.loads(shown) == value


def test_a_table_shows_names_as_they_are_but_for_controls(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("NAME", "NUMBER"), [("a\x1b]0;title\x07", "1"), ("[red]b[/red] :smile:", "2" * 200)])
    shown = capsys.readouterr().out
    assert shown.splitlines() == [
        "NAME".ljust(22) + "NUMBER",
        "a\\x1b]0;title\\x07".ljust(22) + "1",
        "[red]b[/red] :smile:".ljust(22) + "2" * 200,
    ]


def test_a_stream_without_unicode_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    show_json({"name": "Zoë"})
    say("Zoë")
    show_table(("NAME",), [("Zoë",)])
    stream.flush()
    written = stream.buffer.getvalue()  # type: ignore[attr-defined]
    assert written.splitlines() == [b'{"name": "Zo\\u00eb"}', b"Zo\\xeb", b"NAME", b"Zo\\xeb"]


def test_raw_text_is_left_as_it_is_but_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    show_raw("\x1b é")
    assert capsysbinary.readouterr().out == b"\x1b \xc3\xa9\n"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    show_raw("\x1b é")
    assert terminal.getvalue() == "\\x1b é\n"


def test_a_schema_that_is_not_json_is_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_schema("syntax = \x1b")
    show_schema('{"default":NaN}')
    show_schema('{"type":"int"}')
    assert capsys.readouterr().out == 'syntax = \\x1b\n{"default":NaN}\n{\n  "type": "int"\n}\n'


def ended(*arguments: str, output: str) -> tuple[int, str]:
    """Exit code and stderr of a command in a process of its own, whose standard output is as said."""
    command = [sys.executable, "-m", "streamnative_serdes", *arguments]
    to = {"full": ">/dev/full", "closed": ">&-", "a pipe that nobody reads": "| true"}[output]
    script = f"{shlex.join(command)} {to}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("output", ["full", "closed", "a pipe that nobody reads"])
def test_output_that_cannot_be_written_has_a_code_of_its_own_and_one_line(registry: LocalRegistry, output: str) -> None:
    CommandLine(registry.url)("schemas", "register", "t", "-", stdin='{"type": "record", "name": "A", "fields": []}')
    for arguments in (("--help",), ("schemas", "--help"), ("schemas", "get", "t", "--registry", registry.url)):
        code, said = ended(*arguments, output=output)
        *others, last = said.splitlines()
        assert code == 4
        assert last.startswith("Error: cannot write the output: ")
        assert others in ([], [one for one in others if one.startswith("t: version 0")])  # what get says on stderr
    code, said = ended("schemas", "get", "t", "--registry", registry.url, "--json", output=output)
    assert code == 4
    assert output == "closed" or json.loads(said)["exit_code"] == 4
