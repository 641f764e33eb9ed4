# Logical types (Avro specification, "Logical Types"): dates, times, timestamps, decimals, UUIDs, durations.
#
# Datetimes go by calendar arithmetic in C. What Python's type cannot give back is refused when it is written, so that
# no message exists that only others can read; nothing is rounded but what a schema of milliseconds cannot hold.

cdef object UTC = get_utc()
cdef int64_t DAY = 86_400_000_000               # microseconds
cdef int64_t FIRST_DAY = -719_162               # 0001-01-01, in days since 1970-01-01
cdef int64_t LAST_DAY = 2_932_896               # 9999-12-31
cdef int MAX_DECIMAL_BYTES = 1_785              # 4,300 digits, where CPython stops to make ints from text
# Powers of these are Python ints: between C numbers they would overflow.
cdef object ONE = 1
cdef object TEN = 10


Duration = namedtuple("Duration", ["months", "days", "millis"])
Duration.__doc__ = "Avro's duration: three unsigned 32-bit counts that do not convert into each other."


cdef int write_logical(Node node, Writer* w, object value) except -1:
    cdef int kind = node.kind
    if kind == TIMESTAMP or kind == LOCAL_TIMESTAMP:
        return write_timestamp(node, w, value)
    elif kind == DATE:
        return write_date(w, value)
    elif kind == DECIMAL:
        return write_decimal(node, w, value)
    elif kind == UUID_TEXT or kind == UUID_FIXED:
        return write_uuid(node, w, value)
    elif kind == TIME:
        return write_time(node, w, value)
    elif kind == NANOS:
        return write_nanos(node, w, value)
    elif kind == BIG_DECIMAL:
        return write_big_decimal(w, value)
    return write_duration(w, value)


cdef object read_logical(Node node, Reader* r):
    cdef int kind = node.kind
    if kind == TIMESTAMP:
        return read_datetime(node, r, UTC)
    elif kind == DATE:
        return read_date(r)
    elif kind == DECIMAL:
        return read_decimal(node, r)
    elif kind == UUID_TEXT or kind == UUID_FIXED:
        return read_uuid(node, r)
    elif kind == LOCAL_TIMESTAMP:
        return read_datetime(node, r, None)
    elif kind == TIME:
        return read_time(node, r)
    elif kind == NANOS:
        return get_long(r)
    elif kind == BIG_DECIMAL:
        return read_big_decimal(r)
    return read_duration(r)


# --- timestamps: int64, milliseconds or microseconds since 1970-01-01T00:00 (UTC, or of no zone when local) -----------

cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    cdef int64_t q = a / b
    return q - 1 if a % b < 0 else q


cdef inline int64_t micros_of(object value) noexcept:
    """Microseconds of a datetime's own fields, its zone left aside."""
    cdef int64_t seconds = datetime_hour(value) * 3600 + datetime_minute(value) * 60 + datetime_second(value)
    return (sns_days_from_civil(datetime_year(value), datetime_month(value), datetime_day(value)) * DAY
            + seconds * 1_000_000 + datetime_microsecond(value))


cdef int64_t datetime_micros(Node node, Writer* w, object value, bint local) except? -1:
    """Microseconds since 1970: in UTC, or of the datetime's own clock when ``local``."""
    if not PyDateTime_CheckExact(value) and value != value:     # pandas.NaT, which is a datetime of year 1
        expected(node.label, value, "give None for a missing timestamp")
    if local:
        if datetime_tzinfo(value) is not None:
            expected(f"a datetime without a time zone for {node.label}", value)
        return micros_of(value)
    if datetime_tzinfo(value) is UTC:
        return micros_of(value)
    return zoned_micros(node, w, value)


cdef int write_timestamp(Node node, Writer* w, object value) except -1:
    if PyDateTime_Check(value):
        return put_long(w, floor_div(datetime_micros(node, w, value, node.kind == LOCAL_TIMESTAMP), node.micros))
    return put_long(w, raw_ticks(node, value))


cdef int64_t zoned_micros(Node node, Writer* w, object value) except? -1:
    """A datetime in another zone than UTC, or in none."""
    cdef int64_t micros
    offset = value.utcoffset()
    if offset is None:
        if not w.local_time:
            expected(f"a datetime with a time zone for {node.label}", value, "value.replace(tzinfo=timezone.utc), or "
                     "value.astimezone() if it is local time")
        offset = value.astimezone(UTC)      # by the rules of the machine's own zone, summer time included
        return micros_of(offset)
    micros = micros_of(value) - ((<int64_t>offset.days) * DAY + (<int64_t>offset.seconds) * 1_000_000
                                 + <int64_t>offset.microseconds)
    if not FIRST_DAY * DAY <= micros < (LAST_DAY + 1) * DAY:
        raise EncodeError(f"{node.label} {shorten(value)} is outside of the years 1 to 9999 in UTC")
    return micros


