# Converts fault codes, recorded without the GIL, to the same errors that the object codec raises.

cdef enum Fault:
    BAD_NUMBER = OVERFLOW + 1
    BAD_SIZE
    CUT_OFF
    BAD_BOOLEAN
    BAD_BRANCH
    NO_SYMBOL
    BAD_TEXT
    BAD_UUID
    BAD_UNIT
    OUT_OF_RANGE
    EMPTY_DECIMAL
    LONG_DECIMAL
    BAD_BIG_DECIMAL
    LONG_BIG_DECIMAL
    BAD_BLOCK
    BAD_BLOCK_END
    TOO_FEW_BYTES
    TOO_DEEP
    TOO_MANY_EMPTY
    TOO_MANY_ITEMS
    TOO_MANY_SLOTS
    MISMATCH
    TRAILING
    BAD_WIDTH
    NO_TIME_OF_DAY
    NO_LENGTH
    BAD_LENGTH
    MORE_BYTES
    NULL_VALUE                  # from here on: writing only
    HUGE_NUMBER
    HUGE_FLOAT
    LOSSY
    LOSSY_DECIMAL
    TOO_FINE
    TWO_MEMBERS
    BAD_INDEX
    LONG_HALF

# Fault -> (message, hint); ``a`` and ``b`` are the numbers recorded with the fault.
FAULTS = {
    BAD_SIZE: ("expected a length from 0 to {b}, the number of remaining bytes, got {a}", None),
    CUT_OFF: ("expected {a} bytes, got {b}: the message is truncated or of another schema", None),
    BAD_BOOLEAN: ("expected byte 0 or 1 for a boolean, got {a}", None),
    EMPTY_DECIMAL: ("expected a decimal, got no bytes", None),
    LONG_DECIMAL: ("expected a decimal of at most {a} digits, got more",
                   "the column cannot hold it; read objects, or give a reader's schema of a higher precision"),
    BAD_BIG_DECIMAL: (f"expected a big-decimal of 1 to {MAX_DECIMAL_BYTES} bytes, got {{a}}", None),
    LONG_BIG_DECIMAL: ("expected the end of the big-decimal, got {a} more bytes", None),
    BAD_BLOCK: ("expected a block of at most the {left} remaining bytes, got a block of {b} bytes (item count {a})",
                None),
    BAD_BLOCK_END: ("the items of an array or map block do not end at the block's declared size", None),
    TOO_FEW_BYTES: ("expected {a} items of at least {b} bytes each, but only {left} bytes remain", None),
    TOO_DEEP: ("the message is nested deeper than {depth} levels", "the option max.depth sets the limit"),
    TOO_MANY_EMPTY: ("the message holds too many zero-byte values", "the option max.empty.values sets the limit"),
    TOO_MANY_ITEMS: ("the message holds too many items", "the option max.items sets the limit"),
    TOO_MANY_SLOTS: ("the items of the message take far more slots in columns than the message has bytes",
                     "the option max.items sets the limit; a null record takes a slot in each column of its fields"),
    TRAILING: ("expected the end of the message, got {a} more bytes", "it was probably written with another schema"),
    NO_TIME_OF_DAY: ("{a} nanoseconds since midnight are not a time of day", None),
    MORE_BYTES: ("expected the message to end after the value, got {a} more bytes", None),
    OVERFLOW: ("the message has more text, bytes or items in one column than 32-bit offsets can count",
               "large_types=True uses 64-bit offsets, which Spark does not accept"),
}

# Fault -> message, when the message alone would fit, but the batch does not.
BATCH_FAULTS = {
    OVERFLOW: "the batch has more text, bytes or items in one column than 32-bit offsets can count",
    TOO_MANY_SLOTS: "the items of the batch take far more slots in columns than its messages have bytes",
}


cdef object batch_too_large(str text, int64_t row, str path):
    error = BatchTooLargeError(text, path=path, hint="split the batch with streamnative_serdes.arrow.in_parts")
    error.row = row
    return error


cdef object decode_error(Plan plan, Reader* r, const uint8_t* start):
    """Return the error for the fault in ``r``, with path and byte offset. ``start`` is the message's first byte."""
    error = fault_error(plan, r)
    error.path = path_of(plan, r.steps, r.depth)
    error.offset = r.p - start
    return error


cdef object fault_error(Plan plan, Reader* r):
    cdef int64_t a = r.a, b = r.b
    cdef str label
    if r.fault in FAULTS:
        text, hint = FAULTS[r.fault]
        return DecodeError(text.format(a=a, b=b, left=r.end - r.p, depth=r.max_depth), hint=hint)
    if r.fault == NO_LENGTH:
        return DecodeError(f"expected the length of the {half_of(r)} in {LENGTH_SIZE} bytes, got {a}")
    if r.fault == BAD_LENGTH:
        return DecodeError(f"expected a length from -1 to {b} for the {half_of(r)}, got {a}")
    if r.fault == BAD_NUMBER:
        return DecodeError(why_bad_varint(r.p, r.end, a))
    if r.fault == BAD_BRANCH:
        return DecodeError(f"expected a union branch index from 0 to {b - 1}, got {a}")
    if r.fault == BAD_TEXT or r.fault == BAD_UUID:
        return bad_text((<char*>r.text)[:a])
    label = plan.labels[r.op.number]    # only the faults below have an op: else it may be that of another plan
    if r.fault == NO_SYMBOL:
        return no_symbol(plan, r.op, label, a)
    if r.fault == BAD_WIDTH:
        return DecodeError(f"expected {a} bytes for {label}, got {b}")
    if r.fault == BAD_UNIT:
        return DecodeError(f"{label}: {a} is too large for the reader's unit")
    if r.fault == OUT_OF_RANGE:
        return DecodeError(f"{label} {a} is {out_of_range(label)}", hint=to_numbers(label))
    return DecodeError(plan.notes[r.op.number])             # MISMATCH


cdef str half_of(Reader* r):
    """The half of a KEY_VALUE message that is being read."""
    return "key" if r.steps[0].index == OF_KEY else "value"


cdef object no_symbol(Plan plan, Op* op, str label, int64_t index):
    if 0 <= index < op.member:
        return DecodeError(f"the reader's {label} has no symbol {quoted(plan.notes[op.number][index])}",
                           hint="add the symbol to the reader's enum, or give the enum a default")
    return DecodeError(f"expected a symbol index of {label} from 0 to {op.member - 1}, got {index}")


cdef object bad_text(bytes data):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return DecodeError(f"expected text in UTF-8: {error.reason} in {quoted(data)}")
    return DecodeError(f"expected uuid, got {quoted(text)}, which is not a valid UUID")


cdef str to_numbers(str label):
    """The hint for a number beyond dates and times. Pulsar's own types, in capitals, get no hint."""
    return None if label.isupper() else TO_NUMBERS


cdef str out_of_range(str label):
    if label.startswith("time-") or label == "LOCAL_TIME":
        return "not a time of day"
    if label in ("INSTANT", "LOCAL_DATE_TIME"):
        return "outside of the years 1677 to 2262 that 64 bits of nanoseconds can hold"
    return f"outside of the years 1 to 9999 that {'date' if label.endswith(('date', '_DATE')) else 'datetime'} can hold"
