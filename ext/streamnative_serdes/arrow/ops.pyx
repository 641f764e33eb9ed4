# The ops of a read plan, a table compiled once: their kinds, the number ranges they accept, and the minimum size of a
# value.

cdef enum OpKind:
    READ_NULL
    READ_BOOLEAN
    READ_INT
    READ_LONG
    READ_NUMBER                 # an int or long with bounds, unit conversion, or as another type
    READ_FLOAT
    READ_DOUBLE
    READ_WIDENED                # float to double
    READ_STRING
    READ_BYTES
    READ_FIXED
    READ_ENUM
    READ_DECIMAL
    READ_BIG_DECIMAL
    READ_UUID
    READ_RECORD
    READ_ARRAY
    READ_MAP
    READ_UNION
    READ_MEMBER                 # a branch of the reader's union: one child of a struct; the others are null
    READ_DEFAULT                # the reader's default; reads no bytes
    READ_MISMATCH               # a type that cannot be read: an error once a message contains it
    READ_BROKEN                 # a record that lacks a field without a default: an error in the same way
    READ_SKIPPED
    READ_PLAIN                  # one of Pulsar's primitive types
    READ_INLINE                 # a KEY_VALUE message whose key is in the value
    READ_SEPARATED              # one whose key is the message's key

cdef enum Out:                  # output type of READ_NUMBER
    OUT_INT32
    OUT_INT64
    OUT_FLOAT
    OUT_DOUBLE
    OUT_ROUNDED                 # rounded to float, in a column of doubles

cdef struct Symbol:
    const uint8_t* text
    Py_ssize_t size             # -1: the reader has no such symbol

cdef struct Op:
    int kind
    int number                  # in the plan's table
    int column                  # target column; unused in READ_SKIPPED and its parts
    int null_index              # in a union with null: index of the null branch; else -1
    int count
    Op** parts                  # record: its fields, then the defaults; READ_SKIPPED: neighbours without a column
    Py_ssize_t min_size         # lower bound on the encoded size, in bytes
    Py_ssize_t empty_fields     # READ_RECORD, READ_SKIPPED: fields that may take no bytes
    int64_t filled              # READ_RECORD: values that come from defaults
    int64_t slots               # READ_ARRAY, READ_MAP: slots that one item takes in columns
    int64_t low, high           # READ_NUMBER: valid range low <= n < high, in the reader's unit
    int64_t times, by           # READ_NUMBER: number in the reader's unit = number in the writer's * times / by
    int64_t unit                # READ_NUMBER: number in the column's unit = number in the reader's * unit
    bint narrow                 # READ_NUMBER: written as an int
    bint bounded
    int out                     # READ_NUMBER: an Out; READ_PLAIN: a PlainKind
    int member                  # READ_MEMBER: index of the child; READ_SKIPPED: of its first name in the record's note
    Py_ssize_t size             # READ_FIXED, READ_DECIMAL, READ_PLAIN: bytes, or -1; READ_DEFAULT: of text
    int precision
    const uint8_t* text         # READ_DEFAULT
    Symbol* symbols             # READ_ENUM

cdef struct Step:               # an open container
    Op* op
    int64_t index               # field of a record, item of an array; -1 before the first
    const uint8_t* key          # map only
    Py_ssize_t key_size         # -1 before the first


cdef int64_t nanos_in_tick(str name) except -1:
    """Return the nanoseconds in one tick; 0 for types without ticks."""
    if "time" not in name:
        return 0
    return {"millis": 1_000_000, "micros": 1000, "nanos": 1}[name.rpartition("-")[2]]


cdef int set_bounds(Op* op, str name) except -1:
    """Return the range that Python's types, and so the object codec, can hold."""
    cdef int64_t day = DAY // (1000 if name.endswith("millis") else 1)
    op.bounded = True
    if name == "date":
        op.low, op.high = FIRST_DAY, LAST_DAY + 1
    elif name.startswith("time-"):
        op.low, op.high = 0, day
    elif name.endswith(("timestamp-millis", "timestamp-micros")):
        op.low, op.high = FIRST_DAY * day, (LAST_DAY + 1) * day
    else:
        op.bounded = False
    return 0


cdef bint settle_op(Op* op) noexcept:
    """Update min_size and empty_fields; returns whether either changed."""
    cdef Py_ssize_t size = 0, empty = 0
    cdef bint changed
    cdef int i
    if op.null_index >= 0:
        size = 1
    elif op.kind == READ_ARRAY or op.kind == READ_MAP:
        size = 1
    elif op.kind == READ_UNION:
        for i in range(op.count):
            size = op.parts[i].min_size if i == 0 else min(size, op.parts[i].min_size)
        size += 1
    elif op.kind == READ_MEMBER:
        size = op.parts[0].min_size
    elif op.kind == READ_ENUM:
        size = 1
    elif op.kind != READ_RECORD and op.kind != READ_SKIPPED:
        return False
    if op.kind == READ_RECORD or op.kind == READ_SKIPPED:
        for i in range(op.count):
            size += op.parts[i].min_size if op.null_index < 0 else 0
            if op.parts[i].kind == READ_SKIPPED:
                empty += op.parts[i].empty_fields
            else:
                empty += op.parts[i].min_size == 0 and op.parts[i].kind != READ_DEFAULT
    size = min(size, <Py_ssize_t>1 << 40)
    changed = size != op.min_size or empty != op.empty_fields
    op.min_size, op.empty_fields = size, empty
    return changed
