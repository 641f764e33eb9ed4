# Reading by another schema than data was written with: a Resolution (streamnative_serdes.schema), compiled once into a
# plan that walks the writer's bytes and makes the reader's data.

@cython.final
cdef class ResolvedRecord(Node):
    """A record in the writer's order of fields; a field without a name is skipped."""
    cdef list names, nodes, segments
    cdef FieldPlan* fields
    cdef Py_ssize_t count
    cdef str reason                 # why no such record can be read, after all; or None
    cdef dict template              # the reader's names in the reader's order, with the defaults that nobody can change
    cdef list fresh                 # [name, DefaultValue]: defaults that each record gets a copy of
    cdef Py_ssize_t empty_fields    # fields whose values may take no bytes
    cdef int64_t filled             # values that come from defaults

    def __dealloc__(self):
        PyMem_Free(self.fields)

    cdef str segment(self, Step* step):
        return f".{self.segments[step.index][:MAX_TEXT_IN_ERROR]}" if step.index >= 0 else ""

    cdef int fill(self, list names, list nodes) except -1:
        cdef Py_ssize_t i
        self.fields = <FieldPlan*>PyMem_Malloc(max(len(names), 1) * sizeof(FieldPlan))
        if self.fields is NULL:
            raise MemoryError()
        self.names, self.nodes = names, nodes
        for i in range(len(names)):
            self.fields[i].name = NULL if names[i] is None else <PyObject*>names[i]
            self.fields[i].node = <PyObject*>nodes[i]
            self.fields[i].missing = NULL
        self.count = len(names)
        return 0


@cython.final
cdef class DefaultValue:
    """A default as Avro bytes of the reader's type."""
    cdef Node node
    cdef bytes data

    def __cinit__(self, Node node, bytes data):
        self.node, self.data = node, data

    cdef object read(self):
        """A fresh copy. It was read once when the plan was built, so it can be."""
        cdef Limits limits
        limits.depth, limits.empty, limits.items, limits.trailing = MAX_DEPTH, 1 << 20, 1 << 20, False
        return decode_message(self.node, &limits, <uint8_t*>PyBytes_AS_STRING(<PyObject*>self.data),
                              PyBytes_GET_SIZE(self.data), 0)


@cython.final
cdef class ResolvedEnum(Node):
    cdef tuple written              # the writer's symbols
    cdef tuple symbols              # what the reader reads for each; None: nothing


@cython.final
cdef class Mismatch(Node):
    """What cannot be read, should a datum come to it."""
    cdef str reason


@cython.final
cdef class Ticks(Node):
    """An int or long that the reader takes for another number type, or for a time in other units."""
    cdef Node inner                 # the reader's type
    cdef bint narrow                # it was written as an int
    cdef int64_t times, by          # ticks of the reader's unit = ticks of the writer's * times / by


@cython.final
cdef class ResolvedBuild:
    """What is shared while one resolution is compiled."""
    cdef Build writer, reader       # plain plans: of what is skipped, and of defaults
    cdef dict records               # id of a step -> (it, kept alive; its node)

    def __cinit__(self, options):
        self.writer, self.reader = Build(options), Build(options)
        self.reader.record_names = options["return.record.name"]
        self.records = {}


cdef Node build_resolved(object step, object options):
    """The plan of a resolution's root step."""
    return settled(resolved(step, ResolvedBuild(options), 0))


