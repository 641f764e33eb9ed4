# A schema, compiled once into a tree of nodes. Nodes are data and never change after build(), so that any number of
# threads may walk one plan; what is done with them stands in encode.pyx, decode.pyx and skip.pyx.

cdef enum Kind:
    NULL_KIND
    BOOLEAN
    INT
    LONG
    FLOAT
    DOUBLE
    BYTES
    STRING
    FIXED
    ENUM
    ARRAY
    MAP
    UNION
    OPTIONAL                # a union of null and one other type, the most common one by far
    RECORD
    DATE
    TIME
    TIMESTAMP
    LOCAL_TIMESTAMP
    NANOS                   # timestamp-nanos and local-timestamp-nanos: an int, since datetime holds microseconds only
    DECIMAL
    BIG_DECIMAL
    UUID_TEXT
    UUID_FIXED
    DURATION

KINDS = {
    "null": NULL_KIND, "boolean": BOOLEAN, "int": INT, "long": LONG, "float": FLOAT, "double": DOUBLE,
    "bytes": BYTES, "string": STRING, "fixed": FIXED,
    "date": DATE, "time-millis": TIME, "time-micros": TIME,
    "timestamp-millis": TIMESTAMP, "timestamp-micros": TIMESTAMP, "timestamp-nanos": NANOS,
    "local-timestamp-millis": LOCAL_TIMESTAMP, "local-timestamp-micros": LOCAL_TIMESTAMP,
    "local-timestamp-nanos": NANOS,
    "decimal": DECIMAL, "big-decimal": BIG_DECIMAL, "duration": DURATION,
}
MINIMUM = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


cdef class Node:
    """One type of the schema. Leaves are plain Nodes."""

    def __cinit__(self, int kind, str label):
        self.kind = kind
        self.label = label

    cdef str segment(self, Step* step):
        """How an open container of this type stands in a path."""
        return ""


@cython.final
cdef class EnumNode(Node):
    cdef tuple symbols
    cdef dict index             # symbol -> its number


@cython.final
cdef class ArrayNode(Node):
    cdef Node item

    cdef str segment(self, Step* step):
        return f"[{step.index}]" if step.index >= 0 else ""


@cython.final
cdef class MapNode(Node):
    cdef Node value

    cdef str segment(self, Step* step):
        return "" if step.key is NULL else f"[{shorten(<object>step.key)}]"


@cython.final
cdef class OptionalNode(Node):
    cdef Node inner
    cdef int null_index         # 0 or 1


@cython.final
cdef class UnionNode(Node):
    cdef tuple branches
    cdef dict by_type           # Python type -> indexes of the branches that may take it, best first
    cdef tuple records          # for each branch: the set of its field names, or None if it is no record


cdef struct FieldPlan:
    PyObject* name              # interned; these three are borrowed from the lists of the node
    PyObject* node
    PyObject* missing           # what is written when the datum lacks the field: encoded default, or None


@cython.final
cdef class RecordNode(Node):
    cdef list names, nodes, missing
    cdef list faults            # per field: why it has nothing to write when missing
    cdef FieldPlan* fields
    cdef Py_ssize_t count

    def __dealloc__(self):
        PyMem_Free(self.fields)

    cdef str segment(self, Step* step):
        return f".{self.names[step.index]}" if step.index >= 0 else ""

    cdef int fill(self, list names, list nodes, list missing, list faults) except -1:
        cdef Py_ssize_t i, count = len(names)
        self.fields = <FieldPlan*>PyMem_Malloc(max(count, 1) * sizeof(FieldPlan))
        if self.fields is NULL:
            raise MemoryError()
        self.names, self.nodes, self.missing, self.faults = names, nodes, missing, faults
        for i in range(count):
            self.fields[i].name = <PyObject*>names[i]
            self.fields[i].node = <PyObject*>nodes[i]
            self.fields[i].missing = <PyObject*>missing[i]
        self.count = count
        return 0


cdef Node build(object root):
    """The plan of a tree of streamnative_serdes.schema types."""
    cdef dict named = {}
    cdef Node plan = build_node(root, named, 0)
    cdef int i
    # Sizes of recursive types grow from 0 towards the true minimum; any lower bound is safe, and few rounds do.
    for i in range(8):
        if not settle(plan, set()):
            break
    return plan


cdef Node build_node(object schema, dict named, int depth):
    cdef str kind = schema.kind
    cdef Node node
    if depth > MAX_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {MAX_DEPTH} levels")
    if kind == "record":
        return build_record(schema, named, depth)
    if kind == "union":
        return build_union(schema, named, depth)
    if kind == "array":
        array = ArrayNode(ARRAY, "array")
        (<ArrayNode>array).item = build_node(schema.items, named, depth + 1)
        return array
    if kind == "map":
        map_ = MapNode(MAP, "map")
        (<MapNode>map_).value = build_node(schema.values, named, depth + 1)
        return map_
    if kind == "enum":
        return build_enum(schema)
    return build_leaf(schema, kind)


