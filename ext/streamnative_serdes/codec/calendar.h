/* Calendar arithmetic in C: proleptic Gregorian dates and times of day, years 1 to 9999 (the range of datetime).
 *
 * Source: Cassio Neri and Lorenz Schneider, "Euclidean affine functions and their application to calendar algorithms"
 * (2022). Days are counted from 0000-03-01, so that a leap day is the last of its year. Divisions are unsigned and by
 * constants, so that compilers turn them into multiplications.
 */
#ifndef STREAMNATIVE_SERDES_CALENDAR_H
#define STREAMNATIVE_SERDES_CALENDAR_H

#include <Python.h>
#include <datetime.h>
#include <stdint.h>

#define SNS_MARCH_TO_1970 719468 /* days from 0000-03-01 to 1970-01-01 */
#define SNS_MARCH_TO_YEAR_1 306
#define SNS_DAYS 3652059 /* in the years 1 to 9999 */

typedef struct {
    int year, month, day, hour, minute, second, micro;
} sns_moment;

/* The date of the day that is n days after 0000-03-01. */
static inline void sns_set_date(sns_moment *m, uint32_t n) {
    uint32_t in_century = (4 * n + 3) % 146097 / 4, century = (4 * n + 3) / 146097;
    uint64_t years = UINT64_C(2939745) * (4 * in_century + 3);
    uint32_t in_year = (uint32_t)years / 2939745 / 4;
    uint32_t months = 2141 * in_year + 197913;
    int after_december = in_year >= 306;
    m->year = (int)(100 * century + (uint32_t)(years >> 32)) + after_december;
    m->month = (int)(months >> 16) - 12 * after_december;
    m->day = (int)((months & 0xFFFF) / 2141) + 1;
}

static inline int sns_date_of_days(sns_moment *m, int64_t days) { /* since 1970-01-01; 0 if outside of the years */
    uint64_t n = (uint64_t)days + SNS_MARCH_TO_1970;
    if (n - SNS_MARCH_TO_YEAR_1 >= SNS_DAYS) return 0;
    sns_set_date(m, (uint32_t)n);
    return 1;
}

static inline int64_t sns_days_of_date(int year, int month, int day) { /* since 1970-01-01 */
    uint32_t y = (uint32_t)(year - (month <= 2)), m = (uint32_t)(month <= 2 ? month + 12 : month), century = y / 100;
    return (int64_t)(1461 * y / 4 - century + century / 4 + (979 * m - 2919) / 32) + day - 1 - SNS_MARCH_TO_1970;
}

static inline void sns_set_time(sns_moment *m, uint32_t second_of_day, uint32_t micro) {
    m->hour = (int)(second_of_day / 3600);
    m->minute = (int)(second_of_day / 60 % 60);
    m->second = (int)(second_of_day % 60);
    m->micro = (int)micro;
}

/* The moment of so many milliseconds or microseconds since 1970-01-01T00:00; 0 if outside of the years. */
static inline int sns_moment_of_millis(sns_moment *m, int64_t millis) {
    uint64_t n = (uint64_t)millis + UINT64_C(86400000) * (SNS_MARCH_TO_1970 - SNS_MARCH_TO_YEAR_1);
    if (n >= UINT64_C(86400000) * SNS_DAYS) return 0;
    sns_set_date(m, (uint32_t)(n / 86400000) + SNS_MARCH_TO_YEAR_1);
    sns_set_time(m, (uint32_t)(n % 86400000) / 1000, (uint32_t)(n % 1000) * 1000);
    return 1;
}

static inline int sns_moment_of_micros(sns_moment *m, int64_t micros) {
    uint64_t n = (uint64_t)micros + UINT64_C(86400000000) * (SNS_MARCH_TO_1970 - SNS_MARCH_TO_YEAR_1);
    if (n >= UINT64_C(86400000000) * SNS_DAYS) return 0;
    sns_set_date(m, (uint32_t)(n / 86400000000) + SNS_MARCH_TO_YEAR_1);
    sns_set_time(m, (uint32_t)(n % 86400000000 / 1000000), (uint32_t)(n % 1000000));
    return 1;
}

static inline PyObject *sns_new_datetime(const sns_moment *m, PyObject *zone) {
    return PyDateTimeAPI->DateTime_FromDateAndTime(m->year, m->month, m->day, m->hour, m->minute, m->second, m->micro,
                                                   zone, PyDateTimeAPI->DateTimeType);
}

#endif
