"""Avro schemas: parses, validates, compares and resolves them."""

from .copies import ONLY_FIELD, branch_number, nullable, only_branch, told_apart
from .parser import PRIMITIVES, SCHEMA_KEYS, Schema, load, parse, parse_given
from .references import SchemaReference, self_contained
from .resolution import Resolution, resolve
from .rules import (
    MAX_DEPTH,
    MAX_NAMES,
    MAX_PRECISION,
    MAX_TEXT,
    NOT_FINITE,
    DefaultChecker,
    Limits,
    is_name,
    json_float,
)
from .shapes import EnumShape, RecordShape, Shape, Shapes
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
    TreeCopy,
    Union,
    all_types,
    children,
    comparable,
    last_name,
    name_of,
    qualified,
)
