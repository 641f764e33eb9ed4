"""Scratch copies of the package in build/mutants: one compiled with all switches, and one per Python fault."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from faults import Fault, ListError
from places import changed
from switches import FAULT_H, declared, with_switches

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
COPY = BUILD / "copy"
PACKAGE = "streamnative_serdes"
FOUND_BY_SPARK = "pyspark_streamnative_kafka.py"  # in any folder of sys.path
COPIED = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "ext", FOUND_BY_SPARK, PACKAGE)


class BuildError(Exception):
    """The package does not compile with the faults."""


def switch_numbers(faults: list[Fault]) -> dict[str, int]:
    """Return the number of each compiled fault; it does not depend on which faults are tried."""
    return {fault.id: number for number, fault in enumerate((f for f in faults if f.compiled), 1)}


def check(faults: list[Fault]) -> list[str]:
    """Return the problems of the list as text: faults that do not apply, alone or together with others."""
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8") for name in {f.file for f in faults} if (ROOT / name).is_file()
    }
    wrong = []
    for fault in faults:
        try:
            if fault.file not in texts:
                raise ListError(f"{fault.id}: {fault.file} is missing")
            result = changed(fault, texts[fault.file])
            if fault.file.endswith(".py"):
                compile(result, fault.file, "exec")
        except (ListError, SyntaxError) as error:
            wrong.append(str(error) if isinstance(error, ListError) else f"{fault.id}: {error}")
    if not wrong:
        try:
            sources_with_switches(faults)
        except ListError as error:
            wrong.append(str(error))
    return wrong


def sources_with_switches(faults: list[Fault]) -> dict[str, str]:
    """Return the text of each file under ext/ that a fault changes, or that must declare the switch."""
    numbers, of_file = switch_numbers(faults), defaultdict[str, dict[int, Fault]](dict)
    for fault in faults:
        if fault.compiled:
            of_file[fault.file][numbers[fault.id]] = fault
    texts = {}
    for path in sorted((ROOT / "ext").rglob("*.*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in {".pyx", ".pxd", ".h"}:
            continue
        text = with_switches(path.read_text(encoding="utf-8"), of_file[name], is_c=path.suffix == ".h")
        # Modules declare the switch; files that are included in one do not.
        own = path.suffix == ".pxd" and of_file[name] if path.suffix != ".pyx" else path.parent.name == PACKAGE
        texts[name] = declared(text) if own else text
    return texts


def build_copy(faults: list[Fault]) -> None:
    """Compile the package in COPY with a switch for each fault. Raises BuildError, ListError."""
    COPY.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        _copy(ROOT / name, COPY / name)
    texts = sources_with_switches(faults)
    for name, text in texts.items():
        (COPY / name).write_text(text, encoding="utf-8")
    _compile(hashlib.sha256(repr((sorted(texts.items()), (ROOT / "setup.py").read_text())).encode()).hexdigest())


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        shutil.copy2(source, target)
        return
    kept = set(target.rglob("*.so")) if target.is_dir() else set()
    for path in target.rglob("*") if target.is_dir() else ():
        if path.is_file() and path not in kept:
            path.unlink()
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"), dirs_exist_ok=True)


def _compile(digest: str) -> None:
    """Compile all modules, unless they were compiled from exactly the same sources."""
    stamp, header = COPY / "digest", COPY / "fault.h"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    header.write_text(FAULT_H)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--force"]
    environment = {**os.environ, "CFLAGS": f"-include {header} {os.environ.get('CFLAGS', '')}"}
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
    if done.returncode:
        log = BUILD / "build.log"
        log.write_text(done.stdout + done.stderr)
        raise BuildError(
            f"the package does not compile with the faults in it: {log}\n{(done.stdout + done.stderr)[-3000:]}"
        )
    stamp.write_text(digest)


def copy_with(fault: Fault, folder: Path) -> None:
    """Create COPY with one Python fault in ``folder``; all other files are links. Raises ListError."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(COPY / PACKAGE, folder / PACKAGE, copy_function=os.link)
    os.link(COPY / FOUND_BY_SPARK, folder / FOUND_BY_SPARK)
    target = folder / fault.file
    text = changed(fault, target.read_text(encoding="utf-8"))
    target.unlink()  # only the link
    target.write_text(text, encoding="utf-8")
    for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
        stale.unlink()
