# How Arrow columns become messages of a schema: the columns' types, checked against it once and compiled into a table
# of WriteOps. A plan never changes after that.

cdef enum WriteKind:
    WRITE_NULL
    WRITE_BOOLEAN
    WRITE_INT                   # from a column of just this type, which needs no look; likewise
    WRITE_LONG
    WRITE_WHOLE                 # a whole number or a time, from any column of such
    WRITE_EITHER                # a whole number, by the first of two branches that takes it
    WRITE_DOUBLE
    WRITE_FLOAT
    WRITE_TEXT
    WRITE_BYTES
    WRITE_FIXED
    WRITE_ENUM
    WRITE_UUID_TEXT
    WRITE_UUID_FIXED
    WRITE_DECIMAL
    WRITE_BIG_DECIMAL
    WRITE_CONSTANT              # the default of a field without a column
    WRITE_INDEXED               # a number of a dictionary, whose value is written
    WRITE_RECORD
    WRITE_ARRAY
    WRITE_MAP
    WRITE_MEMBERS               # a union, from a struct of which one child is not null

cdef enum:
    NO_BYTES = -2
    MAX_TRIED = 200_000         # pairs of a type and a column: unions of records that hold such unions multiply

cdef struct WriteOp:
    int kind
    int source                  # the column
    int load
    int null_branch             # what a null is written as; -1: it is an error; NO_BYTES: the type is null itself
    int branch                  # written before what is no null; -1: no union
    int count
    WriteOp** parts
    int64_t times, by           # WRITE_WHOLE: Avro's unit = the column's * times / by
    int64_t low, high           # WRITE_WHOLE: the least, and the last that there is
    Py_ssize_t size             # WRITE_FIXED, WRITE_DECIMAL, WRITE_UUID: bytes, or -1; WRITE_CONSTANT: of text
    int precision
    int shift                   # WRITE_DECIMAL: places that Avro's scale has more, or fewer, than the column's
    const uint8_t* text         # WRITE_CONSTANT
    Symbol* symbols             # WRITE_ENUM
    int32_t* table              # WRITE_ENUM: numbers of symbols by hash, -1 where there is none
    uint32_t mask               # of the table's size


