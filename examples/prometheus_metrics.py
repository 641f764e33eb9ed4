"""The counters of a serializer and a deserializer for Prometheus, and a picture of them over time.

    pip install opentelemetry-sdk opentelemetry-exporter-prometheus matplotlib
    python examples/prometheus_metrics.py                    serves http://localhost:9464/metrics for a minute
    python examples/prometheus_metrics.py 3 curves.svg       for 3 seconds, and draws what was scraped

The registry is the package's stand-in. Some messages have no header, some an unknown version, and some are broken.
"""

from __future__ import annotations

import random
import sys
import time
from collections import defaultdict
from contextlib import suppress
from urllib.request import urlopen

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import start_http_server
from prometheus_client.parser import text_string_to_metric_families

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.integrations import otel
from streamnative_serdes.testing import LocalRegistry

PORT, SCHEMA = 9464, '{"type": "record", "name": "Reading", "fields": [{"name": "celsius", "type": "double"}]}'
Curves = dict[str, list[tuple[float, float]]]


def work(serializer: KafkaAvroSerializer, deserializer: KafkaAvroDeserializer, kinds: random.Random) -> None:
    """Write and read one message, of one of several kinds."""
    message = serializer.serialize("readings", {"celsius": kinds.gauss(20, 5)}) or b""
    kind = kinds.random()
    if kind < 0.05:
        message = message[10:]  # as Pulsar's own producers write it
    elif kind < 0.08:
        message = header.pack(7) + message[10:]
    elif kind < 0.1:
        message = message[:-1]
    with suppress(DecodeError):  # which is counted
        deserializer.deserialize("readings", message)


def scraped(port: int) -> dict[str, float]:
    """The counters as Prometheus reads them."""
    with urlopen(f"http://localhost:{port}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    samples = [sample for family in families for sample in family.samples if sample.name.startswith("streamnative")]
    return {
        f"{one.labels['streamnative_serdes_name']}: {one.name.removeprefix('streamnative_serdes_')}": one.value
        for one in samples
    }


def draw(curves: Curves, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    for name, points in sorted(curves.items()):
        if points[-1][1]:
            axes.plot(*zip(*points, strict=True), label=name)
    axes.set(xlabel="seconds", ylabel="messages", yscale="symlog")
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(seconds: float = 60, picture: str | None = None) -> None:
    server, _ = start_http_server(PORT if picture is None else 0, "127.0.0.1")
    meters, kinds = MeterProvider([PrometheusMetricReader()]), random.Random(1)
    curves: Curves = defaultdict(list)
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer = otel.observe(KafkaAvroSerializer(conf, SCHEMA), "readings-out", meter_provider=meters)
        deserializer = otel.observe(KafkaAvroDeserializer(conf), "readings-in", meter_provider=meters)
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            for _ in range(50):
                work(serializer, deserializer, kinds)
            for name, value in scraped(server.server_port).items():
                curves[name].append((now, value))
            time.sleep(min(0.2, seconds / 50))
    for name, points in sorted(curves.items()):
        print(f"{name} {points[-1][1]:.0f}")
    if picture is not None:
        draw(curves, picture)
    meters.shutdown()
    server.shutdown()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60, sys.argv[2] if len(sys.argv) > 2 else None)
