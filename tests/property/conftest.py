"""Java's Avro for the tests that ask it."""

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
            pytest.fail(f"no Java oracle, and CI may not go without: {error}")
        pytest.skip(f"no Java oracle: {error}")
    with oracle:
        yield oracle
