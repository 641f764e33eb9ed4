# Decimals: encodes and decodes up to 17 digits by 64-bit arithmetic, and longer ones exactly by Python ints.

# Powers are computed as Python ints, since C integers would overflow.
cdef object ONE = 1
cdef object TEN = 10
cdef object TOO_LONG = TEN ** 4_300
# C variables: from Python 3.12 on, globals are looked up on each use.
cdef object DECIMAL_TYPE = Decimal
cdef object CURRENT_CONTEXT = getcontext

# Multiplying an int by one of these is the fastest way to create a Decimal: parsing text takes more than twice as long.
cdef enum:
    SCALES = 64
cdef tuple UNITS = tuple([Decimal((0, (1,), -scale)) for scale in range(SCALES)])
# Descriptors of a context's precision, Emax and Emin; empty where decimal is the pure Python module.
cdef tuple CONTEXT = (Context.prec, Context.Emax, Context.Emin) if hasattr(Context, "prec") else ()


# --- decimal: two's complement, big-endian, of the unscaled number ---------------------------------------------------

cdef int write_decimal(Node node, Writer* w, object value) except -1:
    cdef int64_t unscaled = 0
    cdef uint8_t raw[8]
    cdef int i, size = 1
    if not quick_unscaled(node, value, &unscaled):
        return put_big_number(node, w, exact_unscaled(node, value))
    while size < 8 and not -(<int64_t>1 << (8 * size - 1)) <= unscaled < (<int64_t>1 << (8 * size - 1)):
        size += 1
    if node.size >= 0:
        return put_padded(w, unscaled, node.size)
    for i in range(size):
        raw[i] = <uint8_t>(unscaled >> (8 * (size - 1 - i)))
    return put_sized(w, raw, size)


cdef int put_padded(Writer* w, int64_t unscaled, Py_ssize_t size) except -1:
    """Write ``unscaled`` as a fixed of ``size`` bytes. It fits: the parser checked that the precision does."""
    cdef Py_ssize_t i
    room(w, size)
    for i in range(size):
        w.p[size - 1 - i] = <uint8_t>(unscaled >> (8 * i)) if i < 8 else (0xFF if unscaled < 0 else 0)
    w.p += size
    return 0


cdef bint quick_unscaled(Node node, object value, int64_t* out) except -1:
    """Fast path: the unscaled number of a Decimal of up to 17 digits in plain notation; False for everything else."""
    cdef Py_ssize_t i = 0, length
    cdef int64_t number = 0
    cdef int fraction = -1, digits = 0
    cdef const uint8_t* c
    if type(value) is not DECIMAL_TYPE:
        return False
    text = str(value)
    length = PyUnicode_GET_LENGTH(text)
    c = <const uint8_t*>PyUnicode_DATA(text)        # a Decimal's text is ASCII
    if c[0] == c"-":
        i = 1
    while i < length:
        if c[i] == c".":
            fraction = 0
        elif c"0" <= c[i] <= c"9" and digits < 17:
            number = number * 10 + (c[i] - c"0")
            digits += number != 0
            fraction += fraction >= 0
        else:
            return False
        i += 1
    fraction = max(fraction, 0)
    if fraction > node.scale or digits + node.scale - fraction > min(node.precision, 17):
        return False
    while fraction < node.scale:
        number *= 10
        fraction += 1
    out[0] = -number if c[0] == c"-" else number
    return True


cdef object exact_unscaled(Node node, object value):
    """Return the unscaled number of any Decimal or int. Raises EncodeError if the schema's type cannot hold it."""
    cdef str what = f"decimal({node.precision}, {node.scale})"
    sign, number, exponent = decimal_parts(what, value)
    shift = exponent + node.scale
    if number == 0:
        return 0
    if shift < 0:
        number, lost = divmod(number, TEN ** min(-shift, 5000))
        if lost:
            raise EncodeError(f"{what} cannot hold {shorten(value)}: it has more than {node.scale} decimal places",
                              hint="round it with value.quantize()")
    elif shift <= node.precision:
        number *= TEN ** shift
    if shift > node.precision or number >= TEN ** node.precision:
        raise EncodeError(f"{what} cannot hold {shorten(value)}: it has more than {node.precision} digits")
    return -number if sign else number


