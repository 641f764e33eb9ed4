# ruff: noqa: E501 - one case per line
"""Damaged Arrow arrays: damage that the C data interface can show is an error, and none of it crashes the process."""

from __future__ import annotations

import json
from textwrap import dedent

from child import run_limited

# WRITTEN: name -> (data to encode, schema, change that damages the data); READ: name -> (messages to decode, change).
CASES = """
import json, os
import pyarrow as pa
from arrow_damage import damaged, no_buffer, put, put_child, put_schema, write_int32, write_int64
from streamnative_serdes.arrow import ColumnCodec

LIST = {"type": "array", "items": "int"}
MAP = {"type": "map", "values": "int"}
RECORD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}
LONG = ["x" * 13, "y" * 40, "z"]
MAX = 2**63 - 1

def structs():
    return pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "yy"}, {"a": 3, "b": "z"}])

def texts(kind=pa.string()):
    return pa.array(["ab", None, "cd", "ef"], kind)

def lists(kind=None):
    return pa.array([[1, 2], [3], [4]], kind or pa.list_(pa.int32()))

def columns(array):
    return pa.StructArray.from_arrays([array], ["value"])

def inner(change):   # of the one column
    class Below:
        def __init__(self, exported):
            self.array, self.schema = exported.array.children[0].contents, exported.schema.children[0].contents
    return lambda exported: change(Below(exported))

def entries(change):
    class Below:
        def __init__(self, exported):
            self.array, self.schema = exported.array.children[0].contents, exported.schema.children[0].contents
    return lambda below: change(Below(below))

def both(*changes):
    return lambda exported: [change(exported) for change in changes]

def own(array):
    "A copy whose buffers are not shared."
    return own_batch(array).column(0)

def own_batch(array):
    batch = pa.record_batch([array], ["value"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(bytearray(sink.getvalue())).read_next_batch()

WRITTEN = {
    # any array
    "length -1": (structs(), RECORD, put(length=-1)),
    "offset -1": (structs(), RECORD, put(offset=-1)),
    "length overflows": (structs(), RECORD, put(offset=1, length=MAX)),
    "length overflows as bytes": (structs(), RECORD, put(length=1 << 60)),
    "no buffers": (columns(lists()), LIST, inner(put(n_buffers=0))),
    "one buffer too few": (columns(texts()), ["null", "string"], inner(put(n_buffers=2))),
    "buffers are missing": (columns(texts()), ["null", "string"], inner(put(buffers=None))),
    "no buffer of numbers": (columns(pa.array([1])), "long", inner(no_buffer(1))),
    "no buffer of bits": (columns(pa.array([True])), "boolean", inner(no_buffer(1))),
    "no offsets": (columns(texts()), ["null", "string"], inner(no_buffer(1))),
    "no text": (columns(texts()), ["null", "string"], inner(no_buffer(2))),
    "no offsets of lists": (columns(lists()), LIST, inner(no_buffer(1))),
    "nulls without a bitmap": (columns(texts()), ["null", "string"], inner(both(no_buffer(0), put(null_count=1)))),
    "already released": (structs(), RECORD, put(release=None)),
    "a child is already released": (structs(), RECORD, put_child(1, release=None)),
    "the schema is already released": (structs(), RECORD, put_schema(release=None)),
    # structs
    "a child is one slot short": (structs(), RECORD, put_child(0, length=2)),
    "a child of a slice is one slot short": (structs()[1:], RECORD, put_child(1, length=2)),
    "a child's offset is negative": (structs(), RECORD, put_child(0, offset=-1)),
    "one child too few": (structs(), RECORD, put(n_children=1)),
    "one child too many": (structs(), RECORD, put(n_children=3)),
    "children are missing": (structs(), RECORD, put(children=None)),
    "a child is missing": (structs(), RECORD, lambda e: e.array.children.__setitem__(1, None)),
    # text
    "offsets begin below 0": (columns(own(texts())), ["null", "string"], inner(write_int32(1, 0, -1))),
    "offsets decrease": (columns(own(texts())), ["null", "string"], inner(write_int32(1, 3, 1))),
    "offsets go forth and back below a null": (columns(own(texts())), ["null", "string"], inner(write_int32(1, 1, 10**9))),
    "the last offset goes backwards": (columns(own(texts())), ["null", "string"], inner(write_int32(1, 4, 0))),
    "large offsets begin below 0": (columns(own(texts(pa.large_string()))), ["null", "string"], inner(write_int64(1, 0, -(2**62)))),
    "large offsets decrease": (columns(own(texts(pa.large_string()))), ["null", "string"], inner(write_int64(1, 3, 2**62))),
    # lists
    "lists begin below 0": (columns(own(lists())), LIST, inner(write_int32(1, 0, -1))),
    "lists go backwards": (columns(own(lists())), LIST, inner(write_int32(1, 1, 4))),
    "lists end one slot beyond": (columns(own(lists())), LIST, inner(write_int32(1, 3, 5))),
    "large lists end far beyond": (columns(own(lists(pa.large_list(pa.int32())))), LIST, inner(write_int64(1, 3, 2**62))),
    "lists end beyond their slice": (columns(own(lists())[1:]), LIST, inner(put_child(0, length=3))),
    "lists without values": (columns(lists()), LIST, inner(lambda e: e.array.children.__setitem__(0, None))),
    "fixed lists with too few values": (columns(pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))), LIST, inner(put_child(0, length=3))),
    "fixed lists whose number overflows": (columns(pa.array([[1, 2]], pa.list_(pa.int32(), 2))), LIST, both(put(length=1 << 54), inner(put(length=1 << 54)))),
    "fixed lists of size -1": (columns(pa.array([[1, 2]], pa.list_(pa.int32(), 2))), LIST, inner(put_schema(format=b"+w:-1"))),
    "fixed lists of a huge size": (columns(pa.array([[1, 2]], pa.list_(pa.int32(), 2))), LIST, inner(put_schema(format=b"+w:9999999999"))),
    "maps end one slot beyond": (columns(own(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())))), MAP, inner(write_int32(1, 1, 2))),
    "maps of keys alone": (columns(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))), MAP, inner(entries(put_schema(n_children=1)))),
    "maps without entries": (columns(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))), MAP, inner(put_schema(n_children=0))),
    "lists without items": (columns(lists()), LIST, inner(put_schema(n_children=0))),
    "numbers with children": (columns(lists()), "int", inner(put_schema(format=b"i"))),
    "children of a schema are missing": (structs(), RECORD, put_schema(children=None)),
    "children of a schema are fewer than 0": (structs(), RECORD, put_schema(n_children=-1)),
    # sizes in formats
    "bytes of width -1": (columns(pa.array([b"ab"], pa.binary(2))), "bytes", inner(put_schema(format=b"w:-1"))),
    "bytes of a huge width": (columns(pa.array([b"ab"], pa.binary(2))), "bytes", inner(put_schema(format=b"w:4294967297"))),
    "bytes without a width": (columns(pa.array([b"ab"], pa.binary(2))), "bytes", inner(put_schema(format=b"w:"))),
    "bytes that overflow": (columns(pa.array([b"ab"], pa.binary(2))), "bytes", both(put(length=1 << 54), inner(both(put(length=1 << 54), put_schema(format=b"w:2147483647"))))),
    "decimals without a scale": (columns(pa.array([1], pa.decimal128(9, 2))), "bytes", inner(put_schema(format=b"d:9"))),
    "decimals of a scale that is not a number": (columns(pa.array([1], pa.decimal128(9, 2))), "bytes", inner(put_schema(format=b"d:9,x"))),
    "decimals of 256 bits": (columns(pa.array([1], pa.decimal128(9, 2))), "bytes", inner(put_schema(format=b"d:9,2,256"))),
    "timestamps without a unit": (columns(pa.array([1], pa.timestamp("s"))), "long", inner(put_schema(format=b"ts"))),
    "no format": (columns(pa.array([1])), "long", inner(put_schema(format=None))),
    # views
    "views of a buffer that does not exist": (columns(own(pa.array(LONG, pa.string_view()))), "string", inner(write_int32(1, 2, 1))),
    "views of buffer -1": (columns(own(pa.array(LONG, pa.string_view()))), "string", inner(write_int32(1, 2, -1))),
    "views before their buffer": (columns(own(pa.array(LONG, pa.string_view()))), "string", inner(write_int32(1, 3, -1))),
    "views one byte beyond": (columns(own(pa.array(LONG, pa.string_view()))), "string", inner(write_int32(1, 7, 14))),
    "views that are too long": (columns(own(pa.array(LONG, pa.binary_view()))), "bytes", inner(write_int32(1, 4, 2**31 - 1))),
    "views of -1 bytes": (columns(own(pa.array(LONG, pa.string_view()))), "string", inner(write_int32(1, 8, -1))),
    "views whose sizes are missing": (columns(pa.array(LONG, pa.string_view())), "string", inner(no_buffer(3))),
    "views whose buffer is missing": (columns(pa.array(LONG, pa.string_view())), "string", inner(no_buffer(2))),
    "views without buffers": (columns(pa.array(LONG, pa.string_view())), "string", inner(put(n_buffers=3))),
    # dictionaries
    **{
        f"a dictionary's {kind} {index} of 1": (columns(pa.DictionaryArray.from_arrays(pa.array([0, index], kind), ["x" * 20], safe=False)), "string", None)
        for kind, indices in {
            pa.int8(): [1, 5, 127, -1], pa.uint8(): [1, 255], pa.int32(): [1, 10**9, -(2**31)], pa.uint32(): [2**32 - 1],
            pa.int64(): [1, 2**62, -1], pa.uint64(): [1, 2**63],
        }.items()
        for index in indices
    },
    "a dictionary of structs": (pa.DictionaryArray.from_arrays(pa.array([0, 3]), structs(), safe=False), RECORD, None),
    "a dictionary in lists": (columns(pa.ListArray.from_arrays([0, 2], pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["x"], safe=False))), {"type": "array", "items": "string"}, None),
    "an empty dictionary": (columns(pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([], pa.string()), safe=False)), "string", None),
    "no dictionary": (columns(pa.array(["x"]).dictionary_encode()), "string", inner(put(dictionary=None))),
    "a dictionary of text as numbers": (columns(pa.array(["x"]).dictionary_encode()), "string", inner(put_schema(format=b"u"))),
    "a dictionary that is already released": (columns(pa.array(["x"]).dictionary_encode()), "string", inner(lambda e: put(release=None)(type("E", (), {"array": e.array.dictionary.contents})))),
}

def messages(kind):
    return own(pa.array([b"\\2", None, b"\\4", b"\\6"], kind))

def long_messages():
    return own(pa.array([b"\\2" + b"x" * 12, b"\\4", b"\\2" * 30], pa.binary_view()))

READ = {
    "length -1": (messages(pa.binary()), put(length=-1)),
    "length overflows": (messages(pa.binary()), put(offset=5, length=MAX)),
    "one buffer too few": (messages(pa.binary()), put(n_buffers=2)),
    "buffers are missing": (messages(pa.binary()), put(buffers=None)),
    "no offsets": (messages(pa.binary()), no_buffer(1)),
    "no bytes": (messages(pa.large_binary()), no_buffer(2)),
    "already released": (messages(pa.binary()), put(release=None)),
    "offsets begin below 0": (messages(pa.binary()), write_int32(1, 0, -9)),
    "offsets decrease": (messages(pa.binary()), write_int32(1, 2, 10**9)),
    "large offsets decrease": (messages(pa.large_binary()), write_int64(1, 2, 2**60)),
    "views of a buffer that does not exist": (long_messages(), write_int32(1, 2, 7)),
    "views one byte beyond": (long_messages(), write_int32(1, 11, 14)),
    "views of -1 bytes": (long_messages(), write_int32(1, 4, -1)),
}

def outcome_of(work, data, change):
    try:
        if change is None:
            return work(data)
        with damaged(data, change) as spoilt:
            return work(spoilt)
    except (DecodeError, EncodeError) as error:
        return f"{type(error).__name__} {error}"
    except TypeError as error:
        return f"TypeError {error}"
    except MemoryError:
        return "MemoryError"

def tell(name, said):
    print(json.dumps([name, said if isinstance(said, str) else f"written {said.to_pylist()}"]), flush=True)
"""


