/* Creates UUIDs and Decimals faster than their constructors, by public means: sets the slots of a UUID through their
* descriptors, and makes a Decimal as the product of an int and a power of ten.
 */
#ifndef STREAMNATIVE_SERDES_VALUES_H
#define STREAMNATIVE_SERDES_VALUES_H

#include <Python.h>
#include <stdint.h>

/* --- UUID: an int of 128 bits --------------------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *type;
    PyObject *number, *safety;          /* descriptors of the slots `int` and `is_safe` */
    PyObject *unknown;                  /* is_safe of a UUID from an unknown source */
} sns_uuid_class;

static PyObject *sns_new_uuid(const sns_uuid_class *class, const uint8_t *bytes) {
    PyObject *uuid = NULL;
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *number = PyLong_FromUnsignedNativeBytes(bytes, 16, Py_ASNATIVEBYTES_BIG_ENDIAN);
#else
    PyObject *number = _PyLong_FromByteArray(bytes, 16, 0, 0);
#endif
    if (number == NULL) return NULL;
    uuid = class->type->tp_alloc(class->type, 0);
    if (uuid != NULL && (Py_TYPE(class->number)->tp_descr_set(class->number, uuid, number) < 0 ||
                         Py_TYPE(class->safety)->tp_descr_set(class->safety, uuid, class->unknown) < 0))
        Py_CLEAR(uuid);
    Py_DECREF(number);
    return uuid;
}

/* The 16 bytes of an exact int; 0 if it does not fit, with no exception set. */
static int sns_uuid_bytes(uint8_t *bytes, PyObject *number) {
#if PY_VERSION_HEX >= 0x030D0000
    int flags = Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER | Py_ASNATIVEBYTES_REJECT_NEGATIVE;
    Py_ssize_t size = PyLong_AsNativeBytes(number, bytes, 16, flags);
    int fits = 0 <= size && size <= 16;
#else
    int fits = _PyLong_AsByteArray((PyLongObject *)number, bytes, 16, 0, 0) == 0;
#endif
    if (!fits) PyErr_Clear();
    return fits;
}

/* --- Decimal: unscaled * 10**-scale --------------------------------------------------------------------------------- */

/* unit * unscaled, where `unit` is the Decimal 10**-scale. Rounds by the thread's decimal context: check it first. */
static PyObject *sns_product(PyObject *unit, int64_t unscaled) {
    PyObject *number = PyLong_FromLongLong(unscaled), *product;
    if (number == NULL) return NULL;
    product = Py_TYPE(unit)->tp_as_number->nb_multiply(unit, number);
    Py_DECREF(number);
    return product;
}

/* Read a numeric attribute of a C type through its descriptor; -1 with an exception set on failure. */
static Py_ssize_t sns_number_at(PyObject *descriptor, PyObject *object) {
    PyObject *number = Py_TYPE(descriptor)->tp_descr_get(descriptor, object, (PyObject *)Py_TYPE(object));
    Py_ssize_t value = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    return value;
}

#endif
