"""Do all of a release that can be done without an account, and say what is left to a person: `make release-check`.

Needs the sdist and the wheel of `make wheel` in dist/. Builds wheels
for the other Pythons that pyenv, the PATH or Debian's archive has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import debian_python

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
README_SECONDS = 20
URLS = ("Homepage", "Documentation", "Issues", "Changelog")
LEFT = """Left to a person:
  1. in [project.urls] of pyproject.toml, since the project has no address of its own yet: {missing}
  2. the version in pyproject.toml, then `towncrier build --version {version}`: CHANGES.md out of changes/, dated
  3. once: a trusted publisher for the workflow wheels.yml and the environment "release", at the registry of packages
  4. once: the pages of the branch gh-pages, in the settings of the repository; site.yml writes them
  5. git tag -s v{version} && git push origin v{version}: wheels.yml builds, attests and publishes
  6. a release on the page of the repository, with the text of CHANGES.md"""


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, env=env, check=True)


def found(version: str) -> str | None:
    """An interpreter of this version: of pyenv, on the PATH, or Debian's newest, which is unpacked into build/."""
    for candidate in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        return str(candidate)
    if installed := shutil.which(f"python{version}"):
        return installed
    try:
        return str(debian_python.python(version, ROOT / "build" / "debian-pythons"))
    except debian_python.MissingPythonError as error:
        print(f"skipped: Python {version} is neither installed here nor to be had from Debian: {error}")
        return None


def lint_workflows() -> None:
    """Actionlint where it is installed or Go is; zizmor without its questions to the network."""
    program = shutil.which("actionlint")
    if program is None and shutil.which("go") is not None:
        folder = ROOT / "build" / "go"
        module = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
        run("go", "install", module, env={**os.environ, "GOBIN": str(folder)})
        program = str(folder / "actionlint")
    if program is None:
        print("skipped: actionlint, since neither it nor Go is installed")
    else:
        run(program)
    run(Path(sys.executable).with_name("zizmor"), "--offline", ".github")


def try_python(version: str, sdist: Path, wheels: Path) -> None:
    """Install the wheel into an empty environment of this Python, where README's lines run."""
    python = found(version)
    if python is None:
        return
    with tempfile.TemporaryDirectory(prefix="streamnative-serdes-") as folder:
        environment = Path(folder) / "venv"
        run(python, "-m", "venv", "--without-pip", environment)  # Debian's has none
        pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python")
        tag = f"cp{version.replace('.', '')}"
        wheel = next(DIST.glob(f"*-{tag}-*.whl"), None) or next(wheels.glob(f"*-{tag}-*.whl"), None)
        if wheel is None:
            run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, sdist)
            wheel = next(wheels.glob(f"*-{tag}-*.whl"))
        begin = time.monotonic()
        run(*pip, "install", "--quiet", wheel)
        run(environment / "bin" / "python", ROOT / "tools" / "readme_lines.py", cwd=Path(folder))
        seconds = time.monotonic() - begin
        print(f"Python {version}: installed, and README's lines run, in {seconds:.1f} s")
        if seconds > README_SECONDS:
            print(f"  (more than {README_SECONDS} s: a busy machine, or a slow registry of packages)")


def draft_changes(version: str) -> None:
    """Print the part of CHANGES.md that the files in changes/ will be; each is read, so a misnamed one is an error."""
    run(sys.executable, "-m", "towncrier", "build", "--draft", "--version", version)


def left_to_a_person(project: dict[str, Any]) -> str:
    """The steps, for the table [project] of pyproject.toml."""
    missing = [name for name in URLS if name not in project["urls"]]
    return LEFT.format(version=project["version"], missing=", ".join(missing) or "nothing")


def main() -> None:
    archives = [*DIST.glob("*.tar.gz"), *DIST.glob("*.whl")]
    if len(archives) != 2:
        raise SystemExit("expected the sdist and the wheel of `make wheel` in dist/")
    (sdist,) = DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", *archives)
    run(
        Path(sys.executable).with_name("check-wheel-contents"),
        "--toplevel",
        "pyspark_streamnative_kafka.py,streamnative_serdes",
        *DIST.glob("*.whl"),
    )
    lint_workflows()
    with tempfile.TemporaryDirectory(prefix="streamnative-serdes-wheels-") as wheels:
        for version in PYTHONS:
            try_python(version, sdist, Path(wheels))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    draft_changes(project["version"])
    print(left_to_a_person(project))


if __name__ == "__main__":
    main()