def told(code: str) -> dict[str, str]:
    lines = run_limited(CASES + dedent(code)).splitlines()
    return dict(json.loads(line) for line in lines)


def test_a_damaged_array_cannot_be_encoded() -> None:
    found = told("""
        for name, (data, schema, change) in WRITTEN.items():
            print(json.dumps(["now", name]), flush=True)        # a crash leaves this as the last line
            tell(name, outcome_of(ColumnCodec(schema).encode, data, change))
    """)
    found.pop("now")
    assert len(found) > 70
    taken = {name: said for name, said in found.items() if not said.startswith("EncodeError")}
    assert taken == {}
    vague = {name: said for name, said in found.items() if "damaged" not in said and "cannot be written" not in said}
    assert vague == {}


def test_a_damaged_array_of_messages_cannot_be_decoded() -> None:
    found = told("""
        for name, (data, change) in READ.items():
            print(json.dumps(["now", name]), flush=True)
            tell(name, outcome_of(ColumnCodec("int").decode, data, change))
    """)
    found.pop("now")
    assert len(found) == 13
    assert {
        name
        for name, said in found.items()
        if not said.startswith("DecodeError the Arrow array of messages is damaged")
    } == set()


def test_the_same_arrays_without_damage_are_accepted() -> None:
    found = told("""
        for name, (data, schema, change) in WRITTEN.items():
            if change is not None and "decimal" not in name and "timestamps" not in name and name != "numbers with children":
                tell(name, outcome_of(ColumnCodec(schema).encode, data, lambda exported: None))
        for name, (data, change) in READ.items():
            tell(f"read {name}", outcome_of(ColumnCodec("int", ignore_trailing_bytes=True).decode, data, lambda exported: None))
    """)
    assert len(found) > 60
    assert {name: said for name, said in found.items() if not said.startswith("written ")} == {}


