/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The first pass over the records: everything but the samples. */

#include "sample.h"
#include "session.h"

/* Sizes of records' bodies, which are behind the headers, and offsets in them. */
enum {
    MMAP_SIZE = 32,         /* pid, tid, address, length, offset */
    MMAP_NAME = MMAP_SIZE,  /* in the older MMAP */
    MMAP2_BUILD_ID = 32,    /* size in one byte, 3 unused, 20 of the build-id; or the inode */
    MMAP2_NAME = 64,        /* behind protection and flags */
    COMM_SIZE = 8,          /* pid, tid, and then the name */
    FORK_SIZE = 24,         /* pid, parent, tid, parent's tid, time */
    EVENT_UPDATE_SIZE = 16, /* what, id */
    FEATURE_SIZE = 8,       /* number */
};

/* The current record, and what its reading needs. */
struct survey {
    struct perf_session *session;
    const struct perf_record *record;
    const uint8_t *body;
    size_t size;   /* of the body */
    uint64_t time; /* that the last record of a known time had, if that is no sample */
    struct bat_error *error;
};

static enum bat_code too_short(const struct survey *survey, const char *what)
{
    return bat_fail_at(survey->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, survey->record->offset,
                       "expected %s, found a record of %u bytes", what, survey->record->size);
}

/* A record without a time has that of the one before. */
static struct perf_moment moment_of(const struct survey *survey)
{
    return (struct perf_moment){survey->session->attributes.has_time ? survey->time : 0,
                                survey->record->position};
}

static enum bat_code check(const struct survey *survey, enum bat_code code)
{
    return bat_counts_fail(survey->error, code, "the profile's processes");
}

/* --- Processes ---------------------------------------------------------------------------- */

static enum bat_code survey_mapping(const struct survey *survey, size_t name_at)
{
    const uint8_t *body = survey->body;
    if (survey->size <= name_at || !memchr(body + name_at, 0, survey->size - name_at))
        return too_short(survey, "a mapping with a terminated name");
    uint16_t misc = survey->record->misc;
    if (perf_record_is_guest(survey->record))
        return BAT_OK;
    struct perf_mapping mapping = {.process = bat_load32(body),
                                   .moment = moment_of(survey),
                                   .address = bat_load64(body + 8),
                                   .length = bat_load64(body + 16),
                                   .offset = bat_load64(body + 24),
                                   .path = (const char *)body + name_at,
                                   .is_data = (misc & MISC_MMAP_DATA) != 0};
    if (name_at == MMAP2_NAME && (misc & MISC_MMAP_BUILD_ID)) {
        mapping.build_id_size = body[MMAP2_BUILD_ID];
        mapping.build_id = body + MMAP2_BUILD_ID + 4;
        if (mapping.build_id_size > PERF_BUILD_ID_SIZE)
            return bat_fail_at(survey->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE,
                               survey->record->offset,
                               "expected a build-id of at most %u bytes, found one of %zu",
                               PERF_BUILD_ID_SIZE, mapping.build_id_size);
    }
    return check(survey, perf_processes_map(&survey->session->processes, &mapping));
}

static enum bat_code survey_name(const struct survey *survey)
{
    if (survey->size < COMM_SIZE)
        return too_short(survey, "the name of a process");
    if (!(survey->record->misc & MISC_COMM_EXEC))
        return BAT_OK;
    return check(survey, perf_processes_exec(&survey->session->processes, bat_load32(survey->body),
                                             moment_of(survey)));
}

static enum bat_code survey_fork(const struct survey *survey)
{
    if (survey->size < FORK_SIZE)
        return too_short(survey, "the fork of a process");
    /*
     * perf writes such records, with time 0, for processes that were already running. Their
     * mappings are recorded too, and they may have become other programs since the fork.
     */
    if (bat_load64(survey->body + 16) == 0)
        return BAT_OK;
    return check(survey, perf_processes_fork(&survey->session->processes, bat_load32(survey->body),
                                             bat_load32(survey->body + 4), moment_of(survey)));
}

/* --- Events ------------------------------------------------------------------------------- */

