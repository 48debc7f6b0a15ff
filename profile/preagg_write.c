/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A profile as pre-aggregated text: spec/profiles.md 1. */
#include <stdlib.h>
#include <string.h>

#include "event_words.h"
#include "profile.h"
#include "spec/hex_bytes.h"
#include "support/text_writer.h"
#include "text_fields.h"

/* More bytes than any line of numbers has. */
#define LINE_MAX_SIZE 128u

/* The longest build-id that is written, in bytes. */
#define BUILD_ID_MAX 64u

struct preagg_writer {
    struct bat_text_writer text;
    const struct bat_profile *profile;
    bool is_one_of_several; /* write its build-id with each address, and only records with one */
    char build_id[2 * BUILD_ID_MAX + 2]; /* in hexadecimal, with a colon */
    size_t build_id_size;                /* characters of it */
    uint64_t sum;                        /* of all counts that were written */
};

/* --- Lines -------------------------------------------------------------------------------- */

static bool is_in_binary(uint64_t address)
{
    return address != BAT_ADDRESS_EXTERNAL && address < BAT_TRACE_EXTERNAL_RETURN;
}

/* Put " address" as bat_preagg_read() reads it: relative to the base address, constants as is. */
static char *put_address(const struct preagg_writer *writer, char *at, uint64_t address)
{
    *at++ = ' ';
    if (is_in_binary(address)) {
        address -= writer->profile->base_address;
        memcpy(at, writer->build_id, writer->build_id_size);
        at += writer->build_id_size;
    }
    return bat_put_hex(at, address);
}

/* True if a trace is written: of several binaries, those with an address in this one. */
static bool is_written(const struct preagg_writer *writer, const uint64_t *trace)
{
    return !writer->is_one_of_several || is_in_binary(trace[0]) || is_in_binary(trace[1]) ||
           is_in_binary(trace[2]);
}

static char *put_count(char *at, uint64_t count)
{
    *at++ = ' ';
    return bat_put_decimal(at, count);
}

/*
 * Add a count to the sum of what is written. A text of several binaries has a record for each
 * binary that it reaches, so its sum can be larger than that of what was read, and too large to be
 * read.
 */
static enum bat_code add_written(struct preagg_writer *writer, uint64_t count)
{
    if (count > BAT_COUNT_MAX - writer->sum)
        return bat_fail(writer->text.error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^63 over all binaries, found "
                        "more");
    writer->sum += count;
    return BAT_OK;
}

static void write_branch(struct preagg_writer *writer, const uint64_t *trace, uint64_t count,
                         uint64_t mispredictions)
{
    char *at = bat_text_room(&writer->text, LINE_MAX_SIZE + 3 * writer->build_id_size);
    *at++ = 'B';
    at = put_address(writer, at, trace[0]);
    at = put_address(writer, at, trace[1]);
    at = put_count(at, count);
    at = put_count(at, mispredictions);
    *at++ = '\n';
    bat_text_end(&writer->text, at);
}

/* The type of a trace's record, unless that is B. */
static char trace_type(const struct preagg_writer *writer, const uint64_t *trace)
{
    switch (trace[0]) {
    case BAT_TRACE_FALLTHROUGH_ONLY:
        return 'F';
    case BAT_TRACE_EXTERNAL_ORIGIN:
        return 'f';
    case BAT_TRACE_EXTERNAL_RETURN:
        return 'r';
    default:
        return bat_counts_find(&writer->profile->returns, trace) ? 'R' : 'T';
    }
}

static void write_trace(struct preagg_writer *writer, const uint64_t *trace, char type)
{
    char *at = bat_text_room(&writer->text, LINE_MAX_SIZE + 3 * writer->build_id_size);
    *at++ = type;
    if (type == 'T' || type == 'R')
        at = put_address(writer, at, trace[0]);
    at = put_address(writer, at, trace[1]);
    at = put_address(writer, at, trace[2]);
    at = put_count(at, trace[3]);
    *at++ = '\n';
    bat_text_end(&writer->text, at);
}

/*
 * Write what is known of a branch without what ran after it. It is a record of its own also with
 * the count 0: what is written of a sum must not depend on whether a part of it had such a record
 * for mispredictions alone.
 */
static void write_branch_only(struct preagg_writer *writer, const uint64_t *trace, uint64_t count,
                              uint64_t mispredictions)
{
    const uint64_t branch_only[4] = {trace[0], trace[1], BAT_TRACE_BRANCH_ONLY, count};
    if (trace_type(writer, trace) != 'R') {
        write_branch(writer, trace, count, mispredictions);
        return;
    }
    write_trace(writer, branch_only, 'R');
    if (mispredictions != 0)
        write_branch(writer, trace, 0, mispredictions);
}

/*
 * Write the traces of one branch, [first, end) of order. Only a B record holds mispredictions, so
 * those of all traces of the branch go into one B record. If there is none, one with count 0 is
 * added for them.
 */
static enum bat_code write_group(struct preagg_writer *writer, const struct bat_counts *traces,
                                 const uint32_t *order, uint32_t first, uint32_t end)
{
    uint64_t mispredictions = 0;
    const uint64_t *branch_only = NULL;
    const uint64_t *trace = NULL;
    for (uint32_t i = first; i < end; i++) {
        trace = bat_counts_item(traces, order[i]);
        if (!is_written(writer, trace))
            continue;
        /* Beyond that the text could not be read again. */
        if (trace[4] > BAT_COUNT_MAX - mispredictions)
            return bat_fail(writer->text.error, BAT_ERR_RANGE,
                            "expected mispredictions that add up to less than 2^63 for each "
                            "branch, found more");
        mispredictions += trace[4];
        BAT_TRY(add_written(writer, trace[3]));
        if (trace[2] == BAT_TRACE_BRANCH_ONLY)
            branch_only = trace;
        else
            write_trace(writer, trace, trace_type(writer, trace));
    }
    bool has_branch =
        !writer->is_one_of_several || is_in_binary(trace[0]) || is_in_binary(trace[1]);
    if (has_branch && (branch_only || mispredictions != 0))
        write_branch_only(writer, trace, branch_only ? branch_only[3] : 0, mispredictions);
    return BAT_OK;
}

