"""The site of the documentation: `make site` builds it with Sphinx, out of the pages here and the docstrings."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from api_page import PACKAGE, Code, modules  # noqa: E402
from instruction_history import draw, read  # noqa: E402

sys.set_int_max_str_digits(0)  # autoapi writes constants out, and one is 10**5000

project = "streamnative-serdes"
author = "The authors of streamnative-serdes"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "autoapi.extension", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_llms_txt"]
suppress_warnings = [
    "ref.python",  # a name that the package exports is also in the module that defines it: a link leads to either
    "autoapi.python_import_resolution",  # stubs of compiled modules name types of the modules that wrap them
]

html_theme = "furo"
html_title = f"{project} {version}"
html_use_index = html_domain_indices = False  # the search finds names
html_show_sourcelink = False
html_static_path = ["_static"]
html_js_files = ["versions.js"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "versions.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
# Made here, copied as they are: what the hosted workflow knows of earlier commits is in build/instructions.jsonl.
EXTRA = ROOT / "build" / "site-extra"
EXTRA.mkdir(parents=True, exist_ok=True)
(EXTRA / "instructions.svg").write_text(draw(read(ROOT / "build" / "instructions.jsonl")).svg(), encoding="utf-8")
html_extra_path = [str(EXTRA)]

napoleon_use_ivar = True  # attributes are described by the class itself, too

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# Stubs stand in for compiled modules, which are read here like all others and never imported.
autoapi_dirs = [str(ROOT / "build" / "site-sources" / PACKAGE)]
autoapi_file_patterns = ["*.pyi", "*.py"]
autoapi_root = "api"
autoapi_add_toctree_entry = False
autoapi_keep_files = False
autoapi_python_class_content = "class"
autoapi_member_order = "alphabetical"
autoapi_options = ["members", "show-module-summary", "imported-members", "undoc-members"]

PUBLIC = {f"{PACKAGE}.{module}".rstrip(".") for module in modules(Code(ROOT / PACKAGE))}


def copy_sources() -> None:
    """Copy the package to where autoapi reads it, with names as plain imports and assignments: it follows no others."""
    folder = Path(autoapi_dirs[0])
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(ROOT / PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for package in ("spark", "integrations/consuming"):  # imported at first use
        lazy = folder / package / "__init__.py"
        lazy.write_text(re.sub(r"(?m)^if TYPE_CHECKING:\n|^    (?=from )", "", lazy.read_text()))
    connect = folder / "connect" / "schema.py"  # two names in a line
    connect.write_text(
        re.sub(r"(?m)^(\w+), (\w+) = (Schema\(.*\)), (Schema\(.*\))$", r"\1 = \3\n\2 = \4", connect.read_text())
    )
    serialization = folder / "serialization.py"  # confluent-kafka's classes where it is installed
    shutil.copy(folder / "_stand_ins.py", serialization)


copy_sources()


def skip(app: Any, what: str, name: str, item: Any, skipped: bool, options: Any) -> bool | None:  # noqa: ARG001
    """Leave out what docs/api.md does not list: modules inside a package that has ``__all__``."""
    if what in ("module", "package"):
        return not any(module == name or module.startswith(f"{name}.") for module in PUBLIC)
    return None


def setup(app: Any) -> None:
    app.connect("autoapi-skip-member", skip)