static enum bat_code survey_attribute(const struct survey *survey)
{
    uint32_t size = survey->size < 8 ? 0 : bat_load32(survey->body + ATTRIBUTE_SIZE);
    if (size == 0)
        size = PERF_ATTRIBUTE_SIZE_MIN;
    if (size > survey->size)
        return too_short(survey, "an event's attributes");
    if (survey->session->is_finished)
        return bat_fail_at(survey->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, survey->record->offset,
                           "expected all events before the first of their records, found another "
                           "event behind it");
    return perf_attributes_add(&survey->session->attributes, survey->body, size,
                               survey->body + size, (survey->size - size) / 8,
                               survey->record->offset, survey->error);
}

static enum bat_code survey_event_update(const struct survey *survey)
{
    if (survey->size < EVENT_UPDATE_SIZE)
        return too_short(survey, "an update of an event");
    if (bat_load64(survey->body) != PERF_EVENT_UPDATE_NAME)
        return BAT_OK;
    struct perf_attributes *attributes = &survey->session->attributes;
    const char *name = (const char *)survey->body + EVENT_UPDATE_SIZE;
    size_t size = survey->size - EVENT_UPDATE_SIZE;
    /* A single event needs no id. */
    if (attributes->count == 1)
        return perf_attributes_name_number(attributes, 0, name, size, survey->error);
    return perf_attributes_name(attributes, bat_load64(survey->body + 8), name, size,
                                survey->error);
}

static enum bat_code survey_feature(const struct survey *survey)
{
    if (survey->size < FEATURE_SIZE)
        return too_short(survey, "a feature's number");
    return perf_session_feature(survey->session, bat_load64(survey->body),
                                survey->body + FEATURE_SIZE, survey->size - FEATURE_SIZE,
                                survey->record->offset + PERF_RECORD_HEADER_SIZE + FEATURE_SIZE,
                                survey->error);
}

/* --- Samples and losses ------------------------------------------------------------------- */

/* Join the chunks in pairs: half as many, of twice the size. */
static void halve_chunks(struct perf_session *session)
{
    for (uint32_t i = 0; i < PERF_CHUNKS / 2; i++) {
        const struct perf_chunk *first = &session->chunks[2 * i];
        const struct perf_chunk *second = first + 1;
        session->chunks[i] = (struct perf_chunk){
            .position = first->position,
            .min_time = first->min_time < second->min_time ? first->min_time : second->min_time,
            .line = first->line,
            .has_full_stack = first->has_full_stack || second->has_full_stack};
    }
    session->chunk_count = PERF_CHUNKS / 2;
    session->chunk_size *= 2;
}

struct perf_chunk *perf_session_chunk(struct perf_session *session, uint64_t position)
{
    if (session->chunk_count != 0) {
        struct perf_chunk *last = &session->chunks[session->chunk_count - 1];
        if (position - last->position < session->chunk_size)
            return last;
        if (session->chunk_count == PERF_CHUNKS) {
            halve_chunks(session);
            return perf_session_chunk(session, position);
        }
    }
    struct perf_chunk *chunk = &session->chunks[session->chunk_count++];
    *chunk = (struct perf_chunk){.position = position, .min_time = UINT64_MAX};
    return chunk;
}

/* A sample is parsed only if it is large enough for a full stack. */
static enum bat_code survey_sample(const struct survey *survey)
{
    struct perf_session *session = survey->session;
    struct perf_chunk *chunk = perf_session_chunk(session, survey->record->position);
    session->counters.perf_samples++;
    session->counters.perf_guest_samples += perf_record_is_guest(survey->record);
    if (!session->doubles_entry || perf_record_is_guest(survey->record) ||
        survey->size < PERF_DOUBLING_ENTRIES * PERF_BRANCH_SIZE)
        return BAT_OK;
    struct perf_sample sample;
    enum bat_code code =
        perf_sample_parse(&session->attributes, survey->record, &sample, survey->error);
    if (code != BAT_OK || sample.branch_count < PERF_DOUBLING_ENTRIES)
        return code;
    struct perf_moment moment = perf_session_moment(session, survey->record, sample.time);
    chunk->has_full_stack = true;
    if (moment.time < chunk->min_time)
        chunk->min_time = moment.time;
    return BAT_OK;
}

