# Compiles a schema and the types of Arrow columns, which it checks against each other, into a table of WriteOps. A plan
# never changes after that.

cdef enum:
    MILLI = 1_000_000           # nanoseconds
    MICRO = 1_000
    MAX_TRIED = 200_000         # pairs of a type and a column: nested unions of records multiply them


@cython.final
cdef class WritePlan(OpTable):
    """Encodes batches of one Arrow schema, the capsule ``arrow``, as messages of the Avro schema ``root``.

    ``options`` are validated codec options, by dotted key; ``default_of`` is as for a Plan.
    """
    cdef WriteOp* ops
    cdef WriteOp** edges
    cdef int root, tried
    cdef int half               # the source of a column whose nulls are null messages; 0: only rows are
    cdef object default_of
    cdef bint logical, closed, complete
    cdef bint matched           # unknown columns are an error if fields have no column
    cdef int optional           # arrays, maps and unions with null around the current type: it may have no values
    cdef bint typed             # a column of type null is refused where a null is: another branch may take it
    cdef bint truncates         # nanoseconds and times of day that the type does not have are dropped
    cdef int max_depth
    cdef list sources           # SourceTypes; the first is the batch
    cdef list path              # segments of the path of the current type in the schema

    def __cinit__(self, root, arrow, options, default_of):
        self.default_of, self.logical, self.max_depth = default_of, options["avro.logical.types"], options["max.depth"]
        self.complete = options["validate.strict"]
        self.closed = self.complete or options["validate.strict.allow.default"]
        self.matched = self.closed or options["unmatched.columns"] == "error"
        self.truncates = options["truncate.times"]
        self.sources, self.path = [], []
        top = source_type(<ArrowSchema*>PyCapsule_GetPointer(arrow, "arrow_schema"), self.sources, -1, 0, True,
                          0)
        try:
            self.root = self.of_batch(root, top)
        except EncodeError as error:
            self.place(error)
            raise
        self.edges = link(self.ops, self)
        room_of(self.ops + self.root)

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            PyMem_Free(self.ops[i].symbols)
            PyMem_Free(self.ops[i].table)
        PyMem_Free(self.ops)
        PyMem_Free(self.edges)

    cdef int add(self, int kind, SourceType source, str label, list parts=None, object note=None) except -1:
        """Add an op and return its number. Invalidates pointers to ops."""
        cdef WriteOp* op
        self.ops = with_room(self.ops, self)
        op = &self.ops[self.count]
        op.kind, op.null_branch, op.branch, op.size, op.times, op.by = kind, -1, -1, -1, 1, 1
        op.source, op.load = source.number, source.load
        return self.enter(label, parts, note)

    cdef object place(self, object error):
        """Return the error, with the current path unless it has one."""
        if error.path is None:
            error.path = joined(self.path)
        return error

    # Types

    cdef int of_batch(self, object root, SourceType top) except -1:
        if root.kind == "record":
            return self.compile(root, top)
        if root.kind == "INLINE":
            return self.inline(root, top)
        if root.kind == "HALF":
            return self.one_half(root, top)
        columns = top.children
        if len(columns) > 1:
            columns = [child for child in columns if (<SourceType>child).name == "value"]
        if top.load != LOAD_STRUCT or len(columns) != 1:
            raise EncodeError(f'expected one column, "value", for a schema of type {root.kind}, '
                              f"got {len(top.children)} columns")
        if root.kind in PLAIN:
            self.half = (<SourceType>columns[0]).number
        return self.compile(root, columns[0])

    cdef int compile(self, object schema, SourceType source) except -1:
        cdef str kind = schema.kind
        self.tried += 1
        if self.tried > MAX_TRIED:
            raise SchemaError(f"the schema takes more than {MAX_TRIED} steps to find the columns of its unions")
        if source.dictionary is not None:
            return self.indexed(schema, source)
        if kind == "union":
            return self.union(schema, source)
        if source.load == LOAD_NOTHING and kind != "null" and self.optional and not self.typed:
            return self.add(WRITE_NULL, source, f"record {schema.name}" if kind == "record" else kind)
        if kind == "record":
            return self.record(schema, source)
        if kind == "array":
            return self.array(schema, source)
        if kind == "map":
            return self.map(schema, source)
        if kind in PLAIN:
            return self.plain(kind, source)
        return self.leaf(schema, source)

    cdef int indexed(self, object schema, SourceType source) except -1:
        cdef int inner = self.compile(schema, source.dictionary)
        cdef int op = self.add(WRITE_INDEXED, source, self.labels[inner], [inner])
        self.ops[op].null_branch = self.ops[inner].null_branch
        return op

    cdef int within(self, str segment, object schema, SourceType source) except -1:
        """Compile the type at ``segment`` of the path."""
        cdef int op
        self.path.append(segment)
        op = self.compile(schema, source)
        self.path.pop()
        return op

    cdef int refuse(self, str expected, SourceType source) except -1:
        raise EncodeError(f"expected a column for {expected}, got a column of type {type_name(source.format)}",
                          hint="cast the column to another type")

    cdef int record(self, object schema, SourceType source) except -1:
        cdef list parts = []
        if source.load != LOAD_STRUCT:
            self.refuse(f"record {schema.name}", source)
        columns = {(<SourceType>child).name: child for child in source.children}
        if len(columns) < len(source.children):
            raise EncodeError(f"two columns of record {schema.name} have the same name")
        self.match(schema, columns)
        for field in schema.fields:
            column = columns.pop(field.name, None)
            parts.append(self.missing(field, source) if column is None
                         else self.within(field_segment(field.name), field.type, column))
        if schema.fields and len(columns) == len(source.children):
            raise EncodeError(f"there is no column for any field of record {schema.name}")
        if columns and self.closed:
            raise EncodeError(f"record {schema.name} has no field {next(iter(columns))!r:.80}",
                              hint="validate.strict allows no other columns")
        return self.add(WRITE_RECORD, source, f"record {schema.name}", parts,
                        [str(field.name) for field in schema.fields])

    cdef int match(self, object schema, dict columns) except -1:
        """Raise EncodeError for columns that seem to be fields under another name."""
        cdef list lacking = [field.name for field in schema.fields if field.name not in columns]
        fields = {field.name for field in schema.fields}
        unknown = {name.lower(): name for name in columns if name not in fields}
        for name in lacking:
            if name.lower() in unknown:
                self.path.append(field_segment(name))
                raise EncodeError(f"there is no column of that name, but there is {unknown[name.lower()]!r:.80}",
                                  hint="rename the column: names in Avro are case-sensitive")
        if self.matched and lacking and unknown:
            text, hint = unmatched(schema.name, list(unknown.values()), lacking)
            raise EncodeError(text, hint=hint)
        return 0

    cdef int missing(self, object field, SourceType source) except -1:
        """Compile a field without a column: write its default."""
        cdef int op
        data, _, reason = (None, 0, ": validate.strict requires all") if self.complete else self.default_of(field)
        if reason is not None:
            self.path.append(field_segment(field.name))
            raise EncodeError(f"there is no column of that name{reason}")
        op = self.add(WRITE_CONSTANT, source, "default")
        self.kept.append(data)
        self.ops[op].text, self.ops[op].size = <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
        return op

    cdef int array(self, object schema, SourceType source) except -1:
        if source.load not in (LOAD_LIST, LOAD_LARGE_LIST, LOAD_FIXED_LIST) or source.format == b"+m":
            self.refuse("array", source)
        return self.add(WRITE_ARRAY, source, "array", [self.items(schema.items, source.children[0])])

    cdef int items(self, object schema, SourceType source) except -1:
        """Compile the items of an array or the values of a map, of which there may be none."""
        cdef int op
        self.optional += 1
        op = self.within("[]", schema, source)
        self.optional -= 1
        return op

    cdef int map(self, object schema, SourceType source) except -1:
        cdef SourceType entries, key
        if source.format != b"+m":
            self.refuse("map", source)
        entries = source.children[0]
        if entries.load != LOAD_STRUCT or len(entries.children) != 2:
            raise EncodeError("the Arrow schema is damaged: a map's entries are not a struct of key and value")
        key = entries.children[0]
        if key.format not in TEXT_FORMATS and key.load != LOAD_NOTHING:
            self.refuse("the keys of a map", key)
        return self.add(WRITE_MAP, source, "map", [self.add(WRITE_TEXT if key.load else WRITE_NULL, key, "string"),
                                                   self.items(schema.values, entries.children[1])])

    # KEY_VALUE messages

    cdef int inline(self, object root, SourceType top) except -1:
        """Compile a message with both halves."""
        cdef dict columns = self.halves(top)
        cdef list parts = [self.of_half(name, schema, columns[name])
                           for name, schema in (("key", root.key), ("value", root.value))]
        return self.add(WRITE_INLINE, top, "KEY_VALUE", parts, ["key", "value"])

    cdef int one_half(self, object root, SourceType top) except -1:
        """Compile one half alone."""
        cdef SourceType column = self.halves(top)[root.name]
        self.half = column.number
        return self.of_half(root.name, root.schema, column)

    cdef int of_half(self, str name, object schema, SourceType column) except -1:
        """A column without a type has nulls alone."""
        if column.load == LOAD_NOTHING:
            return self.add(WRITE_NULL, column, "null")
        return self.within(field_segment(name), schema, column)

    cdef dict halves(self, SourceType top):
        """Return the columns by name, "key" and "value" among them."""
        columns = {(<SourceType>child).name: child for child in top.children}
        if top.load != LOAD_STRUCT or len(columns) < len(top.children) or not {"key", "value"} <= columns.keys():
            names = f" {', '.join(columns)}"[:MAX_LABEL] if columns else " none of that name"
            raise EncodeError(f'expected the columns "key" and "value" for a topic of type KEY_VALUE, got{names}')
        if self.closed and len(columns) > 2:
            raise EncodeError(f"expected no columns besides key and value, got {', '.join(columns)}"[:MAX_LABEL],
                              hint="validate.strict allows no other columns")
        return columns

    # Unions

    cdef int union(self, object schema, SourceType source) except -1:
        cdef list branches = list(schema.branches)
        cdef list others = [i for i, branch in enumerate(branches) if branch.kind != "null"]
        cdef int op
        cdef bint nullable = len(others) < len(branches)
        kinds = {branches[i].kind for i in others}
        self.optional += nullable
        if source.load == LOAD_NOTHING or not others:
            op = self.add(WRITE_NULL, source, "null")
        elif len(others) == 1:
            op = self.of_branch(branches, others[0], source)
        elif kinds == {"int", "long"} and source.format in WHOLE_FORMATS:
            op = self.either(branches, others, source)
        elif kinds == {"float", "double"} and source.format in REAL_FORMATS:
            op = self.of_branch(branches, next(i for i in others if branches[i].kind == "double"), source)
        elif is_members(source, len(others)):
            op = self.members(branches, others, source)
        else:
            op = self.first_branch(branches, others, source)
        self.optional -= nullable
        if nullable:
            self.ops[op].null_branch = next(i for i, branch in enumerate(branches) if branch.kind == "null")
        return op

    cdef int of_branch(self, list branches, int branch, SourceType source) except -1:
        cdef int op = self.compile(branches[branch], source)
        self.ops[op].branch = branch
        return op

    cdef int either(self, list branches, list others, SourceType source) except -1:
        """Compile a union of int and long: tries types without a logical type first, then int before long."""
        cdef list order = sorted(others, key=lambda i: (self.logical and branches[i].logical is not None,
                                                        branches[i].kind if not branches[i].logical else "", i))
        cdef list parts = [self.of_branch(branches, i, source) for i in order]
        for part in parts:
            self.ops[<int>part].kind = WRITE_WHOLE          # reports numbers that fit neither
        return self.add(WRITE_EITHER, source, "union of int and long", parts)

    cdef int members(self, list branches, list others, SourceType source) except -1:
        cdef list parts = [self.of_branch(branches, i, child) for i, child in zip(others, source.children)]
        return self.add(WRITE_MEMBERS, source, "union", parts)

    cdef int first_branch(self, list branches, list others, SourceType source) except -1:
        """Compile a column that has the type of a single branch; columns of nulls decide only if no other does."""
        cdef bint typed = self.typed
        cdef list refused = []
        cdef int op
        for self.typed in (True, typed)[:2 - typed]:
            refused = []
            op = self.fitting_branch(branches, others, source, refused)
            if op >= 0:
                self.typed = typed
                return op
        if len(refused) == 1:       # the branch that a struct was meant for
            raise refused[0]
        return self.refuse("a branch of union of " + ", ".join([branches[i].kind for i in others]), source)

    cdef int fitting_branch(self, list branches, list others, SourceType source, list refused) except -2:
        """Compile the first branch that fits; -1 if none does, with the errors of records in ``refused``."""
        cdef list path = list(self.path)
        cdef int optional = self.optional
        for i in by_columns(branches, others, source):
            try:
                return self.of_branch(branches, i, source)
            except EncodeError as error:
                if branches[i].kind == "record" and source.load == LOAD_STRUCT:
                    refused.append(self.place(error))
                self.path, self.optional = list(path), optional
        return -1

    # Leaves

    cdef int leaf(self, object schema, SourceType source) except -1:
        cdef object logical = schema.logical if self.logical and schema.kind != "enum" else None
        cdef str name = schema.kind if logical is None else logical.name
        cdef int op
        if name in WHOLE_NAMES:
            return self.whole(name, schema.kind, source)
        if name == "decimal":
            return self.decimal(schema, logical, source)
        kind, formats = LEAVES["uuid-fixed" if name == "uuid" and schema.kind == "fixed" else name]
        if source.format not in formats and not (source.format.startswith(b"w:") and b"w" in formats):
            self.refuse(name, source)
        op = self.add(kind, source, f"enum {schema.name}" if name == "enum" else name)
        self.ops[op].size = schema.size if schema.kind == "fixed" else -1
        if kind == WRITE_NULL:
            self.ops[op].null_branch = NO_BYTES
        elif kind == WRITE_ENUM:
            self.symbols(op, schema)
        elif kind == WRITE_UUID_TEXT or kind == WRITE_UUID_FIXED:
            self.ops[op].size = -1 if source.format in TEXT_FORMATS else 16
        return op

    cdef int plain(self, str kind, SourceType source) except -1:
        """Compile one of Pulsar's primitive types."""
        cdef int op
        cdef WriteOp* new
        if kind in PLAIN_AS_AVRO:
            name, avro = PLAIN_AS_AVRO[kind]
            op = self.whole(name, avro, source, kind)
        else:
            formats = {"STRING": TEXT_FORMATS, "BYTES": BYTES_FORMATS, "BOOLEAN": frozenset((b"b",))}
            if source.format not in formats.get(kind, REAL_FORMATS) and not (
                    kind == "BYTES" and source.format.startswith(b"w:")):
                self.refuse(kind, source)
            op = self.add(WRITE_PLAIN, source, kind)
        new = &self.ops[op]
        new.kind = WRITE_PLAIN
        new.out, new.size = PLAIN[kind]
        if kind in PLAIN_RANGE:
            new.low, new.high = PLAIN_RANGE[kind]
        return op

    cdef int whole(self, str name, str kind, SourceType source, str label=None) except -1:
        """Compile an int or a long, or a logical type of one, from a column of integers or times."""
        cdef str format = source.format.decode("ascii", "replace")
        cdef int op = self.add(WRITE_WHOLE, source, label or name)
        cdef WriteOp* new = &self.ops[op]
        cdef int64_t low = INT32_MIN if kind == "int" else INT64_MIN, high = INT32_MAX if kind == "int" else INT64_MAX
        cdef int64_t written, read
        cdef Op bounds
        if source.format not in WHOLE_FORMATS:
            read = nanos_of_format(format, name)
            if read == 0:
                self.refuse(label or name, source)
            written = DAY * 1000 if name == "date" else nanos_in_tick(name)
            self.set_unit(new, read, written)
        if set_bounds(&bounds, name) == 0 and bounds.bounded:
            low, high = bounds.low, bounds.high - 1
        new.low, new.high = low, high
        if name == kind == "int" and source.load == LOAD_I32:
            new.kind = WRITE_INT
        elif name == kind == "long" and source.load == LOAD_I64:
            new.kind = WRITE_LONG
        return op

    cdef int set_unit(self, WriteOp* op, int64_t read, int64_t written) except -1:
        """Set how a time of ``read`` nanoseconds in a tick becomes one of ``written``. Microseconds may be rounded to
        milliseconds, but no nanoseconds, and no time of day to a date."""
        cdef int64_t grain = written if written > MILLI else MICRO
        op.times, op.by = max(read // written, 1), max(written // read, 1)
        op.most = INT64_MAX // op.times
        if read < min(grain, written) and not self.truncates:
            op.grain, op.exact_by = grain // read, op.by
            op.times, op.by = 0, 1
        return 0

    cdef int decimal(self, object schema, object logical, SourceType source) except -1:
        cdef int op
        cdef str name = f"decimal({logical.precision}, {logical.scale})"
        if source.load != LOAD_128:
            self.refuse(name, source)
        op = self.add(WRITE_DECIMAL, source, name)
        self.ops[op].size = schema.size if schema.kind == "fixed" else -1
        self.ops[op].precision = min(logical.precision, MAX_PRECISION)
        shift = logical.scale - scale_of(source.format)
        self.ops[op].shift = max(min(shift, 2 * MAX_PRECISION), -2 * MAX_PRECISION)
        return op

    cdef int symbols(self, int op, object schema) except -1:
        """Build a hash table with open addressing, at most half full."""
        cdef uint32_t size = 4, at
        cdef WriteOp* new = &self.ops[op]
        cdef int i, count = <int>len(schema.symbols)
        while size < 2 * <uint32_t>count:
            size *= 2
        self.fill_symbols(&new.symbols, schema.symbols)
        new.table = <int32_t*>PyMem_Malloc(size * sizeof(int32_t))
        if new.table is NULL:
            raise MemoryError()
        memset(new.table, 0xFF, size * sizeof(int32_t))
        new.mask = size - 1
        self.notes[op] = tuple(map(str, schema.symbols))
        for i in range(count):
            at = sns_hash(new.symbols[i].text, new.symbols[i].size) & new.mask
            while new.table[at] >= 0:
                at = (at + 1) & new.mask
            new.table[at] = i
        return 0


TEXT_FORMATS = frozenset((b"u", b"U", b"vu"))
BYTES_FORMATS = frozenset((b"z", b"Z", b"vz", b"w"))         # w: of any width
WHOLE_FORMATS = frozenset((b"c", b"s", b"i", b"l", b"C", b"S", b"I", b"L"))
REAL_FORMATS = frozenset((b"f", b"g")) | WHOLE_FORMATS
WHOLE_NAMES = frozenset(("int", "long", "date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros",
                         "timestamp-nanos", "local-timestamp-millis", "local-timestamp-micros",
                         "local-timestamp-nanos"))
LEAVES = {
    "null": (WRITE_NULL, frozenset((b"n",))), "boolean": (WRITE_BOOLEAN, frozenset((b"b",))),
    "float": (WRITE_FLOAT, REAL_FORMATS), "double": (WRITE_DOUBLE, REAL_FORMATS),
    "string": (WRITE_TEXT, TEXT_FORMATS), "bytes": (WRITE_BYTES, BYTES_FORMATS), "fixed": (WRITE_FIXED, BYTES_FORMATS),
    "enum": (WRITE_ENUM, TEXT_FORMATS), "uuid": (WRITE_UUID_TEXT, TEXT_FORMATS | frozenset((b"w",))),
    "uuid-fixed": (WRITE_UUID_FIXED, TEXT_FORMATS | BYTES_FORMATS), "duration": (WRITE_FIXED, BYTES_FORMATS),
    "big-decimal": (WRITE_BIG_DECIMAL, BYTES_FORMATS),
}


cdef bint is_members(SourceType source, Py_ssize_t count) except -1:
    """Whether the column is a struct with one member for each branch of the union, as Spark represents unions."""
    names = [(<SourceType>child).name for child in source.children]
    return source.load == LOAD_STRUCT and names == [f"member{i}" for i in range(count)]


cdef list by_columns(list branches, list others, SourceType source):
    """Return the branches in the order in which rows prefer them for a dict with the keys of a struct: the records with
    the fewest unknown columns, then with the fewest missing ones; and only those that know all, if there are any."""
    cdef set columns = {(<SourceType>child).name for child in source.children}
    cdef dict fields = {i: {field.name for field in branches[i].fields} for i in others if branches[i].kind == "record"}
    cdef list order = sorted([(len(columns - known), len(known - columns), i) for i, known in fields.items()])
    if source.load != LOAD_STRUCT or not order:
        return others
    return [i for unknown, _, i in order if unknown == 0 or order[0][0] > 0]


cdef int64_t nanos_of_format(str format, str name) except -1:
    """Nanoseconds in a tick of a column of this format; 0 if the format does not match the logical type ``name``."""
    if name == "date":
        return {"tdD": DAY * 1000, "tdm": 1_000_000}.get(format, 0)
    if name.startswith("time-"):
        return UNITS[format[2:3]] if format in ("tts", "ttm", "ttu", "ttn") else 0
    if not format.startswith("ts") or "timestamp" not in name or (format[4:] == "") != name.startswith("local-"):
        return 0
    return UNITS[format[2:3]]
