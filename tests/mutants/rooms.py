"""Rooms: which tests must detect the faults in which files.

``tests`` run first, quickest first. A fault that survives them must also survive ``wider`` before it counts as alive.
Tests with real servers, style checks and memory measurements are not included.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

UNITS = Path(__file__).parents[1] / "unit"
PACKAGE, EXT = "streamnative_serdes", "ext/streamnative_serdes"
ALL_UNITS = (
    "tests/unit", "tests/typed",
)  # fmt: skip
PROPERTIES = ("tests/property",)
HOSTILE = (
    "tests/adversity/test_codec_hostile_bytes.py", "tests/adversity/test_codec_hostile_objects.py",
    "tests/adversity/test_codec_memory.py", "tests/adversity/test_out_of_memory.py",
)  # fmt: skip
NETWORK = (
    "tests/adversity/test_registry_faults.py", "tests/adversity/test_registry_redirects.py",
    "tests/adversity/test_serdes_faults.py", "tests/adversity/test_oauth.py",
    "tests/adversity/test_oauth_faults.py", "tests/adversity/test_tls.py", "tests/adversity/test_no_secret_shows.py",
    "tests/adversity/test_nesting.py", "tests/adversity/test_first_contact.py",
    "tests/adversity/test_hostile_answers.py", "tests/adversity/test_wrong_addresses.py",
)  # fmt: skip
CLIENTS = (
    "tests/interop/test_builders.py", "tests/interop/test_confluent_clients.py", "tests/docs/test_auth_docs.py",
    "tests/docs/test_examples.py", "tests/docs/test_typed_document.py", "tests/docs/test_arrow_docs.py",
)  # fmt: skip
OVER_NETWORK = (*ALL_UNITS, *NETWORK, *CLIENTS)
COMPILED = (*ALL_UNITS, *PROPERTIES, *HOSTILE, "tests/adversity/test_codec_threads.py")


@dataclass(frozen=True)
class Room:
    """``files`` are patterns of paths; ``drawn`` faults are drawn for the first list here, ``new`` for the second."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    wider: tuple[str, ...]
    drawn: int
    new: int = 0


def units(*names: str) -> tuple[str, ...]:
    """Return the files of these unit tests; names may be patterns."""
    files = (sorted(UNITS.glob(f"test_{name}.py")) or [UNITS / f"test_{name}.py"] for name in names)
    return tuple(f"tests/unit/{file.name}" for found in files for file in found)


def package(*names: str) -> tuple[str, ...]:
    return tuple(f"{PACKAGE}/{name}" for name in names)


