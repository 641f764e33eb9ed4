"""Run the Python lines of the README, with a registry and a broker in memory; prints what they print."""

from __future__ import annotations

import re
from pathlib import Path

from streamnative_serdes.testing import LocalRegistry, MockBroker

README = Path(__file__).resolve().parents[1] / "README.md"


def main() -> None:
    (code, expected) = re.findall(r"```python\n(.*?)  # (\{.*?\})\n```", README.read_text(encoding="utf-8"), re.DOTALL)[
        0
    ]
    with LocalRegistry() as registry, MockBroker({"users": 1}) as broker:
        code = code.replace("http://localhost:8080", registry.url).replace("localhost:9092", broker.bootstrap_servers)
        names: dict[str, object] = {}
        exec(code.replace("poll(10)", "poll(60)"), names)  # noqa: S102 - our own lines
        names["consumer"].close()  # type: ignore[attr-defined]
    print("README:", expected)


if __name__ == "__main__":
    main()
