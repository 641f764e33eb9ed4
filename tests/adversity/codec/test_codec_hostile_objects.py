# ruff: noqa: E501 - programs as text, one case per line
"""Objects whose own code changes the data being encoded, or never ends: each gives a value or an error, never a crash."""

from __future__ import annotations

import pytest
from child import run_limited

PRELUDE = """
import array, gc
import datetime as dt
from collections import UserDict, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

NODE = {"type": "record", "name": "N", "fields": [
    {"name": "a", "type": ["null", "long", "double", "string", {"type": "array", "items": "N"}, {"type": "map", "values": "N"}, "N"],
     "default": None}]}
DEEP = {"type": "record", "name": "D", "fields": [{"name": name, "type": ["null", kind], "default": None} for name, kind in
    [("a", "D"), ("l", {"type": "array", "items": "D"}), ("m", {"type": "map", "values": "D"})]]}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}
LONGS = {"type": "array", "items": "long"}
MAP = {"type": "map", "values": "long"}
WIDE = {"type": "record", "name": "W", "fields": [{"name": f"f{i}", "type": "long", "default": 0} for i in range(20)]}

class Acting:
    "Runs act() each time that it is converted to a number."
    def __init__(self, act): self.act = act
    def __index__(self): self.act(); return 1
    def __float__(self): self.act(); return 1.0
def show(codec, datum):
    kind, value = outcome(codec.encode, datum)
    if kind == "value":
        codec.decode(value)
    say(kind, "" if kind == "value" else value[:200])
def say(*words):
    print(name, end="\\t")
    print(*words, flush=True)

for name, code in {cases}.items():
    say("begins")  # names the case if it crashes the process
    exec(code, dict(globals()))
"""

