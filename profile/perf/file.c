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
#include "support/arriving.h"

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
                                  struct bat_profile *const *parts, struct bat_error *error)
{
    uint64_t own = 0;
    const char *name = NULL;
    for (uint32_t i = 0; i < session->binary_count; i++) {
        const struct bat_profile_counters *counters = &parts[i]->counters;
        uint64_t samples = counters->perf_plain_samples + counters->perf_used_samples;
        if (samples != 0 && (session->options->basic_samples || parts[i]->mem_samples.count != 0 ||
                             counters->perf_used_samples != 0))
            return BAT_OK;
        if (samples > own)
            name = session->binaries[i].name;
        own = samples > own ? samples : own;
    }
    if (own == 0 && session->has_trace_data)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples, found trace data of the processor: let perf decode it "
                        "with --itrace=OPTIONS or --spe");
    if (own == 0)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected branch stacks, found none in %" PRIu64 " samples of %.64s: record "
                    "them with perf record -e cycles:u -j any,u, or take the samples alone with "
                    "-ba",
                    own, name);
}

/* Bytes of all files. */
static uint64_t session_bytes(const struct perf_session *session)
{
    uint64_t bytes = session->file_size;
    for (uint32_t i = 1; i < session->pieces.count; i++)
        bytes += session->pieces.items[i].size;
    return bytes;
}

/* Read the head and survey the records. */
static enum bat_code survey(struct perf_session *session, struct bat_profile *const *parts,
                            struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < session->binary_count && code == BAT_OK; i++) {
        code = perf_binary_init(&session->binaries[i], parts[i], error);
        session->doubles_entry |= session->binaries[i].doubles_entry;
    }
    if (code == BAT_OK)
        code = perf_session_read_head(session, error);
    return code == BAT_OK ? perf_session_survey(session, error) : code;
}

/* Collect the samples of a complete file that was surveyed. */
static enum bat_code collect(struct perf_session *session, struct bat_profile *const *parts,
                             struct bat_error *error)
{
    enum bat_code code = perf_processes_finish(&session->processes, session->attributes.has_time,
                                               session->options, error);
    if (code == BAT_OK)
        code = perf_session_find_doubling(session, error);
    if (code == BAT_OK)
        code = perf_session_collect(session, parts, error);
    if (code != BAT_OK)
        return code;
    for (uint32_t i = 0; i < session->binary_count; i++) {
        struct bat_profile_counters *counters = &parts[i]->counters;
        counters->perf_samples += session->counters.perf_samples;
        counters->perf_unread_samples += session->counters.perf_samples - session->samples_read;
        counters->perf_guest_samples += session->counters.perf_guest_samples;
        counters->perf_lost += session->counters.perf_lost;
        counters->perf_unknown_records += session->counters.perf_unknown_records;
        counters->perf_processes += perf_processes_count(&session->processes, i);
        counters->bytes += session_bytes(session);
    }
    code = perf_check_sums(parts, session->binary_count, error);
    return code == BAT_OK ? check_result(session, parts, error) : code;
}

static void free_session(struct perf_session *session)
{
    perf_folder_close(&session->pieces);
    perf_attributes_free(&session->attributes);
    perf_processes_free(&session->processes);
    free(session->binaries);
    free(session->doubling_since);
    free(session->doublings);
    free(session);
}

/* A session for count binaries; NULL if there is no memory. */
static struct perf_session *new_session(uint32_t count)
{
    struct perf_session *session = calloc(1, sizeof(*session));
    if (!session)
        return NULL;
    session->attributes.ids = bat_counts_new(1);
    session->binaries = calloc((size_t)count + 1, sizeof(*session->binaries));
    session->doubling_since = calloc((size_t)count + 1, sizeof(*session->doubling_since));
    session->binary_count = count;
    perf_processes_init(&session->processes, session->binaries, count);
    if (session->binaries && session->doubling_since)
        return session;
    free_session(session);
    return NULL;
}

/* Begin to read a file or a folder. */
static enum bat_code open_session(struct perf_session *session, int file, struct bat_error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    session->file = file;
    session->file_size = (uint64_t)status.st_size;
    if (!S_ISDIR(status.st_mode))
        return BAT_OK;
    enum bat_code code = perf_folder_open(file, &session->pieces, error);
    if (code != BAT_OK)
        return code;
    session->file = session->pieces.items[0].file;
    session->file_size = session->pieces.items[0].size;
    return BAT_OK;
}

