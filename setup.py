"""The compiled modules; all other metadata stands in pyproject.toml.

Environment switches, each "1" or unset:
    STREAMNATIVE_SERDES_DEBUG   no optimisation, debug symbols, assertions and bounds checks of Cython and C
    STREAMNATIVE_SERDES_ASAN    AddressSanitizer and UndefinedBehaviorSanitizer (`make asan` builds such a copy)
    STREAMNATIVE_SERDES_TSAN    ThreadSanitizer (`make race-tsan` builds such a copy)
    STREAMNATIVE_SERDES_TRACE   line tracing, so that coverage sees .pyx files
"""

import logging
import os
import sys
import time
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODULES = ("_header", "_cache", "_flights", "_codec", "_serdes", "_arrow", "_records")


def switch(name: str) -> bool:
    return os.environ.get(f"STREAMNATIVE_SERDES_{name}") == "1"


DEBUG, ASAN, TSAN, TRACE = switch("DEBUG"), switch("ASAN"), switch("TSAN"), switch("TRACE")
SANITIZERS = "address,undefined" if ASAN else "thread" if TSAN else ""


def unix_flags() -> tuple[list[str], list[str]]:
    """Flags of compiler and linker for gcc and clang, on Linux and macOS."""
    compiler = ["-O0", "-g"] if DEBUG else ["-O1", "-g1"] if SANITIZERS else ["-O3", "-g0"]
    linker = ["-Wl,--strip-all"] if sys.platform == "linux" and not (DEBUG or SANITIZERS) else []
    if SANITIZERS:
        sanitize = [f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=undefined"]
        compiler += [*sanitize, "-fno-omit-frame-pointer"]
        linker += sanitize
    # What is called from one place only is mostly the making of an error. Inlined, it doubles the stack that each level
    # of a nested datum takes, for nothing: it is not slower outside.
    return [*compiler, "-fvisibility=hidden", "-fno-inline-functions-called-once"], linker


def windows_flags() -> tuple[list[str], list[str]]:
    """Flags of compiler and linker for MSVC; setuptools itself gives /O2 and no debug symbols."""
    if SANITIZERS:
        raise SystemExit("STREAMNATIVE_SERDES_ASAN and _TSAN: sanitizers are set up for gcc and clang only")
    return (["/Od", "/Z7"], ["/DEBUG"]) if DEBUG else (["/O2"], [])


def remember(*settings: object) -> str:
    """Return a file that changes with the settings, so that modules built with other settings are rebuilt."""
    path, text = Path("build/settings.txt"), repr(settings)
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return str(path)


# Without this, gcc puts the start and the end of each message into one vector register and takes them apart again: six
# percent of a row of ten fields, more of rows with fewer.
FLAGS_OF = {"_arrow": [] if sys.platform == "win32" else ["-fno-tree-slp-vectorize"]}

compile_args, link_args = windows_flags() if sys.platform == "win32" else unix_flags()
macros: list[tuple[str, str | None]] = []
# ext/streamnative_serdes/threads.h says why that is so.
directives: dict[str, object] = {"language_level": "3", "freethreading_compatible": True}
if DEBUG:
    directives |= {"boundscheck": True, "wraparound": True, "initializedcheck": True}
if TRACE:
    directives["linetrace"] = True
    # From Python 3.13 on Cython would use sys.monitoring, which coverage cannot yet read for .pyx files.
    macros = [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]

# Sanitizers are a matter of the C compiler: their builds take the C code of the release.
variant = "-".join(name for name, on in [("debug", DEBUG), ("trace", TRACE)] if on) or "release"
settings_file = remember(compile_args, FLAGS_OF, link_args, macros, directives)
extensions = [
    Extension(
        f"streamnative_serdes.{module}",
        [f"ext/streamnative_serdes/{module}.pyx"],
        extra_compile_args=[*compile_args, *FLAGS_OF.get(module, [])],
        extra_link_args=link_args,
        define_macros=macros,
        # Cython knows only the headers that it names itself.
        depends=[settings_file, *map(str, sorted(Path("ext").rglob("*.h")))],
    )
    for module in MODULES
]

began = time.perf_counter()
modules = cythonize(
    extensions,
    include_path=["ext"],
    compiler_directives=directives,
    build_dir=f"build/cython-{variant}",
    # Where processes are forked; others would run this file again.
    nthreads=(os.cpu_count() or 1) if sys.platform == "linux" else 0,
)
# pip runs this file several times, and only the first run has work for Cython.
spent = Path("build/seconds-of-cython.txt")
seconds = float(spent.read_text()) if spent.is_file() else 0.0
spent.write_text(str(seconds + time.perf_counter() - began))


class TimedBuild(build_ext):
    """Says how long each module took, so that `make wheel` shows what the build spends its time on."""

    def run(self) -> None:
        self.announce(f"took {float(spent.read_text()):5.1f} s: Cython, all modules", level=logging.INFO)
        super().run()
        spent.unlink(missing_ok=True)  # two builds at once

    def build_extension(self, ext: Extension) -> None:
        began = time.perf_counter()
        super().build_extension(ext)
        self.announce(f"took {time.perf_counter() - began:5.1f} s: the C compiler, {ext.name}", level=logging.INFO)


setup(
    ext_modules=modules,
    cmdclass={"build_ext": TimedBuild},
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
