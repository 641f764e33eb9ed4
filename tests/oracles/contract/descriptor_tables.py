"""Descriptors for PROTOBUF_NATIVE: what the broker accepts, and what it refuses, by what is peculiar about them."""

from __future__ import annotations

from typing import Any, Final

from .descriptors import (
    BOOL,
    BYTES,
    DOUBLE,
    ENUM,
    FLOAT,
    GROUP,
    INT32,
    MESSAGE,
    REPEATED,
    STRING,
    UINT32,
    enum,
    field,
    file,
    message,
    native,
    nested,
    numbers,
    one,
    oneof,
    packed,
    part,
    service,
)

Json = Any
X: Final = field("x", 1)
M, N, B = message("M"), message("N"), message("B")
GOOD, MORE, OTHER = one(X), one(X, field("y", 2, STRING)), native([file(N)], "N")
AT_B: Final = field("x", 1, MESSAGE, type_name=".q.B")
E: Final = enum("E", "A")
CUT: Final = b"\x0a\x7f"
EXTENDED: Final = message("M", extension_range=[numbers(1, 10)])


def of_enum(**more: Any) -> Json:
    return native([file(message("M", field("e", 1, ENUM, type_name=".E", **more)), enum_type=[E])])


def int_default(text: str, kind: int = INT32) -> Json:
    return one(field("x", 1, kind, default_value=text))


def extension(number: int = 5, name: str = "q", **more: Any) -> bytes:
    return field(name, number, **{"extendee": ".M", **more})


BOTH_NAMES: Final = native([file(message("M", nested_type=[N]), message("MN"))], "M.N")
IMPORTED: Final = file(B, name="b", package="q")
BY_PART: Final = message("M", field("x", 1, MESSAGE, type_name="b.N"))
HIDDEN: Final = message("M", field("x", 1, MESSAGE, type_name="a.b.N"), nested_type=[message("a")])
IN_BASE64: Final = GOOD["fileDescriptorSet"]
assert IN_BASE64.endswith("=")

ACCEPTED: Final[dict[str, Json]] = {
    "a message of a package": native([file(M, package="p.q")], "p.q.M"),
    "a message within a message of a package": native([file(message("M", nested_type=[N]), package="p")], "p.M.N"),
    "a package that is only like the one in the name": native([file(M, package="a.b")], "axb.M"),
    "a message within a message, found by both names in one": BOTH_NAMES,
    "a file without a name": native([file(M, name="")], name=""),
    "an unknown key": {**GOOD, "x": 1},
    "an unknown field": native(b"\x78\x01" + b"\x0a\x0e" + file(M)[:14]),
    "a group in an unknown field": native([file(M) + b"\x7b\x08\x01\x7c"]),
    "a field of another wire type": native([file(M) + b"\x08\x01"]),
    "a file of which only the last version counts": native([file(M), file(N)], "N"),
    "a message of an imported file": native([file(message("M", AT_B), dependency=["b"]), IMPORTED]),
    "a message of a file that is imported publicly": native(
        [
            file(message("M", AT_B), dependency=["b"]),
            file(name="b", dependency=["c"], public_dependency=[0]),
            file(B, name="c", package="q"),
        ]
    ),
    "a file that is imported twice": native([file(M, dependency=["b", "b"]), file(name="b")]),
    "a file that is imported in two ways": native(
        [file(M, dependency=["b", "c"]), file(name="b", dependency=["c"]), file(B, name="c")]
    ),
    "a bad file that nobody imports": native([file(M), file(message("1"), name="b")]),
    "a root after its imports": native([file(name="b"), file(M, dependency=["b"])]),
    "a message named like its package": native([file(message("p"), package="p")], "p.p"),
    "an underscore as a name": one(field("_", 1)),
    "a recursive message": one(field("x", 1, MESSAGE, type_name="M")),
    "a type of an inner scope": one(field("x", 1, MESSAGE, type_name="N"), nested_type=[N]),
    "a type by a part of its name": native([file(BY_PART, N, package="a.b")], "a.b.M"),
    "a type that only its name tells": one(field("x", 1, None, type_name="M")),
    "a field of an enum": of_enum(),
    "a default of an enum": of_enum(default_value="A"),
    "a packed list": one(field("x", 1, label=REPEATED, options=packed())),
    "a list that is not packed": one(field("x", 1, STRING, label=REPEATED, options=packed(0))),
    "a default in hexadecimal": int_default("-0x10"),
    "a default in octal": int_default("017"),
    "the largest unsigned default": int_default("4294967295", UINT32),
    "the smallest default": int_default("-2147483648"),
    "nan as a default": int_default("nan", FLOAT),
    "minus infinity as a default": int_default("-inf", DOUBLE),
    "any text as a default of a string": int_default("\\", STRING),
    "escaped bytes as a default": int_default("\\xff\\000\\n", BYTES),
    "a oneof": one(field("x", 1, oneof_index=0), oneof_decl=[oneof("o")]),
    "an optional field of proto3": native(
        [file(message("M", field("x", 1, proto3_optional=1, oneof_index=0), oneof_decl=[oneof("_x")]), syntax="proto3")]
    ),
    "a field in the range of extensions": one(field("x", 5), extension_range=[numbers(1, 10)]),
    "an extension within a message": native([file(EXTENDED, message("O", extension=[extension()]))]),
    "a service": native([file(M, service=[service("S", ("f", ".M", "M"))])]),
    "a group": one(field("g", 1, GROUP, type_name="G"), nested_type=[message("G")]),
    "a message set": native(
        [
            file(
                message("M", options=b"\x08\x01", extension_range=[numbers(1, 10)]),
                extension=[extension(kind=MESSAGE, type_name="M")],
            )
        ]
    ),
    "a type with the wire type of text, which does not count": one(field("x", 1) + part(5, "4294967295")),
    "public imports in one field": native(
        [
            file(message("M", AT_B), dependency=["a", "b"]) + part(10, b"\x00\x01"),
            file(name="a"),
            file(name="b", dependency=["c"]) + part(10, b"\x00"),
            file(B, name="c", package="q"),
        ]
    ),
    "a reserved name": one(X, reserved_name=["x"]),
    "options": native([file(M) + part(8, part(1, "java.package"))]),
    "messages nested 98 times": native([file(nested(98))]),
}  # fmt: skip

