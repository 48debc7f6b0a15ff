/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf/attributes.c and profile/perf/sample.c: events, and the fields of their samples. */
#include "perf_bytes.h"
#include "profile/perf/sample.h"
#include "unit_test.h"

KEPT_COPY(kept_attributes, struct perf_attributes, perf_attributes_free)

/* Events with these sample types; ids 10, 11, and so on, are theirs in turn. */
static struct perf_attributes *events(const uint64_t *types, size_t count, uint64_t read_format,
                                      uint64_t branch_type)
{
    struct perf_attributes *attributes =
        kept_attributes((struct perf_attributes){.ids = bat_counts_new(1)});
    for (size_t i = 0; i < count; i++) {
        struct perf_bytes bytes = {0};
        put_attribute(&bytes, types[i], read_format, FLAG_SAMPLE_ID_ALL, branch_type);
        const uint64_t id = 10 + i;
        assert_ok(perf_attributes_add(attributes, bytes.bytes, bytes.size, (const uint8_t *)&id, 1,
                                      0, NULL));
    }
    return attributes;
}

/* One event, and all is known of it. */
static struct perf_attributes *event(uint64_t type, uint64_t read_format, uint64_t branch_type)
{
    struct perf_attributes *attributes = events(&type, 1, read_format, branch_type);
    assert_ok(perf_attributes_finish(attributes, NULL));
    return attributes;
}

static struct perf_record record_of(const struct perf_bytes *bytes)
{
    return (struct perf_record){.bytes = bytes->bytes,
                                .type = bat_load32(bytes->bytes),
                                .size = (uint16_t)bytes->size,
                                .offset = 0x1234};
}

static struct perf_sample read_sample(const struct perf_attributes *attributes,
                                      const struct perf_bytes *bytes)
{
    struct perf_record record = record_of(bytes);
    struct perf_sample sample;
    assert_ok(perf_sample_parse(attributes, &record, &sample, NULL));
    return sample;
}

/*
 * The sample must be read whole, and not be read without its last byte, or with any other number of
 * them; copies are as large as they say, so that a byte too many is found out.
 */
static void assert_whole(const struct perf_attributes *attributes, const struct perf_bytes *bytes,
                         const char *last_field)
{
    for (size_t size = PERF_RECORD_HEADER_SIZE; size < bytes->size; size++) {
        struct perf_bytes part = {0};
        put(&part, bytes->bytes, size);
        part.bytes = kept_memory(part.bytes, size);
        struct perf_record record = record_of(&part);
        struct perf_sample sample;
        struct bat_error error = {0};
        assert_int_equal(perf_sample_parse(attributes, &record, &sample, &error), BAT_ERR_SYNTAX);
        assert_int_equal(error.offset, 0x1234);
        if (size + 1 == bytes->size)
            assert_non_null(strstr(error.message, last_field));
    }
}

/* --- Fields --------------------------------------------------------------------------------- */

TEST(test_first_fields)
{
    const uint64_t type = SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR |
                          SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_PERIOD;
    struct perf_attributes *attributes = event(type, 0, 0);
    struct perf_bytes bytes = {0};
    const uint64_t words[] = {10, 0x401000, 7 | (uint64_t)8 << 32, 99, 0xdada, 10, 3, 4, 5};
    put_record(&bytes, RECORD_SAMPLE, 0, words, sizeof(words));
    struct perf_sample sample = read_sample(attributes, &bytes);
    assert_true(sample.has_process);
    assert_int_equal(sample.ip, 0x401000);
    assert_int_equal(sample.process, 7);
    assert_int_equal(sample.time, 99);
    assert_int_equal(sample.address, 0xdada);
    assert_int_equal(sample.branch_count, 0);
    assert_whole(attributes, &bytes, "period");
}

/* A field of a sample that has a process, the field, and the branch stack if that comes later. */
struct field {
    uint64_t bit;
    uint64_t words[8];
    size_t size; /* bytes of them */
    const char *name;
    bool is_behind;       /* the branch stack */
    uint64_t read_format; /* of the counters */
};