cdef Node build_leaf(object schema, str kind):
    cdef object logical = schema.logical
    cdef str name = kind if logical is None else logical.name
    cdef Node node
    if name == "uuid":
        node = Node(UUID_TEXT if kind == "string" else UUID_FIXED, "uuid")
    else:
        node = Node(KINDS[name], f"fixed {schema.name}" if name == "fixed" else name)
    node.size = schema.size if kind == "fixed" else -1
    node.min_size = schema.size if kind == "fixed" else MINIMUM[kind]
    if logical is not None:
        node.precision, node.scale = logical.precision, logical.scale
        node.micros = 1000 if name.endswith("-millis") else 1
    return node


cdef Node build_enum(object schema):
    node = EnumNode(ENUM, f"enum {schema.name}")
    cdef EnumNode enum = node
    enum.symbols = tuple([sys.intern(str(symbol)) for symbol in schema.symbols])
    enum.index = {symbol: i for i, symbol in enumerate(enum.symbols)}
    enum.min_size = 1
    return enum


cdef Node build_record(object schema, dict named, int depth):
    if schema.name in named:
        return named[schema.name]
    cdef RecordNode record = RecordNode(RECORD, f"record {schema.name}")
    named[schema.name] = record         # before its fields, so that they may point back at it
    names, nodes, missing, faults = [], [], [], []
    for field in schema.fields:
        value, fault = missing_value(field)
        names.append(sys.intern(str(field.name)))
        nodes.append(build_node(field.type, named, depth + 1))
        missing.append(value)
        faults.append(fault)
    record.fill(names, nodes, missing, faults)
    return record


cdef Node build_union(object schema, dict named, int depth):
    cdef list branches = [build_node(branch, named, depth + 1) for branch in schema.branches]
    cdef OptionalNode optional
    cdef UnionNode union
    cdef list kinds = [(<Node>branch).kind for branch in branches]
    if len(branches) == 2 and kinds.count(NULL_KIND) == 1:
        optional = OptionalNode(OPTIONAL, "union")
        optional.null_index = kinds.index(NULL_KIND)
        optional.inner = branches[1 - optional.null_index]
        return optional
    union = UnionNode(UNION, "union of " + ", ".join([(<Node>branch).label for branch in branches]))
    union.branches = tuple(branches)
    union.records = tuple([frozenset([f.name for f in branch.fields]) if branch.kind == "record" else None
                           for branch in schema.branches])
    union.by_type = branches_by_type(branches)
    return union


# --- unions: which branch may take a value of which Python type -------------------------------------------------------

# Kind of branch -> the Python types that it takes, with a rank: 0 fits exactly, more is less fitting.
cdef dict TAKES = {
    NULL_KIND: ((type(None), 0),),
    BOOLEAN: ((bool, 0),),
    INT: ((int, 0),),
    LONG: ((int, 1),),
    DOUBLE: ((float, 0), (int, 2)),
    FLOAT: ((float, 1), (int, 3)),      # a double loses nothing, so it goes before a float
    STRING: ((str, 0),),
    ENUM: ((str, 0),),
    BYTES: ((bytes, 0),),
    FIXED: ((bytes, 0),),
    ARRAY: ((list, 0),),
    MAP: ((dict, 0),),
    RECORD: ((dict, 0),),
    DATE: ((datetime.date, 0), (int, 4)),
    TIME: ((datetime.time, 0), (int, 4)),
    TIMESTAMP: ((datetime.datetime, 0), (int, 4)),
    LOCAL_TIMESTAMP: ((datetime.datetime, 0), (int, 4)),
    NANOS: ((int, 4), (datetime.datetime, 1)),
    DECIMAL: ((Decimal, 0), (int, 4)),
    BIG_DECIMAL: ((Decimal, 0), (int, 4)),
    UUID_TEXT: ((UUID, 0), (str, 1)),
    UUID_FIXED: ((UUID, 0), (bytes, 1)),
    DURATION: ((list, 1),),
}


cdef dict branches_by_type(list branches):
    cdef dict ranked = {}
    for i, branch in enumerate(branches):
        for type_, rank in TAKES[(<Node>branch).kind]:
            ranked.setdefault(type_, []).append((rank, i))
    return {type_: tuple([i for rank, i in sorted(pairs)]) for type_, pairs in ranked.items()}


# --- the least number of bytes that a type takes ----------------------------------------------------------------------

cdef bint settle(Node node, set seen) except -1:
    """One round of sizing; whether anything changed."""
    cdef Py_ssize_t size = 0
    cdef bint changed = False
    if node in seen:
        return False
    seen.add(node)
    if node.kind == RECORD:
        for part in (<RecordNode>node).nodes:
            changed |= settle(part, seen)
            size += (<Node>part).min_size
    elif node.kind == OPTIONAL:
        changed = settle((<OptionalNode>node).inner, seen)
        size = 1
    elif node.kind == UNION:
        for part in (<UnionNode>node).branches:
            changed |= settle(part, seen)
        size = 1 + min([(<Node>part).min_size for part in (<UnionNode>node).branches], default=0)
    elif node.kind == ARRAY:
        changed = settle((<ArrayNode>node).item, seen)
        size = 1
    elif node.kind == MAP:
        changed = settle((<MapNode>node).value, seen)
        size = 1
    else:
        return False
    size = min(size, 1 << 40)
    changed |= size != node.min_size
    node.min_size = size
    return changed


