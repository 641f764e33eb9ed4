"""The codec never writes beyond the end of a memory block: Python's debug allocator checks the ends of all blocks."""

from __future__ import annotations

import pytest
from child import run_limited

pytestmark = pytest.mark.not_sanitized(reason="the sanitizers check this with their own allocator")


def test_remembered_keys_stay_within_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    said = run_limited(
        """
        schema = {"type": "array", "items": {"type": "map", "values": "int"}}
        codec = Codec(schema)
        keys = [chr(97 + i % 26) * (1 + i % 32) + chr(97 + i * 7 % 26) for i in range(500)]
        datum = [{key: 1 for key in keys}] * 2
        print(codec.decode(codec.encode(datum)) == datum)
        """
    )
    assert said == "True\n"


@pytest.mark.parametrize("size", [62, 63, 64, 1022, 1023, 1024, 1025, 2048])
def test_encode_writes_only_within_its_buffer(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Write values of each type up to the last byte of the buffer on the stack, and of those on the heap."""
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    said = run_limited(
        f"""
        kinds = ["boolean", "int", "long", "float", "double", "string", "bytes"]
        value = dict(boolean=True, int=-2**31, long=-2**63, float=1.0, double=1.0, string="x" * 40, bytes=b"x" * 40)
        for kind in kinds:
            fields = [dict(name="fill", type="bytes")] + [dict(name=f"f{{i}}", type=kind) for i in range(64)]
            codec = Codec(dict(type="record", name="R", fields=fields))
            for fill in range({size} - 24, {size} + 2):
                datum = dict(fill=b"x" * fill, **{{f"f{{i}}": value[kind] for i in range(64)}})
                assert codec.decode(codec.encode(datum)) == datum
        """
    )
    assert said == ""