cdef int64_t raw_ticks(Node node, object value) except? -1:
    """An int stands for itself, if a reader in Python can make a datetime of it."""
    cdef int64_t number, per_day = DAY / node.micros
    if not PyIndex_Check(value):
        return expected(f"a datetime for {node.label}", value)
    number = as_long(value, node.label)
    if not FIRST_DAY * per_day <= number < (LAST_DAY + 1) * per_day:
        raise EncodeError(f"{node.label} {number} is outside of the years 1 to 9999")
    return number


cdef object read_datetime(Node node, Reader* r, object zone):
    cdef int64_t number = get_long(r), per_day = DAY / node.micros
    cdef int64_t days = floor_div(number, per_day), rest = (number - days * per_day) * node.micros
    cdef int year = 0, month = 0, day = 0, seconds
    if unlikely(days < FIRST_DAY or days > LAST_DAY):
        raise DecodeError(f"{node.label} {number} is outside of the years 1 to 9999 that datetime can hold")
    sns_civil_from_days(days, &year, &month, &day)
    seconds = <int>(rest / 1_000_000)
    return datetime_new(year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, <int>(rest % 1_000_000), zone)


cdef int write_nanos(Node node, Writer* w, object value) except -1:
    """An int of nanoseconds; a datetime too, whose microseconds are exact."""
    cdef int64_t micros
    if not PyDateTime_Check(value):
        return put_long(w, as_long(value, node.label))
    micros = datetime_micros(node, w, value, node.label == "local-timestamp-nanos")
    if not -9_223_372_036_854_775 <= micros <= 9_223_372_036_854_775:
        raise EncodeError(f"{node.label} {shorten(value)} does not fit 64 bits of nanoseconds (years 1677 to 2262)")
    return put_long(w, micros * 1000)


# --- date: int32, days since 1970-01-01 -------------------------------------------------------------------------------

cdef int write_date(Writer* w, object value) except -1:
    cdef int64_t days
    if PyDate_Check(value):
        if PyDateTime_Check(value):
            expected("date", value, "a datetime has a time of day as well: value.date()")
        return put_long(w, sns_days_from_civil(date_year(value), date_month(value), date_day(value)))
    if not PyIndex_Check(value):
        expected("date", value)
    days = as_long(value, "date")
    if not FIRST_DAY <= days <= LAST_DAY:
        raise EncodeError(f"date {days} is outside of the years 1 to 9999")
    return put_long(w, days)


cdef object read_date(Reader* r):
    cdef int64_t days = get_int(r)
    cdef int year = 0, month = 0, day = 0
    if unlikely(days < FIRST_DAY or days > LAST_DAY):
        raise DecodeError(f"date {days} is outside of the years 1 to 9999 that date can hold")
    sns_civil_from_days(days, &year, &month, &day)
    return date_new(year, month, day)


# --- time of day: int32 milliseconds or int64 microseconds since midnight ----------------------------------------------

cdef int write_time(Node node, Writer* w, object value) except -1:
    cdef int64_t number
    if PyTime_Check(value):
        if time_tzinfo(value) is not None:
            expected(f"a time without a time zone for {node.label}", value)
        number = (<int64_t>time_hour(value) * 3600 + time_minute(value) * 60 + time_second(value)) * 1_000_000
        return put_long(w, (number + time_microsecond(value)) / node.micros)
    if not PyIndex_Check(value):
        expected(f"a time for {node.label}", value)
    number = as_long(value, node.label)
    if not 0 <= number < DAY / node.micros:
        raise EncodeError(f"{node.label} {number} is no time of day")
    return put_long(w, number)


cdef object read_time(Node node, Reader* r):
    cdef int64_t number = get_int(r) if node.micros == 1000 else get_long(r)
    cdef int64_t seconds
    if unlikely(not 0 <= number < DAY / node.micros):
        raise DecodeError(f"{node.label} {number} is no time of day")
    number *= node.micros
    seconds = number / 1_000_000
    return time_new(<int>(seconds / 3600), <int>(seconds / 60 % 60), <int>(seconds % 60), <int>(number % 1_000_000), None)


