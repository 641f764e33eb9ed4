"""Debian's newest build of a Python, beside the system: python tools/debian_python.py VERSION FOLDER prints its path.

The packages of Debian's unstable release are downloaded with all that they need, their own C library too, and unpacked
into FOLDER; apt checks their signatures, and nothing of the system changes. Needs apt, dpkg and patchelf; exits with
status 1 where one is missing, or there is no such Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TRIPLET = "x86_64-linux-gnu"
TOOLS = ("apt-get", "dpkg-deb", "patchelf")
_OF_PACKAGES = "Created-By: Packages"


class MissingPythonError(Exception):
    """There is no such Python, or no tool to get it with."""


def said(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingPythonError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def mirror() -> str:
    """The address that this machine's own apt has for Debian."""
    found = said("apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", _OF_PACKAGES).splitlines()
    for origin, release, address in (line.split(" ", 2) for line in found if line.count(" ") >= 2):
        if origin == "Debian" and "-" not in release:  # neither security nor updates
            return address
    raise MissingPythonError("this machine's apt does not know Debian")


def apt(folder: Path) -> tuple[str, ...]:
    """apt-get with lists, cache and installed packages of its own: none are installed, so it downloads all."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] {mirror()} sid main\n")
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",  # its folders are not those of apt's own user
        "Debug::NoLocking": "true",
    }
    return ("apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}")))


def python(version: str, folder: Path) -> Path:
    """The interpreter; a second call finds it in the folder.

    Raises:
        MissingPythonError: with the reason.
    """
    root = folder / version
    binary = root / "usr" / "bin" / f"python{version}"
    if not (folder / f"{version}.done").is_file():
        missing = [tool for tool in TOOLS if shutil.which(tool) is None] + [str(KEYS)] * (not KEYS.is_file())
        if missing:
            raise MissingPythonError(f"{', '.join(missing)} is missing")
        download(version, folder, root)
        relocate(version, root, binary)
        said(binary, "-c", "import ctypes, ssl, venv, zlib")
        (folder / f"{version}.done").touch()
    return binary


def download(version: str, folder: Path, root: Path) -> None:
    command = apt(folder)
    said(*command, "update")
    said(*command, "install", "--download-only", "-y", f"python{version}", f"libpython{version}-dev")
    shutil.rmtree(root, ignore_errors=True)
    for package in sorted((folder / "cache" / "archives").glob("*.deb")):
        said("dpkg-deb", "--extract", package, root)
        package.unlink()


def relocate(version: str, root: Path, binary: Path) -> None:
    """Let the interpreter find its loader and libraries, and compilers its headers, where they are now."""
    libraries = root / "usr" / "lib" / TRIPLET
    # Also for what the interpreter's modules need, which is why it is RPATH, not RUNPATH.
    said("patchelf", "--force-rpath", "--set-rpath", libraries, binary)
    said("patchelf", "--set-interpreter", libraries / "ld-linux-x86-64.so.2", binary)
    # Of this Python alone: those of Debian's C library are not for the compiler here.
    headers = root / "usr" / "include" / f"python{version}" / TRIPLET / f"python{version}"
    headers.parent.mkdir(exist_ok=True)
    headers.symlink_to(root / "usr" / "include" / TRIPLET / f"python{version}")


def main() -> int:
    version, folder = sys.argv[1:]
    try:
        print(python(version, Path(folder).resolve()))
    except MissingPythonError as error:
        print(f"no Python {version} from Debian: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