ROOMS = (
    Room("ext header", (f"{EXT}/_header.*",), units("header", "deserializer", "serializer"), COMPILED, 3),
    Room("ext cache", (f"{EXT}/_cache.*",), units("words", "topic_state", "binding", "recreated_topics"), COMPILED, 3),
    Room(
        "ext serdes",
        (f"{EXT}/_serdes.pyx", f"{EXT}/serdes/*", f"{EXT}/calls.h", f"{EXT}/clock.h"),
        units("serializer", "deserializer", "calls", "stats", "binding", "chosen_versions", "recreated_topics",
              "negative_cache", "framings", "key_value", "key_value_mistakes"),
        (*COMPILED, *CLIENTS, "tests/adversity/test_serdes_faults.py"),
        6,
    ),
    Room(
        "ext codec",
        (f"{EXT}/_codec.*", f"{EXT}/codec/*"),
        (*units("codec*", "resolution", "typed_values", "schema", "bad_input"), *HOSTILE),
        COMPILED,
        16,
    ),
    Room(
        "ext arrow",
        (f"{EXT}/_arrow.pyx", f"{EXT}/arrow/*"),
        (*units("arrow_*_text", "arrow_lists", "arrow_skipped_fields", "arrow_batches", "arrow_topics",
                "arrow_types", "arrow_bounds", "arrow_pieces", "client_batches", "next_batches", "framings",
                "typed_batches", "arrow_block*"),
         "tests/property/test_arrow_against_codec.py"),
        (*COMPILED, "tests/adversity/test_arrow_adversity.py", "tests/adversity/test_arrow_damaged.py",
         "tests/docs/test_arrow_docs.py"),
        12,
    ),
    Room(
        "converters",
        (f"{EXT}/_records.*", f"{EXT}/records/*", f"{PACKAGE}/converters/*"),
        (*units("converters", "kafka_entries", "entry_conversion", "java_entries", "segments", "java_sets",
                "kop_formats", "cli_convert"), "tests/adversity/test_hostile_dumps.py"),
        (*ALL_UNITS, "tests/property/test_entries.py", "tests/adversity/test_hostile_entries.py",
         "tests/adversity/test_hostile_segments.py"),
        0, 7,
    ),
    Room(
        "words",
        package("errors.py", "_nearest.py", "_log.py", "serialization.py", "header.py", "_topics/cache.py", "codec.py"),
        units("words", "bad_input", "header", "serializer", "deserializer"),
        OVER_NETWORK,
        3,
    ),
    Room(
        "schema",
        package("_schema/*"),
        units("schema", "references", "resolution", "compatibility", "codec_limits", "codec_shapes", "local_registry",
              "bad_input"),
        (*OVER_NETWORK, *PROPERTIES),
        6,
    ),
    Room("config", package("_config/*"), units("words", "credentials", "confluent_options", "bad_input",
         "registry_auth", "serializer", "deserializer", "kop", "typed_values", "chosen_versions"), OVER_NETWORK, 4),
    Room(
        "models",
        package("models/*"),
        (*units("models", "model_*", "typed_values", "java_shapes", "defaults_to_register"), "tests/typed"),
        (*OVER_NETWORK, "tests/property/test_typed_objects.py"),
        6, 4,
    ),
    Room(
        "registry",
        package("schema_registry/*", "_http/*", "_auth/*"),
        (*units("registry_client", "confluent_client", "registry_auth", "renewal", "topic_name", "credentials",
                "interrupts"),
         "tests/adversity/test_registry_redirects.py", "tests/adversity/test_oauth_faults.py",
         "tests/adversity/test_registry_faults.py", "tests/adversity/test_oauth.py", "tests/adversity/test_tls.py"),
        OVER_NETWORK,
        9,
    ),
    Room(
        "binding",
        (*package("_topics/*", "_single_flight.py"), f"{EXT}/_flights.pyx"),
        units("topic_state", "binding", "next_batches", "confluent_ids", "interrupts", "negative_cache", "watch",
              "recreated_topics", "chosen_versions", "flavours", "travel", "serializer", "deserializer",
              "key_value_mistakes", "key_value_halves"),
        (*OVER_NETWORK, "tests/adversity/test_codec_threads.py"),
        6,
    ),
    Room(
        "formats",
        package("_formats/*", "key_value.py"),
        units("formats*", "kop_formats", "key_value", "key_value_mistakes", "typed_batches", "unread_look"),
        (*OVER_NETWORK, "tests/property/test_formats.py", "tests/property/test_key_value.py"),
        0, 5,
    ),
    Room(
        "faces",
        package("serializer.py", "deserializer.py", "_reading/*", "_writing/*", "_lifecycle.py", "arrow/*"),
        units("serializer", "deserializer", "batches", "next_batches", "arrow_batches", "arrow_topics", "arrow_types",
              "travel", "bad_input", "chosen_versions", "stats", "whole_messages", "typed_values", "framings",
              "evolution", "evolution_batches", "evolution_pairs", "key_value", "key_value_mistakes"),
        OVER_NETWORK,
        7,
    ),
    Room(
        "compat",
        package("compat/*"),
        (*units("compat_serdes", "compat_client", "compat_asyncio"),
         "tests/interop/test_confluent_clients.py", "tests/interop/test_confluents_avro_serdes.py"),
        OVER_NETWORK,
        5,
    ),
    Room(
        "clients",
        package("integrations/*"),
        (*units("kop", "command_line", "kafka_python", "credentials"), "tests/interop/test_builders.py"),
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
        (*units("connect_*"), "tests/adversity/test_connect_json.py", "tests/adversity/test_connect_avro.py"),
        ("tests/unit", "tests/property/test_connect_json.py", "tests/property/test_connect_avro.py",
         "tests/property/test_connect_spark.py", "tests/spark/test_connect_json.py"),
        0, 7,
    ),
    Room(
        "spark",
        package("spark/*"),
        tuple(f"tests/spark/test_{name}.py" for name in (
            "types", "java", "next_batches", "functions", "outbox", "sending", "source", "frames", "frame_columns",
            "sink", "sink_errors", "streams")),
        ("tests/spark/test_flights_job.py", "tests/spark/test_against_spark.py",
         "tests/spark/test_confluent_framings.py", "tests/docs/test_spark_docs.py",
         "tests/docs/test_spark_examples.py"),
        6, 3,
    ),
    Room(
        "kafka",
        package("_kafka/*"),
        units("kafka_*", "producer_ids", "kop", "cli_consuming", "migration_kop", "migrate_verify"),
        ("tests/unit", "tests/spark/test_source.py"),
        0, 4,
    ),
    Room(
        "command line",
        package("cli/*", "__main__.py", "_files.py"),
        (*units("files", "cli_*", "command_line"), "tests/property/test_json_lines.py"),
        ("tests/unit", "tests/docs/test_cli_docs.py"),
        6, 7,
    ),
    Room(
        "migration",
        package("migration/*"),
        units("migration_*", "migrate_*", "cli_migrate_plan"),
        ("tests/unit", "tests/property/test_migrate_rewriting.py", "tests/property/test_migrate_canonical.py"),
        0, 10,
    ),
    Room(
        "testing",
        package("testing/*", "_broker_rules/*"),
        units("local_registry", "mock_*", "flavours", "compatibility", "rehearsal", "registry_client"),
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