# --- decimal: two's complement, big-endian, of the unscaled number -----------------------------------------------------

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
    """``unscaled`` in a fixed of ``size`` bytes; the schema's precision fits them, and so does the number."""
    cdef Py_ssize_t i
    room(w, size)
    for i in range(size):
        w.p[size - 1 - i] = <uint8_t>(unscaled >> (8 * i)) if i < 8 else (0xFF if unscaled < 0 else 0)
    w.p += size
    return 0


cdef bint quick_unscaled(Node node, object value, int64_t* out) except -1:
    """The unscaled number of a Decimal of up to 17 digits in plain notation; False for all others, errors included."""
    cdef Py_ssize_t i = 0, length
    cdef int64_t number = 0
    cdef int fraction = -1, digits = 0
    cdef const uint8_t* c
    if type(value) is not Decimal:
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
    """The unscaled number of any Decimal or int, or the error that says why it has none."""
    cdef str what = f"decimal({node.precision}, {node.scale})"
    sign, number, exponent = decimal_parts(what, value)
    shift = exponent + node.scale
    if number == 0:
        return 0
    if shift < 0:
        number, lost = divmod(number, TEN ** min(-shift, 5000))
        if lost:
            raise EncodeError(f"{what} cannot hold {shorten(value)}: it has more than {node.scale} decimal places",
                              hint="value.quantize() rounds it")
    elif shift <= node.precision:
        number *= TEN ** shift
    if shift > node.precision or number >= TEN ** node.precision:
        raise EncodeError(f"{what} cannot hold {shorten(value)}: it has more than {node.precision} digits")
    return -number if sign else number


