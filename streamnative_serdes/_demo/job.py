"""The demo job: the round trip, the Spark session it runs on, and the servers it starts."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

from .columnar import ColumnarRoundTrip
from .flights import unzip_flights
from .progress import Bars, Lines
from .round_trip import Destination, Result, RoundTrip


class Job:
    """The round trip and the servers it needs, which stop with ``stack``."""

    def __init__(self, stack: ExitStack, rows: int | None) -> None:
        self._stack = stack
        self._csv = unzip_flights(Path(stack.enter_context(tempfile.TemporaryDirectory())), rows)
        # Started first: it forks, which is not safe once the threads of registry and broker run.
        self._spark = stack.enter_context(local_session("streamnative-serdes demo"))
        self.registry: LocalRegistry | None = None

    def start_broker(self, topic: str, partitions: int) -> str:
        return self._stack.enter_context(MockBroker({topic: partitions})).bootstrap_servers

    def start_registry(self) -> str:
        self.registry = self._stack.enter_context(LocalRegistry())
        return self.registry.url

    def run(self, to: Destination, *, columns: bool) -> Result:
        try:
            progress = Bars() if sys.stderr.isatty() else Lines()
            return (ColumnarRoundTrip if columns else RoundTrip)(self._spark, self._csv, to, progress).run()
        finally:
            # Stopped before registry and broker, so that no task still uses them.
            self._spark.stop()