cdef Node resolved(object step, ResolvedBuild shared, int depth):
    cdef str wrote = step.writer.kind, reads = step.reader.kind
    fault = step.fault or step.late_fault
    if fault is not None:
        return mismatch(fault)
    if depth > MAX_SCHEMA_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    if wrote == "union":
        return union_of([chosen(part, shared, depth) if reads == "union" and part.reader.kind != "union"
                         else resolved(part, shared, depth + 1) for part in step.parts])
    if reads == "union":            # the branch was chosen when the schemas were resolved
        return chosen(step.parts[0], shared, depth)
    if wrote == "array":
        array = ArrayNode(ARRAY, "array")
        shared.writer.around += 1
        (<ArrayNode>array).item = resolved(step.parts[0], shared, depth + 1)
        shared.writer.around -= 1
        return array
    if wrote == "map":
        map_ = MapNode(MAP, "map")
        (<MapNode>map_).repeats = shared.writer.around > 0
        shared.writer.around += 1
        (<MapNode>map_).value = resolved(step.parts[0], shared, depth + 1)
        shared.writer.around -= 1
        return map_
    if wrote == "record":
        return resolved_record(step, shared, depth)
    if wrote == "enum":
        return resolved_enum(step.writer, step.reader)
    return resolved_leaf(step.writer, step.reader, shared)


cdef Node chosen(object step, ResolvedBuild shared, int depth):
    """What reads by ``step``, whose reader is a branch of a union."""
    cdef Node node = resolved(step, shared, depth + 1)
    return node if node.kind == MISMATCH else named(step.reader, node, shared.reader)


cdef Mismatch mismatch(str reason):
    cdef Mismatch node = Mismatch(MISMATCH, "nothing")
    node.reason = reason
    return node


# --- records ----------------------------------------------------------------------------------------------------------

cdef Node resolved_record(object step, ResolvedBuild shared, int depth):
    cdef ResolvedRecord record
    known = shared.records.get(id(step))
    if known is not None:
        return <Node>known[1]
    record = ResolvedRecord(RESOLVED_RECORD, f"record {step.reader.name}")
    shared.records[id(step)] = step, record     # before its fields, so that they may point back at it
    names, nodes = [], []
    for field, part in zip(step.writer.fields, step.parts):
        names.append(None if part is None else sys.intern(str(field.name)))
        nodes.append(build_node(field.type, shared.writer, depth + 1) if part is None
                     else resolved(part, shared, depth + 1))
    record.segments = [str(field.name) for field in step.writer.fields]
    record.template = {sys.intern(str(field.name)): None for field in step.reader.fields}
    record.fresh = []
    record.fill(names, nodes)
    for field in step.added:
        add_default(record, field, shared, depth)
    return record


cdef int add_default(ResolvedRecord record, object field, ResolvedBuild shared, int depth) except -1:
    """Have ``field`` filled in from its default in all records to come."""
    cdef str name = sys.intern(str(field.name))
    cdef DefaultValue default
    data, fault = shared.reader.defaults.of(field)
    if fault is not None:
        record.reason = f"the writer has no field {shorten(name)}: {fault}"
        return 0
    default = DefaultValue(build_node(field.type, shared.reader, depth + 1), data)
    try:
        value = default.read()
    except DecodeError as error:        # a decimal of too many digits, say
        record.reason = f"the writer has no field {shorten(name)}, and the reader's default cannot be read: {error}"
        return 0
    if isinstance(value, (list, dict)) or type(value) is tuple:
        record.filled += weight(value)
        record.fresh.append((name, default))
    else:
        record.filled += 1
        record.template[name] = value
    return 0


cdef int64_t weight(object value) except -1:
    """The number of values in ``value``, itself included; long text and bytes count as more, for they are copied."""
    cdef int64_t total = 1
    if isinstance(value, (str, bytes)):
        return 1 + len(value) // 64
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return 1
    for item in value:
        total += weight(item)
    return total


cdef object read_resolved_record(ResolvedRecord node, Reader* r):
    cdef Py_ssize_t i
    cdef FieldPlan* field = node.fields
    cdef Step* step = enter_read(r, node)
    cdef object record
    if unlikely(node.reason is not None):
        raise DecodeError(node.reason)
    pay_empty(r, node.empty_fields)
    pay_items(r, node.filled)
    if unlikely(len(node.template) > MANY_FIELDS and r.end - r.p < node.min_size):
        raise DecodeError(f"expected at least {node.min_size} bytes for {node.label}, got {r.end - r.p}")
    record = PyDict_Copy(node.template)
    for i in range(node.count):
        step.index = i
        if field.name is NULL:
            skip_value(<Node>field.node, r)
        else:
            read_field(record, field, r)
        field += 1
    if node.fresh:
        for name, default in node.fresh:
            PyDict_SetItem(record, name, (<DefaultValue>default).read())
    r.depth -= 1
    return record


