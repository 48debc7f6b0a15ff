/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading a file of any form, once for all binaries. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/joint.h"
#include "read_profile.h"
#include "spec/options.h"
#include "support/temporary.h"

/* A file, and what it is read into. */
struct reading {
    struct profile_file from;
    struct bat_profile **parts;
    size_t count;
    const struct bat_read_options *options;
    bool is_counted; /* counters are wanted */
    struct bat_profiles_counters *counters;
    struct bat_error *error;
};

/* --- Each form ------------------------------------------------------------------------------ */

/* Read what perf recorded; READ_TEXT: what perf script printed. */
static enum bat_code read_perf(const struct reading *reading)
{
    const struct profile_file *from = &reading->from;
    struct perf_source source = {.is_text = from->reader == READ_TEXT,
                                 .is_stream = from->is_stream,
                                 .head = from->head,
                                 .head_size = from->head_size,
                                 .file = from->file};
    char path[64];
    if (from->reader == RUN_PERF) {
        snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), from->file);
        source.printed = strcmp(from->path, "-") == 0 ? path : from->path;
        source.is_stream = false;
    }
    return perf_read(reading->parts, (uint32_t)reading->count, &source, reading->options,
                     reading->counters, reading->error);
}

static enum bat_code read_preaggregated(const struct reading *reading, enum text_form form)
{
    struct bat_joint *joint = bat_joint_new(reading->parts, reading->count);
    struct bat_profile *whole = NULL;
    enum bat_code code = joint ? bat_profile_new(NULL, &whole, reading->error)
                               : bat_fail_memory(reading->error, "to read the profile");
    if (code == BAT_OK) {
        whole->joint = joint;
        code = bat_form_read_text(whole, &reading->from, form, reading->options, reading->error);
    }
    if (code == BAT_OK)
        code = bat_counts_fail(reading->error,
                               bat_joint_split(joint, whole, reading->parts, reading->counters),
                               "the profile");
    bat_profile_free(whole);
    bat_joint_free(joint);
    return code;
}

/* Count the samples of a table: a key with an address of the binary is inside. */
static void count_table(const struct bat_counts *counts, struct bat_profiles_counters *counters)
{
    for (uint32_t i = 0; i < counts->count; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        bool is_inside = false;
        for (uint32_t word = 0; word < counts->words; word++)
            is_inside |=
                item[word] != BAT_ADDRESS_EXTERNAL && item[word] < BAT_TRACE_EXTERNAL_RETURN;
        counters->samples += item[counts->words];
        *(is_inside ? counters->inside : &counters->none) += item[counts->words];
    }
}

/* Text of a single binary need not name it. */
static enum bat_code read_single(const struct reading *reading, enum text_form form)
{
    struct bat_profile *part = reading->parts[0];
    enum bat_code code =
        bat_form_read_text(part, &reading->from, form, reading->options, reading->error);
    if (code == BAT_OK && reading->is_counted) {
        count_table(&part->traces, reading->counters);
        count_table(&part->samples, reading->counters);
    }
    return code;
}

static enum bat_code read_text(const struct reading *reading)
{
    enum text_form form = TEXT_BLANK;
    BAT_TRY(reading->from.is_stream ? BAT_OK
                                    : bat_form_probe(reading->from.file, &form, reading->error));
    if (form == TEXT_SCRIPT)
        return read_perf(reading);
    if (reading->count == 1)
        return read_single(reading, form);
    if (form == TEXT_FDATA)
        return bat_fail(reading->error, BAT_ERR_MISMATCH,
                        "expected a profile that names its binaries (perf.data, or pre-aggregated "
                        "with build-ids), found fdata: give it with its binary alone");
    return read_preaggregated(reading, form);
}

/* --- A file --------------------------------------------------------------------------------- */

static enum bat_code read_found(const struct reading *reading)
{
    switch (reading->from.reader) {
    case READ_TEXT:
        return read_text(reading);
    case READ_STACKS:
        return bat_stacks_read(reading->parts, reading->count, reading->from.file, reading->options,
                               reading->counters, reading->error);
    default:
        return read_perf(reading);
    }
}

/* True for what is read twice: a stream must be kept for that. */
static bool is_read_twice(const struct reading *reading)
{
    return reading->from.reader == READ_TEXT ? reading->count > 1 || reading->is_counted
                                             : reading->from.reader != READ_PERF_DATA;
}

