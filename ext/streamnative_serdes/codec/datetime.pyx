# Dates, times of day and timestamps: encodes and decodes them with the calendar arithmetic of calendar.h.

cdef object UTC = get_utc()
cdef str TO_TRUNCATE = "truncate.times=true drops them"


# --- timestamps: int64, milliseconds or microseconds since 1970-01-01T00:00 (UTC; no zone when local) ----------------

cdef inline int64_t micros_of(object value) noexcept:
    """Microseconds since 1970 of a datetime's fields, ignoring its time zone."""
    cdef int64_t seconds = datetime_hour(value) * 3600 + datetime_minute(value) * 60 + datetime_second(value)
    return (sns_days_of_date(datetime_year(value), datetime_month(value), datetime_day(value)) * DAY
            + seconds * 1_000_000 + datetime_microsecond(value))


cdef int64_t datetime_micros(Node node, Writer* w, object value, bint local) except? -1:
    """Microseconds since 1970: in UTC, or by the datetime's own fields when ``local``."""
    if not PyDateTime_CheckExact(value):
        check_subclass(node, value)
    if local:
        if datetime_tzinfo(value) is not None:
            expected(f"a datetime without a time zone for {node.label}", value)
        return micros_of(value)
    if datetime_tzinfo(value) is UTC:
        return micros_of(value)
    return zoned_micros(node, w, value)


cdef int check_subclass(Node node, object value) except -1:
    """Refuse what a subclass of datetime is and a timestamp is not: no value, or one finer than a microsecond."""
    if value != value:                  # pandas.NaT, which is a datetime of year 1
        expected(f"a datetime for {node.label}", value)
    if node.kind != NANOS and not node.truncates and getattr(value, "nanosecond", 0):
        raise EncodeError(f"{node.label} cannot hold the nanoseconds of {shorten(value)}", hint=TO_TRUNCATE)
    return 0


cdef int write_timestamp(Node node, Writer* w, object value) except -1:
    cdef int64_t micros
    if not PyDateTime_Check(value):
        return put_long(w, raw_ticks(node, value))
    micros = datetime_micros(node, w, value, node.kind == LOCAL_TIMESTAMP)
    return put_long(w, floor_div(micros, 1000) if node.micros == 1000 else micros)      # a constant divides quicker


cdef int64_t zoned_micros(Node node, Writer* w, object value) except? -1:
    """Microseconds of a datetime whose time zone is not UTC, or that has none."""
    cdef int64_t micros
    offset = value.utcoffset()
    if offset is None:
        if not w.local_time:
            expected(f"a datetime with a time zone for {node.label}", value, "value.replace(tzinfo=timezone.utc), or "
                     "value.astimezone() if it is local time")
        return in_range(node, value, local_micros(value))
    if type(offset) is not datetime.timedelta or not -1 <= offset.days <= 0:
        expected("a timedelta of less than a day from utcoffset()", offset)
    micros = micros_of(value) - ((<int64_t>offset.days) * DAY + (<int64_t>offset.seconds) * 1_000_000
                                 + <int64_t>offset.microseconds)
    return in_range(node, value, micros)


cdef int64_t local_micros(object value) except? -1:
    """Microseconds of a datetime in this machine's local time, daylight saving included."""
    cdef int64_t days = 0
    try:
        moved = value.astimezone(UTC)
    except (OverflowError, ValueError):
        if not PyDateTime_CheckExact(value):
            raise
        # Within a day of the first or the last moment, since astimezone() looks at the days before and after.
        days = 2 if value.year == 1 else -2
        moved = (value + datetime.timedelta(days)).astimezone(UTC)
    if not PyDateTime_Check(moved):
        expected("a datetime from astimezone()", moved)
    return micros_of(moved) - days * DAY


cdef int64_t in_range(Node node, object value, int64_t micros) except? -1:
    if not FIRST_DAY * DAY <= micros < (LAST_DAY + 1) * DAY:
        raise EncodeError(f"{node.label} {shorten(value)} is outside of the years 1 to 9999 in UTC", hint=TO_NUMBERS)
    return micros