DAMAGED: list[tuple[str, str]] = [
    ("a child is one slot short", "field a: the Arrow column is damaged: expected 3 slots, got 2 (hint: "),
    (
        "lists end one slot beyond",
        "field value: the Arrow column is damaged: its offsets go from 0 to 5, but have to be from 0 to 4 (hint: ",
    ),
    ("offsets decrease", "field value: the Arrow column is damaged: its offsets decrease at slot 2 (hint: "),
    ("a dictionary's int8 5 of 1", "row 1: the column is damaged: a dictionary index is out of bounds"),
    (
        "maps end one slot beyond",
        "field value: the Arrow column is damaged: its offsets go from 0 to 2, but have to be from 0 to 1 (hint: ",
    ),
    ("views one byte beyond", "field value: the Arrow column is damaged: slot 1 points outside of its buffers (hint: "),
]


def test_the_error_names_the_column_and_the_damage() -> None:
    found = told("""
        for name, (data, schema, change) in WRITTEN.items():
            tell(name, outcome_of(ColumnCodec(schema).encode, data, change))
    """)
    assert [found[name][len("EncodeError ") :][: len(said)] for name, said in DAMAGED] == [said for _, said in DAMAGED]


def test_dictionary_indices_of_an_ipc_stream_are_checked_against_the_dictionary() -> None:
    """Readers of IPC streams do not check indices."""
    found = told("""
        batch = pa.record_batch([pa.array(["x", "y", "x", "y"]).dictionary_encode()], ["value"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        good = sink.getvalue().to_pybytes()
        indices = b"".join(number.to_bytes(4, "little") for number in (0, 1, 0, 1))
        assert good.count(indices) == 1
        for index in (1, 2, 5, 10**9):
            spoilt = good.replace(indices, indices[:12] + index.to_bytes(4, "little"))
            tell(str(index), outcome_of(ColumnCodec("string").encode, pa.ipc.open_stream(spoilt).read_next_batch(), None))
    """)
    assert found.pop("1") == r"written [b'\x02x', b'\x02y', b'\x02x', b'\x02y']"
    assert set(found) == {"2", "5", str(10**9)}
    assert all(said.startswith("EncodeError row 3") and "index is out of bounds" in said for said in found.values())


