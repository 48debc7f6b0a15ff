/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading a file once for several binaries. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/joint.h"
#include "profile/perf/script.h"
#include "read_profile.h"
#include "spec/options.h"
#include "support/temporary.h"

/* A file, and what it is read into. */
struct reading {
    const char *path; /* for perf, which opens it again */
    int file;
    uint64_t size;
    struct bat_profile **parts;
    size_t count;
    const struct bat_read_options *options;
    struct bat_profiles_counters *counters;
    struct bat_error *error;
};

/* --- Each form ------------------------------------------------------------------------------ */

/* Set the counters to the shares. */
static void set_counters(const struct reading *reading, const struct perf_shares *shares)
{
    reading->counters->samples = shares->samples;
    reading->counters->none = shares->none;
    for (size_t i = 0; i < reading->count; i++)
        reading->counters->inside[i] = shares->inside[i];
}

/* Who reads what perf recorded. */
enum perf_reader { READ_PERF_DATA, READ_SCRIPT, RUN_PERF };

static enum bat_code read_perf(const struct reading *reading, enum perf_reader reader)
{
    const uint32_t count = (uint32_t)reading->count;
    struct perf_shares shares = {.inside = calloc(reading->count, sizeof(*shares.inside))};
    if (!shares.inside)
        return bat_fail_memory(reading->error, "to read the profile");
    enum bat_code code;
    if (reader == RUN_PERF)
        code = perf_script_run_several(reading->parts, count, reading->path, reading->options,
                                       &shares, reading->error);
    else if (reader == READ_SCRIPT)
        code = perf_script_read_several(reading->parts, count, reading->file, reading->size,
                                        reading->options, &shares, reading->error);
    else
        code = perf_data_read_several(reading->parts, count, reading->file, reading->options,
                                      &shares, reading->error);
    set_counters(reading, &shares);
    free(shares.inside);
    return code;
}

static enum bat_code read_preaggregated(const struct reading *reading)
{
    struct bat_joint *joint = bat_joint_new(reading->parts, reading->count);
    struct bat_profile *whole = NULL;
    enum bat_code code = joint ? bat_profile_new(NULL, &whole, reading->error)
                               : bat_fail_memory(reading->error, "to read the profile");
    if (code == BAT_OK) {
        whole->joint = joint;
        code = bat_form_read_text(whole, reading->file, reading->size, reading->options,
                                  reading->error);
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
static enum bat_code read_single(const struct reading *reading)
{
    struct bat_profile *part = reading->parts[0];
    enum bat_code code =
        bat_form_read_text(part, reading->file, reading->size, reading->options, reading->error);
    count_table(&part->traces, reading->counters);
    count_table(&part->samples, reading->counters);
    return code;
}

static enum bat_code read_text(const struct reading *reading)
{
    reader_fn *reader = NULL;
    bool is_script = false;
    enum bat_code code = bat_form_probe(reading->file, &reader, &is_script, reading->error);
    if (code != BAT_OK)
        return code;
    if (is_script)
        return read_perf(reading, READ_SCRIPT);
    if (reading->count == 1)
        return read_single(reading);
    if (reader == bat_fdata_read)
        return bat_fail(reading->error, BAT_ERR_MISMATCH,
                        "expected a profile that names its binaries (perf.data, or pre-aggregated "
                        "with build-ids), found fdata: give it with its binary alone");
    return read_preaggregated(reading);
}

/* --- A file --------------------------------------------------------------------------------- */

static bool runs_perf(const struct bat_read_options *options)
{
    return options->by_perf_script || options->itrace || options->arm_spe;
}

/* Read a regular file at its beginning. */
static enum bat_code read_regular(const struct reading *reading)
{
    const struct bat_read_options *options = reading->options;
    if (reading->size == 0)
        return bat_fail(reading->error, BAT_ERR_SYNTAX, "expected a profile, found an empty file");
    uint8_t head[PERF_DATA_MAGIC_SIZE];
    size_t head_size;
    enum bat_code code = bat_form_read_head(reading->file, false, head, &head_size, reading->error);
    if (code != BAT_OK)
        return code;
    if (!perf_data_is(head, head_size))
        return read_text(reading);
    if (runs_perf(options))
        return read_perf(reading, RUN_PERF);
    return read_perf(reading, READ_PERF_DATA);
}

/* Keep what is no regular file, or already read in part, in a temporary file: it is read twice. */
static enum bat_code read_descriptor(struct reading *reading)
{
    struct stat status;
    if (fstat(reading->file, &status) != 0)
        return bat_fail(reading->error, BAT_ERR_IO, "%s", strerror(errno));
    if (S_ISDIR(status.st_mode))
        return runs_perf(reading->options) && strcmp(reading->path, "-") != 0
                   ? read_perf(reading, RUN_PERF)
                   : read_perf(reading, READ_PERF_DATA);
    reading->size = (uint64_t)status.st_size;
    if (S_ISREG(status.st_mode) && lseek(reading->file, 0, SEEK_CUR) == 0)
        return read_regular(reading);
    int copy;
    enum bat_code code = bat_temporary_copy(reading->file, NULL, 0, &copy, reading->error);
    if (code != BAT_OK)
        return code;
    struct reading again = *reading;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), copy);
    again.path = path;
    again.file = copy;
    if (fstat(copy, &status) == 0) {
        again.size = (uint64_t)status.st_size;
        code = read_regular(&again);
    } else {
        code = bat_fail(reading->error, BAT_ERR_IO, "%s", strerror(errno));
    }
    close(copy);
    return code;
}

/* --- All profiles --------------------------------------------------------------------------- */

static enum bat_code read_parts(struct reading *reading, struct bat_profile *const *profiles)
{
    for (size_t i = 0; i < reading->count; i++) {
        reading->parts[i] = bat_profile_new_part(profiles[i]);
        if (!reading->parts[i])
            return bat_fail_memory(reading->error, "to read the profile");
    }
    enum bat_code code = read_descriptor(reading);
    return code == BAT_OK
               ? bat_profiles_take(profiles, reading->parts, reading->count, reading->error)
               : code;
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
    struct reading reading = {.path = path,
                              .file = file,
                              .parts = calloc(count, sizeof(struct bat_profile *)),
                              .count = count,
                              .options = options,
                              .counters = &read,
                              .error = error};
    enum bat_code code = read.inside && reading.parts
                             ? read_parts(&reading, profiles)
                             : bat_fail_memory(error, "to read the profile");
    if (code == BAT_OK && counters)
        add_counters(counters, &read, count);
    for (size_t i = 0; reading.parts && i < count; i++)
        bat_profile_free(reading.parts[i]);
    free(reading.parts);
    free(read.inside);
    return code;
}

enum bat_code bat_profiles_read(struct bat_profile *const *profiles, size_t count, const char *path,
                                const struct bat_read_options *options,
                                struct bat_profiles_counters *counters, struct bat_error *error)
{
    struct bat_read_options own;
    enum bat_code code = bat_options_copy(&own, sizeof(own), options, "bat_read_options", error);
    if (code != BAT_OK)
        return code;
    if (count == 0 || (counters && counters->size < sizeof(*counters)))
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a profile and counters with their size, found %s",
                        count == 0 ? "no profile" : "a smaller size");
    if (strcmp(path, "-") == 0)
        return read_file(profiles, count, path, STDIN_FILENO, &own, counters, error);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    code = read_file(profiles, count, path, file, &own, counters, error);
    close(file);
    return code;
}
