"""Rooms: which tests must detect the faults in which files.

``tests`` run first, quickest first. A fault that survives them must also survive ``wider`` before it counts as alive.
Tests with real servers, style checks and memory measurements are not included.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch

PACKAGE, EXT = "streamnative_serdes", "ext/streamnative_serdes"
ALL_UNITS = ("tests/unit", "tests/typed")
PROPERTIES = ("tests/property",)
HOSTILE = tuple(
    f"tests/adversity/codec/test_{name}.py"
    for name in ("codec_hostile_bytes", "codec_hostile_objects", "codec_memory", "out_of_memory")
)
NETWORK = tuple(f"tests/adversity/{room}" for room in ("auth", "http", "schema_registry", "serdes"))
CLIENTS = (
    "tests/interop/integrations/test_builders.py", "tests/interop/compat/test_confluent_clients.py", "tests/docs/auth",
    "tests/docs/package/test_examples.py", "tests/docs/package/test_every_block.py", "tests/docs/models",
)  # fmt: skip
OVER_NETWORK = (*ALL_UNITS, *NETWORK, *CLIENTS)
COMPILED = (*ALL_UNITS, *PROPERTIES, *HOSTILE, "tests/adversity/codec/test_codec_threads.py")


@dataclass(frozen=True)
class Room:
    """``files`` are patterns of paths; ``drawn`` faults are drawn for the first list here, ``new`` for the second."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    wider: tuple[str, ...]
    drawn: int
    new: int = 0


def units(*rooms: str) -> tuple[str, ...]:
    """Return the folders of these rooms' unit tests."""
    return tuple(f"tests/unit/{room}" for room in rooms)


def package(*names: str) -> tuple[str, ...]:
    return tuple(f"{PACKAGE}/{name}" for name in names)


