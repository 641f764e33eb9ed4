# Compiles a schema into a plan: a tree of Nodes. Nodes never change after build(), so threads may share a plan. The
# code that runs a plan is in encode.pyx, decode.pyx and skip.pyx.

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
    OPTIONAL                # a union of null and one other type, by far the most common union
    RECORD
    NAMED                   # reading: a record in a union, returned as (name, dict)
    RESOLVED_RECORD         # from here to MISMATCH: reading only, by schema resolution
    RESOLVED_ENUM
    TICKS
    MISMATCH
    DATE
    TIME
    TIMESTAMP
    LOCAL_TIMESTAMP
    NANOS                   # timestamp-nanos and local-timestamp-nanos: an int, since datetime holds only microseconds
    DECIMAL
    BIG_DECIMAL
    UUID_TEXT
    UUID_FIXED
    DURATION
    UNSIZED                 # only at the root: bytes without their length (unsized.pyx)

KINDS = {
    "null": NULL_KIND, "boolean": BOOLEAN, "int": INT, "long": LONG, "float": FLOAT, "double": DOUBLE,
    "bytes": BYTES, "string": STRING, "fixed": FIXED,
    "date": DATE, "time-millis": TIME, "time-micros": TIME,
    "timestamp-millis": TIMESTAMP, "timestamp-micros": TIMESTAMP, "timestamp-nanos": NANOS,
    "local-timestamp-millis": LOCAL_TIMESTAMP, "local-timestamp-micros": LOCAL_TIMESTAMP,
    "local-timestamp-nanos": NANOS,
    "decimal": DECIMAL, "big-decimal": BIG_DECIMAL, "duration": DURATION,
}


cdef class Node:
    """One type of the schema; a leaf type is a plain Node."""

    def __cinit__(self, int kind, str label):
        self.kind = kind
        self.label = clipped_label(label)

    cdef str segment(self, Step* step):
        """Return the part of a path for an open container of this type."""
        return ""


@cython.final
cdef class EnumNode(Node):
    cdef tuple symbols          # reading with a shape: the members of its class
    cdef dict index             # symbol -> index
    cdef object shape           # or None
    cdef dict members           # writing with a shape: id of a member -> index of its symbol


cdef class ItemsNode(Node):
    cdef Node item              # of an array, or the value of a map


@cython.final
cdef class ArrayNode(ItemsNode):
    cdef str segment(self, Step* step):
        return item_segment(step.index) if step.index >= 0 else ""


@cython.final
cdef class MapNode(ItemsNode):
    cdef bint repeats           # inside an array or map, so a message may hold several such maps with the same keys

    cdef str segment(self, Step* step):
        return "" if step.key is NULL else key_segment(<str>step.key)


@cython.final
cdef class OptionalNode(Node):
    cdef Node inner
    cdef int null_index         # 0 or 1
    cdef dict names             # writing: same as in UnionNode


@cython.final
cdef class NamedNode(Node):
    cdef Node inner
    cdef str name


@cython.final
cdef class UnionNode(Node):
    cdef tuple branches
    cdef dict by_type           # writing: Python type -> indexes of the branches that may accept it, best first
    cdef dict names             # writing: name of a branch -> index
    cdef tuple alone            # writing: for each branch, the tuple (index,)


cdef struct FieldPlan:
    PyObject* name              # interned; NULL: skipped. These two are borrowed from the node's lists
    PyObject* node
    PyObject* attribute         # with a shape: the attribute's name; NULL: the class has no such attribute
    Py_ssize_t place            # with a shape: offset of the value in an instance; -1: no fixed offset


cdef class FieldsNode(Node):
    """A record: its fields in the order of the schema that the bytes are written with."""
    cdef list names, nodes
    cdef list segments              # names of the fields in paths
    cdef FieldPlan* fields
    cdef Py_ssize_t count
    cdef dict template              # the names, each with None or a default; copied for each record
    cdef list stripes               # without a GIL: copies of it to copy from, made as they are needed; see threads.h
    cdef Py_ssize_t empty_fields    # fields whose values may take no bytes
    cdef Maker maker                # with a shape: reads and writes objects of its class; or None

    def __dealloc__(self):
        PyMem_Free(self.fields)

    cdef str segment(self, Step* step):
        return field_segment(self.segments[step.index]) if step.index >= 0 else ""

    cdef inline object copied(self):
        """A dict for a new record."""
        return PyDict_Copy(<object>self.own_template()) if FREE_THREADED else PyDict_Copy(self.template)

    cdef PyObject* own_template(self) except NULL:
        """The template of this thread's stripe, borrowed: once made, it stays as long as the plan."""
        cdef int stripe = sns_stripe()
        cdef PyObject* found = sns_list_item(<PyObject*>self.stripes, stripe)
        if unlikely(found is Py_None):
            made = PyDict_Copy(self.template)
            with cython.critical_section(self):
                if self.stripes[stripe] is None:
                    self.stripes[stripe] = made
            found = sns_list_item(<PyObject*>self.stripes, stripe)
        return found

    cdef int set_fields(self, list names, list nodes) except -1:
        cdef Py_ssize_t i
        self.fields = <FieldPlan*>PyMem_Malloc(max(len(names), 1) * sizeof(FieldPlan))
        if self.fields is NULL:
            raise MemoryError()
        self.names, self.nodes, self.count = names, nodes, len(names)
        if FREE_THREADED:
            self.stripes = [None] * SNS_STRIPES
        for i in range(self.count):
            self.fields[i].name = NULL if names[i] is None else <PyObject*>names[i]
            self.fields[i].node = <PyObject*>nodes[i]
            self.fields[i].attribute, self.fields[i].place = NULL, -1
        return 0


