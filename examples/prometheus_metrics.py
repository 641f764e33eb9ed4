"""The counters of a serializer and a deserializer for Prometheus, and a page of curves as a dashboard would show them.

    pip install opentelemetry-sdk opentelemetry-exporter-prometheus matplotlib
    python examples/prometheus_metrics.py                    serves http://localhost:9464/metrics for a minute
    python examples/prometheus_metrics.py 20 curves.svg      for 20 seconds, and draws what was scraped

The registry is the package's stand-in. Some messages have no header, some an unknown version, and some are broken; for
a while, more are; and one topic has no schema.
"""

from __future__ import annotations

import random
import sys
import time
from collections import defaultdict
from contextlib import suppress
from typing import NamedTuple
from urllib.request import urlopen

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import start_http_server
from prometheus_client.parser import text_string_to_metric_families

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.integrations import otel
from streamnative_serdes.testing import LocalRegistry

PORT, SCHEMA = 9464, '{"type": "record", "name": "Reading", "fields": [{"name": "celsius", "type": "double"}]}'


class Curve(NamedTuple):
    """The metric of a curve, and the attributes that tell it from the others of that metric."""

    metric: str
    of: str


Curves = dict[Curve, list[tuple[float, float]]]
PANELS = {
    "messages per second": ["messages_total"],
    "bytes per second": ["io_bytes_total"],
    "failures per second, by topic and error": ["failures_total"],
    "without a header, or of an unknown version, per second": ["headerless_total", "fallbacks_total"],
}


def work(
    serializer: KafkaAvroSerializer, deserializer: KafkaAvroDeserializer, chance: random.Random, bad: float
) -> None:
    """Write and read one message, of one of several kinds and topics."""
    topic = chance.choice(["kitchen", "cellar"])
    message = serializer.serialize(topic, {"celsius": chance.gauss(20, 5)}) or b""
    kind = chance.random()
    if kind < bad:
        message = message[:-1]
    elif kind < bad + 0.05:
        message = message[10:]  # as Pulsar's own producers write it
    elif kind < bad + 0.08:
        message = header.pack(7) + message[10:]
    elif kind < bad + 0.09:
        topic = "attic"
    with suppress(SerdesError):  # which is counted
        deserializer.deserialize(topic, message)


def scraped(port: int) -> dict[Curve, float]:
    """The counters as Prometheus reads them."""
    with urlopen(f"http://localhost:{port}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    found: dict[Curve, float] = defaultdict(float)
    for sample in [sample for family in families for sample in family.samples]:
        if sample.name.startswith("streamnative_serdes_"):
            labels = sample.labels
            told = [labels.get("messaging_destination_name"), labels.get("error_type")]
            of = ", ".join(filter(None, told)) if labels.get("error_type") else labels["streamnative_serdes_name"]
            found[Curve(sample.name.removeprefix("streamnative_serdes_"), of)] += sample.value
    return found


def rates(points: list[tuple[float, float]], seconds: float) -> tuple[list[float], list[float]]:
    """The times, and the growth per second over the last ``seconds``, as Prometheus' function rate()."""
    times, growth, first = [], [], 0
    for at, value in points[1:]:
        if at < seconds:
            continue
        while points[first + 1][0] < at - seconds:
            first += 1
        before, was = points[first]
        times.append(at)
        growth.append((value - was) / (at - before))
    return times, growth


def draw(curves: Curves, path: str) -> None:
    """One panel for each of PANELS."""
    import matplotlib.pyplot as plt

    seconds = max(points[-1][0] for points in curves.values())
    figure, grid = plt.subplots(2, 2, figsize=(10, 6), sharex=True)
    for axes, (title, metrics) in zip(grid.flat, PANELS.items(), strict=True):
        for curve, points in sorted(curves.items()):
            if curve.metric in metrics and points[-1][1]:
                name = curve.metric.removesuffix("_total") if len(metrics) > 1 else curve.of
                axes.plot(*rates(points, seconds / 10), label=name)
        axes.set_title(title, fontsize="medium")
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", loc="upper right", ncols=2)
    for axes in grid[-1]:
        axes.set_xlabel("seconds")
    figure.tight_layout()
    plt.rcParams["svg.hashsalt"] = "curves"  # the same curves give the same file
    figure.savefig(path, metadata={"Date": None})


def main(seconds: float = 60, picture: str | None = None) -> None:
    server, _ = start_http_server(PORT if picture is None else 0, "127.0.0.1")
    meters, chance = MeterProvider([PrometheusMetricReader()]), random.Random(1)
    curves: Curves = {}
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer = otel.observe(KafkaAvroSerializer(conf, SCHEMA), "out", meter_provider=meters)
        deserializer = otel.observe(KafkaAvroDeserializer(conf), "in", by_topic=True, meter_provider=meters)
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            for _ in range(50):
                work(serializer, deserializer, chance, 0.15 if 0.4 < now / seconds < 0.6 else 0.02)
            for curve, value in scraped(server.server_port).items():
                curves.setdefault(curve, [(0.0, 0.0)]).append((time.monotonic() - began, value))
            time.sleep(min(0.2, seconds / 50))
    for curve, points in sorted(curves.items()):
        print(f"{curve.of}: {curve.metric} {points[-1][1]:.0f}")
    if picture is not None:
        draw(curves, picture)
    meters.shutdown()
    server.shutdown()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60, sys.argv[2] if len(sys.argv) > 2 else None)
