# The ops of a read plan, a table compiled once: their kinds, the number ranges they accept, and the minimum size of a
# value.

cdef enum OpKind:               # set_blocks relies on the order: leaves come first
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
    READ_UNSIZED                # only at the root: bytes without their length

cdef enum Out:                  # output type of READ_NUMBER
    OUT_INT32
    OUT_INT64
    OUT_FLOAT
    OUT_DOUBLE
    OUT_ROUNDED                 # rounded to float, in a column of doubles

cdef enum:
    MAX_FIXED = 1 << 29         # bytes of a field that counts as one of fixed size
    MOST_BLOCK_LEVELS = 16      # each takes kilobytes of the stack

cdef extern from "arrow/skip.h":
    cdef enum sns_skip_kind:
        SKIP_END
        SKIP_FULLY
        SKIP_FIXED
        SKIP_TEXT
        SKIP_NUMBER
        SKIP_BYTE
        SKIP_OPTIONAL_FIXED
        SKIP_OPTIONAL_TEXT
        SKIP_OPTIONAL_NUMBER
        SKIP_OPTIONAL_BYTE
    ctypedef struct Skip "struct sns_skip":
        uint8_t kind, null, bits, most
        uint32_t size
        int64_t after
        uint64_t ends
        int32_t first, count
    ctypedef struct Skipped "struct sns_skipped":
        const uint8_t* p
        const Skip* skip
    const int SNS_SKIP_REACH
    int64_t sns_step_size(const Skip*, int, const uint8_t*) noexcept nogil
    Skipped sns_skip_freely(const Skip*, const uint8_t*, const uint8_t*, const uint8_t*) noexcept nogil
    Skipped sns_skip_within(const Skip*, const uint8_t*, const uint8_t*, const uint8_t*) noexcept nogil

cdef struct Symbol:
    const uint8_t* text
    Py_ssize_t size             # -1: the reader has no such symbol

# READ_ARRAY and READ_MAP with a column have two parts: the item, and what skips it.
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
    Skip* skips                 # READ_SKIPPED, and READ_RECORD without a column: a program that ends with SKIP_END
    int64_t reach               # bytes that it may look at without comparing with the end
    bint in_blocks              # blocks.pyx has a loop for it; READ_RECORD: its fields are read in blocks
    int levels                  # of records and unions, this one and those below
    int null_branch             # READ_UNION in blocks: the branch that is null, or -1
    int run                     # in a record: how many optional fields that are read in blocks begin with this one
    uint8_t* nulls              # READ_RECORD: the byte of null in each optional field, and 8 bytes more
    bint counted                # it may have values that are counted against the limits of a message

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


# Blocks

cdef int set_blocks(Op* op) except -1:
    """Set whether an op is read in blocks, after those of its parts.

    What is not counted pays from one budget for a block, as if it were one message. That can only be too little, and
    then the block is read message by message.
    """
    cdef int i
    op.in_blocks = (READ_BOOLEAN <= op.kind <= READ_UUID)
    for i in range(op.count if op.kind != READ_SKIPPED else 0):
        op.levels = max(op.levels, op.parts[i].levels)
    op.levels += op.kind == READ_RECORD or op.kind == READ_UNION
    op.counted = op.kind > READ_UUID and op.kind != READ_DEFAULT and op.kind != READ_SKIPPED
    if op.kind == READ_SKIPPED:
        for i in range(op.count):
            op.counted |= op.skips[i].kind == SKIP_FULLY
    elif op.kind == READ_RECORD:
        return set_record_blocks(op)
    elif op.kind == READ_ARRAY or op.kind == READ_MAP:      # items are looked at twice, and only one level of them
        op.in_blocks = is_leaf(op.parts[0]) or (
            op.parts[0].in_blocks and not op.parts[0].counted and op.parts[0].min_size > 0)
    elif op.kind == READ_UNION:
        set_union_blocks(op)
    return 0


cdef inline bint is_leaf(const Op* op) noexcept nogil:
    """Whether it is a leaf that is never null."""
    return op.kind <= READ_UUID and op.null_index < 0


