"""Checks for every test run: the compiled modules are those under test, and no error is swallowed."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import signal
from collections.abc import Generator, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from child import SANITIZED
from confluent_stand_in import ConfluentStandIn

import streamnative_serdes
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes.testing import LocalRegistry

# Do not use a proxy of the machine for loopback addresses.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

# Java programs of tests are short: without the second compiler a run takes about half of the processor's time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")

# A shell or nohup makes background processes ignore these signals, and the programs that they start inherit that.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    if hasattr(signal, name) and signal.getsignal(signal.Signals[name]) == signal.SIG_IGN:
        signal.signal(signal.Signals[name], handler)

# Programs that tests start import the same modules as the tests, not those in the current folder.
os.environ["PYTHONSAFEPATH"] = "1"

# The real servers and Spark's session are shared by all folders, so that each is started once per run.
pytest_plugins = ["server_fixtures", "spark_fixtures"]

COMPILED = ("_header", "_cache", "_flights", "_codec", "_serdes", "_arrow", "_records")


def compiled_suffix(name: str) -> str:
    """Return the file suffix of a compiled module; asserts that it is that of an extension module."""
    file = importlib.import_module(f"streamnative_serdes.{name}").__file__
    suffix = next((s for s in importlib.machinery.EXTENSION_SUFFIXES if file and file.endswith(s)), None)
    if suffix is None:
        raise pytest.UsageError(f"streamnative_serdes.{name} is not compiled but {file}: run `make build`")
    return suffix


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def pytest_report_header() -> list[str]:
    suffixes = sorted({compiled_suffix(name) for name in COMPILED})
    versions = ", ".join(f"{name} {installed(name)}" for name in ("confluent-kafka", "fastavro", "requests"))
    return [
        f"streamnative_serdes: {Path(streamnative_serdes.__file__).parent}, compiled {' '.join(suffixes)}",
        f"with: {versions}; TZ {os.environ.get('TZ', 'of the machine')}",
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each test once in `.ci/run`, although it has a run with sanitizers and one without.

    With sanitizers, tests that are marked not_sanitized are skipped. In the folders and files that
    SERDES_LEFT_TO_SANITIZERS has, the other run takes these alone.
    """
    places = "" if SANITIZED else os.environ.get("SERDES_LEFT_TO_SANITIZERS", "")
    left = tuple(f"{place}{end}" for place in places.split() for end in ("/", "::"))
    marks = [(item, item.get_closest_marker("not_sanitized")) for item in items]
    for item, mark in marks:
        if mark is not None and SANITIZED:
            item.add_marker(pytest.mark.skip(**mark.kwargs))
    dropped = [item for item, mark in marks if mark is None and item.nodeid.startswith(left)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item, mark in marks if mark is not None or not item.nodeid.startswith(left)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that wrote "Exception ignored" to stderr, from this process or from one that it started.

    A cdef function without an `except` clause prints its exception that way and goes on with a wrong value.
    """
    report = yield
    written = dict(report.sections).get(f"Captured stderr {report.when}", "")
    if report.passed and "Exception ignored" in written:
        report.outcome = "failed"
        report.longrepr = f"an exception was swallowed:\n{written}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """End the output with a line for each failed test: a log of which only the end is kept still names them."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    for report in [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]:
        message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "").partition("\n")[0]
        reporter.write_line(f"{report.outcome} at {report.when}: {report.nodeid}: {message[:200]}")


def use_hypothesis_profile() -> None:
    """Profile `ci` uses the same examples in every run, `dev` new ones. Slow examples are allowed."""
    from hypothesis import settings

    settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
    settings.register_profile("dev", deadline=None, print_blob=True)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


# Wheels are tested only by the unit tests, without hypothesis.
if importlib.util.find_spec("hypothesis"):
    use_hypothesis_profile()


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    """A registry for this test alone. Schemas cached from another one on the same port are dropped."""
    Binding.forget()
    with LocalRegistry() as registry:
        yield registry
    Binding.forget()


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, str]:
    return {"schema.registry.url": registry.url}


@pytest.fixture
def second() -> Iterator[ConfluentStandIn]:
    """A registry with Confluent's API, beside Pulsar's. What is known of another one on the same port is dropped."""
    ConfluentSchemas.forget()
    with ConfluentStandIn() as registry:
        yield registry
    ConfluentSchemas.forget()
