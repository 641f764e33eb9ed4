"""numpy's scalars are written as the Python numbers that they stand for, or refused where that would lose something."""

from typing import Any

import pytest

from streamnative_serdes import EncodeError
from streamnative_serdes.codec import Codec

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("schema", "value", "plain"),
    [
        ("boolean", np.True_, True),
        (["null", "boolean", "int"], np.False_, False),
        ("int", np.int8(-5), -5),
        ("long", np.uint64(2**63 - 1), 2**63 - 1),
        ("double", np.float32(1.5), 1.5),
        ("double", np.int64(3), 3),
        ("float", np.float64(0.1), 0.1),
        ({"type": "array", "items": "long"}, np.arange(3), [0, 1, 2]),
        (["null", "double"], np.float64(2.5), 2.5),
        (["string", "long"], np.int32(7), 7),
    ],
)
def test_a_scalar_is_written_as_its_python_number(schema: Any, value: Any, plain: Any) -> None:
    assert Codec(schema).encode(value) == Codec(schema).encode(plain)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("int", np.True_),
        ("double", np.True_),
        ("boolean", np.int8(1)),
        ("int", np.int64(2**31)),
        ("long", np.uint64(2**63)),
        ("long", np.float64(1.0)),
        ("double", np.int64(2**53 + 1)),
        ("float", np.float64(1e39)),
    ],
)
def test_what_would_lose_something_is_refused(schema: str, value: Any) -> None:
    with pytest.raises(EncodeError):
        Codec(schema).encode(value)
