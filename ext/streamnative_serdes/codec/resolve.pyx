# Schema resolution: compiles a Resolution (streamnative_serdes._schema) into a plan that reads the writer's bytes and
# returns the reader's data.

@cython.final
cdef class ResolvedRecord(FieldsNode):
    """A record that is read with another schema or into an object; its template has the reader's names in order."""
    cdef str reason                 # why such a record cannot be read; or None
    cdef list constant              # (name, place, value): the immutable defaults
    cdef list fresh                 # (name, place, DefaultValue): mutable defaults, copied for each record
    cdef bint rest                  # an object has values that come from no field of the writer
    cdef bint only_written          # one schema for both directions, and perhaps used only to write
    cdef int64_t filled             # values that come from defaults

    cdef int fill(self, list names, list nodes) except -1:
        cdef Py_ssize_t i
        self.set_fields(names, nodes)
        for i in range(self.count):
            self.fields[i].place = -1 if names[i] is None else self.place(names[i])
        return 0

    cdef int begin(self, object writer, object reader, Maker maker) except -1:
        self.maker = maker
        self.segments = [str(field.name) for field in writer.fields]
        self.only_written = writer is reader
        names = [str(field.name) for field in reader.fields]
        if maker is not None and maker.how == AS_MODEL:
            names = [name for name in maker.attributes if name in names]    # pydantic prints them in this order
        self.template = {self.key(name): None for name in names}
        self.constant, self.fresh = [], []
        self.rest = maker is not None and bool(maker.lacking)
        return 0

    cdef str key(self, str name):
        """Return the dict key or attribute name of the reader's field; None if the class has no such attribute."""
        if self.maker is not None:
            if name not in self.maker.attributes:
                self.reason = f"{self.maker.cls.__name__} has no attribute for the field {shorten(name)}"
                if not self.only_written:
                    raise SchemaError(self.reason)
                return None
            name = str(self.maker.attributes[name])
        return sys.intern(name)

    cdef Py_ssize_t place(self, str key) except -2:
        return -1 if self.maker is None else self.maker.place_of(key)


@cython.final
cdef class DefaultValue:
    """A default as Avro bytes of the reader's type."""
    cdef Node node
    cdef bytes data

    def __cinit__(self, Node node, bytes data):
        self.node, self.data = node, data

    cdef object read(self):
        """Decode a new copy. This cannot fail: the default was decoded once when the plan was built."""
        cdef Limits limits
        limits.depth, limits.empty, limits.items, limits.trailing = MAX_DEPTH, 1 << 20, 1 << 20, False
        return decode_message(self.node, &limits, <uint8_t*>PyBytes_AS_STRING(<PyObject*>self.data),
                              PyBytes_GET_SIZE(self.data), 0)


@cython.final
cdef class ResolvedEnum(Node):
    cdef tuple written              # the writer's symbols
    cdef tuple symbols              # the reader's symbol for each; None: the reader has none


@cython.final
cdef class Mismatch(Node):
    """A type that cannot be read: an error once a datum contains it."""
    cdef str reason


@cython.final
cdef class Ticks(Node):
    """An int or long that the reader reads as another number type, or as a time in another unit."""
    cdef Node inner                 # the reader's type
    cdef bint narrow                # written as an int
    cdef int64_t times, by          # number in the reader's unit = number in the writer's * times / by


@cython.final
cdef class ResolvedBuild:
    """State shared while one resolution is compiled."""
    cdef Build writer, reader       # for types that are skipped (writer's schema), and for defaults (reader's schema)
    cdef Build plain                # for defaults, without shapes
    cdef dict records               # id of a step -> (the step, kept alive; its node)

    def __cinit__(self, options, object shapes):
        self.writer = self.plain = Build(options, {}, False)
        self.reader = Build(options, shapes, True)
        self.records = {}


cdef Node build_resolved(object step, object options, object shapes):
    """Compile a resolution, given its root step, into a plan."""
    return settled(resolved(step, ResolvedBuild(options, shapes), 0))


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
    if wrote == "array" or wrote == "map":
        node = items_node(wrote, shared.writer)
        shared.writer.around += 1
        (<ItemsNode>node).item = resolved(step.parts[0], shared, depth + 1)
        shared.writer.around -= 1
        return node
    if wrote == "record":
        return resolved_record(step, shared, depth)
    if wrote == "enum":
        return resolved_enum(step.writer, step.reader, shared.reader.shapes.get(step.reader.name))
    return resolved_leaf(step.writer, step.reader, shared)


cdef Node chosen(object step, ResolvedBuild shared, int depth):
    """Return the node for ``step``, whose reader is a branch of a union."""
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
    shared.records[id(step)] = step, record     # before its fields, which may refer to it
    record.begin(step.writer, step.reader, maker_of(step.reader, shared.reader.shapes))
    names, nodes = [], []
    for field, part in zip(step.writer.fields, step.parts):
        names.append(None if part is None else record.key(str(field.name)))
        nodes.append(build_node(field.type, shared.writer, depth + 1) if part is None
                     else resolved(part, shared, depth + 1))
    record.fill(names, nodes)
    for field in step.added:
        add_default(record, field, shared, depth)
    return record


