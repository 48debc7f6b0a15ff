/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading perf.data, a file or a stream: the order of the steps. */
#include "perf_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session.h"
#include "support/temporary.h"

bool perf_data_is(const uint8_t *bytes, size_t size)
{
    /* The last byte, the version, is not compared. */
    return size >= PERF_DATA_MAGIC_SIZE - 1 &&
           (memcmp(bytes, PERF_MAGIC, PERF_DATA_MAGIC_SIZE - 1) == 0 ||
            memcmp(bytes, PERF_MAGIC_OLD, PERF_DATA_MAGIC_SIZE - 1) == 0 ||
            memcmp(bytes, PERF_MAGIC_SWAPPED, PERF_DATA_MAGIC_SIZE - 1) == 0);
}

/* --- A file ------------------------------------------------------------------------------- */

/* Fail for trace data without samples, and for samples without the branch stacks wanted. */
static enum bat_code check_result(const struct perf_session *session,
                                  const struct bat_profile_counters *counters,
                                  bool has_memory_samples, struct bat_error *error)
{
    const char *name = session->binary.name;
    uint64_t own = counters->perf_samples - counters->perf_foreign_samples;
    if (own == 0 && session->has_trace_data)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples, found trace data of the processor: let perf decode it "
                        "with --itrace=OPTIONS or --spe");
    if (own == 0 || session->options->basic_samples || counters->perf_plain_samples < own ||
        has_memory_samples)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected branch stacks, found none in %" PRIu64 " samples of %.64s: record "
                    "them with perf record -e cycles:u -j any,u, or take the samples alone with "
                    "-ba",
                    own, name);
}

static enum bat_code read_session(struct perf_session *session, struct bat_profile *part,
                                  struct bat_error *error)
{
    enum bat_code code = perf_binary_init(&session->binary, part, error);
    if (code == BAT_OK)
        code = perf_session_read_head(session, error);
    if (code == BAT_OK)
        code = perf_session_survey(session, error);
    const uint32_t only = (uint32_t)session->options->process;
    if (code == BAT_OK)
        code = perf_processes_finish(&session->processes, session->attributes.has_time,
                                     session->options->has_process ? &only : NULL, error);
    if (code == BAT_OK)
        code = perf_session_find_doubling(session, error);
    if (code == BAT_OK)
        code = perf_session_collect(session, part, error);
    if (code != BAT_OK)
        return code;
    part->counters.perf_samples += session->counters.perf_samples;
    part->counters.perf_lost += session->counters.perf_lost;
    part->counters.perf_unknown_records += session->counters.perf_unknown_records;
    part->counters.perf_processes += perf_processes_count(&session->processes);
    part->counters.bytes += session->file_size;
    return check_result(session, &part->counters, part->mem_samples.count != 0, error);
}

enum bat_code perf_data_read(struct bat_profile *profile, int file,
                             const struct bat_read_options *options, struct bat_error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    struct perf_session *session = calloc(1, sizeof(*session));
    struct bat_profile *part = bat_profile_new_part(profile);
    enum bat_code code = BAT_ERR_MEMORY;
    if (session && part) {
        session->file = file;
        session->options = options;
        session->file_size = (uint64_t)status.st_size;
        session->attributes.ids = bat_counts_new(1);
        perf_processes_init(&session->processes, &session->binary);
        code = read_session(session, part, error);
        perf_attributes_free(&session->attributes);
        perf_processes_free(&session->processes);
        if (code == BAT_OK)
            code = bat_profile_take(profile, part, error);
    } else {
        bat_fail(error, code, "not enough memory to read the profile");
    }
    bat_profile_free(part);
    free(session);
    return code;
}

/* --- A stream ----------------------------------------------------------------------------- */

enum bat_code perf_data_read_stream(struct bat_profile *profile, int stream, const uint8_t *bytes,
                                    size_t size, const struct bat_read_options *options,
                                    struct bat_error *error)
{
    int file;
    enum bat_code code = bat_temporary_copy(stream, bytes, size, &file, error);
    if (code != BAT_OK)
        return code;
    code = perf_data_read(profile, file, options, error);
    close(file);
    return code;
}
