"""By how many bytes copies are larger than their messages, in each direction, with and without transactions."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes import header
from streamnative_serdes.migration import Direction, Rewriter, Route, Side
from streamnative_serdes.migration.copying.messages import with_place
from streamnative_serdes.migration.planning.target import batch_size, growth_of

GUID = "89791762-2336-186f-9674-180ca802d4d1"
SIDE = Side({}, {})


def growth(direction: Direction, findings: Any) -> int:
    return growth_of(Route(direction, "t", "out", SIDE, SIDE), findings)


@pytest.mark.parametrize("findings", [None, {"probe": None}, {"probe": {"transactions": True}}])
def test_with_transactions_only_the_prefix_grows(findings: Any) -> None:
    assert growth("forward", findings) == 5
    assert growth("back", findings) == 0


def test_bytes_at_the_root_get_their_length_too() -> None:
    findings: Any = {"probe": None, "ids": [{"name": "shop.User"}, {"name": "bytes"}], "listed": None}
    assert growth("forward", findings) == growth("forward", {"ids": [], "listed": [{"name": "bytes"}]}) == 10
    assert growth("back", findings) == 0
    framed = header.pack_id(7) + b"x" * 2**20
    copy, _ = Rewriter("forward", {7: 2**62}, {7}).rewrite(framed, None)
    assert len(copy) - len(framed) == 5 + 4  # and 5 for values of 128 MB and more


@pytest.mark.parametrize("size", [50, 55, 60, 63, 8_180, 8_186, 1_048_570])
def test_a_copy_grows_by_no_more_than_that_and_two_bytes_for_lengths(size: int) -> None:
    rewriter = Rewriter("forward", {7: 2**62, GUID: 2**62})
    framed = header.pack_id(7) + b"x" * (size - 5)
    copy, _ = rewriter.rewrite(framed, None)
    assert len(copy) - len(framed) == 5
    assert 5 <= batch_size(None, copy, None) - batch_size(None, framed, None) <= 7


def test_a_copy_without_the_header_of_its_schema_is_smaller() -> None:
    rewriter = Rewriter("forward", {7: 2**62, GUID: 2**62})
    for named in (b"\1" + bytes.fromhex(GUID.replace("-", "")), header.pack_id(7)):
        in_header = [("__value_schema_id", named)]
        copy, headers = rewriter.rewrite(b"x" * 60, in_header)
        assert batch_size(None, copy, headers) < batch_size(None, b"x" * 60, in_header)


def test_without_transactions_the_place_of_any_message_fits() -> None:
    findings = {"probe": {"transactions": False}}
    assert growth("back", findings) == growth("forward", findings) - 5
    value, key, headers, _ = with_place((b"v" * 8_000, None, None, 0), 2**31 - 1, 2**63 - 1)
    assert batch_size(key, value, headers) - batch_size(None, b"v" * 8_000, None) <= growth("back", findings)
