# ruff: noqa: E501 - programs as text, a case a line
"""Objects whose own code changes what is being written, or never ends, give a value or an error and never a crash."""

from __future__ import annotations

import pytest
from child import run_limited

PRELUDE = """
import datetime as dt
from collections import UserDict
from collections.abc import Mapping
from decimal import Decimal

NODE = {"type": "record", "name": "N", "fields": [
    {"name": "a", "type": ["null", "long", "double", "string", {"type": "array", "items": "N"}, {"type": "map", "values": "N"}, "N"],
     "default": None}]}
LONGS = {"type": "array", "items": "long"}
MAP = {"type": "map", "values": "long"}
WIDE = {"type": "record", "name": "W", "fields": [{"name": f"f{i}", "type": "long", "default": 0} for i in range(20)]}

class Acting:
    "Does something to what is being written each time that it is looked at."
    def __init__(self, act): self.act = act
    def __index__(self): self.act(); return 1
    def __float__(self): self.act(); return 1.0
def show(codec, datum):
    kind, value = outcome(codec.encode, datum)
    if kind == "value":
        codec.decode(value)
    print(kind, "" if kind == "value" else value[:200])
"""

CASES: dict[str, tuple[str, str]] = {
    "dict in itself": ("d = {}; d['a'] = d; show(Codec(NODE), d)", "EncodeError"),
    "list in itself": ("l = []; l.append({'a': l}); show(Codec(NODE), {'a': l})", "EncodeError"),
    "map in itself": ("m = {}; m['k'] = {'a': m}; show(Codec(NODE), {'a': m})", ""),
    "list cleared": ("l = [Acting(lambda: l.clear())] + list(range(1000)); show(Codec(LONGS), l)", "EncodeError"),
    "list grows": ("l = [Acting(lambda: l.append(1))] + [1] * 10; show(Codec(LONGS), l)", "EncodeError"),
    "list grows for ever": ("l = []; l += [Acting(lambda: l.append(l[0]))] * 10; show(Codec(LONGS), l)", "EncodeError"),
    "list replaced": ("l = [Acting(lambda: l.__setitem__(slice(None), [1] * 11))] + [object()] * 10; show(Codec(LONGS), l)", "value"),
    "list drops what is written": ("l = []; l += [Acting(lambda: l.__setitem__(0, 5))]; show(Codec(LONGS), l)", "value"),
    "dict cleared": ("d = {f'k{i}': Acting(lambda: d.clear()) for i in range(100)}; show(Codec(MAP), d)", "EncodeError"),
    "dict grows": ("d = {f'k{i}': Acting(lambda: d.update({str(len(d)): 1})) for i in range(100)}; show(Codec(MAP), d)", "EncodeError"),
    "dict shrinks": ("d = {f'k{i}': Acting(lambda: d.popitem()) for i in range(100)}; show(Codec(MAP), d)", "EncodeError"),
    "dict made anew": ("def act():\n    d.clear(); d.update({f'n{i}': 1 for i in range(100)})\n"
                       "d = {f'k{i}': Acting(act) for i in range(100)}; show(Codec(MAP), d)", ""),
    "record cleared": ("d = {f'f{i}': Acting(lambda: d.clear()) for i in range(20)}; show(Codec(WIDE), d)", "value"),
    "record grows": ("d = {f'f{i}': Acting(lambda: d.update({f'x{len(d) + j}': 1 for j in range(99)})) for i in range(20)};"
                     " show(Codec(WIDE), d)", "value"),
    "record changes values": ("d = {f'f{i}': Acting(lambda: d.update({f'f{j}': object() for j in range(20)})) for i in range(20)};"
                              " show(Codec(WIDE), d)", "EncodeError"),
    "record freed under way": ("outer = [{f'f{i}': Acting(lambda: outer.clear()) for i in range(20)}];"
                               " show(Codec({'type': 'array', 'items': WIDE}), outer)", "EncodeError"),
    "duration list shrinks": ("l = [Acting(lambda: l.clear()), 2, 3];"
                              " show(Codec({'type': 'fixed', 'name': 'D', 'size': 12, 'logicalType': 'duration'}), l)", ""),
    "keys that change the dict": (
        "class Key(str):\n    __slots__ = ()\n    def __hash__(self): return hash('f5')\n"
        "    def __eq__(self, other): d.clear(); return False\n"
        "d = {Key('x'): 1, 'f0': 1}\nshow(Codec(WIDE), d)", "value"),
    "keys that fail": (
        "class Key(str):\n    __slots__ = ()\n    def __hash__(self): return hash('f5')\n"
        "    def __eq__(self, other): raise KeyError('no')\n"
        "d = {Key('x'): 1, 'f0': 1}\nshow(Codec(WIDE), d)", "EncodeError"),
    "map keys deleted under way": (
        "class Key(str):\n    def __del__(self): d.clear()\n"
        "d = {Key(f'k{i}'): Acting(lambda: d.popitem() and d.update(x=1)) for i in range(20)}\nshow(Codec(MAP), d)", ""),
    "mapping that lies": (
        "class M(Mapping):\n    def __getitem__(self, k): raise LookupError(k)\n    def __iter__(self): return iter(['f0'])\n"
        "    def __len__(self): return 99\n    def get(self, k, default=None): d.clear(); return object()\n"
        "d = {'f0': M()}\nfor s in (WIDE, MAP, ['null', WIDE, MAP]): show(Codec(s), M())", "EncodeError"),
    "mapping that fails": (
        "class M(UserDict):\n    def get(self, k, default=None): raise RuntimeError('broken')\n"
        "show(Codec(WIDE), M())", "EncodeError field f0: RuntimeError while the value was read: broken"),
    "endless __index__": ("class X:\n    def __index__(self): return Codec('long').encode(self) and 1\n"
                          "try: show(Codec('long'), X())\nexcept RecursionError: print('RecursionError')", ""),
    "__index__ that is no int": ("class X:\n    def __index__(self): return 'x'\nshow(Codec('long'), X())", "EncodeError"),
    "__float__ that is no float": ("class X:\n    def __float__(self): return 'x'\nshow(Codec('double'), X())", "EncodeError"),
    "an error that cannot be shown": ("class E(Exception):\n    def __str__(self): raise RuntimeError('no')\n"
                                      "class X:\n    def __index__(self): raise E\nshow(Codec('long'), X())", "EncodeError"),
    "an error of a megabyte": ("class X:\n    def __index__(self): raise ValueError('x' * 10**6)\n"
                               "print(len(outcome(Codec('long').encode, X())[1]) < 500)", "True"),
    "huge int": ("for s in ('int', 'long', 'float', 'double'): show(Codec(s), 1 << 10_000_000)", "EncodeError"),
    "generator": ("show(Codec(LONGS), (i for i in iter(int, 1)))", "EncodeError"),
    "class that hides": ("class Z:\n    @property\n    def __class__(self): raise RuntimeError('zz')\n"
                         "for s in (NODE, LONGS, MAP, WIDE, 'bytes', 'double', ['null', 'int', 'string']): show(Codec(s), Z())",
                         "EncodeError"),
    "class that lies": ("class Z:\n    def __init__(self, c): self.c = c\n    @property\n    def __class__(self): return self.c\n"
                        "for c in (int, str, bytes, list, tuple, dict, float, dt.datetime, dt.date, dt.time, Decimal):\n"
                        "    for s in (NODE, LONGS, MAP, WIDE, 'bytes', 'string', 'double', 'long', ['null', 'int', 'string', 'bytes'],\n"
                        "              {'type': 'long', 'logicalType': 'timestamp-micros'}, {'type': 'int', 'logicalType': 'date'},\n"
                        "              {'type': 'int', 'logicalType': 'time-millis'},\n"
                        "              {'type': 'bytes', 'logicalType': 'decimal', 'precision': 5}): show(Codec(s), Z(c))", "EncodeError"),
    "datetime that lies": (
        "class D(dt.datetime):\n    def utcoffset(self): return self.offset\n    def astimezone(self, tz=None): return object()\n"
        "class Row(tuple):\n    __fields__ = ['t']\n"
        "c = Codec({'type': 'record', 'name': 'R', 'fields': [{'name': 't', 'type': {'type': 'long', 'logicalType': 'timestamp-micros'}}]})\n"
        "for offset in (None, 5, 'x', dt.timedelta(days=10**8)):\n    D.offset = offset; show(c, Row([D(2020, 1, 1)]))", "EncodeError"),
    "row of too few values": ("class Row(tuple):\n    __fields__ = [f'f{i}' for i in range(20)]\n"
                              "show(Codec(WIDE), Row([1, 2]))", "value"),
    "row with odd names": ("class Row(tuple):\n    __fields__ = [[], None, 5]\nshow(Codec(WIDE), Row([1, 2, 3]))", ""),
    "bytes that change": ("b = bytearray(10_000)\nshow(Codec(['null', 'bytes']), b); b.extend(b'x')", "value"),
    "nested unions": ("""
b = {"type": "record", "name": "B", "fields": [{"name": "child", "type": ["null", "A", "B"]}, {"name": "v", "type": "int"}]}
c = Codec({"type": "record", "name": "A", "fields": [{"name": "child", "type": ["null", "A", b]}, {"name": "v", "type": "int"}]})
x = {"child": None, "v": "bad"}
for i in range(200): x = {"child": x, "v": 1}
show(c, x)""", "EncodeError"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_hostile_objects_end_in_a_value_or_an_error(name: str) -> None:
    code, expected = CASES[name]

    lines = run_limited(PRELUDE + code, seconds=60).splitlines()

    assert lines
    for line in lines:
        assert line.startswith(expected)


@pytest.mark.parametrize("kilobytes", [256, 512])
def test_the_deepest_datum_fits_the_stack_of_a_small_thread(kilobytes: int) -> None:
    done = run_limited(
        f"""
        import threading
        codec = Codec({{"type": "record", "name": "L", "fields": [{{"name": "n", "type": ["null", "L"]}}]}})
        def work():
            datum = {{"n": None}}
            for _ in range(255): datum = {{"n": datum}}
            data = codec.encode(datum)
            print(data == b"\\2" * 255 + b"\\0", codec.skip(data), len(data))
            back = codec.decode(data)
            print(outcome(codec.encode, {{"n": datum}})[0], outcome(codec.decode, b"\\2" * 100_000)[0])
        threading.stack_size({kilobytes} * 1024)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    )
    assert done.split() == ["True", "256", "256", "EncodeError", "DecodeError"]
