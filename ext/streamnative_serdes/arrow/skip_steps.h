/* The steps of skip.h, which includes them twice: once with, once without comparing what they read with the end. */

static SNS_NOINLINE struct sns_skipped SNS_STEPS(const struct sns_skip *skip, const uint8_t *p, const uint8_t *end,
                                                 const uint8_t *limit) {
    struct sns_skipped skipped;
    int64_t size;
    (void)end;
    (void)limit;
    SNS_STEPS_BEGIN
    SNS_STEP(fixed, SKIP_FIXED)
        SNS_SKIP(0)
    SNS_STEP(text, SKIP_TEXT)
        if (SNS_READABLE(1)) SNS_SKIP_VALUE(SKIP_TEXT)
        goto stop;
    SNS_STEP(number, SKIP_NUMBER)
        if (SNS_READABLE(8)) SNS_SKIP_VALUE(SKIP_NUMBER)
        else if (SNS_READABLE(1) && p[0] < 0x80) SNS_SKIP(0)
        goto stop;
    SNS_STEP(byte, SKIP_BYTE)
        if (SNS_READABLE(1)) SNS_SKIP_VALUE(SKIP_BYTE)
        goto stop;
    SNS_STEP(optional_fixed, SKIP_OPTIONAL_FIXED)
        if (SNS_READABLE(1)) SNS_SKIP_VALUE(SKIP_OPTIONAL_FIXED)
        goto stop;
    SNS_STEP(optional_text, SKIP_OPTIONAL_TEXT)
        if (SNS_READABLE(2)) SNS_SKIP_VALUE(SKIP_OPTIONAL_TEXT)
        goto stop;
    SNS_STEP(optional_number, SKIP_OPTIONAL_NUMBER)
        if (SNS_READABLE(9)) SNS_SKIP_VALUE(SKIP_OPTIONAL_NUMBER)
        goto stop;
    SNS_STEP(optional_byte, SKIP_OPTIONAL_BYTE)
        if (SNS_READABLE(2)) SNS_SKIP_VALUE(SKIP_OPTIONAL_BYTE)
        goto stop;
    SNS_STEPS_END
stop:
    skipped.p = p;
    skipped.skip = skip;
    return skipped;
}

#undef SNS_STEPS
#undef SNS_READABLE
#undef SNS_SKIP