static enum bat_code survey_loss(const struct survey *survey)
{
    size_t at = survey->record->type == RECORD_LOST ? 8 : 0;
    if (survey->size < at + 8)
        return too_short(survey, "the number of losses");
    perf_add_lost(&survey->session->counters.perf_lost, bat_load64(survey->body + at));
    return BAT_OK;
}

/*
 * Events of processes are kept, and compressed records of equal bytes take nearly none in the file:
 * its size must limit their number.
 */
#define LEAST_EVENTS 16384u
#define BYTES_OF_EVENT 4u /* of a compressed record: those of real recordings take more */

static enum bat_code check_events(const struct survey *survey, uint64_t bytes_read)
{
    const uint64_t most = LEAST_EVENTS + bytes_read / BYTES_OF_EVENT;
    if (survey->session->processes.event_count <= most)
        return BAT_OK;
    return bat_fail_at(survey->error, BAT_ERR_RANGE, BAT_PLACE_FILE, survey->record->offset,
                       "expected at most %lu events of processes (mappings, forks and programs "
                       "that start) in the first %lu bytes, found more",
                       most, bytes_read);
}

/* --- All records -------------------------------------------------------------------------- */

static enum bat_code survey_perf_record(const struct survey *survey)
{
    switch (survey->record->type) {
    case RECORD_HEADER_ATTR:
        return survey_attribute(survey);
    case RECORD_EVENT_UPDATE:
        return survey_event_update(survey);
    case RECORD_FEATURE:
        return survey_feature(survey);
    case RECORD_BUILD_ID:
        return perf_session_build_id(survey->session, survey->record->bytes, survey->record->size,
                                     survey->record->offset, survey->error);
    case RECORD_AUXTRACE_INFO:
    case RECORD_AUXTRACE:
        survey->session->has_trace_data = true;
        return BAT_OK;
    default:
        if (survey->record->type > RECORD_PERF_LAST)
            survey->session->counters.perf_unknown_records++;
        return BAT_OK;
    }
}

static enum bat_code survey_kernel_record(struct survey *survey)
{
    struct perf_session *session = survey->session;
    if (!session->is_finished) {
        BAT_TRY(perf_attributes_finish(&session->attributes, survey->error));
        session->is_finished = true;
    }
    if (survey->record->type != RECORD_SAMPLE)
        perf_attributes_record_time(&session->attributes, survey->record, &survey->time);
    switch (survey->record->type) {
    case RECORD_SAMPLE:
        return survey_sample(survey);
    case RECORD_MMAP:
        return survey_mapping(survey, MMAP_NAME);
    case RECORD_MMAP2:
        return survey_mapping(survey, MMAP2_NAME);
    case RECORD_COMM:
        return survey_name(survey);
    case RECORD_FORK:
        return survey_fork(survey);
    case RECORD_LOST:
    case RECORD_LOST_SAMPLES:
        return survey_loss(survey);
    default:
        if (survey->record->type > RECORD_KERNEL_LAST || survey->record->type == 0)
            session->counters.perf_unknown_records++;
        return BAT_OK;
    }
}

enum bat_code perf_session_survey(struct perf_session *session, struct bat_error *error)
{
    struct perf_stream stream;
    BAT_TRY(perf_session_open(session, &stream, session->data_start, session->data_end, error));
    enum bat_code code = BAT_OK;
    stream.is_survey = true;
    struct perf_record record;
    struct survey survey = {.session = session, .record = &record, .error = error};
    uint64_t reported = 0;
    for (;;) {
        code = perf_stream_next(&stream, &record, error);
        if (code != BAT_OK || !record.bytes)
            break;
        survey.body = record.bytes + PERF_RECORD_HEADER_SIZE;
        survey.size = record.size - PERF_RECORD_HEADER_SIZE;
        code = record.type < RECORD_HEADER_ATTR ? survey_kernel_record(&survey)
                                                : survey_perf_record(&survey);
        code = code ? code : check_events(&survey, stream.bytes_read);
        if (code != BAT_OK)
            break;
        if (stream.bytes_read != reported)
            perf_session_progress(session, stream.bytes_read - reported);
        reported = stream.bytes_read;
    }
    session->is_compressed = stream.was_compressed;
    perf_stream_close(&stream);
    if (code == BAT_OK && !session->is_finished)
        code = perf_attributes_finish(&session->attributes, error);
    return code;
}
