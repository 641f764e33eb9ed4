# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, nonecheck=False
# cython: binding=False, auto_pickle=False, embedsignature=True
"""The Avro binary codec: compiles a schema into a plan once, then encodes and decodes data by that plan.

Source: Avro specification 1.12, "Binary Encoding" and "Logical Types". One extension module, made of these files:

    codec/shared.pyx    limits, and how errors show labels, paths and values: for Arrow too
    codec/buffer.pyx    the Writer and the Reader: a byte buffer each, and the path of open containers
    codec/plan.pyx      schema -> tree of nodes
    codec/default.pyx   field defaults, encoded in advance for data that lacks the field
    codec/encode.pyx    datum -> bytes
    codec/objects.pyx   records from objects other than dicts, and validate.strict
    codec/inputs.pyx    arrays, maps, bytes and numbers from types other than Python's built-in ones
    codec/union.pyx     unions: the branch that the caller names, or the best match
    codec/fit.pyx       matches a value to the branches of a union
    codec/decode.pyx    bytes -> datum
    codec/quick.pyx     fast path for the most common leaf types
    codec/skip.pyx      finds the end of a datum without decoding it
    codec/whole.pyx     tells whether bytes are exactly one datum, without an error
    codec/unsized.pyx   bytes at the root without their length, as in Confluent's framing
    codec/resolve.pyx   schema resolution: decodes the writer's bytes as the reader's schema
    codec/shaped.pyx    records as instances of user classes, both ways
    codec/logical.pyx   logical types, both ways: UUID, duration, and
    codec/datetime.pyx      dates, times of day, timestamps
    codec/decimal.pyx       decimals
    codec/wire.h        the leaf functions in C: numbers and text,
    codec/calendar.h        days and times,
    codec/values.h          UUIDs and Decimals,
    codec/objects.h         offsets of attribute values in instances
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer,
)
from cpython.bool cimport PyBool_Check
from cpython.bytes cimport (
    PyBytes_Check, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, _PyBytes_Resize,
)
from cpython.datetime cimport (
    PyDate_Check, PyDateTime_Check, PyDateTime_CheckExact, PyTime_Check, date_day, date_month, date_new, date_year,
    datetime_day, datetime_hour, datetime_microsecond, datetime_minute, datetime_month, datetime_second,
    datetime_tzinfo, datetime_year, get_utc, import_datetime, time_hour, time_microsecond, time_minute, time_new,
    time_second, time_tzinfo,
)
from cpython.dict cimport (
    PyDict_Check, PyDict_CheckExact, PyDict_Copy, PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem, PyDict_Size,
)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check, PyFloat_CheckExact
from cpython.list cimport PyList_Check, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_AsDouble, PyLong_Check, PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.object cimport (
    Py_TPFLAGS_DICT_SUBCLASS, Py_TPFLAGS_TUPLE_SUBCLASS, Py_TYPE, PyObject_GenericSetAttr, PyTypeObject,
)
from cpython.pyport cimport PY_SSIZE_T_MAX
from cpython.ref cimport Py_CLEAR, Py_INCREF, PyObject
from cpython.set cimport PySet_Contains
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport (
    PyUnicode_Check, PyUnicode_CheckExact, PyUnicode_DATA, PyUnicode_FromObject, PyUnicode_GET_LENGTH, PyUnicode_KIND,
)
from libc.math cimport isinf
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from streamnative_serdes.codec.wire cimport *
from streamnative_serdes.threads cimport *

import datetime
import struct
import sys
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from decimal import Context, Decimal, getcontext
from enum import Enum as PyEnum
from itertools import islice
from json import dumps
from uuid import UUID, SafeUUID

from streamnative_serdes._missing import hint_of
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError
from streamnative_serdes._schema import shapes as shapes_of_classes
from streamnative_serdes._schema.unmatched import unmatched

# What cpython declares otherwise, or not at all: borrowed and new references as pointers, and no check for errors.
cdef extern from "Python.h":
    bint PyType_HasFeature(PyTypeObject*, unsigned long)
    PyObject* new_bytes "PyBytes_FromStringAndSize" (const char*, Py_ssize_t)   # new reference
    char* PyBytes_AS_STRING(PyObject*)
    Py_ssize_t PyDict_GET_SIZE(object)
    PyObject* PyLong_FromLongLong(long long) noexcept
    PyObject* PyFloat_FromDouble(double) noexcept
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    int PyUnicode_IS_COMPACT_ASCII(object)
    void Py_XSETREF(PyObject*, PyObject*)
    bint is_instance "PyObject_IsInstance" (PyObject*, PyObject*) except -1
    # Of what plans hold: Cython adds a reference to an attribute that is passed as an object, and threads share plans.
    Py_ssize_t tuple_size "PyTuple_GET_SIZE" (PyObject*) noexcept
    PyObject* tuple_item "PyTuple_GET_ITEM" (PyObject*, Py_ssize_t) noexcept
    Py_ssize_t list_size "PyList_GET_SIZE" (PyObject*) noexcept
    Py_ssize_t dict_size "PyDict_GET_SIZE" (PyObject*) noexcept
    PyObject* dict_item "PyDict_GetItemWithError" (PyObject*, object) except? NULL

cdef extern from "codec/wire.h":
    int try_as_int64 "sns_as_int64" (PyObject*, int64_t*) noexcept      # not 0: out of range

cdef extern from "codec/calendar.h":
    ctypedef struct sns_moment:
        int year, month, day, hour, minute, second, micro
    int64_t sns_days_of_date(int, int, int) noexcept nogil
    bint sns_date_of_days(sns_moment*, int64_t) noexcept nogil
    bint sns_moment_of_millis(sns_moment*, int64_t) noexcept nogil
    bint sns_moment_of_micros(sns_moment*, int64_t) noexcept nogil
    object sns_new_datetime(const sns_moment*, object)
    PyObject* try_new_datetime "sns_new_datetime"(const sns_moment*, PyObject*) noexcept

cdef extern from "codec/values.h":
    ctypedef struct sns_uuid_class:
        PyTypeObject* type
        PyObject* number
        PyObject* safety
        PyObject* unknown
    object sns_new_uuid(const sns_uuid_class*, const uint8_t*)
    bint sns_uuid_bytes(uint8_t*, object) noexcept
    PyObject* sns_product(PyObject*, int64_t) noexcept
    Py_ssize_t sns_number_at(object, object) except? -1

cdef extern from "codec/objects.h":
    Py_ssize_t sns_slot_offset(PyTypeObject*, object) noexcept
    Py_ssize_t sns_item_offset(Py_ssize_t) noexcept
    bint sns_is_plain(PyTypeObject*) noexcept
    object sns_new_object(PyTypeObject*)
    int sns_set_dict(object, object) except -1
    object sns_own_dict(object)
    bint sns_has_none(object) noexcept
    object sns_new_tuple(PyTypeObject*, Py_ssize_t)
    PyObject* sns_at(object, Py_ssize_t) noexcept
    ctypedef PyObject* (*sns_get)(PyObject*, PyObject*) noexcept
    sns_get sns_getter(object) noexcept
    void sns_give_at(object, Py_ssize_t, PyObject*) noexcept

cdef extern from *:
    """
    /* Number of nested encode calls in this thread: above 1 when user code called by one encode calls another. */
    #ifdef _MSC_VER
    static __declspec(thread) int sns_encoding;
    #else
    static __thread int sns_encoding;
    #endif
    """
    int sns_encoding

import_datetime()

cdef object ABSENT = object()

include "codec/shared.pyx"
include "codec/buffer.pyx"
include "codec/plan.pyx"
include "codec/default.pyx"
include "codec/quick.pyx"
include "codec/encode.pyx"
include "codec/objects.pyx"
include "codec/inputs.pyx"
include "codec/union.pyx"
include "codec/decode.pyx"
include "codec/skip.pyx"
include "codec/unsized.pyx"
include "codec/whole.pyx"
include "codec/resolve.pyx"
include "codec/shaped.pyx"
include "codec/logical.pyx"
include "codec/datetime.pyx"
include "codec/decimal.pyx"
include "codec/fit.pyx"

# The same functions, without Cython's exception check after the call: the caller checks for NULL.
cdef PyObject* (*try_encode)(Plan, const Limits*, object, const char*, Py_ssize_t) noexcept
cdef PyObject* (*try_decode)(Plan, const Limits*, const uint8_t*, Py_ssize_t, Py_ssize_t) noexcept
try_encode = <PyObject* (*)(Plan, const Limits*, object, const char*, Py_ssize_t) noexcept><void*>encode_message
try_decode = <PyObject* (*)(Plan, const Limits*, const uint8_t*, Py_ssize_t, Py_ssize_t) noexcept><void*>decode_message


cdef class Codec:
    """The compiled plan of one schema. Immutable after construction, so threads may share it."""

    def __cinit__(self, root, resolution, options, shapes, bint without_size=False, *args, **kwargs):
        self.limits.depth = options["max.depth"]
        self.limits.empty = options["max.empty.values"]
        self.limits.items = options["max.items"]
        self.limits.trailing = options["ignore.trailing.bytes"]
        self.limits.lenient = options["confluent.leniency"]
        self.writing = self.reading = build(root, options, {} if resolution is not None else shapes, False)
        if resolution is not None:
            self.reading = build_resolved(resolution, options, shapes)
        elif options["return.record.name"] or shapes:
            self.reading = build(root, options, shapes, True)
        if without_size:
            self.writing, self.reading = unsized(self.writing), unsized(self.reading)

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset):
        cdef Plan plan = <Plan>self.reading
        return decode_message(<Node>plan, &self.limits, data, size, offset)

    cdef PyObject* try_write(self, object datum, const char* header, Py_ssize_t header_size) noexcept:
        return try_encode(<Plan>self.writing, &self.limits, datum, header, header_size)

    cdef PyObject* try_read(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset) noexcept:
        return try_decode(<Plan>self.reading, &self.limits, data, size, offset)

    cdef bint wrote(self, const uint8_t* data, Py_ssize_t size) noexcept:
        cdef Plan plan = <Plan>self.writing
        return is_whole(<Node>plan, &self.limits, data, size)

    def encode(self, datum):
        """Encode ``datum`` as Avro bytes. Raises EncodeError with the path of the field that does not fit."""
        cdef Plan plan = <Plan>self.writing
        return encode_message(<Node>plan, &self.limits, datum, NULL, 0)

    def decode(self, data):
        """Decode the datum in ``data``, all of which it must take up. Raises DecodeError with path and byte offset."""
        cdef Py_buffer view
        if PyBytes_CheckExact(data):
            return self.read(<uint8_t*>PyBytes_AS_STRING(<PyObject*>data), PyBytes_GET_SIZE(data), 0)
        get_view(data, &view)
        try:
            return self.read(<uint8_t*>view.buf, view.len, 0)
        finally:
            PyBuffer_Release(&view)

    def is_datum(self, data):
        """Whether ``data`` is exactly one datum of the writer's schema. Checks what ``decode`` checks, except text."""
        cdef Py_buffer view
        get_view(data, &view)
        try:
            return self.wrote(<uint8_t*>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)

    def skip(self, data, Py_ssize_t offset=0):
        """Return the byte offset after the datum at ``offset``. Checks what ``decode`` checks, except text."""
        cdef Py_buffer view
        get_view(data, &view)
        try:
            if not 0 <= offset <= view.len:
                raise DecodeError(f"expected an offset from 0 to {view.len}, got {offset}")
            return skip_message(self.writing, &self.limits, <uint8_t*>view.buf, view.len, offset)
        finally:
            PyBuffer_Release(&view)


cdef int get_view(object data, Py_buffer* view) except -1:
    if not PyObject_CheckBuffer(data):
        raise DecodeError(f"expected bytes, bytearray or memoryview, got {type(data).__name__}")
    try:
        PyObject_GetBuffer(data, view, PyBUF_SIMPLE)
    except (BufferError, ValueError) as error:      # not contiguous, or released
        raise DecodeError(f"expected a readable buffer, got {type(data).__name__}: {error}") from None
    return view_copy(view) if FREE_THREADED and not PyBytes_CheckExact(data) else 0


cdef int view_copy(Py_buffer* view) except -1:
    """Let ``view`` be of a copy, which no other thread changes while it is read."""
    cdef object copy
    try:
        copy = PyBytes_FromStringAndSize(<char*>view.buf, view.len)
    finally:
        PyBuffer_Release(view)
    return PyObject_GetBuffer(copy, view, PyBUF_SIMPLE)