def test_lengths_in_an_ipc_stream_are_checked_against_its_buffers() -> None:
    """Readers of IPC streams do not check lengths, but pyarrow's arrays know the sizes of their buffers."""
    found = told("""
        def node(length):               # of an array in the stream; no nulls
            return length.to_bytes(8, "little") + bytes(8)

        def spoilt(array, length, more):
            batch = pa.record_batch([array], ["value"])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            good = sink.getvalue().to_pybytes()
            assert good.count(node(length)) == 1
            return pa.ipc.open_stream(good.replace(node(length), node(more)))

        values = pa.DictionaryArray.from_arrays([0, 1], list("abcdefghi"))
        items = pa.array([list(range(7))])
        for more in (1 << 31, 1 << 50):
            for name, array, length, schema in (
                ("values", values, 9, "string"), ("items", items, 7, {"type": "array", "items": "long"})
            ):
                encode = ColumnCodec(schema).encode
                tell(f"{name} batch {more}", outcome_of(encode, spoilt(array, length, more).read_next_batch(), None))
                tell(f"{name} table {more}", outcome_of(encode, spoilt(array, length, more).read_all(), None))
                tell(f"{name} reader {more}", outcome_of(encode, spoilt(array, length, more), None))
    """)
    assert len(found) == 12
    assert all(said.startswith("EncodeError the Arrow data is damaged") for said in found.values()), found