cdef int set_record_blocks(Op* op) except -1:
    cdef int i, others = 0
    cdef Op* part
    op.in_blocks, op.counted = op.levels <= MOST_BLOCK_LEVELS, False
    for i in range(op.count):
        part = op.parts[i]
        op.counted |= part.counted
        others += part.counted and not part.in_blocks and part.kind != READ_SKIPPED
        op.in_blocks &= part.kind != READ_MISMATCH and part.kind != READ_BROKEN
    op.in_blocks &= 3 * others < op.count or others == 0        # where most are read one by one, blocks are no faster
    op.counted |= not op.in_blocks and (op.empty_fields > 0 or op.filled > 0)
    op.nulls = <uint8_t*>PyMem_Calloc(op.count + 8, 1)
    if op.nulls is NULL:
        raise MemoryError()
    for i in range(op.count - 1, -1, -1):
        part = op.parts[i]
        if part.null_index >= 0 and part.in_blocks:
            op.nulls[i] = <uint8_t>(2 * part.null_index)
            part.run = 1 + (op.parts[i + 1].run if i + 1 < op.count else 0)
    return 0


cdef void set_union_blocks(Op* op) noexcept:
    """A union of other types than null and a leaf is read in blocks if each branch has a member of its own."""
    cdef int i, k, members = 0
    cdef Op* part
    op.null_branch = -1
    op.in_blocks, op.counted = op.count <= 64 and op.levels <= MOST_BLOCK_LEVELS, False
    for i in range(op.count):
        part = op.parts[i]
        if part.kind == READ_NULL:
            op.null_branch = i
        elif part.kind == READ_MEMBER:
            members += 1
            op.in_blocks &= part.null_index < 0 and part.parts[0].null_index < 0 and part.parts[0].in_blocks
            op.counted |= part.parts[0].counted
            for k in range(i):
                op.in_blocks &= op.parts[k].kind != READ_MEMBER or op.parts[k].member != part.member
        elif part.kind != READ_MISMATCH:
            op.in_blocks = False
    op.in_blocks &= members > 0         # of null and mismatches alone: its column is no struct
    op.counted |= not op.in_blocks


# The program that skips neighbouring fields

cdef int make_skips(Op* op) except -1:
    """Make the program that skips the parts of ``op``, which owns it."""
    cdef Skip* skip
    cdef Op* part
    cdef int i, count = 0
    op.skips = <Skip*>PyMem_Calloc(op.count + 1, sizeof(Skip))
    if op.skips is NULL:
        raise MemoryError()
    for i in range(op.count):
        part = op.parts[i]
        if not (count and is_fixed(part) and op.skips[count - 1].kind != SKIP_FULLY):
            begin_skip(&op.skips[count], part)
            op.skips[count].first = i
            count += 1
        skip = &op.skips[count - 1]
        if is_fixed(part):
            skip.after += max(part.size, 0)
        skip.count += 1
    for i in range(count):
        skip = &op.skips[i]
        op.reach += SNS_SKIP_REACH + skip.size + skip.after
    return 0


cdef inline bint is_fixed(const Op* op) noexcept:
    """Whether it takes the same number of bytes in each message, whatever they are."""
    return op.kind == READ_NULL or (op.kind == READ_FIXED and op.size <= MAX_FIXED)


cdef int begin_skip(Skip* skip, Op* part) noexcept:
    """Set what a step does for its first field."""
    cdef int null_index
    skip.kind = SKIP_FULLY
    if part.kind != READ_UNION:
        begin_leaf(skip, part, False)
    elif part.count == 2:
        null_index = part.parts[1].kind == READ_NULL
        if part.parts[null_index].kind == READ_NULL:
            skip.null = 2 * null_index
            begin_leaf(skip, part.parts[1 - null_index], True)
    return 0


cdef int begin_leaf(Skip* skip, Op* part, bint optional) noexcept:
    if is_fixed(part):
        skip.kind = SKIP_OPTIONAL_FIXED if optional else SKIP_FIXED
        skip.size = <uint32_t>max(part.size, 0) if optional else 0
    elif part.kind == READ_BYTES:
        skip.kind = SKIP_OPTIONAL_TEXT if optional else SKIP_TEXT
    elif part.kind == READ_NUMBER:
        skip.kind = SKIP_OPTIONAL_NUMBER if optional else SKIP_NUMBER
        skip.ends = 0x80808080UL if part.narrow else 0x8080808080808080UL     # five bytes may be more than an int
    elif part.kind == READ_BOOLEAN or part.kind == READ_ENUM:
        skip.kind = SKIP_OPTIONAL_BYTE if optional else SKIP_BYTE
        skip.bits = part.kind == READ_ENUM      # the index is even on the wire, and twice as large
        skip.most = <uint8_t>min(2 * part.member, 128) if part.kind == READ_ENUM else 2
    else:
        return 0
    skip.after = 1 if optional or skip.kind != SKIP_FIXED else 0
    return 0