static const struct field fields[] = {
    {SAMPLE_READ, {1}, 8, "branch stack", false, 0},
    {SAMPLE_READ,
     {1, 2, 3, 4, 5},
     40,
     "branch stack",
     false,
     READ_TIME_ENABLED | READ_TIME_RUNNING | READ_ID | READ_LOST},
    {SAMPLE_READ, {2, 1, 2, 3, 4}, 40, "branch stack", false, READ_GROUP | READ_ID},
    {SAMPLE_READ,
     {2, 7, 8, 1, 2},
     40,
     "branch stack",
     false,
     READ_GROUP | READ_TIME_ENABLED | READ_TIME_RUNNING},
    {SAMPLE_CALLCHAIN, {3, 1, 2, 3}, 32, "branch stack", false, 0},
    {SAMPLE_RAW, {4, 0}, 8, "branch stack", false, 0},
    {SAMPLE_RAW, {12, 0}, 16, "branch stack", false, 0},
    {SAMPLE_REGS_USER, {2, 1, 2, 3}, 32, "user registers", true, 0},
    {SAMPLE_REGS_USER, {0}, 8, "user registers", true, 0},
    {SAMPLE_STACK_USER, {16, 1, 2, 8}, 32, "user stack", true, 0},
    {SAMPLE_STACK_USER, {0}, 8, "user stack", true, 0},
    {SAMPLE_WEIGHT, {1}, 8, "weight", true, 0},
    {SAMPLE_WEIGHT_STRUCT, {1}, 8, "weight", true, 0},
    {SAMPLE_DATA_SRC, {1}, 8, "data source", true, 0},
    {SAMPLE_TRANSACTION, {1}, 8, "transaction", true, 0},
    {SAMPLE_REGS_INTR, {2, 1, 2, 3}, 32, "registers", true, 0},
    {SAMPLE_PHYS_ADDR, {1}, 8, "physical address", true, 0},
    {SAMPLE_CGROUP, {1}, 8, "cgroup", true, 0},
    {SAMPLE_DATA_PAGE_SIZE, {1}, 8, "page size", true, 0},
    {SAMPLE_CODE_PAGE_SIZE, {1}, 8, "page size", true, 0},
    {SAMPLE_AUX, {16, 1, 2}, 24, "trace data", true, 0},
};

static const uint64_t stack[] = {2, 0x10, 0x20, 1, 0x30, 0x40, 2};

TEST(test_fields_around_the_stack)
{
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct field *field = &fields[i];
        const uint64_t type = SAMPLE_TID | SAMPLE_BRANCH_STACK | field->bit;
        struct perf_attributes *attributes = event(type, field->read_format, 0);
        struct perf_bytes bytes = {0};
        put_header(&bytes, RECORD_SAMPLE, 0, 8 + sizeof(stack) + field->size);
        put_u64(&bytes, 7);
        if (!field->is_behind)
            put(&bytes, field->words, field->size);
        put(&bytes, stack, sizeof(stack));
        if (field->is_behind)
            put(&bytes, field->words, field->size);
        struct perf_sample sample = read_sample(attributes, &bytes);
        assert_int_equal(sample.branch_count, 2);
        assert_int_equal(bat_load64(sample.branches), 0x10);
        assert_int_equal(bat_load64(sample.branches + PERF_BRANCH_SIZE), 0x30);
        assert_whole(attributes, &bytes, field->name);
    }
}

/* An index in front of the entries, and counters behind them. */
TEST(test_stack_with_more)
{
    const uint64_t type = SAMPLE_BRANCH_STACK;
    struct perf_attributes *attributes = event(type, 0, BRANCH_HW_INDEX | BRANCH_COUNTERS);
    const uint64_t words[] = {2, 77, 0x10, 0x20, 1, 0x30, 0x40, 2, 5, 6};
    struct perf_bytes bytes = {0};
    put_record(&bytes, RECORD_SAMPLE, 0, words, sizeof(words));
    struct perf_sample sample = read_sample(attributes, &bytes);
    assert_false(sample.has_process);
    assert_int_equal(sample.branch_count, 2);
    assert_int_equal(bat_load64(sample.branches), 0x10);
    assert_whole(attributes, &bytes, "branch counters");
}

