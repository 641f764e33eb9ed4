"""Errors name a section of docs/troubleshooting.md, which exists, and sections are named by errors."""

from __future__ import annotations

import pickle
import re
import traceback
from pathlib import Path

import pytest

import streamnative_serdes
from streamnative_serdes import errors

PAGE = "docs/troubleshooting.md"
TEXT = (Path(__file__).parents[3] / PAGE).read_text()
# What users meet without an error of ours.
OF_OTHERS = {
    "wrong-values-without-an-error",
    "spark-data_source_not_found",
    "spark-no-module-named-streamnative_serdes",
}
BASES = {errors.SerdesError, errors.SchemaRegistryError}  # always raised as one of their kinds
KINDS = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SerdesError)}


def sections() -> dict[str, str]:
    """The sections of the page by their anchors, which repositories' pages and Sphinx make out of headings."""
    _, *parts = re.split(r"(?m)^## (.*)$", TEXT)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in parts[::2]]
    return dict(zip(anchors, parts[1::2], strict=True))


def test_the_sections_that_the_code_names_exist_and_all_others_are_of_others() -> None:
    package = Path(streamnative_serdes.__file__).parent
    code = "".join(path.read_text() for path in package.rglob("*.py"))
    named = set(re.findall(re.escape(PAGE) + r"#([\w-]+)", code))
    assert named | OF_OTHERS == sections().keys()
    assert named & OF_OTHERS == set()


@pytest.mark.parametrize("kind", sorted(KINDS - BASES, key=lambda kind: kind.__name__))
def test_each_error_has_help_in_its_traceback_and_not_in_its_text(kind: type[errors.SerdesError]) -> None:
    error = pickle.loads(pickle.dumps(kind("it failed", hint="mend it")))
    assert error.help.startswith(f"{PAGE}#")
    assert traceback.format_exception_only(error)[-1] == f"see {error.help}\n"
    assert str(error) == "it failed (hint: mend it)"


@pytest.mark.parametrize("kind", sorted(KINDS - BASES, key=lambda kind: kind.__name__))
def test_the_section_of_an_error_names_it(kind: type[errors.SerdesError]) -> None:
    section = sections()[str(kind.help).partition("#")[2]]
    assert any(base.__name__ in section for base in kind.__mro__ if base in KINDS - BASES)