/* Read what is at the path, or unless that is known ("-"), in the file. */
static enum bat_code read_descriptor(struct reading *reading, const char *path, int file)
{
    struct profile_file *from = &reading->from;
    enum bat_code code = bat_form_find(from, path, file, reading->options, reading->error);
    if (code != BAT_OK || !from->is_stream || !is_read_twice(reading))
        return code ? code : read_found(reading);
    int copy;
    BAT_TRY(bat_temporary_copy(file, from->head, from->head_size, &copy, reading->error));
    code = bat_form_find(from, "-", copy, reading->options, reading->error);
    code = code ? code : read_found(reading);
    close(copy);
    return code;
}

/* --- All profiles --------------------------------------------------------------------------- */

static enum bat_code read_parts(struct reading *reading, struct bat_profile *const *profiles,
                                const char *path, int file)
{
    for (size_t i = 0; i < reading->count; i++) {
        reading->parts[i] = bat_profile_new_part(profiles[i]);
        BAT_TRY_MEMORY(reading->parts[i], reading->error, "to read the profile");
    }
    enum bat_code code = read_descriptor(reading, path, file);
    return code ? code
                : bat_profiles_take(profiles, reading->parts, reading->count, reading->error);
}

static void add_counters(struct bat_profiles_counters *counters,
                         const struct bat_profiles_counters *from, size_t count)
{
    counters->samples += from->samples;
    counters->none += from->none;
    for (size_t i = 0; counters->inside && i < count; i++)
        counters->inside[i] += from->inside[i];
}

static enum bat_code read_file(struct bat_profile *const *profiles, size_t count, const char *path,
                               int file, const struct bat_read_options *options,
                               struct bat_profiles_counters *counters, struct bat_error *error)
{
    struct bat_profiles_counters read = {.inside = calloc(count, sizeof(*read.inside))};
    struct reading reading = {.parts = calloc(count, sizeof(struct bat_profile *)),
                              .count = count,
                              .options = options,
                              .is_counted = counters != NULL,
                              .counters = &read,
                              .error = error};
    enum bat_code code = read.inside && reading.parts
                             ? read_parts(&reading, profiles, path, file)
                             : bat_fail_memory(error, "to read the profile");
    if (code == BAT_OK && counters)
        add_counters(counters, &read, count);
    for (size_t i = 0; reading.parts && i < count; i++)
        bat_profile_free(reading.parts[i]);
    free(reading.parts);
    free(read.inside);
    return code;
}

/* Read the file at the path, or if that is "-", this one. */
static enum bat_code read_path(struct bat_profile *const *profiles, size_t count, const char *path,
                               int file, const struct bat_read_options *options,
                               struct bat_profiles_counters *counters, struct bat_error *error)
{
    const bool is_open = strcmp(path, "-") == 0;
    struct bat_read_options own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), options, "bat_read_options", error));
    if (!is_open && (file = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = read_file(profiles, count, path, file, &own, counters, error);
    if (!is_open)
        close(file);
    return code;
}

enum bat_code bat_profiles_read(struct bat_profile *const *profiles, size_t count, const char *path,
                                const struct bat_read_options *options,
                                struct bat_profiles_counters *counters, struct bat_error *error)
{
    if (count == 0 || (counters && counters->size < sizeof(*counters)))
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a profile and counters with their size, found %s",
                        count == 0 ? "no profile" : "a smaller size");
    return read_path(profiles, count, path, STDIN_FILENO, options, counters, error);
}

enum bat_code bat_profile_read(struct bat_profile *profile, const char *path,
                               const struct bat_read_options *options, struct bat_error *error)
{
    return read_path(&profile, 1, path, STDIN_FILENO, options, NULL, error);
}

enum bat_code bat_profile_read_file(struct bat_profile *profile, int file,
                                    const struct bat_read_options *options, struct bat_error *error)
{
    return read_path(&profile, 1, "-", file, options, NULL, error);
}

enum bat_code bat_profile_read_memory(struct bat_profile *profile, const void *bytes, size_t size,
                                      const struct bat_read_options *options,
                                      struct bat_error *error)
{
    int file;
    BAT_TRY(bat_temporary_of_bytes(bytes, size, &file, error));
    enum bat_code code = bat_profile_read_file(profile, file, options, error);
    close(file);
    return code;
}
