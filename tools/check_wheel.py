"""Build the sdist and, from it, the wheel; check their content; test the wheel without access to the checkout.

Stores both in dist/. On Linux, the wheel gets the most compatible manylinux tag that auditwheel allows. With --all, as
before a release, more tests run with the wheel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path, PurePosixPath

import sbom

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
IN_WHEEL = {".py", ".pyi", ".so", ".pyd", ".typed"}
UNIT_TESTS = (
    "tests/unit",
    "tests/conftest.py",
    "tests/oracles",
    "tests/servers",
    "tests/support",
    "docs",
    "pyproject.toml",
)
# What an incomplete wheel, or one without the packages that developers have, would fail: each module can be imported, a
# message and a command work. The checkout runs the same tests, so the others are only tried before a release (--all).
SMOKE = ("cli/test_command_line", "codec/test_header", "package/test_import", "serdes/test_serializer")
MORE = (
    "cli/test_cli_json",
    "cli/test_cli_messages",
    "cli/test_cli_migrate_plan",
    "cli/test_cli_schemas",
    "codec/test_codec",
    "compat/test_compat_client",
    "compat/test_compat_serdes",
    "converters/test_converters",
    "integrations/test_kop",
    "models/test_models",
    "models/test_typed_values",
    "package/test_words",
    "schema_registry/test_confluent_client",
    "schema_registry/test_registry_client",
    "serdes/test_calls",
    "serdes/test_deserializer",
    "serdes/test_key_value",
    "serdes/test_travel",
    "testing/test_local_registry",
    "testing/test_mock_broker",
)
# The module is how Spark finds the data source.
AT_THE_TOP = {"streamnative_serdes", "pyspark_streamnative_kafka.py"}
IN_SDIST = (
    "setup.py",
    "LICENSE",
    "ext/streamnative_serdes/_codec.pyx",
    "streamnative_serdes/py.typed",
    "pyspark_streamnative_kafka.py",
    "tests/conftest.py",
)


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    print("+", *command, flush=True)
    # The environment must not lead the tests to the checkout; auditwheel looks for patchelf on PATH.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=True)


def require(condition: bool, complaint: str) -> None:
    if not condition:
        raise SystemExit(f"check_wheel: {complaint}")


def build() -> tuple[Path, Path]:
    """Build sdist and wheel; `build` unpacks the sdist elsewhere and builds the wheel only from that."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in IN_SDIST:
        require(name in names, f"{sdist.name} lacks {name}")
    generated = sorted(name for name in names if name.endswith((".c", ".so", ".pyd")))
    require(not generated, f"{sdist.name} holds generated files: {generated}")


def check_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    stray = [str(name) for name in names if name.suffix not in IN_WHEEL and ".dist-info" not in name.parts[0]]
    require(not stray, f"{wheel.name} holds more than the package: {stray}")
    tops = {name.parts[0].partition("-")[0] for name in names}
    require(tops == AT_THE_TOP, f"{wheel.name} holds {sorted(tops)} at the top, expected {sorted(AT_THE_TOP)}")
    compiled = {name.name.partition(".")[0] for name in names if name.suffix in {".so", ".pyd"}}
    sources = {path.stem for path in (ROOT / "ext/streamnative_serdes").glob("*.pyx")}
    require(compiled == sources, f"{wheel.name} holds {sorted(compiled)}, the sources are {sorted(sources)}")
    require(any(name.name == "LICENSE" for name in names), f"{wheel.name} lacks LICENSE")


def repair(wheel: Path) -> Path:
    """Return the wheel with a manylinux tag; on other systems than Linux, the unchanged wheel."""
    if sys.platform != "linux":
        print(f"skipped: auditwheel is for Linux, this is {sys.platform}")
        return wheel
    run(sys.executable, "-m", "auditwheel", "show", wheel)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel)
    (repaired,) = DIST.glob("*manylinux*.whl")
    wheel.unlink()
    return repaired


def try_elsewhere(wheel: Path, tests: tuple[str, ...]) -> None:
    """Run tests/unit/NAME.py of each name with the installed wheel, without access to ROOT."""
    with tempfile.TemporaryDirectory(prefix="streamnative-serdes-") as folder:
        elsewhere = Path(folder)
        for name in UNIT_TESTS:
            copy_into(elsewhere, name)
        venv.create(elsewhere / "venv", with_pip=True)
        programs = elsewhere / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        run(programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli]", "pytest", cwd=elsewhere)
        run(programs / "pytest", *(f"tests/unit/{name}.py" for name in tests), cwd=elsewhere)


def try_without_kafka(wheel: Path) -> None:
    """Run tools/try_wheel.py in an environment that lacks confluent-kafka."""
    with tempfile.TemporaryDirectory(prefix="streamnative-serdes-") as folder:
        elsewhere = Path(folder)
        shutil.copy(ROOT / "tools" / "try_wheel.py", elsewhere)
        venv.create(elsewhere / "venv", with_pip=True)
        python = elsewhere / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=elsewhere)
        run(
            python, "-m", "pip", "install", "--quiet", "fastavro", "requests", "pyarrow", "google-crc32c", cwd=elsewhere
        )
        run(python, "try_wheel.py", cwd=elsewhere)


def copy_into(folder: Path, name: str) -> None:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if (ROOT / name).is_dir():
        shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(ROOT / name, target)


def main() -> None:
    sdist, wheel = build()
    check_sdist(sdist)
    check_wheel(wheel)
    wheel = repair(wheel)
    print("with", sbom.add(wheel))
    try_elsewhere(wheel, (*SMOKE, *MORE) if "--all" in sys.argv[1:] else SMOKE)
    try_without_kafka(wheel)
    print(f"good: {sdist.name} and {wheel.name} in {DIST.name}/")


if __name__ == "__main__":
    main()
