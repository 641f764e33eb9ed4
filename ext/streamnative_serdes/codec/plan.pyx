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
    NAMED                   # reading: a record in a union, as a tuple of its name and the dict
    RESOLVED_RECORD         # these are read only, by another schema than they were written with
    RESOLVED_ENUM
    TICKS
    MISMATCH
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
cdef enum:
    MAX_SCHEMA_DEPTH = 1_024    # levels of types in one another; above what max.schema.depth may be

MINIMUM = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


cdef class Node:
    """One type of the schema. Leaves are plain Nodes."""

    def __cinit__(self, int kind, str label):
        self.kind = kind
        self.label = label if len(label) <= MAX_LABEL else label[:MAX_LABEL] + "..."

    cdef str segment(self, Step* step):
        """How an open container of this type stands in a path."""
        return ""


@cython.final
cdef class EnumNode(Node):
    cdef tuple symbols          # reading by a shape: the members of its class
    cdef dict index             # symbol -> its number
    cdef object shape           # or None
    cdef dict members           # writing by a shape: id of a member -> its number


@cython.final
cdef class ArrayNode(Node):
    cdef Node item

    cdef str segment(self, Step* step):
        return f"[{step.index}]" if step.index >= 0 else ""


@cython.final
cdef class MapNode(Node):
    cdef Node value
    cdef bint repeats           # a message may hold several such maps, whose keys may be the same ones

    cdef str segment(self, Step* step):
        return "" if step.key is NULL else f"[{dumps((<str>step.key)[:MAX_TEXT_IN_ERROR], ensure_ascii=False)}]"


@cython.final
cdef class OptionalNode(Node):
    cdef Node inner
    cdef int null_index         # 0 or 1
    cdef dict names             # writing: as of a UnionNode


@cython.final
cdef class NamedNode(Node):
    cdef Node inner
    cdef str name


@cython.final
cdef class UnionNode(Node):
    cdef tuple branches
    cdef dict by_type           # writing: Python type -> indexes of the branches that may take it, best first
    cdef dict names             # writing: what a branch may be called by -> its index
    cdef tuple alone            # writing: per branch, a tuple of its index


cdef struct FieldPlan:
    PyObject* name              # interned; these three are borrowed from the lists of the node
    PyObject* node
    PyObject* missing           # what is written when the datum lacks the field: encoded default, or None
    PyObject* attribute         # by a shape: what it is called in an object; NULL: it has none
    Py_ssize_t place            # by a shape: where the value stands in an object; -1: nowhere


@cython.final
cdef class RecordNode(Node):
    cdef list names, nodes, missing
    cdef frozenset known        # the names
    cdef list faults            # per field: why it has nothing to write when missing
    cdef FieldPlan* fields
    cdef Py_ssize_t count
    cdef dict template          # the names, each with None; copied for each record, never given away
    cdef Py_ssize_t empty_fields    # fields whose values may take no bytes
    cdef bint closed                # writing: unknown fields are an error
    cdef bint matched               # writing: so are columns of a row where others are missing
    cdef Maker maker                # by a shape: what objects of its class are; or None
    cdef list attributes            # by a shape: per field, or None

    def __dealloc__(self):
        PyMem_Free(self.fields)

    cdef str segment(self, Step* step):
        return f".{self.names[step.index][:MAX_TEXT_IN_ERROR]}" if step.index >= 0 else ""

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
            self.fields[i].attribute, self.fields[i].place = NULL, -1
        self.count = count
        self.template = dict.fromkeys(names)
        self.known = frozenset(names)
        return 0

    cdef int place_attributes(self, object fields) except -1:
        self.attributes = attributes_of(self.maker, fields)
        for i, attribute in enumerate(self.attributes):
            if attribute is not None:
                self.fields[i].attribute, self.fields[i].place = <PyObject*>attribute, self.maker.place_of(attribute)
        return 0


