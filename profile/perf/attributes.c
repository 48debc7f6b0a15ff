/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "attributes.h"
#include "branch_filter.h"
#include "spec/array.h"

#include <stdlib.h>

void perf_attributes_free(struct perf_attributes *attributes)
{
    for (uint32_t i = 0; i < attributes->count; i++)
        free(attributes->items[i].name);
    free(attributes->items);
    bat_counts_free(&attributes->ids);
    *attributes = (struct perf_attributes){.ids = bat_counts_new(1)};
}

/* --- Reading them ------------------------------------------------------------------------- */

/* A field that older, shorter attributes do not have: it is 0 then. */
static uint64_t later_field(const uint8_t *bytes, size_t size, size_t offset)
{
    return offset + 8 <= size ? bat_load64(bytes + offset) : 0;
}

static struct perf_attribute parse(const uint8_t *bytes, size_t size)
{
    const uint64_t sample_type = bat_load64(bytes + ATTRIBUTE_SAMPLE_TYPE);
    const uint64_t branch_type = later_field(bytes, size, ATTRIBUTE_BRANCH_TYPE);
    return (struct perf_attribute){
        .type = bat_load32(bytes + ATTRIBUTE_TYPE),
        .config = bat_load64(bytes + ATTRIBUTE_CONFIG),
        .sample_type = sample_type,
        .read_format = bat_load64(bytes + ATTRIBUTE_READ_FORMAT),
        .flags = bat_load64(bytes + ATTRIBUTE_FLAGS),
        .branch_type = branch_type,
        .branch_filter = sample_type & SAMPLE_BRANCH_STACK ? perf_branch_filter(branch_type) : 0,
        .regs_user = later_field(bytes, size, ATTRIBUTE_REGS_USER),
        .regs_intr = later_field(bytes, size, ATTRIBUTE_REGS_INTR),
    };
}

/* An id that two events have belongs to the first. */
static enum bat_code add_ids(struct perf_attributes *attributes, uint32_t number,
                             const uint8_t *ids, size_t count, struct bat_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t id = bat_load64(ids + 8 * i);
        if (bat_counts_find(&attributes->ids, &id))
            continue;
        if (bat_counts_add(&attributes->ids, &id, (uint64_t)number + 1, 0) != BAT_OK)
            return bat_fail_memory(error, "for the profile's events");
    }
    return BAT_OK;
}

/* Samples with unknown fields cannot be read, because such a field may be anywhere in them. */
static enum bat_code check_known(const struct perf_attribute *attribute, uint64_t offset,
                                 struct bat_error *error)
{
    uint64_t fields = attribute->sample_type & ~(uint64_t)SAMPLE_KNOWN;
    uint64_t counters =
        attribute->sample_type & SAMPLE_READ ? attribute->read_format & ~(uint64_t)READ_KNOWN : 0;
    uint64_t branches = attribute->sample_type & SAMPLE_BRANCH_STACK
                            ? attribute->branch_type & ~(uint64_t)BRANCH_KNOWN
                            : 0;
    if ((fields | counters | branches) == 0)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, offset,
                       "expected samples of known fields, found %s 0x%lx of a newer perf",
                       fields     ? "fields"
                       : counters ? "counters of the format"
                                  : "branch stacks of the type",
                       fields     ? fields
                       : counters ? counters
                                  : branches);
}

enum bat_code perf_attributes_add(struct perf_attributes *attributes, const uint8_t *bytes,
                                  size_t size, const uint8_t *ids, size_t count, uint64_t offset,
                                  struct bat_error *error)
{
    if (size < PERF_ATTRIBUTE_SIZE_MIN)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, offset,
                           "expected an event's attributes of at least %u bytes, found %zu",
                           PERF_ATTRIBUTE_SIZE_MIN, size);
    struct perf_attribute attribute = parse(bytes, size);
    BAT_TRY(check_known(&attribute, offset, error));
    if (!BAT_GROW(attributes->items, attributes->count, attributes->capacity))
        return bat_fail_memory(error, "for the profile's events");
    attributes->items[attributes->count] = attribute;
    return add_ids(attributes, attributes->count++, ids, count, error);
}

enum bat_code perf_attributes_name_number(struct perf_attributes *attributes, uint32_t number,
                                          const char *name, size_t size, struct bat_error *error)
{
    size_t length = strnlen(name, size);
    if (number >= attributes->count || attributes->items[number].name || length == 0)
        return BAT_OK;
    char *copy = strndup(name, length);
    BAT_TRY_MEMORY(copy, error, "for the profile's events");
    attributes->items[number].name = copy;
    attributes->items[number].is_memory_load =
        strstr(copy, "mem-loads") != NULL &&
        (attributes->items[number].sample_type & SAMPLE_ADDR) != 0;
    return BAT_OK;
}

enum bat_code perf_attributes_name(struct perf_attributes *attributes, uint64_t id,
                                   const char *name, size_t size, struct bat_error *error)
{
    const uint64_t *item = bat_counts_find(&attributes->ids, &id);
    if (!item)
        return BAT_OK;
    return perf_attributes_name_number(attributes, (uint32_t)item[1] - 1, name, size, error);
}

/* --- Assigning records to events ---------------------------------------------------------- */