ROOMS = (
    Room("ext header", (f"{EXT}/_header.*",), units("codec", "serdes"), COMPILED, 3),
    Room("ext cache", (f"{EXT}/_cache.*",), units("package", "topics"), COMPILED, 3),
    Room(
        "ext serdes",
        (f"{EXT}/_serdes.pyx", f"{EXT}/serdes/*", f"{EXT}/calls.h", f"{EXT}/clock.h"),
        units("serdes", "topics", "reading"),
        (*COMPILED, *CLIENTS, "tests/adversity/serdes"),
        6,
    ),
    Room(
        "ext codec",
        (f"{EXT}/_codec.*", f"{EXT}/codec/*"),
        (*units("codec", "schema", "models", "serdes"), *HOSTILE),
        COMPILED,
        16,
    ),
    Room(
        "ext arrow",
        (f"{EXT}/_arrow.pyx", f"{EXT}/arrow/*"),
        (*units("arrow", "reading"), "tests/property/arrow"),
        (*COMPILED, "tests/adversity/arrow", "tests/docs/package/test_every_block.py"),
        12,
    ),
    Room(
        "converters",
        (f"{EXT}/_records.*", f"{EXT}/records/*", f"{PACKAGE}/converters/*", f"{PACKAGE}/_external_ids.py"),
        (*units("converters", "cli"), "tests/adversity/converters/test_hostile_dumps.py"),
        (*ALL_UNITS, "tests/property/converters", "tests/adversity/converters"),
        0, 7,
    ),
    Room(
        "words",
        package("errors.py", "_nearest.py", "serialization.py", "header.py", "_topics/cache.py", "codec.py"),
        units("package", "serdes", "codec"),
        OVER_NETWORK,
        3,
    ),
    Room(
        "schema",
        package("_schema/*"),
        units("schema", "broker_rules", "codec", "testing", "serdes"),
        (*OVER_NETWORK, *PROPERTIES),
        6,
    ),
    Room(
        "config",
        package("_config/*"),
        units("package", "config", "auth", "integrations", "serdes", "models", "topics"),
        OVER_NETWORK,
        4,
    ),
    Room(
        "models",
        package("models/*"),
        (*units("models", "schema"), "tests/typed"),
        (*OVER_NETWORK, "tests/property/models"),
        6, 4,
    ),
    Room(
        "registry",
        package("schema_registry/*", "_http/*", "_auth/*"),
        (*units("schema_registry", "auth", "topics"),
         *(f"tests/adversity/{room}" for room in ("http", "schema_registry", "auth"))),
        OVER_NETWORK,
        9,
    ),
    Room(
        "binding",
        (*package("_topics/*", "_single_flight.py"), f"{EXT}/_flights.pyx"),
        units("topics", "reading", "testing", "serdes"),
        (*OVER_NETWORK, "tests/adversity/codec/test_codec_threads.py"),
        6,
    ),
    Room(
        "formats",
        package("_formats/*", "key_value.py"),
        units("formats", "serdes", "reading", "converters"),
        (*OVER_NETWORK, "tests/property/formats", "tests/property/serdes"),
        0, 5,
    ),
    Room(
        "faces",
        package(
            *("serializer.py", "deserializer.py", "_avro_engine.py", "_lifecycle.py"),
            *("_reading/*", "_writing/*", "arrow/*"),
        ),
        units("serdes", "reading", "arrow", "topics", "models"),
        OVER_NETWORK,
        7,
    ),
    Room(
        "compat",
        package("compat/*"),
        (*units("compat"),
         "tests/interop/compat/test_confluent_clients.py", "tests/interop/compat/test_confluents_avro_serdes.py"),
        OVER_NETWORK,
        5,
    ),
    Room(
        "clients",
        package("integrations/*"),
        (*units("integrations", "auth", "cli"), "tests/interop/integrations/test_builders.py"),
        OVER_NETWORK,
        3,
    ),
    Room(
        "data source",
        package("spark/datasource/*"),
        (*(f"tests/spark/datasource/test_{name}.py" for name in (
            "options", "ranges", "sink_parts", "client_config", "secrets", "planning", "consumers",
            "transaction_markers")),
         *(f"tests/spark/test_{name}.py" for name in ("outbox", "sending", "sink_errors", "streams"))),
        (*(f"tests/spark/datasource/test_{name}.py" for name in ("stream_ends", "writing", "reading")),
         "tests/spark/test_source.py"),
        0, 11,
    ),
    Room(
        "connect",
        package("connect/*", "spark/connect/*"),
        (*units("connect"), "tests/adversity/connect"),
        ("tests/unit", "tests/property/connect", "tests/spark/test_connect_json.py"),
        0, 7,
    ),
    Room(
        "spark",
        package("spark/*"),
        tuple(f"tests/spark/test_{name}.py" for name in (
            "types", "java", "next_batches", "functions", "outbox", "sending", "source", "frames", "frame_columns",
            "sink", "sink_errors", "streams")),
        ("tests/spark/test_flights_job.py", "tests/spark/test_against_spark.py",
         "tests/spark/test_confluent_framings.py", "tests/docs/spark"),
        6, 3,
    ),
    Room(
        "kafka",
        package("_kafka/*"),
        units("kafka", "integrations", "cli", "migration"),
        ("tests/unit", "tests/spark/test_source.py"),
        0, 4,
    ),
    Room(
        "command line",
        package("cli/*", "__main__.py", "_files.py"),
        (*units("cli", "package"), "tests/property/cli"),
        ("tests/unit", "tests/docs/package/test_every_block.py"),
        6, 7,
    ),
    Room(
        "migration",
        package("migration/*", "_rewriting.py"),
        units("migration", "cli"),
        ("tests/unit", "tests/property/migration"),
        0, 10,
    ),
    Room(
        "testing",
        package("testing/*", "_broker_rules/*"),
        units("testing", "broker_rules", "schema_registry"),
        (*OVER_NETWORK, *PROPERTIES),
        5, 2,
    ),
)  # fmt: skip


def room_of(file: str) -> Room:
    """Return the room that ``file`` belongs to. Raises LookupError."""
    for room in ROOMS:
        if any(fnmatch(file, pattern) for pattern in room.files):
            return room
    raise LookupError(f"{file} belongs to no room of tests/mutants/rooms.py")