@cython.final
cdef class Build:
    """What is shared while one schema is compiled for one direction."""
    cdef dict named                     # id of a record or enum -> (it, kept alive; its node)
    cdef int around                     # arrays and maps around what is being built
    cdef DefaultWriter defaults
    cdef bint logical                   # logical types are seen
    cdef bint reading
    cdef bint record_names              # reading: records in unions come with their names
    cdef object shapes                  # full name -> the shape of that record or enum
    cdef bint strict, allow_default     # writing: unknown fields are errors, and missing ones, with a default or not
    cdef bint matched                   # writing: columns of rows that are no fields are errors beside missing ones

    def __cinit__(self, options, object shapes, bint reading):
        self.named = {}
        self.defaults = DefaultWriter()
        self.shapes, self.reading = shapes, reading
        self.record_names = reading and options["return.record.name"]
        self.logical = options["avro.logical.types"]
        self.strict = options["validate.strict"]
        self.allow_default = options["validate.strict.allow.default"]
        self.matched = options["unmatched.columns"] == "error"

    cdef Node find(self, object schema):
        """The node of a named type that was met before. Not by name: a reader's aliases may give one name to two."""
        cdef tuple known = <tuple>self.named.get(id(schema))
        return None if known is None else <Node>known[1]

    cdef int keep(self, object schema, Node node) except -1:
        self.named[id(schema)] = schema, node
        return 0


cdef Node build(object root, object options, object shapes, bint reading):
    """The plan of a tree of streamnative_serdes.schema types."""
    return settled(build_node(root, Build(options, shapes, reading), 0))


cdef Node settled(Node plan):
    """Sizes of recursive types grow from 0 towards the true minimum; any lower bound is safe, and few rounds do."""
    for _round in range(8):
        if not settle(plan, set()):
            break
    return plan


cdef Node build_node(object schema, Build shared, int depth):
    cdef str kind = schema.kind
    if depth > MAX_SCHEMA_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    if kind == "record":
        return build_record(schema, shared, depth)
    if kind == "union":
        return build_union(schema, shared, depth)
    if kind == "array":
        array = ArrayNode(ARRAY, "array")
        shared.around += 1
        (<ArrayNode>array).item = build_node(schema.items, shared, depth + 1)
        shared.around -= 1
        return array
    if kind == "map":
        map_ = MapNode(MAP, "map")
        (<MapNode>map_).repeats = shared.around > 0
        shared.around += 1
        (<MapNode>map_).value = build_node(schema.values, shared, depth + 1)
        shared.around -= 1
        return map_
    if kind == "enum":
        return build_enum(schema, shared)
    return build_leaf(schema, kind, shared)


cdef Node build_leaf(object schema, str kind, Build shared):
    cdef object logical = schema.logical if shared.logical else None
    cdef str name = kind if logical is None else logical.name
    cdef Node node
    if name == "uuid":
        node = Node(UUID_TEXT if kind == "string" else UUID_FIXED, "uuid")
    else:
        node = Node(KINDS[name], f"fixed {schema.name}" if name == "fixed" else name)
    # The tree is open to users, who may have changed it since it was checked; the codec relies on these.
    if kind == "fixed" and not 0 <= schema.size < 1 << 31:
        raise SchemaError(f"fixed {shorten(schema.name)} cannot have {schema.size} bytes")
    if logical is not None and not 0 <= logical.scale <= logical.precision <= 4_300:
        raise SchemaError(f"{name} cannot have precision {logical.precision} and scale {logical.scale}")
    node.size = schema.size if kind == "fixed" else -1
    node.min_size = schema.size if kind == "fixed" else MINIMUM[kind]
    if logical is not None:
        node.precision, node.scale = logical.precision, logical.scale
        node.micros = 1000 if name.endswith("-millis") else 1
    return node


