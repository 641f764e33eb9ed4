"""Avro schemas: parses, validates, compares and resolves them."""

from .nullable import nullable
from .parser import PRIMITIVES, Schema, load, parse, parse_given
from .references import SchemaReference, self_contained
from .resolution import Resolution, resolve
from .rules import MAX_DEPTH, MAX_NAMES, MAX_PRECISION, MAX_TEXT, DefaultChecker, Limits, is_name
from .shapes import EnumShape, RecordShape, Shape, Shapes
from .told_apart import ONLY_FIELD, branch_number, only_branch, told_apart
from .tree import (
    MISSING,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Logical,
    Map,
    Named,
    Primitive,
    Record,
    Union,
    children,
    comparable,
    last_name,
    name_of,
    qualified,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_NAMES",
    "MAX_PRECISION",
    "MAX_TEXT",
    "MISSING",
    "ONLY_FIELD",
    "PRIMITIVES",
    "Array",
    "AvroType",
    "DefaultChecker",
    "Enum",
    "EnumShape",
    "Field",
    "Fixed",
    "Limits",
    "Logical",
    "Map",
    "Named",
    "Primitive",
    "Record",
    "RecordShape",
    "Resolution",
    "Schema",
    "SchemaReference",
    "Shape",
    "Shapes",
    "Union",
    "branch_number",
    "children",
    "comparable",
    "is_name",
    "last_name",
    "load",
    "name_of",
    "nullable",
    "only_branch",
    "parse",
    "parse_given",
    "qualified",
    "resolve",
    "self_contained",
    "told_apart",
]
