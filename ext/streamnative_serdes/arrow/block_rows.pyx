# Decodes what only some of the rows of a block have (blocks.pyx): records that may be null, the branches of unions, and
# fields in runs of null.
#
# Where a record is null in some rows, the others make a block of their own. They append to the columns below without
# gaps, as these are while they grow (columns.pyx).

cdef inline uint64_t all_rows(const Block* b) noexcept nogil:
    return (<uint64_t>-1) >> (BLOCK_ROWS - b.count)


cdef void take_rows(Block* out, const Block* b, uint64_t rows) noexcept nogil:
    """Make a block of the rows of ``b`` whose bits are set in ``rows``."""
    cdef int k, count = 0
    out.counted, out.left = b.counted, b.left
    while rows:
        k = sns_first_bit(rows)
        out.p[count], out.end[count], out.row[count] = b.p[k], b.end[k], b.row[k]
        count += 1
        rows &= rows - 1
    out.count = count


cdef void give_back(const Block* taken, Block* b, uint64_t rows) noexcept nogil:
    """Set how far the rows were read that take_rows() took."""
    cdef int count = 0
    while rows:
        b.p[sns_first_bit(rows)] = taken.p[count]
        count += 1
        rows &= rows - 1


cdef bint read_some_records(Op* op, Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    """Append a record for each row that is not null, and null for the others."""
    cdef Block there
    cdef uint64_t rows = ~nulls & all_rows(b)
    take_rows(&there, b, rows)
    if not read_fields_of_all(op, &there, r):
        return False
    give_back(&there, b, rows)
    return put_structs(c, b.count, nulls)


cdef bint put_structs(Column* c, int count, uint64_t nulls) noexcept nogil:
    """Append ``count`` slots of a struct, whose children have theirs."""
    if not has_slots(c, count):
        return False
    c.length += count
    return nulls == 0 or mark_nulls(c, c.length - count, count, nulls)


cdef bint put_nulls_of_all(Column* c, int count) noexcept nogil:
    """Append ``count`` nulls, up to a block of them."""
    cdef int64_t first = c.length
    cdef int k
    if not has_slots(c, count):
        return False
    if c.storage == FIXED_WIDTH:
        memset(c.data + first * c.width, 0, count * c.width)
    elif c.storage == VARIABLE or c.storage == LIST:
        for k in range(count):
            put_offset(c.offsets, c.large, first + k + 1, offset_of(c, first))
    c.length += count
    return mark_nulls(c, first, count, (<uint64_t>-1) >> (BLOCK_ROWS - count))


cdef bint read_unions(Op* op, Column* c, uint64_t nulls, Step* step, Block* b, Reader* r) noexcept nogil:
    """Append a struct with a member for each branch, or null for null; ``nulls`` are null before."""
    cdef Block there
    cdef uint64_t rows
    cdef int k
    for k in range(b.count if op.null_branch >= 0 else 0):
        if not nulls >> k & 1 and b.p[k] < r.limit and b.p[k][0] == 2 * op.null_branch:
            nulls |= <uint64_t>1 << k
            b.p[k] += 1
    if nulls == 0:
        return read_members(op, c, step, b, r) and put_structs(c, b.count, 0)
    rows = ~nulls & all_rows(b)
    if rows:
        take_rows(&there, b, rows)
        if not read_members(op, c, step, &there, r):
            return False
        give_back(&there, b, rows)
    return put_structs(c, b.count, nulls)


cdef bint read_members(Op* op, Column* c, Step* step, Block* b, Reader* r) noexcept nogil:
    """Append to the member of each row's branch, and nulls to the others."""
    cdef uint64_t[BLOCK_ROWS] rows      # of each branch
    cdef int64_t before = c.length - c.nulls
    cdef const uint8_t* p
    cdef int i, k
    memset(rows, 0, op.count * sizeof(uint64_t))
    for k in range(b.count):
        p = b.p[k]
        if unlikely(p >= r.limit or p[0] & 0x81 or p[0] >> 1 >= op.count):
            return False
        rows[p[0] >> 1] |= <uint64_t>1 << k
        b.p[k] = p + 1
    for i in range(op.count):
        if op.parts[i].kind != READ_MEMBER:
            if rows[i]:
                return False
        elif not read_field_of_all(op.parts[i].parts[0], &c.children[op.parts[i].member], ~rows[i] & all_rows(b), step,
                                   b, r):
            return False
    for i in range(c.count):            # members that the writer has no branch for
        if c.children[i].length == before and not put_nulls_of_all(&c.children[i], b.count):
            return False
    return True


# --- runs of null -----------------------------------------------------------------------------------------------------
#
# Where most of many neighbouring fields are null, each row goes from one that is not to the next, past eight nulls at a
# time; and only those rows are looked at that have a value.

cdef int read_run(Op* op, int first, Step* step, Block* b, Reader* r) noexcept nogil:
    """Read the optional fields from ``first`` on. Returns how many; 0: too few are null; -1: the block is refused."""
    cdef uint64_t[MOST_RUN + 1] rows    # those whose next field with a value it is
    cdef int count = min(op.parts[first].run, <int>MOST_RUN), i
    cdef Op* part
    if not find_values(op, first, count, rows, b, r.limit):
        return 0
    for i in range(count):
        part = op.parts[first + i]
        step.index = first + i
        if rows[i] and not pass_branches(<uint8_t>(2 - 2 * part.null_index), rows[i], b, r.limit):
            return -1
        if not read_field_of_all(part, &r.columns[part.column], ~rows[i] & all_rows(b), step, b, r):
            return -1
        if rows[i]:
            pass_nulls(op.nulls + first, i + 1, count, rows, rows[i], b, r.limit)
    return count


cdef bint find_values(const Op* op, int first, int count, uint64_t* rows, Block* b,
                      const uint8_t* limit) noexcept nogil:
    """Pass the nulls before the first value of each row, if they are many. Returns whether they are."""
    cdef const uint8_t* before[BLOCK_ROWS]
    cdef int64_t passed = 0
    cdef int k
    memcpy(before, b.p, b.count * sizeof(before[0]))
    memset(rows, 0, (count + 1) * sizeof(uint64_t))
    pass_nulls(op.nulls + first, 0, count, rows, all_rows(b), b, limit)
    for k in range(b.count):
        passed += b.p[k] - before[k]
    if passed >= 2 * b.count:
        return True
    memcpy(b.p, before, b.count * sizeof(before[0]))
    return False


cdef void pass_nulls(const uint8_t* nulls, int i, int count, uint64_t* rows, uint64_t chosen, Block* b,
                     const uint8_t* limit) noexcept nogil:
    """Let each of the ``chosen`` rows, which are at field ``i``, go on to its next value, or behind the last field.

    ``nulls`` has the byte of null for each of the fields, and 8 bytes more.
    """
    cdef int k, next
    while chosen:
        k = sns_first_bit(chosen)
        next = i + sns_same_until(b.p[k], limit, nulls + i, count - i)
        rows[next] |= <uint64_t>1 << k
        b.p[k] += next - i
        chosen &= chosen - 1


cdef bint pass_branches(uint8_t branch, uint64_t chosen, Block* b, const uint8_t* limit) noexcept nogil:
    """Pass the index of the branch that is not null; False if there is something else in one of the rows."""
    cdef int k
    while chosen:
        k = sns_first_bit(chosen)
        if unlikely(b.p[k] >= limit or b.p[k][0] != branch):
            return False
        b.p[k] += 1
        chosen &= chosen - 1
    return True
