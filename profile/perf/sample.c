/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sample.h"

/* The fields that are left. The first field that is not complete is named by missing. */
struct fields {
    const uint8_t *at;
    const uint8_t *end;
    const char *missing;
};

static inline size_t bytes_left(const struct fields *fields)
{
    return (size_t)(fields->end - fields->at);
}

static inline uint64_t take_word(struct fields *fields, const char *what)
{
    if (bytes_left(fields) < 8) {
        fields->missing = what;
        return 0;
    }
    uint64_t word = bat_load64(fields->at);
    fields->at += 8;
    return word;
}

/* Skip count elements of size bytes each. */
static inline void skip_array(struct fields *fields, uint64_t count, uint64_t size,
                              const char *what)
{
    if (fields->missing || count > bytes_left(fields) / size)
        fields->missing = fields->missing ? fields->missing : what;
    else
        fields->at += count * size;
}

/* --- The first fields, of one word each --------------------------------------------------- */

static inline void take_first_words(struct fields *fields, struct perf_sample *sample)
{
    uint64_t type = sample->attribute->sample_type;
    if (type & SAMPLE_IDENTIFIER)
        take_word(fields, "identifier");
    if (type & SAMPLE_IP)
        sample->ip = take_word(fields, "address");
    sample->has_process = (type & SAMPLE_TID) != 0;
    if (sample->has_process)
        sample->process = (uint32_t)take_word(fields, "process");
    if (type & SAMPLE_TIME)
        sample->time = take_word(fields, "time");
    if (type & SAMPLE_ADDR)
        sample->address = take_word(fields, "data address");
    if (type & SAMPLE_ID)
        take_word(fields, "id");
    if (type & SAMPLE_STREAM_ID)
        take_word(fields, "stream id");
    if (type & SAMPLE_CPU)
        take_word(fields, "processor");
    if (type & SAMPLE_PERIOD)
        take_word(fields, "period");
}

/* --- Fields of various sizes -------------------------------------------------------------- */

static void skip_counters(struct fields *fields, uint64_t format)
{
    uint64_t times =
        (format & READ_TIME_ENABLED ? 1u : 0u) + (format & READ_TIME_RUNNING ? 1u : 0u);
    uint64_t each = 1u + (format & READ_ID ? 1u : 0u) + (format & READ_LOST ? 1u : 0u);
    uint64_t count = format & READ_GROUP ? take_word(fields, "counters") : 1;
    skip_array(fields, times, 8, "counters");
    skip_array(fields, count, 8 * each, "counters");
}

static inline void take_chain(struct fields *fields, struct perf_sample *sample)
{
    uint64_t length = take_word(fields, "call chain");
    const uint8_t *chain = fields->at;
    skip_array(fields, length, 8, "call chain");
    if (fields->missing)
        return;
    sample->chain = chain;
    sample->chain_length = length;
}

static void skip_raw(struct fields *fields)
{
    if (bytes_left(fields) < 4) {
        fields->missing = "raw data";
        return;
    }
    uint32_t size = bat_load32(fields->at);
    fields->at += 4;
    skip_array(fields, size, 1, "raw data");
}

static inline void take_branches(struct fields *fields, struct perf_sample *sample)
{
    uint64_t count = take_word(fields, "branch stack");
    if (sample->attribute->branch_type & BRANCH_HW_INDEX)
        take_word(fields, "branch stack");
    const uint8_t *branches = fields->at;
    skip_array(fields, count, PERF_BRANCH_SIZE, "branch stack");
    if (sample->attribute->branch_type & BRANCH_COUNTERS)
        skip_array(fields, count, 8, "branch counters");
    sample->branch_filter = sample->attribute->branch_filter;
    if (fields->missing || sample->branch_filter == BRANCH_CALL_STACK)
        return;
    sample->branches = branches;
    sample->branch_count = count;
}

static void skip_registers(struct fields *fields, uint64_t mask, const char *what)
{
    if (take_word(fields, what) != 0)
        skip_array(fields, (uint64_t)__builtin_popcountll(mask), 8, what);
}

static void skip_stack(struct fields *fields)
{
    uint64_t size = take_word(fields, "user stack");
    if (size == 0)
        return;
    skip_array(fields, size, 1, "user stack");
    take_word(fields, "user stack");
}

/* Skip the fields behind the branch stack, which must be complete too. */
static void skip_last_fields(struct fields *fields, const struct perf_attribute *attribute)
{
    uint64_t type = attribute->sample_type;
    if (type & SAMPLE_REGS_USER)
        skip_registers(fields, attribute->regs_user, "user registers");
    if (type & SAMPLE_STACK_USER)
        skip_stack(fields);
    if (type & (SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
        take_word(fields, "weight");
    if (type & SAMPLE_DATA_SRC)
        take_word(fields, "data source");
    if (type & SAMPLE_TRANSACTION)
        take_word(fields, "transaction");
    if (type & SAMPLE_REGS_INTR)
        skip_registers(fields, attribute->regs_intr, "registers");
    if (type & SAMPLE_PHYS_ADDR)
        take_word(fields, "physical address");
    if (type & SAMPLE_CGROUP)
        take_word(fields, "cgroup");
    if (type & SAMPLE_DATA_PAGE_SIZE)
        take_word(fields, "page size");
    if (type & SAMPLE_CODE_PAGE_SIZE)
        take_word(fields, "page size");
    if (type & SAMPLE_AUX)
        skip_array(fields, take_word(fields, "trace data"), 1, "trace data");
}

#define LAST_FIELDS                                                                                \
    ((uint64_t)(SAMPLE_REGS_USER | SAMPLE_STACK_USER | SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT |      \
                SAMPLE_DATA_SRC | SAMPLE_TRANSACTION | SAMPLE_REGS_INTR | SAMPLE_PHYS_ADDR |       \
                SAMPLE_CGROUP | SAMPLE_DATA_PAGE_SIZE | SAMPLE_CODE_PAGE_SIZE | SAMPLE_AUX))

enum bat_code perf_sample_parse(const struct perf_attributes *attributes,
                                const struct perf_record *record, struct perf_sample *sample,
                                struct bat_error *error)
{
    *sample = (struct perf_sample){.time = UINT64_MAX};
    BAT_TRY(perf_attributes_of_sample(attributes, record, &sample->attribute, error));
    uint64_t type = sample->attribute->sample_type;
    struct fields fields = {.at = record->bytes + PERF_RECORD_HEADER_SIZE,
                            .end = record->bytes + record->size};
    take_first_words(&fields, sample);
    if (type & SAMPLE_READ)
        skip_counters(&fields, sample->attribute->read_format);
    if (type & SAMPLE_CALLCHAIN)
        take_chain(&fields, sample);
    if (type & SAMPLE_RAW)
        skip_raw(&fields);
    if (type & SAMPLE_BRANCH_STACK)
        take_branches(&fields, sample);
    if (type & LAST_FIELDS)
        skip_last_fields(&fields, sample->attribute);
    if (!fields.missing)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, record->offset,
                       "expected a sample with its complete %s, found one of %u bytes, which is "
                       "too short",
                       fields.missing, record->size);
}
