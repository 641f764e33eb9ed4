"""Whichever allocation fails, the result is a MemoryError, not a crash, and the next call works.

Only plans of flat records are tested: if a list comprehension cannot grow for lack of memory, Cython 3.3 frees the list
twice (``__Pyx_ListComp_AppendAndDecref``).
"""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest
from child import run_limited

pytest.importorskip("_testcapi", reason="this Python has no allocator that fails on demand")
pytestmark = [
    pytest.mark.not_sanitized(reason="the sanitizers have their own allocator"),
    pytest.mark.skipif(sys.version_info >= (3, 12), reason="not tested how later Pythons behave without memory"),
]

_STARVE = """
    import _testcapi

    def starve(work):
        '''Let each allocation of work fail once, until it succeeds 50 times in a row. Return how often it failed.'''
        failed = number = fine = 0
        while fine < 50:
            _testcapi.set_nomemory(number, number + 1)
            try:
                work()
                fine += 1
            except MemoryError:
                failed, fine = failed + 1, 0
            finally:
                _testcapi.remove_mem_hooks()
            number += 1
        return failed
"""


def starved(code: str) -> int:
    return int(run_limited(dedent(_STARVE) + dedent(code)))


@pytest.mark.parametrize("more", ["", ", ctx=None"])
@pytest.mark.parametrize("face", ["KafkaAvroSerializer", "KafkaAvroDeserializer"])
def test_a_call_with_many_arguments_survives_failed_allocations(face: str, more: str) -> None:
    code = f"""
        from streamnative_serdes import {face}

        def call(face={face}(), many=(None,) * 100):
            try:
                face(*many{more})
            except TypeError:
                pass

        call()
        print(starve(call))
    """
    assert starved(code) > 1


def test_compiling_a_resolving_codec_survives_failed_allocations() -> None:
    code = """
        def record(*names):
            return parse(dict(type="record", name="R", fields=[dict(name=name, type="string") for name in names]))

        writer, reader = record("a", "b"), record("b")
        data = Codec(writer).encode(dict(a="x", b="y"))
        failed = starve(lambda: Codec(writer, reader))
        assert Codec(writer, reader).decode(data) == dict(b="y")
        print(failed)
    """
    assert starved(code) > 1