cdef int add_default(ResolvedRecord record, object field, ResolvedBuild shared, int depth) except -1:
    """Let every record get ``field`` from its default."""
    cdef str name = str(field.name), key = record.key(name)
    cdef DefaultValue default, plain
    data, fault = shared.reader.defaults.of(field)
    if fault is not None:
        record.reason = f"the writer has no field {shorten(name)}: {fault}"
        return 0
    default = DefaultValue(build_node(field.type, shared.reader, depth + 1), data)
    plain = DefaultValue(build_node(field.type, shared.plain, depth + 1), data)
    try:
        value, alike = default.read(), plain.read()
    except DecodeError as error:        # a date beyond the year 9999, say
        why = error.message
        record.reason = f"the writer has no field {shorten(name)}, and the reader's default cannot be read: {why}"
        return 0
    record.rest = True
    if isinstance(alike, (list, dict)) or type(alike) is tuple:
        record.filled += weight(alike)
        record.fresh.append((key, record.place(key), default))
    else:
        record.filled += 1
        record.template[key] = value
        record.constant.append((key, record.place(key), value))
    return 0


cpdef int64_t weight(object value) except -1:
    """Count the values in ``value``, including itself; long text and bytes count as more, since they are copied."""
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


cdef Step* open_record(ResolvedRecord node, Reader* r) except NULL:
    cdef Step* step = enter_read(r, node)
    if unlikely(node.reason is not None):
        raise DecodeError(node.reason)
    pay_empty(r, node.empty_fields)
    pay_items(r, node.filled)
    if unlikely(dict_size(<PyObject*>node.template) > MANY_FIELDS and r.end - r.p < node.min_size):
        raise DecodeError(f"expected at least {node.min_size} bytes for {node.label}, got {r.end - r.p}")
    return step


cdef object read_resolved_record(ResolvedRecord node, Reader* r):
    cdef Py_ssize_t i
    cdef FieldPlan* field = node.fields
    cdef Step* step
    cdef object record
    cdef PyObject* maker = <PyObject*>node.maker
    if node.maker is not None and node.maker.how > AS_MODEL:
        return read_object(node, <Maker>maker, r)
    step = open_record(node, r)
    record = node.copied()
    for i in range(node.count):
        step.index = i
        if field.name is NULL:
            skip_value(field.node, r)
        else:
            read_field(record, field, r)
        field += 1
    if list_size(<PyObject*>node.fresh):
        for name, _place, default in node.fresh:
            PyDict_SetItem(record, name, (<DefaultValue>default).read())
    if node.maker is not None:
        step.index = -1         # the class rejects the record as a whole, not its last field
        record = (called(node.maker.cls, node.maker.cls, record) if node.maker.how == BY_CALL
                  else node.maker.model(<dict>record))
    r.depth -= 1
    return record


# --- enums ------------------------------------------------------------------------------------------------------------

cdef Node resolved_enum(object writer, object reader, object shape):
    cdef ResolvedEnum enum = ResolvedEnum(RESOLVED_ENUM, f"enum {reader.name}")
    known = set(reader.symbols)
    enum.written = tuple([str(symbol) for symbol in writer.symbols])
    enum.symbols = tuple([sys.intern(str(symbol if symbol in known else reader.default))
                          if symbol in known or reader.default is not None else None for symbol in writer.symbols])
    enum.min_size = 1
    if shape is not None:
        members = members_of(shape, reader)
        enum.symbols = tuple([members.get(symbol) for symbol in enum.symbols])
    return enum


cdef object read_resolved_enum(ResolvedEnum node, Reader* r):
    cdef int64_t index = get_int(r)
    if unlikely(index < 0 or index >= tuple_size(<PyObject*>node.symbols)):
        raise DecodeError(f"expected a symbol index of {node.label} from 0 to {len(node.symbols) - 1}, got {index}")
    symbol = <object>tuple_item(<PyObject*>node.symbols, index)
    if unlikely(symbol is None):
        raise DecodeError(f"the reader's {node.label} has no symbol {shorten(node.written[index])}",
                          hint="add the symbol to the reader's enum, or give the enum a default")
    return symbol


# --- leaf types: from the writer's bytes to the reader's type ---------------------------------------------------------

cdef Node resolved_leaf(object writer, object reader, ResolvedBuild shared):
    cdef str wrote = writer.kind, reads = reader.kind
    cdef Node wire = build_leaf(writer, wrote, shared.writer), node = build_leaf(reader, reads, shared.reader)
    node.min_size = wire.min_size
    if wrote == "float" and reads == "double":
        return wire
    if wrote == "int" and node.kind == LONG:
        node.kind = INT
    elif wrote == "int" or wrote == "long":
        return ticks_node(wire, node, wrote, reads)
    return node


cdef Node ticks_node(Node wire, Node inner, str wrote, str reads):
    """Return the node that reads ``wire``, based on int or long, as ``inner``; ``inner`` itself if nothing changes."""
    cdef Ticks node = Ticks(TICKS, inner.label)
    cdef int64_t written = 1, read = 1
    # Between times of one kind the moment is kept, so the number is converted. (Java keeps the number: it reads
    # milliseconds as so many microseconds.)
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
    """Return the nanoseconds in one tick; 0 for types without ticks."""
    if node.kind == NANOS:
        return 1
    return 1000 * node.micros if node.kind in (TIME, TIMESTAMP, LOCAL_TIMESTAMP) else 0


cdef object read_ticks(Ticks node, Reader* r):
    cdef int64_t number = get_int(r) if node.narrow else get_long(r)
    cdef int kind = node.inner.kind
    cdef Plan inner = <Plan>node.inner
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
        return datetime_of(<Node>inner, number, UTC)
    elif kind == LOCAL_TIMESTAMP:
        return datetime_of(<Node>inner, number, None)
    elif kind == TIME:
        return time_of(<Node>inner, number)
    return number