def test_offsets_in_an_ipc_stream_are_checked_against_its_bytes() -> None:
    found = told("""
        def numbers(*all):
            return b"".join(number.to_bytes(4, "little") for number in all)

        batch = pa.record_batch([pa.array([b"2", b"4", b"6", b"8"])], ["value"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        good = sink.getvalue().to_pybytes()
        assert good.count(numbers(0, 1, 2, 3, 4)) == 1
        for last in (4, 10**9):
            spoilt = good.replace(numbers(0, 1, 2, 3, 4), numbers(0, 1, 2, 3, last))
            messages = pa.ipc.open_stream(spoilt).read_all().column(0)
            tell(f"chunks {last}", outcome_of(ColumnCodec("boolean").decode, messages, None))
            tell(f"array {last}", outcome_of(ColumnCodec("boolean").decode, messages.chunk(0), None))
    """)
    assert len(found) == 4
    for name, said in found.items():
        assert said.startswith("DecodeError the Arrow data is damaged" if "000" in name else "DecodeError row 0"), said


def test_only_slots_that_rows_use_are_checked() -> None:
    found = told("""
        half = own(pa.array(["ab", "cd", "ef", "gh"]))
        for start, length in ((0, 2), (2, 2), (0, 4)):
            data = columns(half).slice(start, length)
            tell(f"{start} {length}", outcome_of(ColumnCodec("string").encode, data, inner(write_int32(1, 3, 2))))
    """)
    assert found["0 2"] == r"written [b'\x04ab', b'\x04cd']"
    assert [
        found[name].startswith("EncodeError field value: the Arrow column is damaged") for name in ("2 2", "0 4")
    ] == [True] * 2