cdef int64_t raw_ticks(Node node, object value) except? -1:
    """Accept an int as the encoded number, if datetime can hold it, so that Python can read it back."""
    cdef int64_t number, per_day = DAY / node.micros
    if not PyIndex_Check(value):
        return expected(f"a datetime for {node.label}", value)
    number = as_long(value, node.label)
    if not FIRST_DAY * per_day <= number < (LAST_DAY + 1) * per_day:
        raise EncodeError(f"{node.label} {number} is outside of the years 1 to 9999", hint=TO_NUMBERS)
    return number


cdef object datetime_of(Node node, int64_t number, object zone):
    cdef sns_moment m
    if unlikely(not moment_of(&m, number, node.micros)):
        raise DecodeError(f"{node.label} {number} is outside of the years 1 to 9999 that datetime can hold",
                          hint=TO_NUMBERS)
    return sns_new_datetime(&m, zone)


cdef inline bint moment_of(sns_moment* m, int64_t number, int64_t micros) noexcept:
    """Convert ticks since 1970 to calendar fields; False outside the years 1 to 9999."""
    return sns_moment_of_millis(m, number) if micros == 1000 else sns_moment_of_micros(m, number)


cdef int write_nanos(Node node, Writer* w, object value) except -1:
    """Encode an int of nanoseconds, a datetime (exact, in microseconds) or a pandas Timestamp with its nanoseconds."""
    cdef int64_t micros, rest = 0
    if not PyDateTime_Check(value):
        return put_long(w, as_long(value, node.label))
    micros = datetime_micros(node, w, value, node.label == "local-timestamp-nanos")
    if not -9_223_372_036_854_775 <= micros < 9_223_372_036_854_775:
        raise EncodeError(f"{node.label} {shorten(value)} does not fit in 64 bits of nanoseconds (years 1677 to 2262)")
    if not PyDateTime_CheckExact(value):
        rest = as_long(getattr(value, "nanosecond", 0), "nanosecond")
    if not 0 <= rest <= 999:
        raise EncodeError(f"{node.label} {shorten(value)} has {rest} nanoseconds beyond its microseconds")
    return put_long(w, micros * 1000 + rest)


# --- date: int32, days since 1970-01-01 -------------------------------------------------------------------------------

cdef int write_date(Writer* w, object value) except -1:
    cdef int64_t days
    if PyDate_Check(value):
        if PyDateTime_Check(value):
            expected("date", value, "pass value.date() for the date of a datetime")
        return put_long(w, sns_days_of_date(date_year(value), date_month(value), date_day(value)))
    if not PyIndex_Check(value):
        expected("date", value)
    days = as_long(value, "date")
    if not FIRST_DAY <= days <= LAST_DAY:
        raise EncodeError(f"date {days} is outside of the years 1 to 9999", hint=TO_NUMBERS)
    return put_long(w, days)


cdef object date_of(int64_t days):
    cdef sns_moment m
    if unlikely(not sns_date_of_days(&m, days)):
        raise DecodeError(f"date {days} is outside of the years 1 to 9999 that date can hold", hint=TO_NUMBERS)
    return date_new(m.year, m.month, m.day)


# --- time of day: int32 milliseconds or int64 microseconds since midnight --------------------------------------------

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
        raise EncodeError(f"{node.label} {number} is not a time of day", hint=TO_NUMBERS)
    return put_long(w, number)


cdef object time_of(Node node, int64_t number):
    cdef int seconds
    if unlikely(not 0 <= number < DAY / node.micros):
        raise DecodeError(f"{node.label} {number} is not a time of day", hint=TO_NUMBERS)
    number *= node.micros
    seconds = <int>(number / 1_000_000)
    return time_new(seconds / 3600, seconds / 60 % 60, seconds % 60, <int>(number % 1_000_000), None)