@cython.final
cdef class RecordNode(FieldsNode):
    cdef list missing               # writing: per field, the encoded default for a datum that lacks it; or None
    cdef list faults                # writing: by field, why it has no default to write, or None
    cdef frozenset known            # the names
    cdef object own_names           # FieldNames
    cdef bint closed                # writing: unknown fields are an error
    cdef bint matched               # writing: unknown columns of a row are an error if fields have no column
    cdef list attributes            # with a shape: per field, or None

    cdef int fill(self, list names, list nodes, list missing, list faults) except -1:
        self.set_fields(names, nodes)
        self.segments, self.missing, self.faults = names, missing, faults
        self.template = dict.fromkeys(names)
        self.known, self.own_names = frozenset(names), shapes_of_classes.FieldNames(names)
        return 0

    cdef int place_attributes(self, object fields) except -1:
        self.attributes = attributes_of(self.maker, fields)
        for i, attribute in enumerate(self.attributes):
            if attribute is not None:
                self.fields[i].attribute, self.fields[i].place = <PyObject*>attribute, self.maker.place_of(attribute)
        return 0


@cython.final
cdef class Build:
    """State shared while one schema is compiled for one direction."""
    cdef dict named                     # id of a record or enum -> (its schema, kept alive; its node)
    cdef int around                     # arrays and maps around the type being built
    cdef DefaultWriter defaults
    cdef bint logical                   # logical types are used, not just their base types
    cdef bint reading
    cdef bint record_names              # reading: records in unions are returned with their names
    cdef object shapes                  # full name -> shape of that record or enum
    cdef bint strict, allow_default     # writing: refuse unknown and missing fields; allow missing ones with a default
    cdef bint matched                   # writing: unknown columns of a row are an error if fields have no column
    cdef bint truncates                 # writing: drop nanoseconds beyond the microseconds of a datetime

    def __cinit__(self, options, object shapes, bint reading):
        self.named = {}
        self.shapes, self.reading = shapes, reading
        self.record_names = reading and options["return.record.name"]
        self.logical = options["avro.logical.types"]
        self.defaults = DefaultWriter(self.logical, reading)
        self.strict = options["validate.strict"]
        self.allow_default = options["validate.strict.allow.default"]
        self.matched = options["unmatched.columns"] == "error"
        self.truncates = options["truncate.times"]

    cdef Node find(self, object schema):
        """Return the node of a named type built before. Keyed by id: a reader's aliases may give two types one name."""
        cdef tuple known = <tuple>self.named.get(id(schema))
        return None if known is None else <Node>known[1]

    cdef int keep(self, object schema, Node node) except -1:
        self.named[id(schema)] = schema, node
        return 0


cdef Node build(object root, object options, object shapes, bint reading):
    """Compile a tree of streamnative_serdes._schema types into a plan."""
    return settled(build_node(root, Build(options, shapes, reading), 0))


cdef Node settled(Node plan):
    """Compute min_size. Sizes of recursive types grow from 0 towards the true minimum; any lower bound is safe, so a
    few rounds are enough."""
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
    if kind == "array" or kind == "map":
        node = items_node(kind, shared)
        shared.around += 1
        (<ItemsNode>node).item = build_node(schema.items if kind == "array" else schema.values, shared, depth + 1)
        shared.around -= 1
        return node
    if kind == "enum":
        return build_enum(schema, shared)
    return build_leaf(schema, kind, shared)


cdef ItemsNode items_node(str kind, Build shared):
    if kind == "array":
        return ArrayNode(ARRAY, kind)
    node = MapNode(MAP, kind)
    (<MapNode>node).repeats = shared.around > 0
    return node


