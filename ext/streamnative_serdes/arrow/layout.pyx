# Maps an Avro schema to Arrow columns: a tree of LayoutNodes, with the columns of siblings numbered consecutively. The
# types are those that Spark accepts (docs/arrow-types.md has the table).

cdef enum:
    MAX_LEVELS = 60             # of nested columns: readers of the C data interface stop at 64
    MAX_COLUMNS = 20_000        # a record used twice has its columns twice, so each level of nesting may double them
    MAX_PRECISION = 38          # digits of decimal128

cdef enum Form:                 # how an Avro type maps to its column
    VALUE
    ITEMS                       # parts: the item
    ENTRIES                     # parts: key, value
    FIELDS                      # parts: one per field
    WHOLE                       # a union of int and long: a column of longs
    REAL                        # a union of float and double: a column of doubles
    MEMBERS                     # any other union: a struct; parts: one per branch, None for null
    EMPTY                       # a union of null alone, or without branches

cdef struct Spec:
    int storage
    int width                   # FIXED_WIDTH: bytes of a slot
    int first, count            # the children are first, first + 1, ...
    bint nullable
    bint large                  # VARIABLE: offsets have 64 bits
    int64_t slots               # slots that one value takes in this column and its children, without list items

# Avro type -> (format, storage, bytes), for types without parameters.
PRIMITIVE_FORMATS = {
    "null": ("n", NOTHING, 0), "boolean": ("b", BITS, 0), "int": ("i", FIXED_WIDTH, 4), "long": ("l", FIXED_WIDTH, 8),
    "float": ("f", FIXED_WIDTH, 4), "double": ("g", FIXED_WIDTH, 8),
    "date": ("tdD", FIXED_WIDTH, 4),
    "timestamp-millis": ("tsu:UTC", FIXED_WIDTH, 8), "timestamp-micros": ("tsu:UTC", FIXED_WIDTH, 8),
    "local-timestamp-millis": ("tsu:", FIXED_WIDTH, 8), "local-timestamp-micros": ("tsu:", FIXED_WIDTH, 8),
    # Pulsar's own
    "BOOLEAN": ("b", BITS, 0), "INT8": ("c", FIXED_WIDTH, 1), "INT16": ("s", FIXED_WIDTH, 2),
    "INT32": ("i", FIXED_WIDTH, 4), "INT64": ("l", FIXED_WIDTH, 8),
    "FLOAT": ("f", FIXED_WIDTH, 4), "DOUBLE": ("g", FIXED_WIDTH, 8),
    "DATE": ("tsu:UTC", FIXED_WIDTH, 8), "TIME": ("tsu:UTC", FIXED_WIDTH, 8),
    "TIMESTAMP": ("tsu:UTC", FIXED_WIDTH, 8),
    "LOCAL_DATE": ("tdD", FIXED_WIDTH, 4),
}
# The dialects differ in times of day and nanoseconds.
NANOS = {"INSTANT": ("tsn:UTC", FIXED_WIDTH, 8), "LOCAL_TIME": ("ttn", FIXED_WIDTH, 8),
         "LOCAL_DATE_TIME": ("tsn:", FIXED_WIDTH, 8)}
SPARK_NANOS = {kind: ("l", FIXED_WIDTH, 8) for kind in NANOS}
DIALECTS = {
    "arrow": {"time-millis": ("ttm", FIXED_WIDTH, 4), "time-micros": ("ttn", FIXED_WIDTH, 8),
              "timestamp-nanos": ("tsn:UTC", FIXED_WIDTH, 8), "local-timestamp-nanos": ("tsn:", FIXED_WIDTH, 8),
              **NANOS},
    "spark": {"time-millis": ("i", FIXED_WIDTH, 4), "time-micros": ("ttn", FIXED_WIDTH, 8),
              "timestamp-nanos": ("l", FIXED_WIDTH, 8), "local-timestamp-nanos": ("l", FIXED_WIDTH, 8),
              **SPARK_NANOS},
    "spark-4.0": {"time-millis": ("i", FIXED_WIDTH, 4), "time-micros": ("l", FIXED_WIDTH, 8),
                  "timestamp-nanos": ("l", FIXED_WIDTH, 8), "local-timestamp-nanos": ("l", FIXED_WIDTH, 8),
                  **SPARK_NANOS},
}
TEXTS = frozenset(("string", "enum", "STRING"))


