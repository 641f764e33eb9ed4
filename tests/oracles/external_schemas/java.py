"""Runs Send.java and Receive.java with the jars of two clients, and Entries.java with those of a broker."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Final

from java_program import OPTIONS, class_path, run
from servers import NEXT_PULSAR, Pulsar, older_client_jars, pulsar_jars

from . import FOLDER, NEW, OLD, TOPICS

_OPTIONS: Final = (*OPTIONS, "--add-opens", "java.base/java.nio=ALL-UNNAMED")


def lines_of_java(server: Pulsar) -> list[str]:
    """Return one line of JSON for each client and topic, sent to ``server``, a Pulsar 4.2.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    lines = []
    for client, jars in ((OLD, older_client_jars()), (NEW, pulsar_jars(NEXT_PULSAR))):
        prefix = f"external-{client}-"
        _run(jars, "Send.java", server.service_url, prefix)
        names = [topic.replace(" ", "-") for topic in TOPICS]
        entries = defaultdict(list)
        for line in _run(pulsar_jars(NEXT_PULSAR), "Entries.java", server.service_url, prefix, *names):
            topic, _, entry = line.partition(" ")
            if topic in names:  # logging has lines too
                entries[topic].append(entry)
        lines += [
            json.dumps({"client": client, "topic": topic, "entries": entries[name]})
            for topic, name in zip(TOPICS, names, strict=True)
        ]
    return lines


def read_by_java(server: Pulsar, client: str, topic: str, encoding: str, count: int) -> list[str]:
    """Return what Receive.java prints of a topic, read with the jars of a client."""
    jars = older_client_jars() if client == OLD else pulsar_jars(NEXT_PULSAR)
    lines = _run(jars, "Receive.java", server.service_url, topic, encoding, str(count))
    return [line.removeprefix("read: ") for line in lines if line.startswith("read: ")]


def _run(jars: Path, program: str, *arguments: str) -> list[str]:
    return run(*_OPTIONS, *class_path(f"{jars}/*"), FOLDER / program, *arguments)
