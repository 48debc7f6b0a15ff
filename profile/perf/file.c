/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading perf.data, a file or a stream: the order of the steps. */
#include "perf_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "branch_filter.h"
#include "recording.h"
#include "samples.h"
#include "spec/array.h"
#include "support/temporary.h"

bool perf_data_is(const uint8_t *bytes, size_t size)
{
    /* The last byte, the version, is not compared. */
    return size >= PERF_DATA_MAGIC_SIZE - 1 &&
           (memcmp(bytes, PERF_MAGIC, PERF_DATA_MAGIC_SIZE - 1) == 0 ||
            memcmp(bytes, PERF_MAGIC_OLD, PERF_DATA_MAGIC_SIZE - 1) == 0 ||
            memcmp(bytes, PERF_MAGIC_SWAPPED, PERF_DATA_MAGIC_SIZE - 1) == 0);
}

/* --- Sessions ----------------------------------------------------------------------------- */

/* Make a session for count binaries, to be freed also on failure. options: NULL for the defaults.
 */
static enum bat_code new_session(struct perf_session **result, uint32_t count,
                                 const struct bat_read_options *options, struct bat_error *error)
{
    static const struct bat_read_options defaults = {.size = sizeof(defaults)};
    struct perf_session *session = *result = calloc(1, sizeof(*session));
    BAT_TRY_MEMORY(session, error, "to read the profile");
    session->options = options ? options : &defaults;
    session->attributes.ids = bat_counts_new(1);
    session->chunk_size = (uint64_t)1 << 20;
    session->binaries = calloc((size_t)count + 1, sizeof(*session->binaries));
    session->doubling_since = calloc((size_t)count + 1, sizeof(*session->doubling_since));
    session->binary_count = count;
    perf_processes_init(&session->processes, session->binaries, count);
    return session->binaries && session->doubling_since
               ? BAT_OK
               : bat_fail_memory(error, "to read the profile");
}

/* The binaries are those of the profiles. */
static enum bat_code set_binaries(struct perf_session *session, struct bat_profile *const *parts,
                                  struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < session->binary_count && code == BAT_OK; i++) {
        code = perf_binary_init(&session->binaries[i], parts[i], error);
        session->doubles_entry |= session->binaries[i].doubles_entry;
    }
    return code;
}

static void free_session(struct perf_session *session)
{
    if (!session)
        return;
    perf_folder_close(&session->pieces);
    perf_attributes_free(&session->attributes);
    perf_processes_free(&session->processes);
    BAT_FREE_ALL(session->binaries, session->doubling_since, session->doublings, session->text,
                 session);
}

/* What the stacks of some event leave out: see perf_branch_filter(). */
static uint64_t session_filter(const struct perf_session *session)
{
    uint64_t filter = session->text ? session->text->branch_filter : 0;
    for (uint32_t i = 0; i < session->attributes.count; i++)
        filter |= session->attributes.items[i].branch_filter;
    return session->options->basic_samples ? 0 : filter;
}

/* The error for samples of a binary without what is wanted. */
static enum bat_code fail_plain(const struct perf_session *session,
                                const struct bat_profile_counters *found, uint64_t samples,
                                const char *name, struct bat_error *error)
{
    const char *wanted = "branch stacks";
    const char *advice = ": record them with perf record -e cycles:u -j any,u, or take the samples "
                         "alone with -ba";
    if (found->perf_kernel_branches != 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected branches of user space, found only the kernel's in %lu samples "
                        "of %.64s: record them with perf record -e cycles:u -j any,u",
                        samples, name);
    if (session_filter(session) & BRANCH_CALL_STACK)
        wanted = "branch stacks other than call stacks (perf record --call-graph lbr)";
    else if (session->text) {
        wanted = "branch stacks (perf script -F pid,brstack)";
        advice = "";
        if (session->options->arm_spe)
            wanted = "branch stacks, made of the trace of SPE by perf 6.15 or later";
        else if (session->options->basic_samples)
            wanted = "addresses (perf script -F pid,event,ip)";
    }
    return bat_fail(error, BAT_ERR_MISMATCH, "expected %s, found none in %lu samples of %.64s%s",
                    wanted, samples, name, advice);
}