# protoc writes none of these, and protobuf's own descriptor pool refuses them.
ACCEPTED_BY_JAVA: Final[dict[str, Json]] = {
    "a message that an imported file has, too": native([file(M, dependency=["b"]), file(M, name="b")]),
    "a strange package": native([file(M, package="p-q")], "p-q.M"),
    "two enums with the same symbol": native([file(M, enum_type=[E, enum("F", "A")])]),
    "an enum's symbol named like a message": native([file(M, enum_type=[enum("E", "M")])]),
    "a default as Java writes a float": int_default("1f", FLOAT),
    "any word as a default of a bool": int_default("perhaps", BOOL),
    "a oneof named like a field": one(field("o", 1), oneof_decl=[oneof("o"), oneof("o")]),
    "an unknown syntax": native([file(M, syntax="proto9")]),
    "two extensions of one number": native([file(EXTENDED, extension=[extension(), extension(name="r")])]),
    "a number beyond what protoc allows": one(field("x", 536_870_912)),
}  # fmt: skip

REFUSED: Final[dict[str, Json]] = {
    "an option without its value": native([file(M) + part(8, part(999, part(2, part(1, "o"))))]),
    "messages nested 99 times": native([file(nested(99))]),
    "options of a file that are cut": native([file(M) + part(8, CUT)]),
    "options of a oneof that are cut": one(oneof_decl=[oneof("o") + part(2, CUT)]),
    "options of an enum that are cut": native([file(M, enum_type=[E + part(3, CUT)])]),
    "source code info that is cut": native([file(M) + part(9, CUT)]),
    "no JSON": "{",
    "null": "null",
    "a list": "[]",
    "no descriptors": {"rootMessageTypeName": "M", "rootFileDescriptorName": "a.proto"},
    "descriptors that are null": {**GOOD, "fileDescriptorSet": None},
    "no root message": {key: GOOD[key] for key in ("fileDescriptorSet", "rootFileDescriptorName")},
    "a root message that is null": {**GOOD, "rootMessageTypeName": None},
    "a root message that is a list": {**GOOD, "rootMessageTypeName": ["M"]},
    "a root message that is a number": {**GOOD, "rootMessageTypeName": 1},
    "no root file": {key: GOOD[key] for key in ("fileDescriptorSet", "rootMessageTypeName")},
    "a root file that does not exist": native([file(M)], name="b"),
    "a root message that does not exist": native([file(M)], "N"),
    "an empty root message": native([file(M)], ""),
    "a root message of an imported file": native([file(M, dependency=["b"]), file(B, name="b")], "B"),
    "a root message of another package": native([file(M, package="p")], "x.M"),
    "a message within a message without a package": native([file(message("M", nested_type=[N]))], "M.N"),
    "a field as root message": native([file(message("M", X), package="p")], "p.M.x"),
    "no base64": {**GOOD, "fileDescriptorSet": "*"},
    "base64 for URLs": {**GOOD, "fileDescriptorSet": "-_8="},
    "base64 without padding": {**GOOD, "fileDescriptorSet": IN_BASE64.rstrip("=")},
    "nothing in base64": {**GOOD, "fileDescriptorSet": ""},
    "a length beyond the end": native(b"\x0a\x7fab"),
    "an endless varint": native(b"\x08" + b"\xff" * 11),
    "a varint that is cut": native(b"\x0a\x01\x80"),
    "field 0": native([file(M) + b"\x00"]),
    "a group that does not end": native([file(M) + b"\x7b\x08\x01"]),
    "the end of another group": native([file(M) + b"\x7b\x74"]),
    "a wire type that does not exist": native([file(M) + b"\x7e"]),
    "an import that is missing": native([file(M, dependency=["b"])]),
    "a type of a file that is not imported": native([file(message("M", AT_B)), IMPORTED]),
    "a type of a file that is imported by another": native(
        [
            file(message("M", AT_B), dependency=["b"]),
            file(name="b", dependency=["c"]),
            file(B, name="c", package="q"),
        ]
    ),
    "a public import that does not exist": native([file(M, dependency=["b"], public_dependency=[1]), file(name="b")]),
    "a message named like the package of an import": native([file(M, dependency=["b"]), file(name="b", package="M.q")]),
    "number 0": one(field("x", 0)),
    "a number below 0": one(field("x", -1)),
    "a number twice": one(X, field("y", 1)),
    "a name twice": one(X, field("x", 2)),
    "a field named like a message in it": one(field("N", 1), nested_type=[N]),
    "two messages of one name": native([file(M, M)]),
    "a message and an enum of one name": native([file(M, enum_type=[enum("M", "A")])]),
    "a message and a service of one name": native([file(M, service=[service("M")])]),
    "a name with a hyphen": one(field("x-y", 1)),
    "a name with a dot": native([file(message("A.B"))], "A.B"),
    "a name that begins with a digit": one(field("1x", 1)),
    "an empty name": one(field("", 1)),
    "a name that is not ASCII": one(field("\u00e9", 1)),
    "an enum without symbols": native([file(M, enum_type=[enum("E")])]),
    "a symbol twice": native([file(M, enum_type=[enum("E", "A", "A")])]),
    "a symbol with a hyphen": native([file(M, enum_type=[enum("E", "A-")])]),
    "a type that does not exist": one(field("x", 1, MESSAGE, type_name="Z")),
    "a type that an inner name hides": native([file(HIDDEN, N, package="a.b")], "a.b.M"),
    "no type": one(field("x", 1, None)),
    "an unknown type": one(field("x", 1, 19)),
    "a message without its name": one(field("x", 1, MESSAGE)),
    "an enum without its name": one(field("x", 1, ENUM)),
    "a number with the name of a type": one(field("x", 1, INT32, type_name="M")),
    "an enum that is a message": one(field("x", 1, ENUM, type_name="M")),
    "a message that is an enum": native([file(message("M", field("e", 1, MESSAGE, type_name=".E")), enum_type=[E])]),
    "a type that is a field": one(field("x", 1, MESSAGE, type_name="M.y"), field("y", 2)),
    "a type that is a package": native([file(message("M", field("x", 1, MESSAGE, type_name="p")), package="p")], "p.M"),
    "a packed string": one(field("x", 1, STRING, label=REPEATED, options=packed())),
    "a packed field without a list": one(field("x", 1, options=packed())),
    "a default without a number": int_default("z"),
    "a default that is empty": int_default(""),
    "a default of nine in octal": int_default("09"),
    "a default beyond 32 bits": int_default("2147483648"),
    "a negative unsigned default": int_default("-1", UINT32),
    "a default of a float without a number": int_default("x", FLOAT),
    "a default that ends in a backslash": int_default("\\", BYTES),
    "a default with an unknown escape": int_default("\\q", BYTES),
    "a default of a list": one(field("x", 1, label=REPEATED, default_value="5")),
    "a default of a message": one(field("x", 1, MESSAGE, type_name="M", default_value="5")),
    "a default without a symbol": of_enum(default_value="Z"),
    "a oneof that does not exist": one(field("x", 1, oneof_index=1), oneof_decl=[oneof("o")]),
    "a oneof below 0": one(field("x", 1, oneof_index=-1), oneof_decl=[oneof("o")]),
    "a field with an extendee": one(field("x", 1, extendee="M")),
    "an extension without extendee": native([file(EXTENDED, extension=[field("q", 5)])]),
    "an extension beyond the range": native([file(EXTENDED, extension=[extension(10)])]),
    "an extension of nothing": native([file(EXTENDED, extension=[extension(extendee="Z")])]),
    "an extension of an enum": native([file(EXTENDED, enum_type=[E], extension=[extension(extendee="E")])]),
    "an extension in a oneof": native([file(EXTENDED, extension=[extension(oneof_index=0)])]),
    "a method without a type": native([file(M, service=[service("S", ("f", ".Z", "M"))])]),
    "a method that returns an enum": native([file(M, enum_type=[E], service=[service("S", ("f", "M", "E"))])]),
    "a message set with a field": one(X, options=b"\x08\x01"),
    "a message set extended by a number": native(
        [file(message("M", options=b"\x08\x01", extension_range=[numbers(1, 10)]), extension=[extension()])]
    ),
}  # fmt: skip
