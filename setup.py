"""The compiled modules; all other metadata stands in pyproject.toml.

Environment switches, each "1" or unset:
    STREAMNATIVE_SERDES_DEBUG   no optimisation, debug symbols, assertions and bounds checks of Cython and C
    STREAMNATIVE_SERDES_ASAN    AddressSanitizer and UndefinedBehaviorSanitizer (run with LD_PRELOAD of libasan)
    STREAMNATIVE_SERDES_TRACE   line tracing, so that coverage sees .pyx files
"""

import os
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup


def switch(name: str) -> bool:
    return os.environ.get(f"STREAMNATIVE_SERDES_{name}") == "1"


DEBUG, ASAN, TRACE = switch("DEBUG"), switch("ASAN"), switch("TRACE")
MODULES = ("_header", "_cache", "_codec", "_serdes")

macros: list[tuple[str, str | None]] = []
directives: dict[str, object] = {"language_level": "3"}
if sys.platform == "win32":
    compile_args, link_args = ["/Od", "/Zi"] if DEBUG else ["/O2"], []
else:
    compile_args = ["-O0", "-g"] if DEBUG else ["-O3", "-g0", "-fvisibility=hidden"]
    link_args = []
if DEBUG:
    directives |= {"boundscheck": True, "wraparound": True, "initializedcheck": True, "nonecheck": True}
if ASAN:
    flags = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined", "-g"]
    compile_args = [*[flag for flag in compile_args if flag != "-g0"], *flags]
    link_args = ["-fsanitize=address,undefined"]
if TRACE:
    directives["linetrace"] = True
    # From Python 3.13 on Cython would use sys.monitoring, which coverage cannot yet read for .pyx files.
    macros = [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"streamnative_serdes.{module}",
                [f"ext/streamnative_serdes/{module}.pyx"],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
                define_macros=macros,
            )
            for module in MODULES
        ],
        include_path=["ext"],
        compiler_directives=directives,
        build_dir="build/cython",
        force=DEBUG or ASAN or TRACE,
    )
)