# --- enums ------------------------------------------------------------------------------------------------------------

cdef Node resolved_enum(object writer, object reader):
    cdef ResolvedEnum enum = ResolvedEnum(RESOLVED_ENUM, f"enum {reader.name}")
    known = set(reader.symbols)
    enum.written = tuple([str(symbol) for symbol in writer.symbols])
    enum.symbols = tuple([sys.intern(str(symbol if symbol in known else reader.default))
                          if symbol in known or reader.default is not None else None for symbol in writer.symbols])
    enum.min_size = 1
    return enum


cdef object read_resolved_enum(ResolvedEnum node, Reader* r):
    cdef int64_t index = get_int(r)
    if unlikely(index < 0 or index >= len(node.symbols)):
        raise DecodeError(f"expected a symbol of {node.label} from 0 to {len(node.symbols) - 1}, got {index}")
    symbol = node.symbols[index]
    if unlikely(symbol is None):
        raise DecodeError(f"the reader's {node.label} has no symbol {shorten(node.written[index])}",
                          hint="give the reader's enum that symbol, or a default")
    return symbol


# --- leaves: the writer's bytes, the reader's type --------------------------------------------------------------------

cdef Node resolved_leaf(object writer, object reader, ResolvedBuild shared):
    cdef str wrote = writer.kind, reads = reader.kind
    cdef Node wire = build_leaf(writer, wrote, shared.writer), node = build_leaf(reader, reads, shared.reader)
    node.min_size = wire.min_size
    if node.kind == DECIMAL and wire.kind == DECIMAL:
        node.precision = max(node.precision, wire.precision)        # what was written is read, as by Java
    if wrote == "float" and reads == "double":
        return wire
    if wrote == "int" and node.kind == LONG:
        node.kind = INT
    elif wrote == "int" or wrote == "long":
        return ticks_node(wire, node, wrote, reads)
    return node


cdef Node ticks_node(Node wire, Node inner, str wrote, str reads):
    """How ``wire``, which stands on an int or a long, is read as ``inner``; by ``inner`` itself where that will do."""
    cdef Ticks node = Ticks(TICKS, inner.label)
    cdef int64_t written = 1, read = 1
    # Between times of one kind the moment counts, not the number: Java reads milliseconds as so many microseconds.
    if (wire.kind == TIME) == (inner.kind == TIME):
        written, read = nanos_in_tick(wire), nanos_in_tick(inner)
    if written == 0 or read == 0:
        written = read = 1
    if wrote == reads and written == read:
        return inner
    node.inner, node.narrow, node.min_size = inner, wrote == "int", 1
    node.times, node.by = max(written / read, 1), max(read / written, 1)
    return node


cdef int64_t nanos_in_tick(Node node) noexcept:
    """0 for what has no ticks."""
    if node.kind == NANOS:
        return 1
    return 1000 * node.micros if node.kind in (TIME, TIMESTAMP, LOCAL_TIMESTAMP) else 0


cdef object read_ticks(Ticks node, Reader* r):
    cdef int64_t number = get_int(r) if node.narrow else get_long(r)
    cdef int kind = node.inner.kind
    if node.times > 1:
        if not INT64_MIN / node.times <= number <= INT64_MAX / node.times:
            raise DecodeError(f"{node.label}: {number} is too large for the reader's unit")
        number *= node.times
    elif node.by > 1:
        number = floor_div(number, node.by)
    if kind == DOUBLE:
        return <double>number
    elif kind == FLOAT:
        return <double><float>number
    elif kind == TIMESTAMP:
        return datetime_of(node.inner, number, UTC)
    elif kind == LOCAL_TIMESTAMP:
        return datetime_of(node.inner, number, None)
    elif kind == TIME:
        return time_of(node.inner, number)
    return number