/* Fail for trace data without samples, and for samples without the branch stacks wanted. */
static enum bat_code check_result(const struct perf_session *session,
                                  struct bat_profile *const *parts, struct bat_error *error)
{
    static const struct bat_profile_counters none;
    const struct bat_profile_counters *most = &none;
    uint64_t own = 0;
    const char *name = NULL;
    for (uint32_t i = 0; i < session->binary_count; i++) {
        const struct bat_profile_counters *counters = &parts[i]->counters;
        uint64_t samples = counters->perf_plain_samples + counters->perf_used_samples;
        if (counters->perf_used_samples != 0 || parts[i]->mem_samples.count != 0 ||
            (session->text ? counters->perf_branches > counters->perf_kernel_branches
                           : samples && session->options->basic_samples))
            return BAT_OK;
        if (samples <= own)
            continue;
        name = session->binaries[i].name;
        most = counters;
        own = samples;
    }
    if (own == 0 && session->has_trace_data)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples, found trace data of the processor: let perf decode it "
                        "with --itrace=OPTIONS or --spe");
    if (own == 0 && session->text && session->text->for_people != 0)
        return bat_fail(
            error, BAT_ERR_MISMATCH,
            "expected samples as perf script --show-mmap-events -F pid,brstack prints them (-F "
            "pid,event,ip for -ba), found %lu lines that it prints without -F, for people",
            session->text->for_people);
    /* An older perf prints nothing of SPE's trace. */
    if (session->text && session->options->arm_spe && session->counters.perf_samples == 0)
        name = session->binaries[0].name;
    return name ? fail_plain(session, most, own, name, error) : BAT_OK;
}

/* The samples are in no binary: say in the profiles where they are. */
static void describe_elsewhere(struct perf_session *session, struct bat_profile *const *parts)
{
    perf_census(session);
    for (uint32_t i = 0; i < session->binary_count; i++)
        perf_processes_describe_samples(&session->processes, parts[i]->elsewhere,
                                        sizeof(parts[i]->elsewhere));
}

static uint64_t session_bytes(const struct perf_session *session)
{
    uint64_t bytes = session->file_size;
    for (uint32_t i = 1; i < session->pieces.count; i++)
        bytes += session->pieces.items[i].size;
    return bytes;
}

/* Collect the samples of a complete recording that was surveyed. */
static enum bat_code finish(struct perf_session *session, struct bat_profile *const *parts,
                            struct bat_profiles_counters *shares, struct bat_error *error)
{
    session->shares = shares;
    enum bat_code code = perf_session_find_doubling(session, error);
    BAT_TRY(code);
    BAT_TRY(perf_session_collect(session, parts, error));
    for (uint32_t i = 0; i < session->binary_count; i++) {
        struct bat_profile_counters *counters = &parts[i]->counters;
        counters->perf_samples += session->counters.perf_samples;
        counters->perf_unread_samples += session->counters.perf_samples - session->samples_read;
        counters->perf_guest_samples += session->counters.perf_guest_samples;
        counters->perf_lost += session->counters.perf_lost;
        counters->perf_unknown_records += session->counters.perf_unknown_records;
        counters->perf_processes += perf_processes_count(&session->processes, i);
        counters->bytes += session_bytes(session);
        counters->lines += session->text ? session->text->lines : 0;
        parts[i]->branch_filter |= session_filter(session) & ~(uint64_t)BRANCH_CALL_STACK;
    }
    if (shares)
        shares->samples += session->counters.perf_samples;
    code = perf_check_sums(parts, session->binary_count, error);
    code = code ? code : check_result(session, parts, error);
    if (code == BAT_OK && session->samples_read != 0 && session->samples_inside == 0)
        describe_elsewhere(session, parts);
    return code;
}

/* --- A file ------------------------------------------------------------------------------- */

/* Look at all records: for text, at all lines. */
static enum bat_code survey(struct perf_session *session, struct bat_error *error)
{
    if (session->text)
        return perf_script_survey(session, error);
    BAT_TRY(perf_session_read_head(session, error));
    return perf_session_survey(session, error);
}

static enum bat_code choose_processes(struct perf_session *session, struct bat_error *error)
{
    session->processes.is_text = session->text != NULL;
    enum bat_code code =
        session->text ? perf_script_choose_processes(session, error)
                      : perf_processes_finish(&session->processes, session->attributes.has_time,
                                              session->options, error);
    if (code != BAT_ERR_MISMATCH || !session->processes.lacks_all)
        return code;
    perf_census(session);
    return perf_processes_fail(&session->processes, error);
}

