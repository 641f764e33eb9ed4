"""MockBroker: librdkafka's own mock Kafka cluster, with a chosen number of partitions per topic.

confluent-kafka bundles librdkafka, whose mock cluster is called here through ctypes. Its limits, as measured:

- it keeps about 5 MB per partition, and then silently drops the oldest records;
- topics are created here, or on first use with 4 partitions; ``create_topics``, ``delete_records`` and
  ``offsets_for_times`` do not work;
- transactions are accepted, but aborted records stay visible: it cannot test exactly-once semantics;
- it is not suitable for benchmarks.
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final, Self

from streamnative_serdes.errors import ConfigError

_PRODUCER: Final = 0  # RD_KAFKA_PRODUCER
_ERROR_BYTES: Final = 512
_MOST: Final = 10_000  # brokers, or partitions of a topic: librdkafka checks neither, and aborts the process below 0

# Where auditwheel, delocate and delvewheel put librdkafka, relative to the parent folder of confluent_kafka.
_LIBRARIES: Final = {
    "linux": ("confluent_kafka.libs/librdkafka-*.so*", "confluent_kafka.libs/librdkafka.so*"),
    "darwin": ("confluent_kafka/.dylibs/librdkafka*.dylib",),
    "win32": ("confluent_kafka.libs/rdkafka*.dll", "confluent_kafka.libs/librdkafka*.dll"),
}

# Function -> result type and argument types, from rd_kafka.h and rd_kafka_mock.h.
_POINTER = ctypes.c_void_p
_FUNCTIONS: Final[Mapping[str, tuple[object, list[object]]]] = {
    "rd_kafka_conf_new": (_POINTER, []),
    "rd_kafka_conf_destroy": (None, [_POINTER]),
    "rd_kafka_conf_set": (
        ctypes.c_int,
        [_POINTER, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t],
    ),
    "rd_kafka_new": (_POINTER, [ctypes.c_int, _POINTER, ctypes.c_char_p, ctypes.c_size_t]),
    "rd_kafka_destroy": (None, [_POINTER]),
    "rd_kafka_err2str": (ctypes.c_char_p, [ctypes.c_int]),
    "rd_kafka_mock_cluster_new": (_POINTER, [_POINTER, ctypes.c_int]),
    "rd_kafka_mock_cluster_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_bootstraps": (ctypes.c_char_p, [_POINTER]),
    "rd_kafka_mock_topic_create": (ctypes.c_int, [_POINTER, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]),
}
# Missing in older librdkafka: without it, a consumer group needs 3 s to form.
_REBALANCE_DELAY: Final = "rd_kafka_mock_group_initial_rebalance_delay_ms"


class MockBroker:
    """A Kafka cluster inside this process, which other processes reach over 127.0.0.1; it stops with the object.

    Args:
        topics: name -> number of partitions.
        brokers: number of brokers.

    Raises:
        ConfigError: ``brokers`` is not a number from 1 to 10,000.

    Use it as a context manager, or call :meth:`start` and :meth:`close`; close its clients first::

        with MockBroker({"flights": 16}) as broker:
            Producer({"bootstrap.servers": broker.bootstrap_servers})
    """

    def __init__(self, topics: Mapping[str, int] | None = None, brokers: int = 1) -> None:
        self._topics = dict(topics or {})
        if not _is_count(brokers):
            raise ConfigError(f"expected a number of brokers from 1 to {_MOST}, got {brokers!r:.80}")
        self._brokers = brokers
        self._library: ctypes.CDLL | None = None
        self._client: int | None = None
        self._cluster: int | None = None

    def start(self) -> Self:
        """Start the cluster and create its topics.

        Raises:
            ConfigError: no usable librdkafka was found (the message lists where), or a topic is refused.
        """
        if self._cluster is None:
            self._library = _load()
            try:
                self._start(self._library)
            except BaseException:
                self.close()
                raise
        return self

    def _start(self, library: ctypes.CDLL) -> None:
        self._client = _new_client(library)
        self._cluster = library.rd_kafka_mock_cluster_new(self._client, self._brokers)
        if not self._cluster:
            raise ConfigError(f"librdkafka cannot start a mock cluster of {self._brokers} brokers")
        delay = getattr(library, _REBALANCE_DELAY, None)
        if delay is not None:
            delay.restype, delay.argtypes = None, [_POINTER, ctypes.c_int32]
            delay(self._cluster, 0)
        for topic, partitions in self._topics.items():
            self.create_topic(topic, partitions)

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic.

        Raises:
            ConfigError: the broker is not running, or refuses the topic (it exists already).
        """
        if self._library is None or self._cluster is None:
            raise _not_running()
        if type(name) is not str or "\0" in name:
            raise ConfigError(f"expected a topic's name, got {name!r:.80}")
        if not _is_count(partitions):
            raise ConfigError(f"topic {name!r}: expected 1 to {_MOST} partitions, got {partitions!r:.80}")
        code = self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, self._brokers)
        if code:
            reason = self._library.rd_kafka_err2str(code).decode()
            raise ConfigError(f"the mock broker refuses topic {name!r} with {partitions} partitions: {reason}")

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of all brokers, separated by commas.

        Raises:
            ConfigError: the broker is not running.
        """
        if self._library is None or self._cluster is None:
            raise _not_running()
        return str(self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def close(self) -> None:
        """Stop the cluster and free it; all records are lost."""
        library, client, cluster = self._library, self._client, self._cluster
        self._library = self._client = self._cluster = None
        if library is not None and cluster:
            library.rd_kafka_mock_cluster_destroy(cluster)
        if library is not None and client:
            library.rd_kafka_destroy(client)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_count(given: object) -> bool:
    return type(given) is int and 0 < given <= _MOST


def _not_running() -> ConfigError:
    return ConfigError("the mock broker is not running", hint="use it as a context manager, or call start()")


def _new_client(library: ctypes.CDLL) -> int:
    """The librdkafka client that owns the mock cluster; it connects to nothing."""
    conf = library.rd_kafka_conf_new()
    text = ctypes.create_string_buffer(_ERROR_BYTES)
    # Warnings and errors only: it would log on stderr that bootstrap.servers is missing, which it does not need.
    library.rd_kafka_conf_set(conf, b"log_level", b"4", text, _ERROR_BYTES)
    client = library.rd_kafka_new(_PRODUCER, conf, text, _ERROR_BYTES)
    if not client:
        library.rd_kafka_conf_destroy(conf)  # rd_kafka_new keeps it only when it succeeds
        raise ConfigError(f"librdkafka cannot start: {text.value.decode(errors='replace')}")
    return int(client)


def _load() -> ctypes.CDLL:
    """The librdkafka that confluent-kafka bundles; importing confluent-kafka loads it into this process."""
    path = _find()
    try:
        import confluent_kafka  # noqa: F401  # loads what the library itself needs

        library = ctypes.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (AttributeError, OSError) as error:
        raise _unavailable(f"{path}: {error}") from error
    return library


def _find() -> str:
    spec = find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise _unavailable("confluent_kafka is not installed")
    folder = os.path.dirname(os.path.dirname(spec.origin))
    patterns = [os.path.join(folder, pattern) for pattern in _LIBRARIES.get(sys.platform, ())]
    for pattern in patterns:
        found = sorted(glob.glob(pattern))
        if found:
            return found[0]
    looked = ", ".join(patterns) or f"nothing, as its location on platform {sys.platform} is unknown"
    raise _unavailable(f"librdkafka not found; looked for: {looked}")


def _unavailable(reason: str) -> ConfigError:
    try:
        installed = version("confluent-kafka")
    except PackageNotFoundError:
        installed = "not installed"
    return ConfigError(
        f"the mock broker cannot start here: {reason} (confluent-kafka: {installed}, platform: {sys.platform})",
        hint="install confluent-kafka from its binary wheel, or use a real broker",
    )