cdef Node build_enum(object schema, Build shared):
    cdef EnumNode enum
    cdef Node known = shared.find(schema)
    if known is not None:
        return known
    shape = shared.shapes.get(schema.name)
    members = None if shape is None else members_of(shape, schema)
    if shape is not None and shared.reading and not members.keys() >= set(schema.symbols):
        known = resolved_enum(schema, schema, shape)        # where a symbol may be an error
        shared.keep(schema, known)
        return known
    enum = EnumNode(ENUM, f"enum {schema.name}")
    shared.keep(schema, enum)
    enum.symbols = tuple([sys.intern(str(symbol)) for symbol in schema.symbols])
    enum.index = {symbol: i for i, symbol in enumerate(enum.symbols)}
    enum.min_size = 1
    if shape is not None:
        enum.shape = shape          # keeps the members, and so their ids, alive
        # One that goes by two symbols, an alias or its value beside its name, is written by its name.
        named = sorted(members.items(), key=is_by_its_name)
        enum.members = {id(member): enum.index[symbol] for symbol, member in named if symbol in enum.index}
        if shared.reading:
            enum.symbols = tuple([members[symbol] for symbol in enum.symbols])
    return enum


def is_by_its_name(item):
    return item[0] == getattr(item[1], "name", None)


cdef object members_of(object shape, object schema):
    """Symbol -> member of its class; by the shape."""
    try:
        return shape.members
    except AttributeError:
        raise SchemaError(f"no shape for an enum, which {shorten(schema.name)} is: {shape!r:.80}") from None


cdef Node build_record(object schema, Build shared, int depth):
    cdef RecordNode record
    cdef Node known = shared.find(schema)
    if known is not None:
        return known
    maker = maker_of(schema, shared.shapes)
    if maker is not None and shared.reading:
        return build_shaped(schema, maker, shared, depth)
    record = RecordNode(RECORD, f"record {schema.name}")
    record.closed = shared.strict or shared.allow_default
    record.matched = shared.matched
    record.maker = maker
    shared.keep(schema, record)         # before its fields: they may point back at it, and unions ask for its class
    names, nodes, missing, faults = [], [], [], []
    for field in schema.fields:
        value, fault = default_of(field, shared)
        names.append(sys.intern(str(field.name)))
        nodes.append(build_node(field.type, shared, depth + 1))
        missing.append(value)
        faults.append(fault)
    record.fill(names, nodes, missing, faults)
    if maker is not None:
        record.place_attributes(schema.fields)
    return record


cdef tuple default_of(object field, Build shared):
    """(what to write when a datum lacks the field, or None; why there is nothing to write)."""
    if shared.strict:
        return None, "the field is missing, and validate.strict asks for all"
    if shared.allow_default and not has_default(field):
        return None, "the field is missing and has no default"
    return shared.defaults.of(field)


cdef Node build_union(object schema, Build shared, int depth):
    union = union_of([named(branch, build_node(branch, shared, depth + 1), shared) for branch in schema.branches])
    give_names(union, schema.branches)
    return union


cdef Node named(object schema, Node node, Build shared):
    """``node``, the branch ``schema`` of a union, so that it is read with its name if that was asked for."""
    cdef NamedNode out
    if not shared.record_names or schema.kind != "record":
        return node
    out = NamedNode(NAMED, node.label)
    out.inner, out.name = node, schema.name
    return out


cdef Node union_of(list branches):
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
    union.alone = tuple([(i,) for i in range(len(branches))])
    union.by_type = branches_by_type(branches) | branches_by_shape(branches)
    return union


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
        (<RecordNode>node).empty_fields = sum([(<Node>part).min_size == 0 for part in (<RecordNode>node).nodes])
    elif node.kind == OPTIONAL:
        changed = settle((<OptionalNode>node).inner, seen)
        size = 1
    elif node.kind == UNION:
        for part in (<UnionNode>node).branches:
            changed |= settle(part, seen)
        size = 1 + min([(<Node>part).min_size for part in (<UnionNode>node).branches], default=0)
    elif node.kind == RESOLVED_RECORD:
        for part in (<ResolvedRecord>node).nodes:
            changed |= settle(part, seen)
            size += (<Node>part).min_size
        (<ResolvedRecord>node).empty_fields = sum([(<Node>part).min_size == 0 for part in (<ResolvedRecord>node).nodes])
    elif node.kind == NAMED:
        changed = settle((<NamedNode>node).inner, seen)
        size = (<NamedNode>node).inner.min_size
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