/* Begin to read a file or a folder, unless perf opens it. */
static enum bat_code open_source(struct perf_session *session, const struct perf_source *source,
                                 struct bat_error *error)
{
    struct stat status;
    if (source->printed || source->is_text) {
        session->text = calloc(1, sizeof(*session->text));
        BAT_TRY_MEMORY(session->text, error, "to read the profile");
        session->text->path = source->printed;
    }
    if (source->printed)
        return BAT_OK;
    if (fstat(source->file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    session->file = source->file;
    session->file_size = (uint64_t)status.st_size;
    if (!S_ISDIR(status.st_mode))
        return BAT_OK;
    BAT_TRY(perf_folder_open(source->file, &session->pieces, error));
    session->file = session->pieces.items[0].file;
    session->file_size = session->pieces.items[0].size;
    return BAT_OK;
}

/* Make a session of a recording, to be freed also on failure, and survey it. parts may be NULL. */
static enum bat_code begin(struct perf_session **session, struct bat_profile *const *parts,
                           uint32_t count, const struct perf_source *source,
                           const struct bat_read_options *options, struct bat_error *error)
{
    enum bat_code code = new_session(session, count, options, error);
    code = code ? code : open_source(*session, source, error);
    if (code == BAT_OK && parts)
        code = set_binaries(*session, parts, error);
    return code ? code : survey(*session, error);
}

/* --- Lists ---------------------------------------------------------------------------------- */

enum bat_code perf_list_files(const struct perf_source *source, bat_mapped_file_fn *found,
                              void *context, struct bat_error *error)
{
    struct perf_session *session;
    enum bat_code code = begin(&session, NULL, 0, source, NULL, error);
    code = code ? code : perf_processes_list_files(&session->processes, found, context, error);
    free_session(session);
    return code;
}

enum bat_code perf_recording_read_source(const struct perf_source *source, perf_recording_fn *take,
                                         void *context, struct bat_error *error)
{
    struct perf_session *session;
    struct perf_recording recording = {0};
    struct perf_recorded_file *files = NULL;
    enum bat_code code = begin(&session, NULL, 0, source, NULL, error);
    const bool has_processes = code == BAT_OK && !(session->text && session->text->lacks_processes);
    if (has_processes)
        code = choose_processes(session, error);
    if (code == BAT_OK && has_processes)
        perf_census(session);
    if (code == BAT_OK) {
        /* What perf record -j was given, also for call stacks. */
        const uint64_t filter = session_filter(session);
        recording.has_call_stacks = (filter & BRANCH_CALL_STACK) != 0;
        perf_branch_filter_names(filter & ~(uint64_t)BRANCH_CALL_STACK, recording.filter,
                                 sizeof(recording.filter));
        code = perf_recording_fill(session, &recording, &files, error);
    }
    code = code ? code : take(&recording, context, error);
    free(files);
    free_session(session);
    return code;
}

enum bat_code perf_data_list_chains(const struct bat_profile *profile,
                                    const struct perf_source *source,
                                    const struct bat_read_options *options,
                                    bat_call_chain_fn *found, void *context,
                                    struct bat_error *error)
{
    struct perf_session *session;
    enum bat_code code = begin(&session, NULL, 1, source, options, error);
    code = code ? code : perf_binary_init(session->binaries, profile, error);
    code = code ? code : choose_processes(session, error);
    code = code ? code : perf_session_list_chains(session, found, context, error);
    free_session(session);
    return code;
}

/* --- Profiles ----------------------------------------------------------------------------- */

/* Records are read twice: keep the stream in a file. */
static enum bat_code read_stream(struct bat_profile *const *parts, uint32_t count,
                                 const struct perf_source *source,
                                 const struct bat_read_options *options,
                                 struct bat_profiles_counters *counters, struct bat_error *error)
{
    struct perf_source kept = {0};
    BAT_TRY(bat_temporary_copy(source->file, source->head, source->head_size, &kept.file, error));
    enum bat_code code = perf_read(parts, count, &kept, options, counters, error);
    close(kept.file);
    return code;
}

enum bat_code perf_read(struct bat_profile *const *parts, uint32_t count,
                        const struct perf_source *source, const struct bat_read_options *options,
                        struct bat_profiles_counters *counters, struct bat_error *error)
{
    if (source->is_stream)
        return read_stream(parts, count, source, options, counters, error);
    struct perf_session *session;
    enum bat_code code = begin(&session, parts, count, source, options, error);
    code = code ? code : choose_processes(session, error);
    code = code ? code : finish(session, parts, counters, error);
    free_session(session);
    return code;
}