def test_buffers_that_no_row_uses_may_be_missing() -> None:
    found = told("""
        empty = columns(pa.array([], pa.string()))
        tell("no rows", outcome_of(ColumnCodec("string").encode, empty, inner(both(no_buffer(1), no_buffer(2)))))
        tell("no text", outcome_of(ColumnCodec("string").encode, columns(pa.array(["", ""])), inner(no_buffer(2))))
        tell("nulls", outcome_of(ColumnCodec("null").encode, columns(pa.nulls(2)), inner(put(null_count=-1))))
        tell("decimal", outcome_of(ColumnCodec({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}).encode,
                                   columns(pa.array([1], pa.decimal128(9, 2))), inner(put_schema(format=b"d:9,2,128"))))
        tell("messages", outcome_of(ColumnCodec("int").decode, pa.array([], pa.binary()), both(no_buffer(1), no_buffer(2))))
    """)
    assert found == {
        "no rows": "written []",
        "no text": r"written [b'\x00', b'\x00']",
        "nulls": "written [b'', b'']",
        "decimal": r"written [b'\x02d']",
        "messages": "written []",
    }


def test_views_of_all_sizes_are_written_and_read() -> None:
    """A view holds up to 12 bytes itself; longer values are in another buffer."""
    found = told("""
        for size in range(42):
            given = [chr(97 + i) * (size if i % 2 else 13 - (i & 2)) for i in range(6)]
            for schema, kind, values in (("string", pa.string_view(), given), ("bytes", pa.binary_view(), [one.encode() for one in given])):
                data = ColumnCodec(schema).encode(pa.record_batch([pa.array(values, kind)], ["value"]))
                tell(f"{schema} {size}", str(data.to_pylist() == [Codec(schema).encode(value) for value in values]))

            fixed = ColumnCodec({"type": "fixed", "name": "F", "size": size})
            messages = pa.array([b"z" * size, None, b"y" * size], pa.binary_view())
            tell(f"read {size}", str(fixed.decode(messages).column(0).to_pylist() == messages.to_pylist()))
            tell(f"fixed {size}", str(fixed.encode(pa.record_batch([messages[2:]], ["value"])).to_pylist() == [b"y" * size]))
    """)
    assert len(found) == 42 * 4
    assert {name: said for name, said in found.items() if said != "True"} == {}


def test_random_offsets_views_and_indices_never_crash() -> None:
    """The oracle is pyarrow, which knows the sizes of its buffers. It is stricter about views than we are."""
    found = told("""
        import ctypes
        from random import Random

        rng = Random(18)
        counts = {}
        for _ in range(4000):
            count = rng.randrange(1, 12)
            texts = ["x" * rng.choice((0, 5, 12, 13, 30)) for _ in range(count)]
            kind, array, numbers, schema = rng.choice((
                ("views", pa.array(texts, pa.string_view()), 4 * count, "string"),
                ("lists", pa.array([[0] * len(text) for text in texts], pa.list_(pa.int32())), count + 1, LIST),
                ("dictionaries", pa.array(texts).dictionary_encode(), count, "string"),
            ))
            batch = own_batch(array)
            start, length = rng.choice(((0, count), (rng.randrange(count), 1)))
            place = batch.column(0).buffers()[1].address
            for _ in range(rng.choice((0, 1, 1, 2))):
                number = rng.choice((rng.randrange(-3, 40), rng.randrange(-(2**31), 2**31), 2**31 - 1, -(2**31)))
                ctypes.c_int32.from_address(place + 4 * rng.randrange(numbers)).value = number
            part = batch.slice(start, length)
            try:
                part.validate(full=True)
                valid = True
            except pa.ArrowInvalid:
                valid = False
            said = outcome_of(ColumnCodec(schema).encode, part, None)
            written = not isinstance(said, str)
            if valid:
                assert said.to_pylist() == [Codec(schema).encode(value) for value in part.column(0).to_pylist()]
            assert written or "damaged" in said or "UTF-8" in said, said
            counts[kind, valid, written] = counts.get((kind, valid, written), 0) + 1
        for key, value in counts.items():
            tell(" ".join(map(str, key)), str(value))
    """)
    assert {name for name in found if name.endswith("False True")} <= {"views False True"}
    assert all(
        int(found[f"{kind} {well} {well}"]) > 300
        for kind in ("lists", "dictionaries", "views")
        for well in (True, False)
    )
