# Encodes a block of rows column by column, where write.pyx encodes row by row.
#
# What a column is has to be found out once for a block, and its rows do not depend on each other, so the processor
# works on several of them at a time. Each row is written to a room of its own on a stage, and all of them are copied to
# the messages once they are complete:
#
#     stage | row 0: header, values so far | p ... end | SPILL | row 1: header, values so far | p ... end | SPILL | ...
#
# A block is written as a whole or not at all: where a value cannot be written, nothing has changed, and write.pyx finds
# out what is wrong with which row.
#
# Why no step can leave its room, whatever the columns hold, and even if another thread changes them meanwhile: most
# values take at most so many bytes (WriteOp.room, known by the plan), and ``left`` is how many the values of known size
# that are still to come in each row take at most. Values of any other size are written only if the row has room for
# them besides what is left; their size is read once, and what is compared is what is written. A step may write up to
# SPILL bytes behind its value, which the next one overwrites.

cdef enum:
    STAGE_BYTES = 64 << 10
    ITEMS_BYTES = 32 << 10      # of another stage, for the items of lists
    MOST_STAGED = 4 << 10       # bytes of a row; to copy larger ones twice takes longer than it saves
    SPILL = 80
    COPIED = 64                 # bytes at a time
    MOST_BRANCH = 63            # whose index takes one byte
    MOST_STATIC = 64            # bytes of a fixed, or of a default
    MOST_NESTED = 8             # levels of blocks within blocks, each of which takes some KB of the thread's stack

cdef struct WriteBlock:
    int count                   # rows
    bint dense                  # they are neighbours
    int64_t first               # slot of the first
    int64_t left                # most bytes of the values of known size that each row still gets
    uint8_t* p[BLOCK_ROWS]      # where each row ends so far
    uint8_t* end[BLOCK_ROWS]    # of its room, without SPILL
    int32_t at[BLOCK_ROWS]      # its slot, counted from the first
    int most_nulls              # most of ``nulls``
    uint8_t null                # what a null takes there: the byte of its branch
    uint8_t nulls[BLOCK_ROWS]   # nulls in a row that are yet to be written behind p


cdef int64_t room_of(WriteOp* op) noexcept:
    """Set the room of an op and those below, and whether there is a loop for it. Returns the room."""
    cdef int64_t room = 0, most = 0
    cdef int i
    for i in range(op.count):
        room += room_of(op.parts[i])
        most = max(most, op.parts[i].room)
    op.in_blocks = op.branch <= MOST_BRANCH and op.null_branch <= MOST_BRANCH and op.kind <= LAST_IN_BLOCKS
    if op.kind == WRITE_MEMBERS:
        room = most
    elif op.kind == WRITE_ARRAY or op.kind == WRITE_MAP:
        op.in_blocks = op.in_blocks and room + 2 * SPILL <= ITEMS_BYTES // LEAST_ROWS
        op.items_room = room
        room = MOST_ROOM[op.kind]
    elif op.kind != WRITE_RECORD and op.kind != WRITE_INDEXED:
        room = MOST_ROOM[op.kind] if op.in_blocks else 0
    if op.kind == WRITE_FIXED or op.kind == WRITE_CONSTANT or (op.kind == WRITE_DECIMAL and op.size >= 0):
        op.in_blocks = op.in_blocks and op.size <= MOST_STATIC
        room = op.size
    elif op.kind == WRITE_FLOAT:
        op.in_blocks = op.in_blocks and op.load == LOAD_FLOAT
    elif op.kind == WRITE_DOUBLE:
        op.in_blocks = op.in_blocks and (op.load == LOAD_DOUBLE or op.load == LOAD_FLOAT)
    op.bare = op.in_blocks and op.branch < 0 and WRITE_NULL < op.kind < WRITE_RECORD
    op.room = room + 1 if op.in_blocks else 0           # 1: the branch
    return op.room


# Most bytes by kind, besides the branch; in the order of WriteKind.
cdef int64_t[LAST_IN_BLOCKS + 1] MOST_ROOM
MOST_ROOM[:] = [0, 1, 5, 10, 10, 8, 4, 1 + SNS_SHORT, 1 + SNS_SHORT, 0, 5, 37, 16, 18, 0, 0, 0, 0, 11, 11]


# --- one field of each row --------------------------------------------------------------------------------------------

