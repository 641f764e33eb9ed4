"""The fixture ``java``: Java's Avro library as an oracle."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from java_oracle import JavaAvro, NoJavaError


@pytest.fixture(scope="session")
def java() -> Iterator[JavaAvro]:
    try:
        oracle = JavaAvro()
    except NoJavaError as error:
        if os.environ.get("CI"):
            pytest.fail(f"no Java oracle, which CI requires: {error}")
        pytest.skip(f"no Java oracle: {error}")
    with oracle:
        yield oracle