enum bat_code perf_data_read_several(struct bat_profile *const *parts, uint32_t count, int file,
                                     const struct bat_read_options *options,
                                     struct perf_shares *shares, struct bat_error *error)
{
    struct perf_session *session = new_session(count);
    if (!session)
        return bat_fail_memory(error, "to read the profile");
    session->options = options;
    session->shares = shares;
    enum bat_code code = open_session(session, file, error);
    if (code == BAT_OK)
        code = survey(session, parts, error);
    if (code == BAT_OK)
        code = collect(session, parts, error);
    if (code == BAT_OK && shares)
        shares->samples += session->counters.perf_samples;
    free_session(session);
    return code;
}

/* --- Mapped files --------------------------------------------------------------------------- */

enum bat_code perf_data_list_files(int file, bat_mapped_file_fn *found, void *context,
                                   struct bat_error *error)
{
    static const struct bat_read_options options = {.size = sizeof(options)};
    struct perf_session *session = new_session(0);
    if (!session)
        return bat_fail_memory(error, "to read the profile");
    session->options = &options;
    enum bat_code code = open_session(session, file, error);
    if (code == BAT_OK)
        code = perf_session_read_head(session, error);
    if (code == BAT_OK)
        code = perf_session_survey(session, error);
    if (code == BAT_OK)
        code = perf_processes_list_files(&session->processes, found, context, error);
    free_session(session);
    return code;
}

/* --- Call chains ---------------------------------------------------------------------------- */

enum bat_code perf_data_list_chains(const struct bat_profile *profile, int file,
                                    const struct bat_read_options *options,
                                    bat_call_chain_fn *found, void *context,
                                    struct bat_error *error)
{
    struct perf_session *session = new_session(1);
    if (!session)
        return bat_fail_memory(error, "to read the profile");
    session->options = options;
    enum bat_code code = open_session(session, file, error);
    if (code == BAT_OK)
        code = perf_binary_init(session->binaries, profile, error);
    if (code == BAT_OK)
        code = perf_session_read_head(session, error);
    if (code == BAT_OK)
        code = perf_session_survey(session, error);
    if (code == BAT_OK)
        code = perf_processes_finish(&session->processes, session->attributes.has_time, options,
                                     error);
    if (code == BAT_OK)
        code = perf_session_list_chains(session, found, context, error);
    free_session(session);
    return code;
}

/* --- One binary ----------------------------------------------------------------------------- */

enum bat_code perf_data_read(struct bat_profile *profile, int file,
                             const struct bat_read_options *options, struct bat_error *error)
{
    struct bat_profile *part = bat_profile_new_part(profile);
    if (!part)
        return bat_fail_memory(error, "to read the profile");
    enum bat_code code = perf_data_read_several(&part, 1, file, options, NULL, error);
    if (code == BAT_OK)
        code = bat_profile_take(profile, part, error);
    bat_profile_free(part);
    return code;
}

/* --- A stream ----------------------------------------------------------------------------- */

/*
 * Survey the records while they arrive, then collect their samples. *is_surveyed is false if
 * something stopped the survey: that file is read again when it is complete, and then fails as any
 * other.
 */
static enum bat_code read_arriving(struct bat_profile *part, struct bat_arriving *arriving,
                                   const struct bat_read_options *options, bool *is_surveyed,
                                   struct bat_error *error)
{
    struct perf_session *session = new_session(1);
    if (!session)
        return bat_fail_memory(error, "to read the profile");
    session->options = options;
    session->file = arriving->file;
    session->arriving = arriving;
    struct bat_error ignored;
    enum bat_code code = survey(session, &part, &ignored);
    if (code == BAT_OK)
        code = perf_session_read_tail(session, &ignored);
    *is_surveyed = code == BAT_OK;
    code = bat_arriving_finish(arriving, error);
    if (*is_surveyed && code == BAT_OK)
        code = collect(session, &part, error);
    free_session(session);
    return code;
}

enum bat_code perf_data_read_stream(struct bat_profile *profile, int stream, const uint8_t *bytes,
                                    size_t size, const struct bat_read_options *options,
                                    struct bat_error *error)
{
    struct bat_arriving arriving;
    enum bat_code code =
        bat_arriving_begin(&arriving, stream, bytes, size, options->threads, error);
    if (code != BAT_OK)
        return code;
    bool is_surveyed = false;
    struct bat_profile *part = bat_profile_new_part(profile);
    code = part ? read_arriving(part, &arriving, options, &is_surveyed, error)
                : bat_fail_memory(error, "to read the profile");
    if (code == BAT_OK)
        code = is_surveyed ? bat_profile_take(profile, part, error)
                           : perf_data_read(profile, arriving.file, options, error);
    bat_profile_free(part);
    bat_arriving_close(&arriving);
    return code;
}