/* Numbers of elements that a sample cannot hold, and whose size in bytes would not fit 64 bits. */
TEST(test_huge_counts)
{
    static const struct {
        uint64_t type;
        uint64_t word;
        const char *name;
    } cases[] = {
        {SAMPLE_CALLCHAIN, UINT64_MAX, "call chain"},
        {SAMPLE_CALLCHAIN, UINT64_C(1) << 61, "call chain"},
        {SAMPLE_RAW, UINT32_MAX, "raw data"},
        {SAMPLE_BRANCH_STACK, UINT64_MAX, "branch stack"},
        {SAMPLE_BRANCH_STACK, UINT64_MAX / 24 + 1, "branch stack"},
        {SAMPLE_STACK_USER, UINT64_MAX, "user stack"},
        {SAMPLE_AUX, UINT64_MAX - 7, "trace data"},
        {SAMPLE_READ, UINT64_MAX / 8, "counters"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct perf_attributes *attributes = event(cases[i].type, READ_GROUP, 0);
        struct perf_bytes bytes = {0};
        const uint64_t words[] = {cases[i].word, 0, 0, 0};
        put_record(&bytes, RECORD_SAMPLE, 0, words, sizeof(words));
        struct perf_record record = record_of(&bytes);
        struct perf_sample sample;
        struct bat_error error = {0};
        assert_int_equal(perf_sample_parse(attributes, &record, &sample, &error), BAT_ERR_SYNTAX);
        char expected[256];
        snprintf(expected, sizeof(expected),
                 "expected a sample with its complete %s, found one of 40 bytes, which is too "
                 "short",
                 cases[i].name);
        assert_string_equal(error.message, expected);
    }
}

/* --- Events --------------------------------------------------------------------------------- */

static const struct perf_attribute *event_of(const struct perf_attributes *attributes,
                                             const uint64_t *words, size_t size,
                                             struct bat_error *error)
{
    struct perf_bytes bytes = {0};
    put_record(&bytes, RECORD_SAMPLE, 0, words, size);
    struct perf_record record = record_of(&bytes);
    const struct perf_attribute *attribute;
    enum bat_code code = perf_attributes_of_sample(attributes, &record, &attribute, error);
    return code == BAT_OK ? attribute : NULL;
}

TEST(test_events_by_id)
{
    const uint64_t by_identifier[] = {SAMPLE_IDENTIFIER, SAMPLE_IDENTIFIER | SAMPLE_IP};
    struct perf_attributes *attributes = events(by_identifier, 2, 0, 0);
    assert_ok(perf_attributes_finish(attributes, NULL));
    struct bat_error error = {0};
    assert_ptr_equal(event_of(attributes, (const uint64_t[]){11, 0}, 16, &error),
                     &attributes->items[1]);
    assert_ptr_equal(event_of(attributes, (const uint64_t[]){10, 0}, 16, &error),
                     &attributes->items[0]);
    /* What perf made itself has id 0. */
    assert_ptr_equal(event_of(attributes, (const uint64_t[]){0, 0}, 16, &error),
                     &attributes->items[0]);
    assert_null(event_of(attributes, (const uint64_t[]){12, 0}, 16, &error));
    assert_string_equal(error.message, "expected a sample of one of the 2 events, found the id 12 "
                                       "that none of them has");
    assert_null(event_of(attributes, (const uint64_t[]){12}, 4, &error));
    assert_string_equal(error.message, "expected a sample with an id, found one of 12 bytes");

    const uint64_t by_id[] = {SAMPLE_IP | SAMPLE_TID | SAMPLE_ID,
                              SAMPLE_IP | SAMPLE_TIME | SAMPLE_ID | SAMPLE_CPU};
    attributes = events(by_id, 2, 0, 0);
    assert_ok(perf_attributes_finish(attributes, NULL));
    assert_ptr_equal(event_of(attributes, (const uint64_t[]){1, 2, 11, 4}, 32, &error),
                     &attributes->items[1]);
}

TEST(test_events_that_cannot_be_told_apart)
{
    static const uint64_t different[][2] = {
        {SAMPLE_IP, SAMPLE_IP | SAMPLE_TID},
        {SAMPLE_IDENTIFIER, SAMPLE_IP | SAMPLE_ID},
        {SAMPLE_IP | SAMPLE_ID, SAMPLE_ID},
        {SAMPLE_IP | SAMPLE_ID, SAMPLE_IP},
    };
    for (size_t i = 0; i < COUNT(different); i++) {
        struct perf_attributes *attributes = events(different[i], 2, 0, 0);
        struct bat_error error = {0};
        assert_int_equal(perf_attributes_finish(attributes, &error), BAT_ERR_UNSUPPORTED);
        assert_non_null(strstr(error.message, "found events 1 and 2 that differ"));
    }
    /* Where they look alike, there is nothing to tell apart. */
    const uint64_t alike[2] = {SAMPLE_IP | SAMPLE_TID, SAMPLE_IP | SAMPLE_TID};
    struct perf_attributes *attributes = events(alike, 2, 0, 0);
    assert_ok(perf_attributes_finish(attributes, NULL));
    attributes = events(alike, 0, 0, 0);
    assert_int_equal(perf_attributes_finish(attributes, NULL), BAT_ERR_SYNTAX);
}

TEST(test_time_of_other_records)
{
    const uint64_t type =
        SAMPLE_TID | SAMPLE_TIME | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_IDENTIFIER;
    struct perf_attributes *attributes = event(type, 0, 0);
    assert_true(attributes->has_time);
    const uint64_t words[] = {1, 2, 3, 777, 5, 6, 10};
    struct perf_bytes bytes = {0};
    put_record(&bytes, RECORD_MMAP, 0, words, sizeof(words));
    struct perf_record record = record_of(&bytes);
    uint64_t time = 5;
    perf_attributes_record_time(attributes, &record, &time);
    assert_int_equal(time, 777);
    record.size = 8 + 31;
    time = 5;
    perf_attributes_record_time(attributes, &record, &time);
    assert_int_equal(time, 5);

    /* Of several events, the id says which one it is, and so where its time is, if it has one. */
    const uint64_t mixed[] = {SAMPLE_IDENTIFIER | SAMPLE_TIME, SAMPLE_IDENTIFIER,
                              SAMPLE_IDENTIFIER | SAMPLE_TIME | SAMPLE_CPU};
    attributes = events(mixed, 3, 0, 0);
    assert_ok(perf_attributes_finish(attributes, NULL));
    assert_true(attributes->has_time);
    const uint64_t expected[] = {6, 5, 9};
    for (size_t i = 0; i < 3; i++) {
        const uint64_t *id = NULL;
        for (uint32_t k = 0; k < attributes->ids.count && !id; k++)
            if (bat_counts_item(&attributes->ids, k)[1] == i + 1)
                id = bat_counts_item(&attributes->ids, k);
        assert_non_null(id);
        const uint64_t end[] = {9, 6, id[0]};
        bytes.size = 0;
        put_record(&bytes, RECORD_MMAP, 0, end, sizeof(end));
        record = record_of(&bytes);
        time = 5;
        perf_attributes_record_time(attributes, &record, &time);
        assert_int_equal(time, expected[i]);
    }
}

TEST(test_attribute_sizes)
{
    struct perf_bytes bytes = {0};
    put_attribute(&bytes, SAMPLE_BRANCH_STACK, 0, 0, BRANCH_HW_INDEX);
    put_u64(&bytes, 0);
    for (size_t size = 0; size <= bytes.size; size++) {
        struct perf_attributes *attributes = events(NULL, 0, 0, 0);
        uint8_t *copy = malloc(size ? size : 1);
        memcpy(copy, bytes.bytes, size);
        struct bat_error error = {0};
        enum bat_code code = perf_attributes_add(attributes, copy, size, NULL, 0, 5, &error);
        assert_int_equal(code, size < PERF_ATTRIBUTE_SIZE_MIN ? BAT_ERR_SYNTAX : BAT_OK);
        if (code == BAT_OK)
            assert_int_equal(attributes->items[0].branch_type, size < 80 ? 0 : BRANCH_HW_INDEX);
        free(copy);
    }
}

/* Bits of a newer perf: refused where they can change what samples look like. */
TEST(test_unknown_bits)
{
    static const struct {
        uint64_t sample_type;
        uint64_t read_format;
        uint64_t branch_type;
        const char *found; /* NULL: nothing to refuse */
    } cases[] = {
        {SAMPLE_IP | UINT64_C(1) << 25, 0, 0, "fields 0x2000000"},
        {SAMPLE_READ, READ_ID | 1 << 5, 0, "counters of the format 0x20"},
        {SAMPLE_READ, UINT64_C(1) << 63, 0, "counters of the format 0x8000000000000000"},
        {SAMPLE_BRANCH_STACK, 0, 8 | 1 << 20, "branch stacks of the type 0x100000"},
        {SAMPLE_READ, 0x1f, 0, NULL},
        {SAMPLE_BRANCH_STACK, 0, 0xfffff, NULL},
        {SAMPLE_IP, 1 << 5, 1 << 20, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct perf_bytes bytes = {0};
        struct perf_attributes *attributes = events(NULL, 0, 0, 0);
        put_attribute(&bytes, cases[i].sample_type, cases[i].read_format, 0, cases[i].branch_type);
        struct bat_error error = {0};
        enum bat_code code =
            perf_attributes_add(attributes, bytes.bytes, bytes.size, NULL, 0, 5, &error);
        assert_int_equal(code, cases[i].found ? BAT_ERR_UNSUPPORTED : BAT_OK);
        if (cases[i].found) {
            char message[128];
            snprintf(message, sizeof(message),
                     "expected samples of known fields, found %s of a newer perf", cases[i].found);
            assert_string_equal(error.message, message);
        }
    }
}

TEST(test_names)
{
    static const struct {
        struct perf_attribute attribute;
        const char *name;
    } cases[] = {
        {{.type = 0, .config = 0}, "cycles"},
        {{.type = 0, .config = 0, .flags = FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HV}, "cycles:u"},
        {{.type = 0, .config = 1, .flags = FLAG_EXCLUDE_USER | 2 << FLAG_PRECISE_SHIFT},
         "instructions:khpp"},
        {{.type = 1, .config = 0, .flags = FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HV}, "cpu-clock:u"},
        {{.type = 4, .config = 0x1cd}, "type4-0x1cd"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[64];
        perf_attribute_name(&cases[i].attribute, name, sizeof(name));
        assert_string_equal(name, cases[i].name);
    }
    const uint64_t types[2] = {SAMPLE_IDENTIFIER | SAMPLE_ADDR, SAMPLE_IDENTIFIER};
    struct perf_attributes *attributes = events(types, 2, 0, 0);
    static const char load[] = "cpu/mem-loads,ldlat=30/P";
    for (uint64_t id = 10; id < 13; id++)
        assert_ok(perf_attributes_name(attributes, id, load, sizeof(load), NULL));
    assert_ok(perf_attributes_name(attributes, 10, "second", 7, NULL));
    assert_string_equal(attributes->items[0].name, load);
    assert_string_equal(attributes->items[1].name, load);
    /* Without data addresses there is nothing to say of loads. */
    assert_true(attributes->items[0].is_memory_load);
    assert_false(attributes->items[1].is_memory_load);
}
