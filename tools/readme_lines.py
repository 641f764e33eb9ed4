"""Run the Python lines of the README, with a registry and a broker in memory; prints what they print.

Where Kafka's client has no wheel, the README's object goes through the SerDes alone.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry, MockBroker

README = Path(__file__).resolve().parents[1] / "README.md"


def run(code: str) -> None:
    with LocalRegistry() as registry, MockBroker({"users": 1}) as broker:
        code = code.replace("http://localhost:8080", registry.url).replace("localhost:9092", broker.bootstrap_servers)
        names: dict[str, object] = {}
        exec(code.replace("poll(10)", "poll(60)"), names)  # noqa: S102 - our own lines
        names["consumer"].close()  # type: ignore[attr-defined]


def run_serdes(code: str) -> object:
    """The object that comes back, without a client."""
    names: dict[str, object] = {}
    (schema,) = re.findall(r"(?m)^schema = .*$", code)
    exec(schema, names)  # noqa: S102 - our own line
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        message = KafkaAvroSerializer(conf, names["schema"]).serialize("users", {"name": "Ada", "age": 36})
        return KafkaAvroDeserializer(conf).deserialize("users", message)


def main() -> None:
    text = README.read_text(encoding="utf-8")
    (code, expected) = re.findall(r"```python\n(.*?)  # (\{.*?\})\n```", text, re.DOTALL)[0]
    if find_spec("confluent_kafka") is not None:
        run(code)
        print("README:", expected)
        return
    found = run_serdes(code)
    if str(found) != expected:
        raise SystemExit(f"expected {expected}, got {found}")
    print("README, without Kafka's client, which is not installed:", found)


if __name__ == "__main__":
    main()