# --- defaults: JSON, encoded once when the plan is built --------------------------------------------------------------

NO_FIT = (SchemaError, ValueError, TypeError, LookupError, OverflowError, AttributeError, struct.error)


cdef tuple missing_value(object field):
    """(what to write when a datum lacks the field, or None; why there is nothing to write)."""
    cdef object default = field.default
    # streamnative_serdes.schema.MISSING: compiled modules import no Python module, so it is known by its name.
    if type(default).__name__ == "Missing":
        # An optional field that is left out is null, as everywhere in Python's Avro.
        if field.type.kind != "union" or "null" not in [branch.kind for branch in field.type.branches]:
            return None, "the field is missing and has no default"
        default = None
    out = DefaultWriter()
    try:
        (<DefaultWriter>out).put(field.type, default, 0)
    except NO_FIT as error:
        return None, f"the field is missing and its default {shorten(default)} does not fit: {error}"
    return bytes((<DefaultWriter>out).out), None


@cython.final
cdef class DefaultWriter:
    """Avro bytes of a default. The schema may come from a registry, so depth and steps are bounded."""
    cdef bytearray out
    cdef int steps

    def __cinit__(self):
        self.out = bytearray()
        self.steps = 100_000

    cdef int put(self, object schema, object value, int depth) except -1:
        """Append ``value``. Raises one of NO_FIT if it is none of this type."""
        cdef str kind = schema.kind
        self.steps -= 1
        if depth > MAX_DEPTH or self.steps < 0:
            raise SchemaError("it contains itself")
        if kind == "union":
            self.put_union(schema, value, depth)
        elif kind == "record":
            for field in schema.fields:
                self.put(field.type, value.get(field.name, field.default), depth + 1)
        elif kind == "array" or kind == "map":
            self.put_items(schema, value, depth)
        elif kind == "enum":
            self.put_long(schema.symbols.index(value))
        elif kind == "fixed":
            raw = value.encode("latin-1")       # code points 0 to 255 stand for bytes
            if len(raw) != schema.size:
                raise SchemaError(f"expected {schema.size} bytes")
            self.out += raw
        else:
            self.put_primitive(kind, value)
        return 0

    cdef int put_union(self, object schema, object value, int depth) except -1:
        cdef Py_ssize_t start = len(self.out)
        for i, branch in enumerate(schema.branches):
            try:
                self.put_long(i)
                self.put(branch, value, depth + 1)
                return 0
            except NO_FIT:
                del self.out[start:]
        raise SchemaError("it matches no branch of the union")

    cdef int put_items(self, object schema, object value, int depth) except -1:
        if type(value) is not (list if schema.kind == "array" else dict):
            raise SchemaError(f"expected {schema.kind}")
        if value:
            self.put_long(len(value))
        for item in value:
            if schema.kind == "map":
                self.put_primitive("string", item)
                self.put(schema.values, value[item], depth + 1)
            else:
                self.put(schema.items, item, depth + 1)
        return self.put_long(0)

    cdef int put_primitive(self, str kind, object value) except -1:
        cdef int bits = 32 if kind == "int" else 64
        if kind == "null" and value is None:
            return 0
        if kind == "boolean" and type(value) is bool:
            self.out.append(value)
        elif (kind == "int" or kind == "long") and type(value) is int and (value if value >= 0 else ~value).bit_length() < bits:
            self.put_long(value)
        elif (kind == "float" or kind == "double") and type(value) in (int, float):
            self.out += struct.pack("<f" if kind == "float" else "<d", value)
        elif (kind == "string" or kind == "bytes") and type(value) is str:
            raw = value.encode("utf-8" if kind == "string" else "latin-1")
            self.put_long(len(raw))
            self.out += raw
        else:
            raise SchemaError(f"expected {kind}")
        return 0

    cdef int put_long(self, object value) except -1:
        cdef uint8_t text[10]
        cdef uint8_t* end = sns_put_varint(text, sns_zigzag(<int64_t>value))
        self.out += (<char*>text)[:end - text]
        return 0


cdef str shorten(object value):
    """``value`` for an error: never long, and never by running its own repr unless its type is a plain one."""
    cdef str text
    if type(value) is str or type(value) is bytes:
        return repr(value[:MAX_TEXT_IN_ERROR]) + ("..." if len(value) > MAX_TEXT_IN_ERROR else "")
    if type(value) is int and not -(1 << 256) < value < 1 << 256:
        return "a number of more than 256 bits"
    if type(value) in (int, float, bool, type(None), datetime.datetime, datetime.date, datetime.time, UUID):
        return repr(value)
    if type(value) is Decimal:
        text = str(value)
        return text[:MAX_TEXT_IN_ERROR] + ("..." if len(text) > MAX_TEXT_IN_ERROR else "")
    return f"a {type(value).__name__}"