cdef tuple decimal_parts(str what, object value):
    """(sign, digits as an int, exponent) of a finite Decimal or an int."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > 8 * MAX_DECIMAL_BYTES:
            raise EncodeError(f"{what} cannot hold {shorten(value)}")
        return value < 0, abs(value), 0
    if not isinstance(value, Decimal):
        expected(f"a Decimal for {what}", value, "Decimal(str(value)) keeps what a float shows")
    if not value.is_finite():
        raise EncodeError(f"{what} cannot hold {value}")
    sign, digits, exponent = value.as_tuple()
    if len(digits) > 4300:
        raise EncodeError(f"{what} cannot hold a number of {len(digits)} digits")
    return sign, int("".join(map(str, digits))), exponent


cdef int put_big_number(Node node, Writer* w, object unscaled) except -1:
    size = node.size if node.size >= 0 else (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    raw = unscaled.to_bytes(size, "big", signed=True)
    return put_bytes(w, PyBytes_AS_STRING(<PyObject*>raw), PyBytes_GET_SIZE(raw), node.size)


cdef object read_decimal(Node node, Reader* r):
    cdef Py_ssize_t i, size = node.size if node.size >= 0 else get_size(r)
    cdef const uint8_t* p = take(r, size)
    cdef int64_t unscaled
    cdef char text[48]
    if size > 8 or size == 0:
        return big_decimal_of(node, p, size)
    unscaled = -1 if p[0] & 0x80 else 0
    for i in range(size):
        unscaled = <int64_t>((<uint64_t>unscaled << 8) | p[i])
    if node.precision < 19 and not -POWERS[node.precision] < unscaled < POWERS[node.precision]:
        too_precise(node)
    return Decimal(sns_new_str(<const uint8_t*>text, sns_decimal_text(text, unscaled, node.scale)))


cdef object big_decimal_of(Node node, const uint8_t* p, Py_ssize_t size):
    # Bytes beyond what the precision needs may only repeat the sign; so cost is bounded by the schema, not the message.
    cdef Py_ssize_t limit = min(<Py_ssize_t>(node.precision // 2 + 1), MAX_DECIMAL_BYTES)
    cdef uint8_t sign = 0xFF if size and p[0] & 0x80 else 0
    if size == 0:
        raise DecodeError("expected a decimal, got no bytes")
    while size > limit and p[0] == sign:
        p += 1
        size -= 1
    if size > limit:
        too_precise(node)
    unscaled = int.from_bytes((<char*>p)[:size], "big")
    if sign:
        unscaled -= ONE << (8 * size)
    if abs(unscaled) >= TEN ** node.precision:
        too_precise(node)
    return Decimal(f"{unscaled}E-{node.scale}")


cdef int too_precise(Node node) except -1:
    raise DecodeError(f"expected a decimal of at most {node.precision} digits, got more")


# --- big-decimal: bytes that hold the unscaled number as bytes, then the scale as int ----------------------------------

cdef int write_big_decimal(Writer* w, object value) except -1:
    cdef uint8_t tail[10]
    cdef uint8_t head[10]
    cdef Py_ssize_t head_size, tail_size
    sign, number, exponent = decimal_parts("big-decimal", value)
    if not -(1 << 31) < exponent < 1 << 31:
        raise EncodeError(f"big-decimal cannot hold an exponent of {exponent}")
    number = -number if sign else number
    raw = number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
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
    r.end = r.p + size          # what is inside may not read beyond its own bytes
    size = get_size(r)
    if size == 0 or size > MAX_DECIMAL_BYTES:
        raise DecodeError(f"expected a big-decimal of 1 to {MAX_DECIMAL_BYTES} bytes, got {size}")
    p = take(r, size)
    scale = get_int(r)
    if r.p != r.end:
        raise DecodeError(f"expected the big-decimal to end, got {r.end - r.p} more bytes")
    r.end = outer_end
    return Decimal(f"{int.from_bytes((<char*>p)[:size], 'big', signed=True)}E{-scale}")


# --- uuid: text of RFC 4122, or 16 bytes, big-endian --------------------------------------------------------------------

cdef int write_uuid(Node node, Writer* w, object value) except -1:
    cdef uint64_t high, low
    cdef char text[36]
    cdef int i
    if not isinstance(value, UUID):
        value = uuid_of(node, value)
    number = value.int
    high = PyLong_AsUnsignedLongLongMask(number >> 64)
    low = PyLong_AsUnsignedLongLongMask(number)
    if node.kind == UUID_TEXT:
        sns_uuid_text(text, high, low)
        return put_sized(w, text, 36)
    room(w, 16)
    for i in range(8):
        w.p[i] = <uint8_t>(high >> (56 - 8 * i))
        w.p[8 + i] = <uint8_t>(low >> (56 - 8 * i))
    w.p += 16
    return 0


cdef object uuid_of(Node node, object value):
    try:
        if isinstance(value, str):
            return UUID(value)
        if node.kind == UUID_FIXED and isinstance(value, (bytes, bytearray)):
            return UUID(bytes=bytes(value))
    except ValueError:
        raise EncodeError(f"expected uuid, got {shorten(value)}, which is none") from None
    expected("uuid", value)


cdef object read_uuid(Node node, Reader* r):
    cdef uint64_t high = 0, low = 0
    cdef Py_ssize_t size
    cdef const uint8_t* p
    if node.kind == UUID_FIXED:
        p = take(r, 16)
        high, low = <uint64_t>sns_get_i64be(p), <uint64_t>sns_get_i64be(p + 8)
    else:
        size = get_size(r)
        p = take(r, size)
        if size != 36 or not sns_parse_uuid(p, &high, &low):
            return unusual_uuid(sns_new_str(p, size))
    # What UUID.__init__ does, without its checks of six kinds of argument: 150 ns in place of 700.
    uuid = UUID.__new__(UUID)
    PyObject_GenericSetAttr(uuid, "int", (<object>high) << 64 | low)
    PyObject_GenericSetAttr(uuid, "is_safe", UUID_SAFETY)
    return uuid


cdef object unusual_uuid(str text):
    try:
        return UUID(text)           # without dashes, in braces, as a URN
    except ValueError:
        raise DecodeError(f"expected uuid, got {shorten(text)}, which is none") from None


# --- duration: three unsigned 32-bit little-endian numbers ---------------------------------------------------------------

cdef int write_duration(Writer* w, object value) except -1:
    cdef uint32_t parts[3]
    cdef int64_t number
    cdef int i
    if not isinstance(value, (tuple, list)) or len(value) != 3:
        expected("duration", value, "give streamnative_serdes.codec.Duration(months, days, millis)")
    for i in range(3):
        number = as_long(value[i], "duration")
        if not 0 <= number <= 0xFFFFFFFF:
            raise EncodeError(f"duration: {number} is outside of 0 to 4294967295")
        parts[i] = <uint32_t>number
    room(w, 12)
    for i in range(3):
        sns_put_u32le(w.p + 4 * i, parts[i])
    w.p += 12
    return 0


cdef object read_duration(Reader* r):
    cdef const uint8_t* p = take(r, 12)
    return Duration(sns_get_u32le(p), sns_get_u32le(p + 4), sns_get_u32le(p + 8))