CASES: dict[str, tuple[str, str]] = {
    "dict in itself": ("d = {}; d['a'] = d; show(Codec(NODE), d)", "EncodeError"),
    "list in itself": ("l = []; l.append({'a': l}); show(Codec(NODE), {'a': l})", "EncodeError"),
    "map in itself": ("m = {}; m['k'] = {'a': m}; show(Codec(NODE), {'a': m})", ""),
    "list cleared": ("l = [Acting(lambda: l.clear())] + list(range(1000)); show(Codec(LONGS), l)", "EncodeError"),
    "list grows": ("l = [Acting(lambda: l.append(1))] + [1] * 10; show(Codec(LONGS), l)", "EncodeError"),
    "list grows endlessly": ("l = []; l += [Acting(lambda: l.append(l[0]))] * 10; show(Codec(LONGS), l)", "EncodeError"),
    "list replaced": ("l = [Acting(lambda: l.__setitem__(slice(None), [1] * 11))] + [object()] * 10; show(Codec(LONGS), l)", "value"),
    "list drops the value being written": ("l = []; l += [Acting(lambda: l.__setitem__(0, 5))]; show(Codec(LONGS), l)", "value"),
    "dict cleared": ("d = {f'k{i}': Acting(lambda: d.clear()) for i in range(100)}; show(Codec(MAP), d)", "EncodeError"),
    "dict grows": ("d = {f'k{i}': Acting(lambda: d.update({str(len(d)): 1})) for i in range(100)}; show(Codec(MAP), d)", "EncodeError"),
    "dict shrinks": ("d = {f'k{i}': Acting(lambda: d.popitem()) for i in range(100)}; show(Codec(MAP), d)", "EncodeError"),
    "dict refilled": ("def act():\n    d.clear(); d.update({f'n{i}': 1 for i in range(100)})\n"
                       "d = {f'k{i}': Acting(act) for i in range(100)}; show(Codec(MAP), d)", ""),
    "record cleared": ("d = {f'f{i}': Acting(lambda: d.clear()) for i in range(20)}; show(Codec(WIDE), d)", "value"),
    "record grows": ("d = {f'f{i}': Acting(lambda: d.update({f'x{len(d) + j}': 1 for j in range(99)})) for i in range(20)};"
                     " show(Codec(WIDE), d)", "value"),
    "record changes values": ("d = {f'f{i}': Acting(lambda: d.update({f'f{j}': object() for j in range(20)})) for i in range(20)};"
                              " show(Codec(WIDE), d)", "EncodeError"),
    "record freed during encoding": ("outer = [{f'f{i}': Acting(lambda: outer.clear()) for i in range(20)}];"
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
    "map keys deleted during encoding": (
        "class Key(str):\n    def __del__(self): d.clear()\n"
        "d = {Key(f'k{i}'): Acting(lambda: d.popitem() and d.update(x=1)) for i in range(20)}\nshow(Codec(MAP), d)", ""),
    "mapping that lies": (
        "class M(Mapping):\n    def __getitem__(self, k): raise LookupError(k)\n    def __iter__(self): return iter(['f0'])\n"
        "    def __len__(self): return 99\n    def get(self, k, default=None): d.clear(); return object()\n"
        "d = {'f0': M()}\nfor s in (WIDE, MAP, ['null', WIDE, MAP]): show(Codec(s), M())", "EncodeError"),
    "mapping that fails": (
        "class M(UserDict):\n    def get(self, k, default=None): raise RuntimeError('broken')\n"
        "show(Codec(WIDE), M())", "EncodeError field f0: reading the value raised RuntimeError: broken"),
    "endless __index__": ("class X:\n    def __index__(self): return Codec('long').encode(self) and 1\n"
                          "try: show(Codec('long'), X())\nexcept RecursionError: say('RecursionError')", ""),
    "__index__ returns text": ("class X:\n    def __index__(self): return 'x'\nshow(Codec('long'), X())", "EncodeError"),
    "__float__ returns text": ("class X:\n    def __float__(self): return 'x'\nshow(Codec('double'), X())", "EncodeError"),
    "an error that cannot be shown": ("class E(Exception):\n    def __str__(self): raise RuntimeError('no')\n"
                                      "class X:\n    def __index__(self): raise E\nshow(Codec('long'), X())", "EncodeError"),
    "an error of a megabyte": ("class X:\n    def __index__(self): raise ValueError('x' * 10**6)\n"
                               "say(len(outcome(Codec('long').encode, X())[1]) < 500)", "True"),
    "huge int": ("for s in ('int', 'long', 'float', 'double'): show(Codec(s), 1 << 10_000_000)", "EncodeError"),
    "generator": ("show(Codec(LONGS), (i for i in iter(int, 1)))", "EncodeError"),
    "__class__ that fails": ("class Z:\n    @property\n    def __class__(self): raise RuntimeError('zz')\n"
                         "for s in (NODE, LONGS, MAP, WIDE, 'bytes', 'double', ['null', 'int', 'string']): show(Codec(s), Z())",
                         "EncodeError"),
    "__class__ that lies": ("class Z:\n    def __init__(self, c): self.c = c\n    @property\n    def __class__(self): return self.c\n"
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
    # Named by the code that runs, and what it does to the data being written.
    "__float__ clears the list": ("l = [Acting(lambda: l.clear())] * 9; show(Codec({'type': 'array', 'items': 'double'}), l)", "EncodeError"),
    "__index__ drops the value's only reference": (
        "l = [1]\nclass Last:\n    def __index__(self): l[0] = None; gc.collect(); return len(self.words)\n"
        "    def __init__(self): self.words = ['x'] * 9\nl[0] = Last(); show(Codec(LONGS), l)", "value"),
    "__index__ drops the codec": (
        "box = {'codec': Codec(LONGS)}\ndef act(): box.clear(); gc.collect()\n"
        "box['codec'].encode([Acting(act), 2, 3]); say('value')", "value"),
    "__index__ writes with the same codec": (
        "c = Codec(LONGS)\nl = [Acting(lambda: c.encode(list(range(500))) and c.decode(c.encode([1])))] * 20; show(c, l)", "value"),
    "__index__ writes the list that it is in": (
        "c = Codec(LONGS)\nl = [Acting(lambda: c.encode(l))]; show(c, l)", "EncodeError"),
    "__index__ collects garbage that clears the list": (
        "class Cycle:\n    def __init__(self): self.me = self\n    def __del__(self): l.clear()\n"
        "def act(): Cycle(); gc.collect()\nl = [Acting(act)] + [1] * 9; show(Codec(LONGS), l)", "EncodeError"),
    "property clears the list": (
        "@dataclass\nclass D:\n    @property\n    def f0(self): l.clear(); return 5\n    f1: int = 2\n"
        "l = [D() for _ in range(9)]; show(Codec({'type': 'array', 'items': WIDE}), l)", "EncodeError"),
    "property gives the object itself": (
        "@dataclass\nclass D:\n    @property\n    def a(self): return self\nshow(Codec(NODE), D())", "EncodeError"),
    "property writes the object itself": (
        "c = Codec(WIDE)\n@dataclass\nclass D:\n    @property\n    def f0(self): return len(c.encode(self))\nshow(c, D())", "EncodeError"),
    "__getattribute__ fails": (
        "@dataclass\nclass D:\n    def __getattribute__(self, name): raise RuntimeError(name)\n"
        "for s in (WIDE, MAP, ['null', WIDE, MAP]): show(Codec(s), D())", "EncodeError"),
    "fields that are not names": (
        "class D:\n    __dataclass_fields__ = [[], 5]\nfor s in (WIDE, ['null', WIDE, MAP]): show(Codec(s), D())", ""),
    "items() clears the dict": (
        "class M(UserDict):\n    def items(self): outer.clear(); return iter([('a', 1), ('b', 2)])\n"
        "outer = {'m': M(), 'n': M()}; show(Codec({'type': 'map', 'values': MAP}), outer)", "EncodeError"),
    "items() does not return pairs": (
        "class M(UserDict):\n    def items(self): return self.said\n"
        "for said in (None, 5, [1], [(1, 2, 3)], [([], 1)], [(1, 1)]):\n    M.said = said; show(Codec(MAP), M())", "EncodeError"),
    "items() without an end": (
        "class M(UserDict):\n    def items(self): return ((str(i % 9), i) for i in range(1_000_000))\nshow(Codec(MAP), M())", "EncodeError"),
    "__iter__ and keys() change the list": (
        "class M(UserDict):\n    def __iter__(self): l.clear(); return iter(['f0'])\n    keys = __iter__\n"
        "for s in (WIDE, MAP, ['null', WIDE, MAP]):\n"
        "    l = [M({'f0': 1}) for _ in range(9)]; show(Codec({'type': 'array', 'items': s}), l)", ""),
    "get() replaces its own mapping in the list": (
        "class M(UserDict):\n    def get(self, key, default=None): l[0] = None; gc.collect(); return 1\n"
        "l = [M()]; show(Codec({'type': 'array', 'items': WIDE}), l)", "value"),
    "get() of a dict's subclass clears it": (
        "class M(dict):\n    def get(self, key, default=None): self.clear(); return dict.get(self, key, default)\n"
        "show(Codec(WIDE), M(f0=1, f1=2))", "value"),
    "__len__ that lies": (
        "class L:\n    def __getitem__(self, i): return [1, 2, 3][i]\n    def __len__(self): return self.said\n"
        "for said in (0, 1, 7, 10_000, -1, 'x'):\n    L.said = said; show(Codec(LONGS), L())", ""),
    "__len__ of terabytes": (
        "class L:\n    def __getitem__(self, i): return [1, 2, 3][i]\n    def __len__(self): return 2**42\n"
        "try: show(Codec(LONGS), L())\nexcept MemoryError: say('MemoryError')", "EncodeError"),
    "__getitem__ without an end": (
        "class L:\n    n = 0\n    def __getitem__(self, i): self.n += 1; return i if self.n < 10**6 else 1 / 0\n    def __len__(self): return 3\n"
        "show(Codec(LONGS), L())", "EncodeError"),
    "__iter__ of a tuple clears the list": (
        "class T(tuple):\n    def __iter__(self): l.clear(); return iter((1, 2))\n"
        "l = [T((1, 2)) for _ in range(9)]; show(Codec({'type': 'array', 'items': LONGS}), l)", "EncodeError"),
    "__iter__ of a list is not asked": (
        "class L(list):\n    def __iter__(self): raise RuntimeError\n    def __len__(self): return 10**9\n    __getitem__ = __iter__\n"
        "show(Codec(LONGS), L([1, 2, 3]))", "value"),
    # Text whose hash and equality are code: keys of dicts, symbols of enums, names of fields.
    "__hash__ of a symbol clears the dict": (
        "class Word(str):\n    def __hash__(self): d.clear(); return hash('A')\n"
        "d = dict.fromkeys('abc', Word('A')); show(Codec({'type': 'map', 'values': {'type': 'enum', 'name': 'E', 'symbols': ['A']}}), d)",
        "EncodeError"),
    "__eq__ of a symbol clears the dict": (
        "class Word(str):\n    def __hash__(self): return hash('A')\n    def __eq__(self, other): d.clear(); gc.collect(); return True\n"
        "d = {c: Word('B') for c in 'abc'}; show(Codec({'type': 'map', 'values': {'type': 'enum', 'name': 'E', 'symbols': ['A']}}), d)",
        "EncodeError"),
    "__hash__ that fails": (
        "class Word(str):\n    def __hash__(self): raise RuntimeError('no')\n"
        "for s in ({'type': 'enum', 'name': 'E', 'symbols': ['A']}, [{'type': 'enum', 'name': 'E', 'symbols': ['A']}, 'bytes']): show(Codec(s), Word('A'))",
        "EncodeError"),
    "__eq__ of a key drops the value": (
        "class Key(str):\n    __slots__ = ()\n    def __hash__(self): return hash('f0')\n"
        "    def __eq__(self, other): d[self.twin] = None; gc.collect(); return True\n"
        "Key.twin = key = Key('x'); d = {key: [1] * 9}; show(Codec({**WIDE, 'fields': [{'name': 'f0', 'type': LONGS}]}), d)", ""),
    "__eq__ of a key makes the dict grow": (
        "class Key(str):\n    __slots__ = ()\n    def __hash__(self): return hash('f5')\n"
        "    def __eq__(self, other):\n        for i in range(99): d[f'x{len(d)}'] = i\n        return False\n"
        "d = {Key('x'): 1, **{f'f{i}': 1 for i in range(5)}}; show(Codec(WIDE), d)", "value"),
    "names of a row that are code": (
        "class Key(str):\n    def __hash__(self): l.clear(); return 7\n    def __eq__(self, other): l.clear(); return True\n"
        "class Row(tuple):\n    __fields__ = [Key('a'), Key('b'), Key('c')]\n"
        "l = [Row([1, 2, 3]) for _ in range(9)]; show(Codec({'type': 'array', 'items': WIDE}), l)", "EncodeError"),
    "fields of a row that are code": (
        "class Row(tuple):\n    @property\n    def __fields__(self): l.clear(); return ['f0', 'f1']\n"
        "l = [Row([1, 2]) for _ in range(9)]; show(Codec({'type': 'array', 'items': WIDE}), l)", "EncodeError"),
    "fields of a row that fail": (
        "class Row(tuple):\n    @property\n    def __fields__(self): raise RuntimeError('no')\n"
        "for s in (WIDE, ['null', WIDE, MAP]): show(Codec(s), Row([1, 2]))", "EncodeError"),
    "an enum whose name and value are code": (
        "class E(Enum):\n    A = 'A'\nclass Bad(E.__class__): pass\n"
        "class P:\n    def __get__(self, *_): d.clear(); gc.collect(); return 'A'\n"
        "class F:\n    __class__ = E\n    name = value = P()\n"
        "d = {c: F() for c in 'abc'}; show(Codec({'type': 'map', 'values': {'type': 'enum', 'name': 'E', 'symbols': ['A']}}), d)",
        "EncodeError"),
    # Times, decimals, UUIDs.
    "utcoffset() of a zone clears the list": (
        "class Z(dt.tzinfo):\n    def utcoffset(self, when): l.clear(); gc.collect(); return dt.timedelta(0)\n"
        "l = [dt.datetime(2020, 1, 2, tzinfo=Z()) for _ in range(9)]; show(Codec({'type': 'array', 'items': MICROS}), l)", "EncodeError"),
    "utcoffset() of a datetime drops it": (
        "class D(dt.datetime):\n    def utcoffset(self): l[0] = None; gc.collect(); return dt.timedelta(hours=1)\n"
        "l = [D(2020, 1, 2)]; show(Codec({'type': 'array', 'items': MICROS}), l)", "value"),
    "utcoffset() beyond a day": (
        "class D(dt.datetime):\n    def utcoffset(self): return self.said\n"
        "for said in (dt.timedelta.max, dt.timedelta.min, dt.timedelta(days=213_503_982), dt.timedelta(days=1)):\n"
        "    D.said = said; show(Codec(MICROS), D(2020, 1, 2)); show(Codec({**MICROS, 'logicalType': 'timestamp-nanos'}), D(2020, 1, 2))",
        ""),
    "tzinfo of a datetime is code": (
        "class D(dt.datetime):\n    @property\n    def tzinfo(self): l.clear(); return 5\n"
        "for s in (MICROS, {**MICROS, 'logicalType': 'local-timestamp-micros'}):\n"
        "    l = [D(2020, 1, 2) for _ in range(9)]; show(Codec({'type': 'array', 'items': s}), l)", ""),
    "a datetime compared with itself clears the list": (
        "class D(dt.datetime):\n    def __ne__(self, other): l.clear(); gc.collect(); return self.said\n    __hash__ = None\n"
        "for said in (False, True, None):\n    D.said = said; l = [D(2020, 1, 2, tzinfo=dt.UTC) for _ in range(9)]\n"
        "    show(Codec({'type': 'array', 'items': MICROS}), l)", "EncodeError"),
    "nanosecond of a datetime is code": (
        "class D(dt.datetime):\n    @property\n    def nanosecond(self): l.clear(); return self.said\n"
        "for said in (1, 999, 1000, -1, 2**70, 'x', None):\n"
        "    D.said = said; l = [D(2020, 1, 2, tzinfo=dt.UTC)] * 9\n"
        "    show(Codec({'type': 'array', 'items': {**MICROS, 'logicalType': 'timestamp-nanos'}}), l)", "EncodeError"),
    "a decimal that lies": (
        "class D(Decimal):\n    def is_finite(self): l.clear(); return True\n    def as_tuple(self): return self.said\n    def __str__(self): l.clear(); return 'x'\n"
        "for said in (None, (), (0, (1,), 'n'), (0, (1,), 10**30), (0, (), 0), (0, 'ab', 0), (0, (10**30,), 0), (0, (-5,), 0), (1, ('1', '2'), -1), (0, (1,) * 5000, 0)):\n"
        "    for s in (DECIMAL, {'type': 'bytes', 'logicalType': 'big-decimal'}, {**DECIMAL, 'type': 'fixed', 'name': 'F', 'size': 4}):\n"
        "        D.said = said; l = [D('1.5')] * 9; show(Codec({'type': 'array', 'items': s}), l)", "EncodeError"),
    "an int that lies": (
        "class I(int):\n    def __index__(self): raise RuntimeError\n    __int__ = __abs__ = __neg__ = __lt__ = __gt__ = __le__ = __ge__ = __float__ = __index__\n"
        "    def bit_length(self): raise RuntimeError\n"
        "for s in ('int', 'long', 'float', 'double', DECIMAL, MICROS, {'type': 'bytes', 'logicalType': 'big-decimal'}): show(Codec(s), I(5))", ""),
    "a UUID that lies": (
        "import uuid\nclass U(uuid.UUID):\n    @property\n    def int(self): l.clear(); gc.collect(); return self.said\n"
        "    def __init__(self): pass\n"
        "for said in (0, 2**128, -1, 'x', None, 1.5):\n"
        "    for s in ({'type': 'string', 'logicalType': 'uuid'}, {'type': 'fixed', 'name': 'F', 'size': 16, 'logicalType': 'uuid'}):\n"
        "        U.said = said; l = [U() for _ in range(9)]; show(Codec({'type': 'array', 'items': s}), l)", "EncodeError"),
    "a bool of numpy's name": (
        "class bool_:\n    __module__ = 'numpy'\n    def __bool__(self): l.clear(); gc.collect(); return True\n"
        "for s in ('boolean', ['null', 'boolean', 'string']):\n    l = [bool_() for _ in range(9)]; show(Codec({'type': 'array', 'items': s}), l)",
        "EncodeError"),
    # Buffers.
    "a buffer that is released during encoding": (
        "b = bytearray(b'four'); m = memoryview(b)\nl = [Acting(m.release), m]; show(Codec({'type': 'array', 'items': ['long', 'bytes']}), l)",
        "EncodeError"),
    "a buffer that grows during encoding": (
        "b = bytearray(b'four'); l = [Acting(lambda: b.extend(b'x' * 10_000)), b, Acting(b.clear), b]\n"
        "show(Codec({'type': 'array', 'items': ['long', 'bytes']}), l)", "value"),
    "buffers in pieces": (
        "for b in (memoryview(b'abcdef')[::2], memoryview(b'abcd').cast('B', (2, 2)), memoryview(bytes(8)).cast('d'), array.array('d', [1.0])):\n"
        "    for s in ('bytes', {'type': 'fixed', 'name': 'F', 'size': 4}): show(Codec(s), b)", ""),
    "__buffer__ that clears the list": (     # Python 3.11 does not call it
        "class B:\n    def __buffer__(self, flags): l.clear(); gc.collect(); return memoryview(b'four')\n    def __release_buffer__(self, view): l.append(1)\n"
        "l = [B() for _ in range(9)]; show(Codec({'type': 'array', 'items': 'bytes'}), l)", "EncodeError"),
    # Nesting.
    "100,000 levels": (
        "@dataclass\nclass D:\n    a: object = None\nclass Row(tuple):\n    __fields__ = ['a']\nPair = namedtuple('Pair', 'a')\n"
        "for wrap in (lambda x: {'a': x}, lambda x: {'l': [x]}, lambda x: {'l': (x,)}, lambda x: {'m': {'k': x}}, D, Pair, lambda x: Row([x]),\n"
        "             lambda x: UserDict(a=x)):\n"
        "    x = {}\n    for _ in range(100_000): x = wrap(x)\n    show(Codec(DEEP), x)\n"
        "    todo = [x]\n    del x\n"                 # piece by piece, because freeing some of these classes recurses
        "    while todo:\n        x = todo.pop()\n"
        "        todo += x.values() if hasattr(x, 'values') else [x.a] if isinstance(x, D) else x\n", "EncodeError"),
    "a mapping without a bottom": (
        "class M(UserDict):\n    def get(self, key, default=None): return M()\nshow(Codec(DEEP), M())", "EncodeError"),
    "a sequence without a bottom": (
        "class L:\n    def __getitem__(self, i): return {'a': L()} if i < 2 else [][0]\n    def __len__(self): return 2\nshow(Codec(NODE), {'a': L()})", "EncodeError"),
    # Errors of the object's own.
    "an EncodeError whose path cannot be set": (
        "class E(EncodeError):\n    path = property(lambda self: None)\n"
        "class X:\n    def __index__(self): raise E('mine')\nshow(Codec(LONGS), [X()])", "EncodeError"),
    "an EncodeError without a message": (
        "def bare(): e = EncodeError('x'); del e.message, e.path; raise e\n"
        "l = [Acting(bare)]; show(Codec({'type': 'array', 'items': ['string', 'long', 'double']}), l)", "EncodeError"),
    "errors that are not an Exception": (
        "c = Codec(LONGS)\n"
        "def stop(error): raise error\n"
        "for error in (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError):\n"
        "    for _ in range(20):\n"
        "        try: c.encode([Acting(lambda: stop(error))])\n"
        "        except error: pass\n        else: say('lost', error)\n"
        "show(c, [1, 2, 3])", "value"),
    "errors while an error is created": (
        "class Meta(type):\n    @property\n    def __name__(cls): raise RuntimeError('no name')\n"
        "class X(metaclass=Meta): pass\n"
        "for s in (NODE, LONGS, MAP, WIDE, 'bytes', 'double', 'string', 'boolean', 'null', DECIMAL, MICROS, ['null', 'int', 'string']): show(Codec(s), X())",
        "EncodeError"),
}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[str]]:
    """Return, by case, what each ``show`` printed. All run in one process, because starting one takes a while."""
    programs = {name: code for name, (code, _) in CASES.items()}
    said: dict[str, list[str]] = {name: [] for name in CASES}
    for line in run_limited(PRELUDE.replace("{cases}", repr(programs)), seconds=120).splitlines():
        name, _, text = line.partition("\t")
        said[name].append(text)
    return {name: lines[1:] for name, lines in said.items()}


@pytest.mark.parametrize("name", CASES)
def test_hostile_objects_end_in_a_value_or_an_error(name: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[name]
    for said in outcomes[name]:
        assert said.startswith(CASES[name][1])


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


def test_nested_encodes_fit_the_stack_of_a_small_thread() -> None:
    said = run_limited(
        """
        import threading
        from collections.abc import Mapping
        codec = Codec({"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]})

        class Nested(Mapping):
            levels = 256
            def __getitem__(self, key): raise KeyError(key)
            def __iter__(self): return iter(("n",))
            def __len__(self): return 1
            def get(self, key, default=None):
                Nested.levels //= 4
                codec.encode(deep(Nested.levels - 1))
                return None

        def deep(levels):
            value = Nested()
            for _ in range(max(levels - 1, 0)): value = {"n": value}
            return value

        threading.stack_size(512 * 1024)
        thread = threading.Thread(target=lambda: print(*outcome(codec.encode, deep(255))))
        thread.start(); thread.join()
        """
    )
    assert said.startswith("EncodeError")