cdef Node build_leaf(object schema, str kind, Build shared):
    cdef object logical = schema.logical if shared.logical else None
    cdef str name = kind if logical is None else logical.name
    cdef Node node
    if name == "uuid":
        node = Node(UUID_TEXT if kind == "string" else UUID_FIXED, "uuid")
    else:
        node = Node(KINDS[name], f"fixed {schema.name}" if name == "fixed" else name)
    # Users can modify the schema tree after it was checked, and the codec depends on these bounds, so check them again.
    if kind == "fixed" and not 0 <= schema.size < 1 << 31:
        raise SchemaError(f"fixed {shorten(schema.name)} cannot have {schema.size} bytes")
    if logical is not None and not 0 <= logical.scale <= logical.precision <= 4_300:
        raise SchemaError(f"{name} cannot have precision {logical.precision} and scale {logical.scale}")
    node.size = schema.size if kind == "fixed" else -1
    node.min_size = schema.size if kind == "fixed" else MINIMUM[kind]
    if logical is not None:
        node.precision, node.scale = logical.precision, logical.scale
        node.micros = 1000 if name.endswith("-millis") else 1
        node.truncates = shared.truncates
    return node


cdef Node build_enum(object schema, Build shared):
    cdef EnumNode enum
    cdef Node known = shared.find(schema)
    if known is not None:
        return known
    shape = shared.shapes.get(schema.name)
    members = None if shape is None else members_of(shape, schema)
    if shape is not None and shared.reading and not members.keys() >= set(schema.symbols):
        known = resolved_enum(schema, schema, shape)        # a symbol without a member is an error when it is read
        shared.keep(schema, known)
        return known
    enum = EnumNode(ENUM, f"enum {schema.name}")
    shared.keep(schema, enum)
    enum.symbols = tuple([sys.intern(str(symbol)) for symbol in schema.symbols])
    enum.index = {symbol: i for i, symbol in enumerate(enum.symbols)}
    enum.min_size = 1
    if shape is not None:
        enum.shape = shape          # keeps the members, and so their ids, alive
        # A member with two symbols (its name, and an alias or its value) is written as its name.
        named = sorted(members.items(), key=is_by_its_name)
        enum.members = {id(member): enum.index[symbol] for symbol, member in named if symbol in enum.index}
        if shared.reading:
            enum.symbols = tuple([members[symbol] for symbol in enum.symbols])
    return enum


def is_by_its_name(item):
    return item[0] == getattr(item[1], "name", None)


cdef object members_of(object shape, object schema):
    """Return {symbol: member of the shape's class}."""
    try:
        return shape.members
    except AttributeError:
        raise SchemaError(f"expected an EnumShape for enum {shorten(schema.name)}, got {shape!r:.80}") from None


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
    shared.keep(schema, record)         # before its fields: they may refer to it, and unions look up its class
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
    """Return (Avro bytes to write when a datum lacks the field, None), or (None, why there are none)."""
    if shared.strict:
        return None, "the field is missing, and validate.strict requires all fields"
    if shared.allow_default and not has_default(field):
        return None, "the field is missing and has no default"
    return shared.defaults.of(field)


cdef Node build_union(object schema, Build shared, int depth):
    union = union_of([named(branch, build_node(branch, shared, depth + 1), shared) for branch in schema.branches])
    give_names(union, schema.branches)
    return union


cdef Node named(object schema, Node node, Build shared):
    """Wrap ``node``, the branch ``schema`` of a union, so that return.record.name gives its name."""
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


# --- minimum size of each type in bytes -------------------------------------------------------------------------------

cdef bint settle(Node node, set seen) except -1:
    """Update min_size once. Returns whether anything changed."""
    cdef Py_ssize_t size = 0
    cdef bint changed = False
    if node in seen:
        return False
    seen.add(node)
    if node.kind == RECORD or node.kind == RESOLVED_RECORD:
        for part in (<FieldsNode>node).nodes:
            changed |= settle(part, seen)
            size += (<Node>part).min_size
        (<FieldsNode>node).empty_fields = sum([(<Node>part).min_size == 0 for part in (<FieldsNode>node).nodes])
    elif node.kind == OPTIONAL:
        changed = settle((<OptionalNode>node).inner, seen)
        size = 1
    elif node.kind == UNION:
        for part in (<UnionNode>node).branches:
            changed |= settle(part, seen)
        size = 1 + min([(<Node>part).min_size for part in (<UnionNode>node).branches], default=0)
    elif node.kind == NAMED:
        changed = settle((<NamedNode>node).inner, seen)
        size = (<NamedNode>node).inner.min_size
    elif node.kind == ARRAY or node.kind == MAP:
        changed = settle((<ItemsNode>node).item, seen)
        size = 1
    else:
        return False
    size = min(size, 1 << 40)
    changed |= size != node.min_size
    node.min_size = size
    return changed
