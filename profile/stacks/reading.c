/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "reading.h"

#include <string.h>

void *stack_allocate(void *arena, size_t size)
{
    return bat_arena_take(arena, size);
}

void stack_keep(void *arena, void *bytes)
{
    (void)arena;
    (void)bytes;
}

void *stack_array(const struct stack_reading *reading, size_t count, size_t size)
{
    /* The limit is far below this. */
    return count > SIZE_MAX / 2 / size ? NULL
                                       : bat_arena_take(&reading->profile->arena, count * size);
}

enum bat_code stack_fail(const struct stack_reading *reading)
{
    const struct bat_arena *arena = &reading->profile->arena;
    if (arena->no_memory)
        return bat_fail_memory(reading->error, "for the profile");
    if (arena->is_full)
        return bat_fail(reading->error, BAT_ERR_RANGE,
                        "expected a profile that takes at most %zu bytes of memory, found more",
                        arena->limit);
    return bat_fail(reading->error, BAT_ERR_SYNTAX,
                    "expected a profile of pprof, or of OpenTelemetry from release 1.10 of its "
                    "protocol on, found neither");
}

bool stack_is_type(struct stack_reading *reading, const char *type)
{
    const char *wanted = reading->wanted_type;
    const size_t length = strlen(reading->types);
    if (length + strlen(type) + 3 < sizeof(reading->types)) {
        char *end = stpcpy(reading->types + length, length ? ", " : "");
        stpcpy(end, type);
    }
    return wanted ? strcmp(wanted, type) == 0 : reading->type_count++ == 0;
}

enum bat_code stack_fail_type(const struct stack_reading *reading)
{
    if (!reading->wanted_type)
        return bat_fail(reading->error, BAT_ERR_MISMATCH, "expected a sample type, found none");
    return bat_fail(reading->error, BAT_ERR_MISMATCH,
                    "expected samples of the type %s, found %.255s", reading->wanted_type,
                    reading->types);
}

enum bat_code stack_check_number(const struct stack_reading *reading, uint64_t number, size_t count,
                                 const char *what)
{
    return number < count
               ? BAT_OK
               : bat_fail(reading->error, BAT_ERR_RANGE, "expected one of %zu %s, found number %lu",
                          count, what, number);
}

enum bat_code stack_add_sample(const struct stack_reading *reading,
                               const struct stack_place *const *places, size_t depth, int64_t count)
{
    struct stack_profile *profile = reading->profile;
    if (count < 0)
        return bat_fail(reading->error, BAT_ERR_RANGE, "expected a count from 0 on, found %ld",
                        count);
    if ((uint64_t)count > (uint64_t)INT64_MAX - profile->sum)
        return bat_fail(reading->error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^63, found more");
    if (count == 0 || depth == 0)
        return BAT_OK;
    profile->sum += (uint64_t)count;
    profile->samples[profile->sample_count++] =
        (struct stack_sample){.places = places, .depth = depth, .count = (uint64_t)count};
    if (places[0]->mapping)
        places[0]->mapping->count += (uint64_t)count;
    return BAT_OK;
}