cdef tuple decimal_parts(str what, object value):
    """(sign, digits as an int, exponent) of a finite Decimal or an int."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = PyNumber_Index(value)           # a subclass may override arithmetic
        if not -TOO_LONG < value < TOO_LONG:
            raise EncodeError(f"{what} cannot hold {shorten(value)}")
        return value < 0, abs(value), 0
    if not isinstance(value, Decimal):
        expected(f"a Decimal for {what}", value, "for a float, pass Decimal(str(value))")
    if not value.is_finite():
        raise EncodeError(f"{what} cannot hold {value}")
    sign, digits, exponent = value.as_tuple()
    if len(digits) > 4300:
        raise EncodeError(f"{what} cannot hold a number of {len(digits)} digits")
    return sign, int("".join(map(str, digits))), exponent


cdef int put_big_number(Node node, Writer* w, object unscaled) except -1:
    size = node.size if node.size >= 0 else (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    cdef bytes raw = unscaled.to_bytes(size, "big", signed=True)
    return put_bytes(w, PyBytes_AS_STRING(<PyObject*>raw), PyBytes_GET_SIZE(raw), node.size)


cdef object read_decimal(Node node, Reader* r):
    cdef PyObject* made
    cdef Py_ssize_t size
    if r.exact < 0:
        r.exact = is_exact_context()
        made = read_small_decimal(<Plan>node, r, r.p)
        if made is not NULL:
            return given(made)
    size = node.size if node.size >= 0 else get_size(r)
    return decimal_of(node, take(r, size), size)


cdef PyObject* read_small_decimal(Plan plan, Reader* r, const uint8_t* p) noexcept:
    """Read a decimal of up to 8 bytes as a product; for others return NULL and read nothing (see read_quickly)."""
    cdef uint64_t number = 0
    cdef Py_ssize_t size = (<Node>plan).size, scale = (<Node>plan).scale
    cdef int64_t unscaled
    cdef PyObject* made
    if r.exact <= 0 or scale >= SCALES:
        return NULL
    if size < 0:
        p = sns_get_varint(p, r.end, &number)
        size = <Py_ssize_t>(number >> 1) if p is not NULL and number < 17 and not number & 1 else 0
    if size == 0 or size > 8 or size > r.end - p:
        return NULL
    unscaled = sns_get_signed(p, <int>size)
    made = sns_if_made(sns_product(PyTuple_GET_ITEM(UNITS, scale), unscaled))
    if made is not NULL:
        r.p = p + size
    return made


cdef bint is_exact_context() except -1:
    """Whether the product of a unit and a 64-bit int is exact under the thread's decimal context.

    Checked once per message: in between, only a finalizer run by the garbage collector could change the context.
    """
    cdef Py_ssize_t prec
    if not CONTEXT:
        return False
    context = CURRENT_CONTEXT()
    prec = sns_number_at(CONTEXT[0], context)
    return prec >= 19 and sns_number_at(CONTEXT[1], context) >= prec and sns_number_at(CONTEXT[2], context) <= -SCALES


cdef object decimal_of(Node node, const uint8_t* p, Py_ssize_t size):
    # As in Java, the precision is not checked: not all producers do. Our own limit bounds the cost; bytes beyond it may
    # only repeat the sign.
    cdef uint8_t sign = 0xFF if size and p[0] & 0x80 else 0
    if size == 0:
        raise DecodeError("expected a decimal, got no bytes")
    while size > MAX_DECIMAL_BYTES and p[0] == sign:
        p += 1
        size -= 1
    if size > MAX_DECIMAL_BYTES:
        too_long()
    unscaled = int.from_bytes((<char*>p)[:size], "big")
    if sign:
        unscaled -= ONE << (8 * size)
    if abs(unscaled) >= TOO_LONG:
        too_long()
    return Decimal(f"{unscaled}E-{node.scale}")


cdef int too_long() except -1:
    raise DecodeError("expected a decimal of at most 4300 digits, got more")


# --- big-decimal: bytes that hold the unscaled number as bytes, then the scale as int --------------------------------

cdef int write_big_decimal(Writer* w, object value) except -1:
    cdef uint8_t tail[10]
    cdef uint8_t head[10]
    cdef Py_ssize_t head_size, tail_size
    sign, number, exponent = decimal_parts("big-decimal", value)
    if not -(1 << 31) < exponent <= 1 << 31:        # the scale is the negated exponent, and has 32 bits
        raise EncodeError(f"big-decimal cannot hold an exponent of {exponent}")
    number = -number if sign else number
    cdef bytes raw = number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
    head_size = sns_put_varint(head, sns_zigzag(PyBytes_GET_SIZE(raw))) - head
    tail_size = sns_put_varint(tail, sns_zigzag(-<int64_t>exponent)) - tail
    put_long(w, head_size + PyBytes_GET_SIZE(raw) + tail_size)
    put_raw(w, head, head_size)
    put_raw(w, PyBytes_AS_STRING(<PyObject*>raw), PyBytes_GET_SIZE(raw))
    return put_raw(w, tail, tail_size)


cdef object read_big_decimal(Reader* r):
    cdef Py_ssize_t size = get_size(r)
    cdef const uint8_t* outer_end = r.end
    cdef const uint8_t* p
    cdef int64_t scale
    r.end = r.p + size          # reads inside must stay within these bytes
    size = get_size(r)
    if size == 0 or size > MAX_DECIMAL_BYTES:
        raise DecodeError(f"expected a big-decimal of 1 to {MAX_DECIMAL_BYTES} bytes, got {size}")
    p = take(r, size)
    scale = get_int(r)
    if r.p != r.end:
        raise DecodeError(f"expected the end of the big-decimal, got {r.end - r.p} more bytes")
    r.end = outer_end
    return Decimal(f"{int.from_bytes((<char*>p)[:size], 'big', signed=True)}E{-scale}")
