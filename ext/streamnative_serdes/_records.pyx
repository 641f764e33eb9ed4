# cython: language_level=3, boundscheck=False, wraparound=False, binding=True, cdivision=True
"""Records of Kafka's batches (format 2) as messages and as Arrow columns, and fields of protocol buffers.

One extension module, made of these files:

    arrow/columns.pyx       columns, as in _arrow
    records/record.pyx      one record, checked
    records/message.pyx     a message
    records/columns.pyx     Arrow columns of records
    records/reader.pyx      the records of a batch, as messages or columns
    records/protobuf.pyx    fields of protocol buffers
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from streamnative_serdes._header cimport HEADER_SIZE, NO_VERSION, version_of
from streamnative_serdes.arrow.c_data cimport *
from streamnative_serdes.codec.wire cimport *
from streamnative_serdes.threads cimport sns_leave, sns_take

from streamnative_serdes.errors import DecodeError

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)

cdef extern from "arrow/values.h":
    bint sns_is_utf8(const uint8_t*, Py_ssize_t) noexcept nogil

include "arrow/columns.pyx"
include "records/record.pyx"
include "records/message.pyx"
include "records/columns.pyx"
include "records/reader.pyx"
include "records/protobuf.pyx"
