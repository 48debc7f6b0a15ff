/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All that a profile holds, as one text that two equal profiles share. */
#pragma once

#include "profile/profile.h"
#include "unit_test.h"

#define DUMP_LINES 8192u

/* Lines in the making. */
struct dump {
    char *lines[DUMP_LINES];
    size_t count;
};

static inline void dump_line(struct dump *dump, const char *line)
{
    assert_true(dump->count < DUMP_LINES);
    dump->lines[dump->count] = strdup(line);
    assert_non_null(dump->lines[dump->count++]);
}

/* strings: of those that keys name in their first word and every other one; or NULL. */
static inline void dump_counts(struct dump *dump, const char *what, const struct bat_counts *counts,
                               const struct bat_strings *strings)
{
    for (uint32_t i = 0; i < counts->count; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        char line[1024];
        size_t size = (size_t)snprintf(line, sizeof(line), "%s", what);
        for (uint32_t word = 0; word < counts->words + 2; word++) {
            bool is_name = strings && word < counts->words && word % 2 == 0;
            size += (size_t)(is_name ? snprintf(line + size, sizeof(line) - size, " %x %.100s",
                                                (unsigned)(item[word] >> 32),
                                                bat_strings_get(strings, (uint32_t)item[word]))
                                     : snprintf(line + size, sizeof(line) - size, " %llx",
                                                (unsigned long long)item[word]));
        }
        dump_line(dump, line);
        /* What is there can be found. */
        assert_ptr_equal(bat_counts_find(counts, item), item);
    }
}

static inline void dump_strings(struct dump *dump, const char *what,
                                const struct bat_strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++) {
        const char *string = bat_strings_get(strings, i);
        char line[256];
        snprintf(line, sizeof(line), "%s %.200s", what, string);
        dump_line(dump, line);
        assert_int_equal(bat_strings_find(strings, string, strlen(string)), i);
    }
}

static inline int dump_compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* To be freed. */
static inline char *dump_profile(const struct bat_profile *profile)
{
    static struct dump dump;
    dump.count = 0;
    dump_counts(&dump, "trace", &profile->traces, NULL);
    dump_counts(&dump, "sample", &profile->samples, NULL);
    dump_counts(&dump, "return", &profile->returns, NULL);
    dump_counts(&dump, "load", &profile->mem_samples, NULL);
    dump_counts(&dump, "foreign", &profile->foreign_counts, &profile->foreign_names);
    dump_counts(&dump, "branch", &profile->fdata.branches, &profile->fdata.names);
    dump_counts(&dump, "address", &profile->fdata.samples, &profile->fdata.names);
    dump_strings(&dump, "event", &profile->events);
    dump_strings(&dump, "object", &profile->foreign_names);
    dump_strings(&dump, "name", &profile->fdata.names);
    char line[256];
    const struct bat_profile_counters *counters = &profile->counters;
    snprintf(line, sizeof(line), "sum %llx, %d %d %d, counters %llx %llx %llx %llx %llx %llx %llx",
             (unsigned long long)profile->sum, profile->fdata.bolted, profile->fdata.no_lbr,
             profile->fdata.seen, (unsigned long long)counters->bytes,
             (unsigned long long)counters->lines, (unsigned long long)counters->trace_records,
             (unsigned long long)counters->sample_records,
             (unsigned long long)counters->fdata_records,
             (unsigned long long)counters->foreign_locations,
             (unsigned long long)counters->perf_samples);
    dump_line(&dump, line);
    qsort(dump.lines, dump.count, sizeof(dump.lines[0]), dump_compare);
    size_t size = 1;
    for (size_t i = 0; i < dump.count; i++)
        size += strlen(dump.lines[i]) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    char *at = text;
    for (size_t i = 0; i < dump.count; i++) {
        at += sprintf(at, "%s\n", dump.lines[i]);
        free(dump.lines[i]);
    }
    *at = '\0';
    return text;
}

/* Check that a profile holds what it held when expected was made of it; frees expected. */
static inline void assert_dump(const struct bat_profile *profile, char *expected)
{
    char *now = dump_profile(profile);
    assert_string_equal(now, expected);
    free(now);
    free(expected);
}
