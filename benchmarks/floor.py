"""Compiles floor.pyx on first use. Only the benchmark needs it, so it is not part of the package."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
CODEC = HERE.parent / "ext" / "streamnative_serdes" / "codec"
BUILD = HERE.parent / "build" / "benchmarks"


@cache
def load() -> ModuleType:
    """Return the compiled module; recompile it if its source changed."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension  # type: ignore[import-untyped]
    from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

    extension = Extension(
        "floor",
        [str(HERE / "floor.pyx")],
        include_dirs=[str(HERE), str(CODEC)],
        depends=[str(HERE / "floor.h"), *map(str, CODEC.glob("*.h"))],
        extra_compile_args=["-O3"],
    )
    modules = cythonize([extension], build_dir=str(BUILD), quiet=True)  # type: ignore[no-untyped-call]
    command = build_ext(Distribution({"name": "floor", "ext_modules": modules}))
    command.build_lib = command.build_temp = str(BUILD)
    command.ensure_finalized()
    command.run()
    spec = importlib.util.spec_from_file_location("floor", command.get_ext_fullpath("floor"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