static bool same_branch(const struct bat_counts *traces, uint32_t left, uint32_t right)
{
    const uint64_t *one = bat_counts_item(traces, left);
    const uint64_t *other = bat_counts_item(traces, right);
    return one[0] == other[0] && one[1] == other[1];
}

static enum bat_code write_traces(struct preagg_writer *writer)
{
    const struct bat_counts *traces = &writer->profile->traces;
    uint32_t *order = bat_counts_order(traces);
    BAT_TRY_MEMORY(order, writer->text.error, "to write the profile");
    enum bat_code code = BAT_OK;
    uint32_t end;
    for (uint32_t first = 0; first < traces->count && code == BAT_OK; first = end) {
        end = first + 1;
        while (end < traces->count && same_branch(traces, order[first], order[end]))
            end++;
        code = write_group(writer, traces, order, first, end);
    }
    free(order);
    return code;
}

static enum bat_code write_samples(struct preagg_writer *writer)
{
    const struct bat_counts *samples = &writer->profile->samples;
    uint32_t *order = bat_counts_order(samples);
    BAT_TRY_MEMORY(order, writer->text.error, "to write the profile");
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint64_t *item = bat_counts_item(samples, order[i]);
        if (writer->is_one_of_several && !is_in_binary(item[0]))
            continue;
        code = add_written(writer, item[1]);
        if (code != BAT_OK)
            break;
        char *at = bat_text_room(&writer->text, LINE_MAX_SIZE + 3 * writer->build_id_size);
        *at++ = 'S';
        at = put_address(writer, at, item[0]);
        at = put_count(at, item[1]);
        *at++ = '\n';
        bat_text_end(&writer->text, at);
    }
    free(order);
    return code;
}

/* Events come in the order of their names, each once: not in the order of the profile's parts. */
static enum bat_code write_events(struct preagg_writer *writer, const struct bat_strings *events)
{
    struct bat_event *sorted;
    uint32_t count;
    if (bat_events_sort(events, &sorted, &count) != BAT_OK)
        return bat_fail_memory(writer->text.error, "to write the profile");
    for (uint32_t i = 0; i < count; i++) {
        bat_text_string(&writer->text, "E ");
        bat_text_string(&writer->text, sorted[i].word);
        bat_text_string(&writer->text, "\n");
    }
    bat_events_free(sorted, count);
    return BAT_OK;
}

static enum bat_code check_profile(const struct bat_profile *profile, struct bat_error *error)
{
    if (profile->fdata.branches.count == 0 && profile->fdata.samples.count == 0)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected samples of the binary, found fdata, which is already translated and "
                    "cannot be written as a pre-aggregated profile");
}

enum bat_code bat_profile_write_preagg(const struct bat_profile *profile, struct bat_output *output,
                                       struct bat_error *error)
{
    BAT_TRY(check_profile(profile, error));
    struct preagg_writer writer = {.profile = profile};
    BAT_TRY(bat_text_begin(&writer.text, output, error));
    enum bat_code code = write_events(&writer, &profile->events);
    code = code ? code : write_traces(&writer);
    code = code ? code : write_samples(&writer);
    return bat_text_finish(&writer.text, code);
}

/* --- Several binaries ----------------------------------------------------------------------- */

/* Prefix the addresses that follow with the profile's build-id. */
static enum bat_code set_profile(struct preagg_writer *writer, const struct bat_profile *profile,
                                 struct bat_error *error)
{
    if (profile->build_id_size == 0 || profile->build_id_size > BUILD_ID_MAX)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected a build-id of 1 to %u bytes in each binary, by which their "
                        "locations are told apart, found one of %zu",
                        BUILD_ID_MAX, profile->build_id_size);
    char *at = bat_hex_bytes(writer->build_id, sizeof(writer->build_id), profile->build_id,
                             profile->build_id_size);
    *at++ = ':';
    writer->build_id_size = (size_t)(at - writer->build_id);
    writer->profile = profile;
    return BAT_OK;
}

enum bat_code bat_profiles_write_preagg(const struct bat_profile *const *profiles, size_t count,
                                        struct bat_output *output, struct bat_error *error)
{
    struct preagg_writer writer = {.is_one_of_several = true};
    struct bat_strings events = {0};
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        code = check_profile(profiles[i], error);
        code = code ? code : set_profile(&writer, profiles[i], error);
    }
    if (code != BAT_OK)
        return code;
    for (size_t i = 0; i < count && code == BAT_OK; i++)
        if (bat_strings_add_all(&events, &profiles[i]->events, NULL) != BAT_OK)
            code = bat_fail_memory(error, "to write the profile");
    code = code ? code : bat_text_begin(&writer.text, output, error);
    if (code == BAT_OK) {
        code = write_events(&writer, &events);
        for (size_t i = 0; i < count && code == BAT_OK; i++) {
            set_profile(&writer, profiles[i], error);
            code = write_traces(&writer);
            code = code ? code : write_samples(&writer);
        }
        code = bat_text_finish(&writer.text, code);
    }
    bat_strings_free(&events);
    return code;
}
