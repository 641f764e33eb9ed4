# Declares wire.h for Cython, once for all modules: bytes on the wire, text, references and exceptions.

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "codec/wire.h":
    bint likely "SNS_LIKELY" (bint) noexcept nogil
    bint unlikely "SNS_UNLIKELY" (bint) noexcept nogil
    uint64_t sns_zigzag(int64_t) noexcept nogil
    int64_t sns_unzigzag(uint64_t) noexcept nogil
    uint8_t* sns_put_varint(uint8_t*, uint64_t) noexcept nogil
    const uint8_t* sns_get_varint(const uint8_t*, const uint8_t*, uint64_t*) noexcept nogil
    const uint8_t* sns_get_wide_varint(const uint8_t*, const uint8_t*, uint64_t*) noexcept nogil
    int sns_as_int64(object, int64_t*) except -1
    void sns_put_double(uint8_t*, double) noexcept nogil
    void sns_put_float(uint8_t*, float) noexcept nogil
    void sns_put_u32le(uint8_t*, uint32_t) noexcept nogil
    double sns_get_double(const uint8_t*) noexcept nogil
    float sns_get_float(const uint8_t*) noexcept nogil
    int64_t sns_get_signed(const uint8_t*, int) noexcept nogil
    uint32_t sns_get_u32le(const uint8_t*) noexcept nogil
    int64_t floor_div "sns_floor_div" (int64_t, int64_t) noexcept nogil
    object sns_new_str(const uint8_t*, Py_ssize_t)
    PyObject* sns_new_ascii(const uint8_t*, Py_ssize_t) noexcept
    PyObject* sns_new_ref(PyObject*) noexcept
    object given "sns_given" (PyObject*)
    PyObject* sns_if_made(PyObject*) noexcept
    int sns_append(object, object) except -1
    int sns_give(object, PyObject*) except -1
    object sns_new_list(Py_ssize_t)
    int sns_set_item(object, PyObject*, PyObject*) except -1
    int sns_give_item(object, PyObject*, PyObject*) except -1
    const uint8_t* sns_ascii(object) noexcept
    bint sns_is_text(PyObject*, const uint8_t*, Py_ssize_t) noexcept
    int sns_same_text(PyObject*, PyObject*) noexcept
    bint sns_same_bytes(const uint8_t*, const uint8_t*, Py_ssize_t) noexcept nogil
    void sns_copy(uint8_t*, const uint8_t*, Py_ssize_t) noexcept nogil
    const int SNS_SHORT
    bint sns_copy_short(uint8_t*, const uint8_t*, Py_ssize_t) noexcept nogil
    Py_ssize_t sns_utf8_size(int, const void*, Py_ssize_t) noexcept nogil
    uint8_t* sns_put_utf8(uint8_t*, int, const void*, Py_ssize_t) noexcept nogil
    bint sns_parse_uuid(uint8_t*, const uint8_t*) noexcept nogil
    void sns_put_uuid(uint8_t*, const uint8_t*) noexcept nogil
    int sns_reraise() except -1
