"""Misses, batches and ranges call no more Python functions, in no more files, than tools/way_costs.py permits."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

from way_costs import MOST, Cost, cost, ways


def test_no_way_through_the_package_gets_longer() -> None:
    found = {name: (made, called) for name, made, called in ways()}
    assert found.keys() == MOST.keys()
    for name, (made, called) in found.items():
        assert made.files <= MOST[name].files, (name, called)
        assert made.calls <= MOST[name].calls, (name, called)


def test_calls_into_the_package_are_counted() -> None:
    from streamnative_serdes.header import pack_id

    assert cost(lambda: None) == (Cost(0, 0), [])
    assert cost(lambda: [pack_id(1), pack_id(2)]) == (Cost(2, 1), ["header.py:pack_id"] * 2)
