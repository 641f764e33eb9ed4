# Compiles a Resolution (streamnative_serdes._schema) into a table of Ops that decode a writer's data into the columns
# of a Layout. A plan never changes after that, so threads may share it.

cdef enum:
    MAX_OPS = 1_000_000         # unions of writer and reader multiply


@cython.final
cdef class Same:
    """The resolution of a type with itself: same interface as Resolution."""
    cdef readonly object writer, reader, fault, late_fault, parts, added

    def __cinit__(self, schema):
        self.writer = self.reader = schema
        self.parts, self.added = [], []
        if schema.kind == "record":
            self.parts = [Same(field.type) for field in schema.fields]
        elif schema.kind == "union":
            self.parts = [Same(branch) for branch in schema.branches]
        elif schema.kind == "array":
            self.parts = [Same(schema.items)]
        elif schema.kind == "map":
            self.parts = [Same(schema.values)]


@cython.final
cdef class Plan(OpTable):
    """Decodes data of one writer's schema into the columns of ``layout``.

    ``resolution`` is None if the writer's schema is also the reader's. ``default_of(field)`` returns (Avro bytes of the
    default, number of values in it, None), or (None, 0, why there is no usable default). With ``skips``, it can tell
    too whether bytes are a datum, without columns. With ``unsized``, the writer's root is ``bytes`` without length.
    """
    cdef readonly Layout layout
    cdef Op* ops
    cdef Op** edges
    cdef int root
    cdef int skipped            # the op that skips a datum; -1 without ``skips``
    cdef object default_of
    cdef bint logical
    cdef dict skips             # id of a type -> (the type, kept alive; its op)
    cdef int64_t filled         # values from defaults so far

    def __cinit__(self, Layout layout not None, resolution, schema, default_of, bint skips=False, bint unsized=False):
        self.layout, self.default_of, self.logical = layout, default_of, layout.logical
        self.skips = {}
        step = Same(schema) if resolution is None else resolution
        self.root = self.compile(step, layout.root, 0)
        self.skipped = self.skip(step.writer, 0) if skips else -1
        if unsized:
            self.root = self.add(READ_UNSIZED, self.ops[self.root].column, "bytes", [self.root])
            self.skipped = self.root if skips else -1
        self.edges = link(self.ops, self)
        self.settle()

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            PyMem_Free(self.ops[i].symbols)
            PyMem_Free(self.ops[i].skips)
            PyMem_Free(self.ops[i].nulls)
        PyMem_Free(self.ops)
        PyMem_Free(self.edges)

    cdef int add(self, int kind, int column, str label, list parts=None, object note=None) except -1:
        """Add an op and return its number. Invalidates pointers to ops."""
        cdef Op* op
        if self.count >= MAX_OPS:
            raise SchemaError(f"the schemas take more than {MAX_OPS} steps to read into columns")
        self.ops = with_room(self.ops, self)
        op = &self.ops[self.count]
        op.kind, op.column, op.null_index, op.size, op.times, op.by, op.unit = kind, column, -1, -1, 1, 1, 1
        return self.enter(label, parts, note)

    cdef int settle(self) except -1:
        """Compute min_size, and make the programs that skip fields.

        Where a skipped type contains itself, min_size grows from 0 towards the true minimum.
        """
        cdef int i, _round
        cdef bint changed = True
        for _round in range(8):
            if changed:
                changed = False
                for i in range(self.count):
                    changed |= settle_op(&self.ops[i])
        for i in range(self.count):
            if self.ops[i].kind == READ_SKIPPED or (self.ops[i].kind == READ_RECORD and self.ops[i].column < 0):
                make_skips(&self.ops[i])
        for i in range(self.count):     # parts with a column have lower numbers
            if self.ops[i].column >= 0:
                set_blocks(&self.ops[i])
        return 0

    # Types

    cdef int compile(self, object step, LayoutNode node, int depth) except -1:
        cdef str wrote = step.writer.kind, reads = step.reader.kind
        fault = step.fault or step.late_fault
        if fault is not None:
            return self.mismatch(node, fault)
        if depth > MAX_SCHEMA_DEPTH:
            raise SchemaError(f"the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
        if wrote == "union":
            return self.union(step, node, depth)
        if reads == "union":            # the branch was chosen when the schemas were resolved
            return self.chosen(step.parts[0], step.reader, node, depth)
        if wrote == "array" or wrote == "map":
            return self.items(step, node, depth)
        if wrote == "record":
            return self.record(step, node, depth)
        if wrote == "enum":
            return self.enum(step.writer, step.reader, node)
        if wrote == "INLINE" or wrote == "SEPARATED":
            return self.pair(step, node, depth)
        if wrote in PLAIN:
            return self.plain(wrote, node)
        return self.leaf(step.writer, step.reader, node)

    cdef int mismatch(self, LayoutNode node, str reason) except -1:
        return self.add(READ_MISMATCH, node.column, "nothing", None, reason)

    cdef int union(self, object step, LayoutNode node, int depth) except -1:
        cdef list parts = []
        cdef int null_index, other
        for part in step.parts:
            pairwise = step.reader.kind == "union" and part.reader.kind != "union"
            parts.append(self.chosen(part, step.reader, node, depth) if pairwise
                         else self.compile(part, node, depth + 1))
        if len(parts) == 2:             # null and one other type: needs no op of its own
            for null_index in range(2):
                other = parts[1 - null_index]
                if self.ops[<int>parts[null_index]].kind == READ_NULL and self.ops[other].kind != READ_NULL:
                    self.ops[other].null_index = null_index
                    return other
        labels = ", ".join([self.labels[part] for part in parts])
        return self.add(READ_UNION, node.column, f"union of {labels}", parts)

    cdef int chosen(self, object step, object union, LayoutNode node, int depth) except -1:
        """Return the op for ``step``, whose reader is a branch of ``union``."""
        cdef int inner, op, member = 0
        if step.fault or step.late_fault or node.form != MEMBERS:
            return self.compile(step, node, depth + 1)
        for branch, part in zip(union.branches, node.parts):
            if branch is step.reader:
                if part is None:
                    return self.add(READ_NULL, node.column, "null")
                inner = self.compile(step, <LayoutNode>part, depth + 1)
                op = self.add(READ_MEMBER, node.column, self.labels[inner], [inner])
                self.ops[op].member = member
                return op
            member += part is not None
        raise SchemaError("the resolution does not name a branch of the reader's union")

    cdef int items(self, object step, LayoutNode node, int depth) except -1:
        cdef bint keyed = step.writer.kind == "map"
        cdef int64_t before = self.filled
        cdef LayoutNode item = node.parts[1] if keyed else node.parts[0]
        cdef int inner = self.compile(step.parts[0], item, depth + 1)
        cdef int skipped = self.skip_item(step.parts[0].writer, keyed, depth)
        cdef int op = self.add(READ_MAP if keyed else READ_ARRAY, node.column, step.writer.kind, [inner, skipped])
        self.ops[op].slots = self.layout.specs[item.column].slots + 2 * keyed + self.filled - before
        return op

    # Records

    cdef int record(self, object step, LayoutNode node, int depth) except -1:
        cdef int op, run = -1           # the op that skips neighbours, if the field before is one of them
        cdef list parts = [], names = []
        cdef dict skipped = {}          # such an op -> names of its fields
        cdef int64_t weight = 0
        nodes = {field.name: part for field, part in zip(step.reader.fields, node.parts)}
        label = f"record {step.reader.name}"
        for field, part in zip(step.writer.fields, step.parts):
            name = str(field.name)
            if part is None and run >= 0:
                (<list>self.parts[run]).append(self.skip(field.type, depth + 1))
                (<list>skipped[run]).append(name)
                continue
            names.append(name)
            if part is None:
                run = self.add(READ_SKIPPED, 0, "nothing", [self.skip(field.type, depth + 1)])
                parts.append(run)
                skipped[run] = [name]
            else:
                run = -1
                parts.append(self.compile(part, <LayoutNode>nodes[field.name], depth + 1))
        for field in step.added:
            name, (data, more, reason) = field.name, self.default_of(field)
            if reason is not None:
                return self.add(READ_BROKEN, node.column, label, None,
                                f"the writer has no field {name!r:.80}{reason}")
            parts.append(self.default(field, data, <LayoutNode>nodes[name], depth))
            names.append(str(name))
            weight += more
        for run, more_names in skipped.items():
            self.ops[run].member = <int>len(names)
            names.extend(more_names)
        op = self.add(READ_RECORD, node.column, label, parts, names)
        self.ops[op].filled = weight
        self.filled += weight
        return op

    cdef int default(self, object field, bytes data, LayoutNode node, int depth) except -1:
        cdef int inner = self.compile(Same(field.type), node, depth + 1)
        cdef int op = self.add(READ_DEFAULT, node.column, "default", [inner])
        self.kept.append(data)
        self.ops[op].text, self.ops[op].size = <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
        return op

    cdef int pair(self, object step, LayoutNode node, int depth) except -1:
        """Return the op for KEY_VALUE messages, whose halves have the columns of a record's two fields."""
        cdef list parts = [self.compile(part, <LayoutNode>half, depth + 1)
                           for part, half in zip(step.parts, node.parts)]
        cdef int kind = READ_INLINE if step.writer.kind == "INLINE" else READ_SEPARATED
        return self.add(kind, node.column, "KEY_VALUE", parts, ["key", "value"])

    # Leaf types: from the writer's bytes to the reader's type

    cdef int plain(self, str kind, LayoutNode node) except -1:
        cdef int op = self.add(READ_PLAIN, node.column, kind)
        self.ops[op].out, self.ops[op].size = PLAIN[kind]
        return op

    cdef int enum(self, object writer, object reader, LayoutNode node) except -1:
        cdef int op
        known = set(reader.symbols)
        found = [symbol if symbol in known else reader.default for symbol in writer.symbols]
        op = self.add(READ_ENUM, node.column, f"enum {reader.name}", None, tuple(map(str, writer.symbols)))
        self.ops[op].member = <int>len(found)
        self.fill_symbols(&self.ops[op].symbols, found)
        return op

    cdef int leaf(self, object writer, object reader, LayoutNode node) except -1:
        cdef str wrote = writer.kind, reads = reader.kind
        cdef object logical = reader.logical if self.logical else None
        cdef str name = reads if logical is None else logical.name
        cdef int op
        if (wrote == "int" or wrote == "long") and reads != "null":
            return self.number(writer, reader, name, node)
        op = self.add(leaf_kind(wrote, reads, name), node.column, f"fixed {reader.name}" if name == "fixed" else name)
        if node.form == REAL and wrote == "float":
            self.ops[op].kind = READ_WIDENED
        if reads == "fixed":
            self.ops[op].size = reader.size
        if name == "decimal":
            self.ops[op].precision = logical.precision
        self.ops[op].min_size = writer.size if wrote == "fixed" else MINIMUM.get(wrote, 1)
        return op

    cdef int number(self, object writer, object reader, str name, LayoutNode node) except -1:
        """Return the op that reads an int or a long as the reader's type."""
        cdef int op = self.add(READ_NUMBER, node.column, name)
        cdef Op* new = &self.ops[op]
        cdef bytes format = self.layout.formats[node.column]
        new.min_size = 1
        new.narrow = writer.kind == "int"
        if reader.kind in ("float", "double"):
            new.out = OUT_FLOAT if format == b"f" else OUT_DOUBLE if reader.kind == "double" else OUT_ROUNDED
            return op
        new.out = OUT_INT32 if self.layout.specs[node.column].width == 4 else OUT_INT64
        self.scale(new, writer, reader)
        set_bounds(new, name)
        if node.form == VALUE and format.startswith((b"ts", b"tt")):       # not in a WHOLE union
            new.unit = 1000 if name in ("timestamp-millis", "local-timestamp-millis", "time-micros") else 1
        if new.times == new.by == new.unit == 1 and not new.bounded:
            if new.narrow and new.out == OUT_INT32:
                new.kind = READ_INT
            elif not new.narrow:
                new.kind = READ_LONG
        return op

    cdef int scale(self, Op* op, object writer, object reader) except -1:
        """Set the unit factors of ``op``: between times of one kind the moment is kept, not the number."""
        cdef str wrote = self.logical_name(writer), reads = self.logical_name(reader)
        cdef int64_t written = nanos_in_tick(wrote), read = nanos_in_tick(reads)
        if written and read and wrote.startswith("time-") == reads.startswith("time-"):
            op.times, op.by = max(written / read, 1), max(read / written, 1)
        return 0

    cdef str logical_name(self, object schema):
        return schema.logical.name if self.logical and schema.logical is not None else ""

    # Skipped types, which may be recursive

    cdef int skip(self, object schema, int depth) except -1:
        cdef str kind = schema.kind
        cdef int op
        known = self.skips.get(id(schema))
        if known is not None:
            return known[1]
        if depth > MAX_SCHEMA_DEPTH:
            raise SchemaError(f"the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
        if kind in ("record", "union", "array", "map"):
            return self.skip_parts(schema, kind, depth)
        if kind == "enum":
            op = self.add(READ_ENUM, -1, f"enum {schema.name}")
            self.ops[op].member = <int>len(schema.symbols)
        else:
            op = self.add(skip_kind(kind), -1, kind)
            self.ops[op].narrow = kind == "int"
            self.ops[op].size = schema.size if kind == "fixed" else {"float": 4, "double": 8}.get(kind, -1)
        self.ops[op].min_size = schema.size if kind == "fixed" else MINIMUM.get(kind, 1)
        return op

    cdef int skip_item(self, object schema, bint keyed, int depth) except -1:
        """Return the op that skips an item and its key, field by field if it is a record."""
        cdef int item = self.skip(schema, depth + 1), key
        cdef list parts = list(self.parts[item]) if schema.kind == "record" else [item]
        if keyed:
            key = self.add(READ_BYTES, -1, "string")
            self.ops[key].min_size = 1
            parts.insert(0, key)
        return self.add(READ_SKIPPED, 0, "nothing", parts)

    cdef int skip_parts(self, object schema, str kind, int depth) except -1:
        cdef int op
        if kind == "record":
            op = self.add(READ_RECORD, -1, f"record {schema.name}", None, [str(field.name) for field in schema.fields])
            self.skips[id(schema)] = schema, op     # before its fields, which may refer to it
            inner = [field.type for field in schema.fields]
        elif kind == "union":
            op, inner = self.add(READ_UNION, -1, "union"), schema.branches
        else:
            op = self.add(READ_MAP if kind == "map" else READ_ARRAY, -1, kind)
            inner = [schema.values if kind == "map" else schema.items]
        self.parts[op] = [self.skip(part, depth + 1) for part in inner]
        return op


cdef int leaf_kind(str wrote, str reads, str name) except -1:
    """Return the kind of op that reads ``wrote`` (other than int or long) as ``reads``, with logical type ``name``."""
    if name == "decimal":
        return READ_DECIMAL
    if name == "big-decimal":
        return READ_BIG_DECIMAL
    if name == "uuid" and reads == "string":
        return READ_UUID
    if wrote == "float" and reads == "double":
        return READ_WIDENED
    return {"null": READ_NULL, "boolean": READ_BOOLEAN, "float": READ_FLOAT, "double": READ_DOUBLE,
            "string": READ_STRING, "bytes": READ_BYTES, "fixed": READ_FIXED}[reads]


cdef int skip_kind(str kind) except -1:
    return {"null": READ_NULL, "boolean": READ_BOOLEAN, "int": READ_NUMBER, "long": READ_NUMBER, "float": READ_FIXED,
            "double": READ_FIXED, "fixed": READ_FIXED, "bytes": READ_BYTES, "string": READ_BYTES}[kind]