/* The index of the word in its samples' bodies that is their id. */
static int sample_id_word(const struct perf_attribute *attribute)
{
    uint64_t type = attribute->sample_type;
    if (type & SAMPLE_IDENTIFIER)
        return 0;
    if (!(type & SAMPLE_ID))
        return PERF_ID_NONE;
    return __builtin_popcountll(type & (SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR));
}

/* The fields at the end of a record that is not a sample, in their order. */
#define SIDE_FIELDS                                                                                \
    ((uint64_t)(SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU |             \
                SAMPLE_IDENTIFIER))

/* Those fields of an event's records, as bits. */
static uint64_t side_fields(const struct perf_attribute *attribute)
{
    return attribute->flags & FLAG_SAMPLE_ID_ALL ? attribute->sample_type & SIDE_FIELDS : 0;
}

/* The number of bytes after the time in such a record. */
static uint32_t trailer_size(uint64_t fields)
{
    return 8 * (uint32_t)__builtin_popcountll(fields & ~(uint64_t)(SAMPLE_TID | SAMPLE_TIME));
}

/* How many bytes before the end of its records that are not samples an event's id is; 0: none. */
static uint32_t side_id(const struct perf_attribute *attribute)
{
    uint64_t fields = side_fields(attribute);
    if (fields & SAMPLE_IDENTIFIER)
        return 8;
    return fields & SAMPLE_ID ? trailer_size(fields) : 0;
}

/*
 * Find how records that are not samples end. If the events differ in that, their ids must be in
 * the same place; where some are elsewhere, times are of no use.
 */
static void find_side(struct perf_attributes *attributes)
{
    const struct perf_attribute *first = &attributes->items[0];
    bool is_same = true;
    bool has_id = true;
    attributes->has_time = false;
    attributes->side_id = side_id(first);
    for (uint32_t i = 0; i < attributes->count; i++) {
        const struct perf_attribute *other = &attributes->items[i];
        attributes->has_time |= (side_fields(other) & SAMPLE_TIME) != 0;
        is_same &= side_fields(other) == side_fields(first);
        if (attributes->side_id == 0)
            attributes->side_id = side_id(other);
        has_id &= side_fields(other) == 0 || side_id(other) == attributes->side_id;
    }
    if (is_same)
        attributes->side_id = 0;
    else if (!has_id || attributes->side_id == 0)
        attributes->has_time = false;
}

static bool have_same_layout(const struct perf_attribute *left, const struct perf_attribute *right)
{
    return left->sample_type == right->sample_type && left->read_format == right->read_format &&
           left->branch_type == right->branch_type && left->regs_user == right->regs_user &&
           left->regs_intr == right->regs_intr;
}

enum bat_code perf_attributes_finish(struct perf_attributes *attributes, struct bat_error *error)
{
    if (attributes->count == 0)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected events in perf.data, found none");
    const struct perf_attribute *first = &attributes->items[0];
    attributes->id_word = attributes->count == 1 ? PERF_ID_NONE : sample_id_word(first);
    find_side(attributes);
    for (uint32_t i = 1; i < attributes->count; i++) {
        const struct perf_attribute *other = &attributes->items[i];
        bool can_assign = attributes->id_word == PERF_ID_NONE
                              ? have_same_layout(first, other)
                              : sample_id_word(other) == attributes->id_word;
        if (!can_assign)
            return bat_fail(error, BAT_ERR_UNSUPPORTED,
                            "expected events whose samples all have their ids at the same place, "
                            "found events 1 and %u that differ",
                            i + 1);
    }
    return BAT_OK;
}

enum bat_code perf_attributes_of_sample(const struct perf_attributes *attributes,
                                        const struct perf_record *sample,
                                        const struct perf_attribute **attribute,
                                        struct bat_error *error)
{
    *attribute = &attributes->items[0];
    if (attributes->id_word == PERF_ID_NONE)
        return BAT_OK;
    size_t offset = PERF_RECORD_HEADER_SIZE + 8 * (size_t)attributes->id_word;
    if (offset + 8 > sample->size)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, sample->offset,
                           "expected a sample with an id, found one of %u bytes", sample->size);
    const uint64_t id = bat_load64(sample->bytes + offset);
    const uint64_t *item = bat_counts_find(&attributes->ids, &id);
    if (item)
        *attribute = &attributes->items[item[1] - 1];
    else if (id != 0)
        return bat_fail_at(
            error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, sample->offset,
            "expected a sample of one of the %u events, found the id %lu that none of them has",
            attributes->count, id);
    return BAT_OK;
}

void perf_attributes_record_time(const struct perf_attributes *attributes,
                                 const struct perf_record *record, uint64_t *time)
{
    const struct perf_attribute *attribute = &attributes->items[0];
    const uint8_t *end = record->bytes + record->size;
    const size_t size = record->size - PERF_RECORD_HEADER_SIZE;
    if (attributes->side_id > size)
        return;
    if (attributes->side_id != 0) {
        const uint64_t id = bat_load64(end - attributes->side_id);
        const uint64_t *item = bat_counts_find(&attributes->ids, &id);
        /* perf itself writes records whose fields are all 0. */
        if (!item && id == 0)
            *time = 0;
        if (!item)
            return;
        attribute = &attributes->items[item[1] - 1];
    }
    uint64_t fields = side_fields(attribute);
    if ((fields & SAMPLE_TIME) && trailer_size(fields) + 8 <= size)
        *time = bat_load64(end - trailer_size(fields) - 8);
}