@cython.final
cdef class WritePlan:
    """Writes batches of one Arrow schema, the capsule ``arrow``, as messages of the schema ``root``.

    ``options`` are checked options of a codec, by dotted key; ``default_of`` is as for a Plan.
    """
    cdef WriteOp* ops
    cdef WriteOp** edges
    cdef int count, room, root
    cdef int tried
    cdef object default_of
    cdef bint logical, closed, complete
    cdef bint matched           # columns that are no fields are an error where fields have no column
    cdef int max_depth
    cdef list parts, labels, notes, kept
    cdef list sources           # SourceTypes; the first is the batch
    cdef list path              # where in the schema work is

    def __cinit__(self, root, arrow, options, default_of):
        self.default_of, self.logical, self.max_depth = default_of, options["avro.logical.types"], options["max.depth"]
        self.complete = options["validate.strict"]
        self.closed = self.complete or options["validate.strict.allow.default"]
        self.matched = self.closed or options["unmatched.columns"] == "error"
        self.parts, self.labels, self.notes, self.kept, self.sources, self.path = [], [], [], [], [], []
        top = source_type(<ArrowSchema*>PyCapsule_GetPointer(arrow, "arrow_schema"), self.sources, -1, 0, True,
                          0)
        try:
            self.root = self.of_batch(root, top)
        except EncodeError as error:
            self.place(error)
            raise
        self.link()

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            PyMem_Free(self.ops[i].symbols)
            PyMem_Free(self.ops[i].table)
        PyMem_Free(self.ops)
        PyMem_Free(self.edges)

    cdef int add(self, int kind, SourceType source, str label, list parts=None, object note=None) except -1:
        """The number of a new op. Pointers to ops hold until the next one."""
        cdef WriteOp* op
        cdef WriteOp* ops
        if self.count == self.room:
            ops = <WriteOp*>PyMem_Realloc(self.ops, (2 * self.room + 16) * sizeof(WriteOp))
            if ops is NULL:
                raise MemoryError()
            self.ops, self.room = ops, 2 * self.room + 16
        op = &self.ops[self.count]
        memset(op, 0, sizeof(WriteOp))
        op.kind, op.null_branch, op.branch, op.size, op.times, op.by = kind, -1, -1, -1, 1, 1
        op.source, op.load = source.number, source.load
        self.parts.append(parts or [])
        self.labels.append(label if len(label) <= MAX_LABEL else label[:MAX_LABEL] + "...")
        self.notes.append(note)
        self.count += 1
        return self.count - 1

    cdef int link(self) except -1:
        cdef int i, at = 0, total = sum(map(len, self.parts))
        self.edges = <WriteOp**>PyMem_Malloc(max(total, 1) * sizeof(WriteOp*))
        if self.edges is NULL:
            raise MemoryError()
        for i in range(self.count):
            self.ops[i].parts, self.ops[i].count = &self.edges[at], <int>len(self.parts[i])
            for part in self.parts[i]:
                self.edges[at] = &self.ops[<int>part]
                at += 1
        return 0

    cdef object place(self, object error):
        """The error, which happened here if nobody has said where."""
        if error.path is None:
            error.path = ".".join(self.path).replace(".[", "[")
        return error

    # Types

    cdef int of_batch(self, object root, SourceType top) except -1:
        if root.kind == "record":
            return self.compile(root, top)
        columns = top.children
        if len(columns) > 1:
            columns = [child for child in columns if (<SourceType>child).name == "value"]
        if top.load != LOAD_STRUCT or len(columns) != 1:
            raise EncodeError(f'expected one column, "value", for a schema of type {root.kind}, '
                              f"got {len(top.children)} columns")
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
        if kind == "record":
            return self.record(schema, source)
        if kind == "array":
            return self.array(schema, source)
        if kind == "map":
            return self.map(schema, source)
        return self.leaf(schema, source)

    cdef int indexed(self, object schema, SourceType source) except -1:
        cdef int inner = self.compile(schema, source.dictionary)
        cdef int op = self.add(WRITE_INDEXED, source, self.labels[inner], [inner])
        self.ops[op].null_branch = self.ops[inner].null_branch
        return op

    cdef int within(self, str step, object schema, SourceType source) except -1:
        """What is at ``step`` of the path."""
        cdef int op
        self.path.append(step)
        op = self.compile(schema, source)
        self.path.pop()
        return op

    cdef int refuse(self, str expected, SourceType source) except -1:
        raise EncodeError(f"expected a column for {expected}, got one of {type_name(source.format)}",
                          hint="cast the column to another type")

    cdef int record(self, object schema, SourceType source) except -1:
        cdef list parts = []
        if source.load != LOAD_STRUCT:
            self.refuse(f"record {schema.name}", source)
        columns = {(<SourceType>child).name: child for child in source.children}
        if len(columns) < len(source.children):
            raise EncodeError(f"two columns of record {schema.name} have one name")
        self.match(schema, columns)
        for field in schema.fields:
            column = columns.pop(field.name, None)
            parts.append(self.missing(field, source) if column is None else self.within(field.name, field.type, column))
        if schema.fields and len(columns) == len(source.children):
            raise EncodeError(f"there is no column for any field of record {schema.name}")
        if columns and self.closed:
            raise EncodeError(f"record {schema.name} has no field {next(iter(columns))!r:.80}",
                              hint="validate.strict allows no other columns")
        return self.add(WRITE_RECORD, source, f"record {schema.name}", parts,
                        [str(field.name) for field in schema.fields])

    cdef int match(self, object schema, dict columns) except -1:
        """Raise for columns that seem to be fields, but are called otherwise."""
        cdef list lacking = [field.name for field in schema.fields if field.name not in columns]
        fields = {field.name for field in schema.fields}
        unknown = {name.lower(): name for name in columns if name not in fields}
        for name in lacking:
            if name.lower() in unknown:
                self.path.append(name)
                raise EncodeError(f"there is no column of that name, but {unknown[name.lower()]!r:.80}",
                                  hint="rename it: upper and lower case differ in Avro")
        if self.matched and lacking and unknown:
            text, hint = unmatched(schema.name, list(unknown.values()), lacking)
            raise EncodeError(text, hint=hint)
        return 0

    cdef int missing(self, object field, SourceType source) except -1:
        """A field without a column."""
        cdef int op
        data, _, reason = (None, 0, ": validate.strict asks for all") if self.complete else self.default_of(field)
        if reason is not None:
            self.path.append(field.name)
            raise EncodeError(f"there is no column of that name{reason}")
        op = self.add(WRITE_CONSTANT, source, "default")
        self.kept.append(data)
        self.ops[op].text, self.ops[op].size = <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
        return op

    cdef int array(self, object schema, SourceType source) except -1:
        if source.load not in (LOAD_LIST, LOAD_LARGE_LIST, LOAD_FIXED_LIST) or source.format == b"+m":
            self.refuse("array", source)
        return self.add(WRITE_ARRAY, source, "array", [self.within("[]", schema.items, source.children[0])])

    cdef int map(self, object schema, SourceType source) except -1:
        cdef SourceType entries, key
        if source.format != b"+m":
            self.refuse("map", source)
        entries = source.children[0]
        if entries.load != LOAD_STRUCT or len(entries.children) != 2:
            raise EncodeError("the Arrow schema is damaged: a map's entries are no keys and values")
        key = entries.children[0]
        if key.format not in TEXT_FORMATS:
            self.refuse("the keys of a map", key)
        return self.add(WRITE_MAP, source, "map", [self.add(WRITE_TEXT, key, "string"),
                                                   self.within("[]", schema.values, entries.children[1])])

    # Unions

    cdef int union(self, object schema, SourceType source) except -1:
        cdef list branches = list(schema.branches)
        cdef list others = [i for i, branch in enumerate(branches) if branch.kind != "null"]
        cdef int op
        kinds = {branches[i].kind for i in others}
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
        if len(others) < len(branches):
            self.ops[op].null_branch = next(i for i, branch in enumerate(branches) if branch.kind == "null")
        return op

    cdef int of_branch(self, list branches, int branch, SourceType source) except -1:
        cdef int op = self.compile(branches[branch], source)
        self.ops[op].branch = branch
        return op

    cdef int either(self, list branches, list others, SourceType source) except -1:
        """Plain types before logical ones, and of those the int first."""
        cdef list order = sorted(others, key=lambda i: (self.logical and branches[i].logical is not None,
                                                        branches[i].kind if not branches[i].logical else "", i))
        cdef list parts = [self.of_branch(branches, i, source) for i in order]
        for part in parts:
            self.ops[<int>part].kind = WRITE_WHOLE          # which says what does not fit
        return self.add(WRITE_EITHER, source, "union of int and long", parts)

    cdef int members(self, list branches, list others, SourceType source) except -1:
        cdef list parts = [self.of_branch(branches, i, child) for i, child in zip(others, source.children)]
        return self.add(WRITE_MEMBERS, source, "union", parts)

    cdef int first_branch(self, list branches, list others, SourceType source) except -1:
        """A column of one branch's own type."""
        cdef list path = list(self.path), refused = []
        for i in others:
            try:
                return self.of_branch(branches, i, source)
            except EncodeError as error:
                if branches[i].kind == "record" and source.load == LOAD_STRUCT:
                    refused.append(self.place(error))
                self.path = list(path)
        if len(refused) == 1:       # what a struct was meant for
            raise refused[0]
        return self.refuse("a branch of union of " + ", ".join([branches[i].kind for i in others]), source)

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

    cdef int whole(self, str name, str kind, SourceType source) except -1:
        """An int or a long, or a logical type of one, from whole numbers or from a type of times."""
        cdef str format = source.format.decode("ascii", "replace")
        cdef int op = self.add(WRITE_WHOLE, source, name)
        cdef WriteOp* new = &self.ops[op]
        cdef int64_t low = INT32_MIN if kind == "int" else INT64_MIN, high = INT32_MAX if kind == "int" else INT64_MAX
        cdef int64_t written, read
        cdef Op bounds
        if source.format not in WHOLE_FORMATS:
            read = nanos_of_format(format, name)
            if read == 0:
                self.refuse(name, source)
            written = DAY * 1000 if name == "date" else nanos_in_tick(name)
            new.times, new.by = max(read // written, 1), max(written // read, 1)
        if set_bounds(&bounds, name) == 0 and bounds.bounded:
            low, high = bounds.low, bounds.high - 1
        new.low, new.high = low, high
        if name == kind == "int" and source.load == LOAD_I32:
            new.kind = WRITE_INT
        elif name == kind == "long" and source.load == LOAD_I64:
            new.kind = WRITE_LONG
        return op

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
        """A table of open addressing, at most half full."""
        cdef uint32_t size = 4, at
        cdef WriteOp* new = &self.ops[op]
        cdef int i, count = <int>len(schema.symbols)
        while size < 2 * <uint32_t>count:
            size *= 2
        new.symbols = <Symbol*>PyMem_Calloc(max(count, 1), sizeof(Symbol))
        new.table = <int32_t*>PyMem_Malloc(size * sizeof(int32_t))
        if new.symbols is NULL or new.table is NULL:
            raise MemoryError()
        memset(new.table, 0xFF, size * sizeof(int32_t))
        new.mask = size - 1
        self.notes[op] = tuple(map(str, schema.symbols))
        for i, symbol in enumerate(schema.symbols):
            text = symbol_text(symbol)
            self.kept.append(text)
            new.symbols[i].text, new.symbols[i].size = <const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
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
    """Whether it is a struct of as many members as a union has branches, as Spark has it."""
    names = [(<SourceType>child).name for child in source.children]
    return source.load == LOAD_STRUCT and names == [f"member{i}" for i in range(count)]


cdef int64_t nanos_of_format(str format, str name) except -1:
    """Nanoseconds in a tick of a column of this format; 0 if it is none for the logical type ``name``."""
    if name == "date":
        return {"tdD": DAY * 1000, "tdm": 1_000_000}.get(format, 0)
    if name.startswith("time-"):
        return UNITS[format[2:3]] if format in ("tts", "ttm", "ttu", "ttn") else 0
    if not format.startswith("ts") or "timestamp" not in name or (format[4:] == "") != name.startswith("local-"):
        return 0
    return UNITS[format[2:3]]