cdef bint write_field(WriteOp* op, WriteStep* step, WriteBlock* b, Writer* w) noexcept nogil:
    """Write a value or null for each row."""
    cdef const Source* s = &w.sources[op.source]
    cdef uint64_t there = all_of(b)
    b.left -= op.room
    if not op.in_blocks or (op.kind >= WRITE_RECORD and (
            w.depth > MOST_NESTED or (w.items is NULL and (op.kind == WRITE_ARRAY or op.kind == WRITE_MAP)))):
        settle(b)
        return write_one_by_one(op, step, b, w)
    if s.slots.valid is not NULL:
        there &= valid_rows(s, b)
        if op.null_branch >= 0 and is_sparse(there, b):
            return write_few(op, s, there, step, b, w)
    settle(b)
    return write_there(op, s, there if op.kind != WRITE_NULL else 0, step, b, w)


cdef bint write_few(WriteOp* op, const Source* s, uint64_t there, WriteStep* step, WriteBlock* b,
                    Writer* w) noexcept nogil:
    """The same if most rows are null: their nulls are put off, until the row gets a value or has many of them."""
    cdef Chosen some
    defer_null(<uint8_t>(2 * op.null_branch), b)
    if there == 0:
        return True
    choose_with_nulls(b, there, &some)
    if not write_there(op, s, all_of(&some.block), step, &some.block, w):
        return False
    put_back(&some, b)
    return True


cdef inline bint is_sparse(uint64_t there, const WriteBlock* b) noexcept nogil:
    """Whether at most a fourth of the rows are there."""
    return there == 0 or 4 * sns_count_bits(there) <= b.count


cdef inline void defer_null(uint8_t byte, WriteBlock* b) noexcept nogil:
    cdef int k
    if b.most_nulls == SNS_SHORT or (b.most_nulls and b.null != byte):
        settle(b)
    b.null = byte
    b.most_nulls += 1
    for k in range(BLOCK_ROWS):         # more than there are rows, for vectors
        b.nulls[k] += 1


cdef inline void settle(WriteBlock* b) noexcept nogil:
    """Write the nulls that were put off."""
    cdef int k
    if b.most_nulls:
        for k in range(b.count):
            memset(b.p[k], b.null, SNS_SHORT)
            b.p[k] += b.nulls[k]
        b.most_nulls = 0
        memset(b.nulls, 0, BLOCK_ROWS)


cdef inline uint64_t all_of(const WriteBlock* b) noexcept nogil:
    """A bit for each row."""
    return ~<uint64_t>0 >> (BLOCK_ROWS - b.count)


cdef inline void put_byte(uint8_t byte, WriteBlock* b) noexcept nogil:
    cdef int k
    for k in range(b.count):
        b.p[k][0] = byte
        b.p[k] += 1


cdef uint64_t valid_rows(const Source* s, const WriteBlock* b) noexcept nogil:
    """The bits of the rows that are not null; those beyond the last row may be set."""
    cdef const uint8_t* valid = s.slots.valid
    cdef int64_t slot = b.first + s.slots.offset
    cdef uint64_t found = 0
    cdef int k, bytes_
    if not b.dense:
        for k in range(b.count):
            found |= <uint64_t>is_valid(valid, slot + b.at[k]) << k
        return found
    valid += slot >> 3
    slot &= 7
    if b.count == BLOCK_ROWS:
        found = (sns_get_u32le(valid) | <uint64_t>sns_get_u32le(valid + 4) << 32) >> slot
        return found | <uint64_t>valid[8] << (64 - slot) if slot else found
    bytes_ = <int>((slot + b.count + 7) >> 3)           # no others are sure to exist
    for k in range(min(bytes_, 8)):
        found |= <uint64_t>valid[k] << (8 * k)
    found >>= slot
    return found | (<uint64_t>valid[8] << (64 - slot) if bytes_ > 8 else 0)


cdef bint write_there(WriteOp* op, const Source* s, uint64_t there, WriteStep* step, WriteBlock* b,
                      Writer* w) noexcept nogil:
    """Write a value for each row that is ``there``, and null for others."""
    cdef uint64_t lacking = all_of(b) & ~there
    cdef bint optional = op.branch >= 0 or lacking != 0
    if op.kind >= WRITE_RECORD:
        if op.kind == WRITE_RECORD:
            return write_records(op, there, b, w)
        if op.kind == WRITE_MEMBERS:
            return write_all_members(op, there, step, b, w)
        if op.kind == WRITE_INDEXED:
            return write_all_indexed(op, s, there, step, b, w)
        return write_lists(op, s, there, b, w)
    if lacking and op.null_branch < 0:
        return op.null_branch == NO_BYTES
    return write_leaves(op, s, there, b, w, True) if optional else write_bare(op, s, b, w)


cdef bint write_bare(WriteOp* op, const Source* s, WriteBlock* b, Writer* w) noexcept nogil:
    """Write a value for each row, without a branch: a constant in each call, so that compilers make loops of both."""
    settle(b)
    return write_leaves(op, s, ~<uint64_t>0, b, w, False)


