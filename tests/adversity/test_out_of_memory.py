"""Where memory runs out, at whichever allocation, there is a MemoryError: nothing crashes, and the next call works.

Of plans, only those of flat records: a list comprehension that finds no memory to grow is freed twice by Cython 3.3
(``__Pyx_ListComp_AppendAndDecref``), whatever is in it.
"""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest
from child import SANITIZED, run_limited

pytest.importorskip("_testcapi", reason="this Python has no allocator that fails when told to")
pytestmark = [
    pytest.mark.skipif(SANITIZED, reason="the sanitizers have an allocator of their own"),
    pytest.mark.skipif(sys.version_info >= (3, 12), reason="how later Pythons end without memory is not known"),
]

_STARVE = """
    import _testcapi

    def starve(work):
        '''How often it failed, when each of its allocations had failed once, until 50 more made no difference.'''
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
def test_a_call_with_more_arguments_than_python_keeps_tuples_for(face: str, more: str) -> None:
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


def test_a_codec_that_reads_as_another_schema() -> None:
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
