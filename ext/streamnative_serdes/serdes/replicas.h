/* How a thread finds its replicas of SerDes: a table of its own, and leases. threads.h has the scheme.
 */
#ifndef STREAMNATIVE_SERDES_REPLICAS_H
#define STREAMNATIVE_SERDES_REPLICAS_H

#include "../threads.h"

/* Between a replica and its thread: how many of the two are left. The last one frees it. */
typedef struct {
    int holders;
} sns_lease;

typedef struct {
    uint64_t number;                    /* of a SerDes; 0: the place is free */
    uint64_t seen;                      /* the generation that the replica has */
    PyObject *replica;                  /* borrowed from the SerDes */
    sns_lease *lease;
} sns_place;

/* Of one thread: an open hash table by number; at least half of its places are free. */
typedef struct {
    size_t used, mask;
    sns_place *places;
} sns_table;

#if SNS_FREE_THREADED
SNS_THREAD sns_table *sns_my_table = NULL;

static inline sns_lease *sns_new_lease(void) {
    sns_lease *lease = (sns_lease *)PyMem_RawMalloc(sizeof(sns_lease));
    if (lease != NULL) lease->holders = 2;
    return lease;
}

/* Whether one of the two has left. What it did before can be seen then. */
static inline int sns_is_left(sns_lease *lease) { return _Py_atomic_load_int_acquire(&lease->holders) == 1; }

/* Take over a replica that sns_is_left. */
static inline void sns_renew(sns_lease *lease) { _Py_atomic_store_int_relaxed(&lease->holders, 2); }

static inline void sns_leave_lease(sns_lease *lease) {
    if (_Py_atomic_add_int(&lease->holders, -1) == 1) PyMem_RawFree(lease);
}

/* The place with the number in this thread's table, or NULL. The first try nearly always finds it: numbers are given
 * one after the other. */
static inline sns_place *sns_find(uint64_t number) {
    sns_table *table = sns_my_table;
    size_t i;
    if (table == NULL) return NULL;
    for (i = (size_t)number & table->mask; table->places[i].number != 0; i = (i + 1) & table->mask)
        if (table->places[i].number == number) return &table->places[i];
    return NULL;
}

/* Begin this thread's table; NULL with an exception set if there is no memory. */
static sns_table *sns_begin_table(void) {
    sns_table *table = (sns_table *)PyMem_RawCalloc(1, sizeof(sns_table));
    if (table != NULL) {
        table->mask = 15;
        table->places = (sns_place *)PyMem_RawCalloc(table->mask + 1, sizeof(sns_place));
        if (table->places != NULL) return sns_my_table = table;
        PyMem_RawFree(table);
    }
    PyErr_NoMemory();
    return NULL;
}

static inline void sns_put(sns_table *table, const sns_place *place) {
    size_t i = (size_t)place->number & table->mask;
    while (table->places[i].number != 0) i = (i + 1) & table->mask;
    table->places[i] = *place;
    table->used++;
}

/* Give each place to ``keep``; those of SerDes that have ended are left. */
static void sns_move(sns_table *from, sns_table *keep) {
    size_t i;
    for (i = 0; i <= from->mask; i++) {
        if (from->places[i].number == 0) continue;
        if (keep == NULL || sns_is_left(from->places[i].lease)) sns_leave_lease(from->places[i].lease);
        else sns_put(keep, &from->places[i]);
    }
    PyMem_RawFree(from->places);
}

/* Make room for one more place, or set an exception and return -1. Pointers to places are void then. */
static int sns_make_room(sns_table *table) {
    sns_table wider = {0, 15, NULL};
    size_t i, live = 1;
    if (2 * (table->used + 1) <= table->mask) return 0;
    for (i = 0; i <= table->mask; i++)
        live += table->places[i].number != 0 && !sns_is_left(table->places[i].lease);
    while (4 * live > wider.mask) wider.mask = 2 * wider.mask + 1;
    wider.places = (sns_place *)PyMem_RawCalloc(wider.mask + 1, sizeof(sns_place));
    if (wider.places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    sns_move(table, &wider);
    *table = wider;
    return 0;
}

/* End a thread's table: its replicas are for others from now on. */
static void sns_end_table(sns_table *table) {
    if (sns_my_table == table) sns_my_table = NULL;
    sns_move(table, NULL);
    PyMem_RawFree(table);
}
#else
#define sns_my_table ((sns_table *)NULL)
static inline sns_lease *sns_new_lease(void) { return NULL; }
static inline int sns_is_left(sns_lease *lease) { (void)lease; return 0; }
static inline void sns_renew(sns_lease *lease) { (void)lease; }
static inline void sns_leave_lease(sns_lease *lease) { (void)lease; }
static inline sns_place *sns_find(uint64_t number) { (void)number; return NULL; }
static inline sns_table *sns_begin_table(void) { return NULL; }
static inline void sns_put(sns_table *table, const sns_place *place) { (void)table; (void)place; }
static inline int sns_make_room(sns_table *table) { (void)table; return 0; }
static inline void sns_end_table(sns_table *table) { (void)table; }
#endif

#endif