cdef inline bint write_leaves(WriteOp* op, const Source* s, uint64_t there, WriteBlock* b, Writer* w,
                              bint optional) noexcept nogil:
    if op.kind == WRITE_TEXT or op.kind == WRITE_BYTES:
        return (put_texts(op, s, there, b, w, optional, True) if w.medium[op.number]
                else put_texts(op, s, there, b, w, optional, False))
    elif op.kind == WRITE_LONG:
        put_numbers(op, s, there, b, True, optional)
    elif op.kind == WRITE_INT:
        put_numbers(op, s, there, b, False, optional)
    elif op.kind == WRITE_WHOLE:
        return (put_wholes(op, s, there, b, True, optional) if op.load == LOAD_I64 and op.by == 1000
                else put_wholes(op, s, there, b, False, optional))
    elif op.kind == WRITE_DOUBLE:
        put_doubles(op, s, there, b, optional)
    elif op.kind == WRITE_FLOAT:
        put_floats(op, s, there, b, optional)
    elif op.kind == WRITE_BOOLEAN:
        put_booleans(op, s, there, b, optional)
    else:
        return put_others(op, s, there, b, w, optional)
    return True


cdef bint write_one_by_one(WriteOp* op, WriteStep* step, WriteBlock* b, Writer* w) noexcept nogil:
    """The same for types without a loop of their own."""
    cdef int k
    for k in range(b.count):
        w.end = b.end[k] - b.left
        b.p[k] = write_values(&op, 1, 0, b.first + b.at[k], 0, step, step.index, b.p[k], w)
        if unlikely(b.p[k] is NULL):
            return False
    return True


# --- records and unions of them ---------------------------------------------------------------------------------------

cdef struct Chosen:             # some rows of a block as a block of their own
    WriteBlock block
    uint8_t row[BLOCK_ROWS]     # in the other block


cdef void choose(const WriteBlock* b, uint64_t rows, Chosen* out) noexcept nogil:
    cdef WriteBlock* some = &out.block
    cdef int k, j = 0
    while rows:
        k = sns_first_bit(rows)
        rows &= rows - 1
        some.p[j], some.end[j], some.at[j], out.row[j] = b.p[k], b.end[k], b.at[k], <uint8_t>k
        j += 1
    some.count, some.dense, some.first, some.left = j, False, b.first, b.left
    some.most_nulls = 0
    memset(some.nulls, 0, BLOCK_ROWS)


cdef void choose_with_nulls(WriteBlock* b, uint64_t rows, Chosen* out) noexcept nogil:
    """Choose rows for which a null too many was put off."""
    cdef uint8_t byte = b.null
    cdef int j, k
    choose(b, rows, out)
    for j in range(out.block.count):
        k = out.row[j]
        memset(out.block.p[j], byte, SNS_SHORT)
        out.block.p[j] += b.nulls[k] - 1
        b.nulls[k] = 0


cdef void put_back(Chosen* some, WriteBlock* b) noexcept nogil:
    cdef int j
    settle(&some.block)
    for j in range(some.block.count):
        b.p[some.row[j]] = some.block.p[j]


cdef bint write_records(WriteOp* op, uint64_t there, WriteBlock* b, Writer* w) noexcept nogil:
    cdef Chosen some
    there &= all_of(b)
    if not put_branches(op, there, b):
        return False
    if there == all_of(b):
        return write_fields(op, b, w)
    if there == 0:
        return True
    choose(b, there, &some)
    if not write_fields(op, &some.block, w):
        return False
    put_back(&some, b)
    return True


cdef bint write_fields(WriteOp* op, WriteBlock* b, Writer* w) noexcept nogil:
    cdef WriteStep* step = enter_write(op, w)
    cdef WriteOp* part
    cdef int i
    if step is NULL:
        return False
    b.left += op.room - 1
    for i in range(op.count):
        part, step.index = op.parts[i], i
        if part.bare and w.sources[part.source].slots.valid is NULL:
            b.left -= part.room
            if not write_bare(part, &w.sources[part.source], b, w):
                return False
        elif not write_field(part, step, b, w):
            return False
        sns_check_rooms(b.p, b.end, b.count, b.left)
    w.depth -= 1
    return True


cdef inline bint put_branches(const WriteOp* op, uint64_t there, WriteBlock* b) noexcept nogil:
    cdef uint8_t null = <uint8_t>(2 * op.null_branch), differs = <uint8_t>(null ^ 2 * op.branch)
    cdef int k
    if there == all_of(b):
        if op.branch >= 0:
            put_byte(<uint8_t>(2 * op.branch), b)
        return True
    if op.null_branch < 0:
        return False
    for k in range(b.count):
        b.p[k][0] = null ^ (differs & <uint8_t>-(there >> k & 1))
        b.p[k] += 1
    return True


