# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, nonecheck=False
# cython: binding=False, auto_pickle=False, embedsignature=True
"""Decodes Avro messages into Arrow columns and encodes columns as messages, without Python objects and the GIL.

Arrays are passed in and out by the Arrow C data interface, so no Arrow library is needed to build this. One extension
module, made of these files:

    codec/shared.pyx    limits, and how errors show labels, paths and values
    arrow/layout.pyx    maps an Avro schema to Arrow columns
    arrow/columns.pyx   columns: append, append null, truncate, export (also in _records)
    arrow/spread.pyx    gives children of null structs their slots
    arrow/builders.pyx  columns for a layout
    arrow/table.pyx     a plan as a table of ops
    arrow/plan.pyx      compiles schema resolution into a table of ops that fill columns
    arrow/ops.pyx       the ops of a read plan
    arrow/read.pyx      decodes bytes into slots of columns
    arrow/leaves.pyx    decodes numbers, text, decimals and UUIDs
    arrow/skip.pyx      skips values that have no column
    arrow/blocks.pyx    decodes a block of messages column by column
    arrow/block_rows.pyx    records, unions and runs of null in a block
    arrow/block_lists.pyx   arrays and maps in a block
    arrow/plain.pyx     Pulsar's primitive types, from bytes and to bytes
    arrow/pairs.pyx     the halves of KEY_VALUE messages, from bytes and to bytes
    arrow/faults.pyx    converts fault codes to errors
    arrow/checks.pyx    validates arrays from other producers
    arrow/arrays.pyx    locates the bytes of each row of an array
    arrow/stream.pyx    reads the C stream interface
    arrow/clients.pyx   messages as Kafka clients return them
    arrow/messages.pyx  decodes a batch of messages, each by the plan of its schema version
    arrow/rows.pyx      the loop over the rows of a batch, without the GIL
    arrow/sources.pyx   loads values from columns that are written
    arrow/write_ops.pyx     the ops of a write plan
    arrow/write_plan.pyx    compiles columns and a schema into a table of write ops
    arrow/write.pyx     encodes slots of columns as bytes
    arrow/write_blocks.pyx  encodes a block of rows column by column: records and unions
    arrow/write_lists.pyx   arrays and maps in such a block
    arrow/write_leaves.pyx  all other types in such a block
    arrow/write_batch.pyx   encodes a batch of columns as an array of messages
    arrow/write_rows.pyx    the loop over the rows of such a batch, without the GIL
    arrow/skip.h, arrow/skip_steps.h    the program that skips neighbouring values
    arrow/c_data.h      the structs of the C data interface, and their capsules
    arrow/values.h      UTF-8 and 128-bit decimals
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_Append, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.math cimport isinf
from libc.stdint cimport (
    INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
    uint64_t,
)
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from streamnative_serdes._header cimport (
    FIRST_PREFIXED, HEADER_SIZE, NO_FRAMING, NO_VERSION, SignTable, bare_first, confluent_id_of,
    key_of_prefix, prefix_of, prefix_size, version_of,
)
from streamnative_serdes.arrow.c_data cimport *
from streamnative_serdes.codec.wire cimport *
from streamnative_serdes.threads cimport sns_add, sns_leave, sns_take

from copy import copy
from json import dumps
from types import FunctionType, MethodDescriptorType
from uuid import UUID

from streamnative_serdes.errors import BatchTooLargeError, DecodeError, EncodeError, SchemaError, SerdesError
from streamnative_serdes._schema.unmatched import unmatched

cdef extern from "Python.h":
    object PyObject_CallOneArg(object, object)
    PyObject* Py_None
    # Of borrowed references.
    bint is_bytes "PyBytes_CheckExact" (PyObject*) noexcept
    Py_ssize_t bytes_size "PyBytes_GET_SIZE" (PyObject*) noexcept
    const uint8_t* bytes_start "(const uint8_t *)PyBytes_AS_STRING" (PyObject*) noexcept

cdef extern from "arrow/values.h":
    ctypedef struct sns_int128:
        uint64_t low, high
    void prefetch "SNS_PREFETCH" (const void*) noexcept nogil
    bint sns_copy_utf8(uint8_t*, const uint8_t*, Py_ssize_t) noexcept nogil
    bint sns_copy_ascii(uint8_t*, const uint8_t*, Py_ssize_t) noexcept nogil
    const int SNS_MEDIUM
    bint sns_copy_medium(uint8_t*, const uint8_t*, Py_ssize_t) noexcept nogil
    bint sns_copy_uuid(uint8_t*, const uint8_t*) noexcept nogil
    int64_t sns_get_signed_word(const uint8_t*, int) noexcept nogil
    bint sns_is_utf8(const uint8_t*, Py_ssize_t) noexcept nogil
    bint sns_get_int128(const uint8_t*, Py_ssize_t, sns_int128*) noexcept nogil
    bint sns_within(sns_int128, sns_int128) noexcept nogil
    void sns_put_int128(uint8_t*, sns_int128) noexcept nogil
    sns_int128 sns_load_int128(const uint8_t*) noexcept nogil
    int sns_int128_size(sns_int128) noexcept nogil
    void sns_put_big_endian(uint8_t*, sns_int128, Py_ssize_t) noexcept nogil
    int sns_put_short_big_endian(uint8_t*, int64_t) noexcept nogil
    bint sns_shift_left(sns_int128*, int, const sns_int128*) noexcept nogil
    bint sns_shift_right(sns_int128*, int) noexcept nogil
    void sns_check_rooms(uint8_t**, uint8_t**, int, int64_t) noexcept nogil
    int sns_count_bits(uint64_t) noexcept nogil
    int sns_put_wide_varint(uint8_t*, uint64_t) noexcept nogil
    uint32_t sns_hash(const uint8_t*, Py_ssize_t) noexcept nogil
    int sns_first_bit(uint64_t) noexcept nogil
    int sns_same_until(const uint8_t*, const uint8_t*, const uint8_t*, int) noexcept nogil

include "codec/shared.pyx"
include "arrow/columns.pyx"
include "arrow/layout.pyx"
include "arrow/spread.pyx"
include "arrow/builders.pyx"
include "arrow/ops.pyx"
include "arrow/write_ops.pyx"
include "arrow/table.pyx"
include "arrow/plan.pyx"
include "arrow/read.pyx"
include "arrow/leaves.pyx"
include "arrow/skip.pyx"
include "arrow/blocks.pyx"
include "arrow/block_rows.pyx"
include "arrow/block_lists.pyx"
include "arrow/faults.pyx"
include "arrow/names.pyx"
include "arrow/checks.pyx"
include "arrow/arrays.pyx"
include "arrow/stream.pyx"
include "arrow/clients.pyx"
include "arrow/messages.pyx"
include "arrow/rows.pyx"
include "arrow/sources.pyx"
include "arrow/write_plan.pyx"
include "arrow/write.pyx"
include "arrow/plain.pyx"
include "arrow/pairs.pyx"
include "arrow/write_blocks.pyx"
include "arrow/write_lists.pyx"
include "arrow/write_leaves.pyx"
include "arrow/write_batch.pyx"
include "arrow/write_rows.pyx"

# Methods that can be called with the object as argument.
PLAIN_METHODS = (FunctionType, MethodDescriptorType)

cdef sns_int128[MAX_PRECISION + 1] TENS
for power in range(MAX_PRECISION + 1):
    TENS[power].low = 10**power & 0xFFFFFFFFFFFFFFFF
    TENS[power].high = 10**power >> 64