@cython.final
cdef class LayoutNode:
    """The column for one type of the schema."""
    cdef int column
    cdef int form
    cdef object schema          # the Avro type; for a union of null and one other type, the other
    cdef list parts             # child LayoutNodes

    def __cinit__(self, int column, int form, object schema):
        self.column, self.form, self.schema, self.parts = column, form, schema, []


@cython.final
cdef class Layout:
    """The Arrow columns of a schema. Immutable, and shared by all plans that fill them."""
    cdef Spec* specs
    cdef int count
    cdef readonly bint wrapped  # the schema is not a record: the only column is "value"
    cdef list names, formats    # bytes, by column number
    cdef LayoutNode root             # of the schema; column 0 is the struct of a row
    cdef object logical         # whether logical types are used
    cdef bint large
    cdef dict dialect
    cdef set open_records       # ids of the records around the current type, to detect recursion

    def __cinit__(self, schema, bint logical, str dialect not None, bint large):
        self.logical, self.large, self.open_records = logical, large, set()
        self.dialect = {**PRIMITIVE_FORMATS, **DIALECTS[dialect]}
        self.names, self.formats = [], []
        self.wrapped = schema.kind != "record"
        cdef int row = self.reserve(1)
        if self.wrapped:
            self.struct(row, "", False, ["value"])
            self.root = self.lay_out(self.specs[row].first, schema, "value", True, 1)
        else:
            self.root = self.lay_out(row, schema, "", False, 0)
        self.count_slots()

    def __dealloc__(self):
        PyMem_Free(self.specs)

    cdef int reserve(self, Py_ssize_t count) except -1:
        """Reserve ``count`` consecutive columns. Returns the number of the first."""
        cdef int first = self.count
        cdef Spec* specs
        if count > MAX_COLUMNS - first:
            raise SchemaError(f"the schema takes more than {MAX_COLUMNS} Arrow columns")
        specs = <Spec*>PyMem_Realloc(self.specs, max(first + count, 1) * sizeof(Spec))
        if specs is NULL:
            raise MemoryError()
        self.specs = specs
        memset(&specs[first], 0, count * sizeof(Spec))
        self.count = first + <int>count
        self.names += [b""] * count
        self.formats += [b""] * count
        return first

    cdef int set(self, int column, str name, bint nullable, str format, int storage, int width=0) except -1:
        cdef Spec* spec = &self.specs[column]
        spec.storage, spec.width, spec.nullable = storage, width, nullable
        spec.large = storage == VARIABLE and self.large
        try:
            self.names[column] = name.replace("\0", "").encode()
        except UnicodeEncodeError:
            raise SchemaError(f"{name!r:.80} cannot be an Arrow column name: it is not valid UTF-8") from None
        self.formats[column] = format.encode()
        return 0

    cdef int struct(self, int column, str name, bint nullable, list names) except -1:
        """Give a column one child for each name. Returns the number of the first."""
        cdef int first
        self.set(column, name, nullable, "+s", STRUCT)
        first = self.reserve(len(names))
        self.specs[column].first, self.specs[column].count = first, <int>len(names)
        return first

    cdef LayoutNode lay_out(self, int column, object schema, str name, bint nullable, int level):
        cdef str kind = schema.kind
        if level > MAX_LEVELS:
            raise SchemaError(f"the schema is nested deeper than the {MAX_LEVELS} levels of Arrow columns")
        if kind == "record":
            return self.record(column, schema, name, nullable, level)
        if kind == "union":
            return self.union(column, schema, name, nullable, level)
        if kind == "array":
            return self.array(column, schema, name, nullable, level)
        if kind == "map":
            return self.map(column, schema, name, nullable, level)
        self.leaf(column, schema, name, nullable)
        return LayoutNode(column, VALUE, schema)

    cdef LayoutNode record(self, int column, object schema, str name, bint nullable, int level):
        cdef LayoutNode node = LayoutNode(column, FIELDS, schema)
        cdef int i, first
        if id(schema) in self.open_records:
            raise SchemaError(f"record {schema.name} contains itself, and Arrow has no recursive types",
                              hint="pass a reader's schema without that field")
        self.open_records.add(id(schema))
        first = self.struct(column, name, nullable, [field.name for field in schema.fields])
        for i, field in enumerate(schema.fields):
            # A row may be null as a whole: a tombstone, or a message that could not be read.
            node.parts.append(self.lay_out(first + i, field.type, field.name, level == 0, level + 1))
        self.open_records.remove(id(schema))
        return node

    cdef LayoutNode union(self, int column, object schema, str name, bint nullable, int level):
        cdef list others = [branch for branch in schema.branches if branch.kind != "null"]
        cdef LayoutNode node
        cdef int next_member
        nullable = nullable or len(others) < len(schema.branches)
        if len(others) == 1:
            return self.lay_out(column, others[0], name, nullable, level)
        kinds = {branch.kind for branch in others}
        if kinds == {"int", "long"} or kinds == {"float", "double"}:
            self.set(column, name, nullable, "l" if "int" in kinds else "g", FIXED_WIDTH, 8)
            return LayoutNode(column, WHOLE if "int" in kinds else REAL, schema)
        node = LayoutNode(column, MEMBERS if others else EMPTY, schema)
        members = [f"member{i}" for i in range(len(others))]
        next_member = self.struct(column, name, nullable or not others, members)
        for branch in schema.branches:
            if branch.kind == "null":
                node.parts.append(None)
                continue
            member = f"member{next_member - self.specs[column].first}"
            node.parts.append(self.lay_out(next_member, branch, member, True, level + 1))
            next_member += 1
        return node

    cdef LayoutNode array(self, int column, object schema, str name, bint nullable, int level):
        cdef LayoutNode node = LayoutNode(column, ITEMS, schema)
        cdef int item
        self.set(column, name, nullable, "+l", LIST)
        item = self.reserve(1)
        self.specs[column].first, self.specs[column].count = item, 1
        node.parts.append(self.lay_out(item, schema.items, "element", False, level + 1))
        return node

    cdef LayoutNode map(self, int column, object schema, str name, bint nullable, int level):
        cdef LayoutNode node = LayoutNode(column, ENTRIES, schema)
        cdef int entries, key
        self.set(column, name, nullable, "+m", LIST)
        entries = self.reserve(1)
        self.specs[column].first, self.specs[column].count = entries, 1
        key = self.struct(entries, "entries", False, ["key", "value"])
        self.set(key, "key", False, "U" if self.large else "u", VARIABLE)
        node.parts.append(LayoutNode(key, VALUE, None))
        node.parts.append(self.lay_out(key + 1, schema.values, "value", False, level + 2))
        return node

    cdef int leaf(self, int column, object schema, str name, bint nullable) except -1:
        cdef object logical = getattr(schema, "logical", None) if self.logical else None
        cdef str kind = schema.kind if logical is None else logical.name
        if kind in self.dialect:
            format, storage, width = self.dialect[kind]
            return self.set(column, name, nullable or kind == "null", format, storage, width)
        if kind == "decimal":
            if not 0 <= logical.scale <= logical.precision <= MAX_PRECISION:
                raise SchemaError(f"decimal({logical.precision}, {logical.scale}) has more digits than the "
                                  f"{MAX_PRECISION} of Arrow's decimal128",
                                  hint="avro.logical.types=false reads it as bytes")
            return self.set(column, name, nullable, f"d:{logical.precision},{logical.scale}", FIXED_WIDTH, 16)
        text = schema.kind in TEXTS
        return self.set(column, name, nullable, ("U" if text else "Z") if self.large else ("u" if text else "z"),
                        VARIABLE)

    cdef int count_slots(self) except -1:
        """Children have higher numbers than their parents."""
        cdef int column, i
        cdef Spec* spec
        for column in range(self.count - 1, -1, -1):
            spec = &self.specs[column]
            spec.slots = 1
            if spec.storage == STRUCT:
                for i in range(spec.count):
                    spec.slots += self.specs[spec.first + i].slots
        return 0

    # Export as an Arrow schema; arrays are exported without it, since importing it takes longer than a small batch

    def __arrow_c_schema__(self):
        """Return the Arrow schema of a row, a struct, as a capsule (Arrow's PyCapsule protocol)."""
        cdef object capsule = sns_new_schema()
        self.fill(<ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema"), 0)
        return capsule

    cdef int fill(self, ArrowSchema* out, int column) except -1:
        cdef Spec* spec = &self.specs[column]
        cdef bytes format = self.formats[column], name = self.names[column]
        cdef int i
        if sns_fill_schema(out, format, name, ARROW_FLAG_NULLABLE if spec.nullable else 0, spec.count) < 0:
            raise MemoryError()
        for i in range(spec.count):
            self.fill(out.children[i], spec.first + i)
        return 0