cdef bint write_all_members(WriteOp* op, uint64_t there, WriteStep* step, WriteBlock* b, Writer* w) noexcept nogil:
    """Write the member of each row that is not null."""
    cdef uint64_t seen = 0, rows
    cdef const Source* member
    cdef Chosen some
    cdef int i
    there &= all_of(b)
    for i in range(op.count):
        prefetch_values(op.parts[i], member_rows(op.parts[i], there, b, w), b, w)
    for i in range(op.count):
        member = &w.sources[op.parts[i].source]
        rows = member_rows(op.parts[i], there, b, w)
        if unlikely(rows & seen):
            return False
        seen |= rows
        if rows == 0:
            continue
        choose(b, rows, &some)
        if not write_member(op.parts[i], member, step, &some.block, w):
            return False
        put_back(&some, b)
    return null_rows(op, all_of(b) & ~seen, b)


cdef inline uint64_t member_rows(const WriteOp* op, uint64_t there, const WriteBlock* b,
                                 const Writer* w) noexcept nogil:
    """The rows that have this member."""
    cdef const Source* s = &w.sources[op.source]
    if op.load == LOAD_NOTHING:
        return 0
    return there if s.slots.valid is NULL else there & valid_rows(s, b)


cdef void prefetch_values(const WriteOp* op, uint64_t rows, const WriteBlock* b, const Writer* w) noexcept nogil:
    """Ask for the slots of some rows in the columns of a record, before they are written.

    They are far apart and belong to many columns, so the processor does not foresee them, and would wait for each.
    """
    cdef const Source* s
    cdef const uint8_t* slots
    cdef uint64_t left
    cdef int i, width
    for i in range(op.count if op.kind == WRITE_RECORD else 0):
        s = &w.sources[op.parts[i].source]
        width = bytes_of_slot(op.parts[i], s)
        slots = s.slots.slots + (s.slots.offset + b.first) * width
        left = rows if width else 0
        while left:
            prefetch(slots + b.at[sns_first_bit(left)] * width)
            left &= left - 1


cdef inline int bytes_of_slot(const WriteOp* op, const Source* s) noexcept nogil:
    """Of numbers and of texts' offsets; 0 for other columns."""
    if op.load == LOAD_I64 or op.load == LOAD_DOUBLE:
        return 8
    if op.load == LOAD_I32 or op.load == LOAD_FLOAT or (op.load == LOAD_BYTES and s.slots.how == SMALL_OFFSETS):
        return 4
    return 16 if op.load == LOAD_128 else 0


cdef inline bint write_member(WriteOp* op, const Source* s, WriteStep* step, WriteBlock* b, Writer* w) noexcept nogil:
    if op.in_blocks and op.kind <= WRITE_RECORD and w.depth <= MOST_NESTED:
        return write_there(op, s, all_of(b), step, b, w)        # it is known that none is null
    b.left += op.room
    return write_field(op, step, b, w)


cdef bint null_rows(const WriteOp* op, uint64_t rows, WriteBlock* b) noexcept nogil:
    """Write null for some rows; False if null is not one of the branches."""
    cdef Chosen some
    if rows == 0:
        return True
    if op.null_branch < 0:
        return False
    choose(b, rows, &some)
    put_byte(<uint8_t>(2 * op.null_branch), &some.block)
    put_back(&some, b)
    return True


cdef bint write_all_indexed(WriteOp* op, const Source* s, uint64_t there, WriteStep* step, WriteBlock* b,
                            Writer* w) noexcept nogil:
    """Write the dictionary value that each row's index refers to."""
    cdef WriteOp* value = op.parts[0]
    cdef int64_t number = 0
    cdef Chosen some
    cdef int j
    there &= all_of(b)
    if there:
        choose(b, there, &some)
        for j in range(some.block.count):
            if not load_whole(s, op.load, b.first + some.block.at[j], &number) or number < 0 or number >= s.width:
                return False
            if number > INT32_MAX:
                return False
            some.block.at[j] = <int32_t>number
        some.block.first = 0
        some.block.left += value.room
        if not write_field(value, step, &some.block, w):
            return False
        put_back(&some, b)
    return null_rows(op, all_of(b) & ~there, b)


cdef inline void copy_over(uint8_t* to, const uint8_t* data, int64_t size) noexcept nogil:
    """Copy by COPIED bytes: up to SPILL more bytes are read and written."""
    cdef int64_t i = 0
    while i < size:
        memcpy(to + i, data + i, COPIED)
        i += COPIED
