/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The second pass over the records: samples become traces, basic and memory samples. */
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "support/parallel.h"
#include "view.h"

/* Records that one thread reads, and the profiles that they are added to. */
struct stretch {
    struct perf_session *session; /* not changed by several stretches */
    struct perf_stretch from;
    struct bat_profile **profiles; /* of each binary */
    struct perf_views *views;
    struct bat_profiles_counters shares;
    uint64_t samples;      /* that were read */
    uint64_t samples_left; /* that may be read */
    uint64_t unread;       /* others, of text */
    uint64_t for_people;   /* lines that were skipped, of text */
    enum bat_code code;
    struct bat_error error;
};

/* --- Samples ------------------------------------------------------------------------------ */

/* Add the name of an event to the profiles of the view's binaries that came since it was added. */
static enum bat_code add_event(const struct stretch *stretch, struct perf_view *view,
                               const struct perf_sample *sample)
{
    const uint32_t number = sample->event;
    uint32_t ignored = 0;
    uint32_t *named = number < PERF_NAMED_EVENTS ? &view->named[number] : &ignored;
    const uint64_t bit = number < PERF_NAMED_EVENTS ? (uint64_t)1 << number : 0;
    char buffer[256];
    const char *name = sample->event_name;
    if (!name) {
        perf_attribute_name(sample->attribute, buffer, sizeof(buffer));
        name = buffer;
    }
    enum bat_code code = BAT_OK;
    for (; *named < view->begun_count && code == BAT_OK; ++*named) {
        struct perf_member *member = &view->members[view->begun[*named]];
        uint32_t at;
        if (!member->span || (member->events & bit))
            continue;
        member->events |= bit;
        code = bat_strings_add(&stretch->profiles[member->binary]->events, name, strlen(name), &at);
    }
    return code;
}

static inline bool lacks_event(const struct perf_view *view, const struct perf_sample *sample)
{
    return (sample->attribute || sample->event_name) &&
           (sample->event >= PERF_NAMED_EVENTS || view->named[sample->event] != view->begun_count);
}

/* The sample lies in that member. */
static inline void mark(const struct stretch *stretch, struct perf_view *view,
                        struct perf_member *member)
{
    member->inside += member->last_sample != stretch->samples;
    member->last_sample = stretch->samples;
    view->last_sample = stretch->samples;
}

/* An address as the member's binary has it. */
static uint64_t member_address(const struct stretch *stretch, const struct perf_member *member,
                               uint64_t address)
{
    return perf_own_address(&stretch->session->binaries[member->binary], member->span, address);
}

static bool is_inside(uint64_t own)
{
    return own != BAT_ADDRESS_EXTERNAL && own != UINT64_MAX;
}

/*
 * A trace in the process: the branch, its target and, unless it is not known, its end. A branch
 * that was not taken is code that ran, from it to the end.
 */
struct process_trace {
    struct perf_place branch;
    struct perf_place from;
    struct perf_place to;
    bool has_end;
    bool is_mispredicted;
    bool lacks_branch; /* it was not taken, or is not known: only the run counts */
    bool is_return;    /* so the recording says */
};

static inline bool is_return(uint64_t flags)
{
    const uint64_t type = flags & PERF_BRANCH_TYPE;
    return type == PERF_BRANCH_RETURN || type == PERF_BRANCH_COND_RETURN;
}

/* The branch of a trace as a binary has it that it is not in. */
static inline uint64_t outside_branch(const struct process_trace *trace, uint64_t address)
{
    return trace->is_return ? BAT_TRACE_EXTERNAL_RETURN : address;
}

static inline enum bat_code add_trace(const struct stretch *stretch, struct perf_member *member,
                                      const struct process_trace *trace, const uint64_t key[3])
{
    struct bat_profile *profile = stretch->profiles[member->binary];
    struct perf_tally *added = &member->added[trace->has_end ? PERF_WITH_END : PERF_WITHOUT_END];
    added->count++;
    added->mispredictions += trace->is_mispredicted;
    return bat_counts_add_three_later(&profile->traces, &profile->trace_batch, key, 1,
                                      trace->is_mispredicted);
}

/* Add a trace with a special address: each member of the group looks itself. */
static enum bat_code add_special(const struct stretch *stretch, struct perf_view *view,
                                 uint32_t group, const struct process_trace *trace)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < view->member_count && code == BAT_OK; i++) {
        struct perf_member *member = &view->members[i];
        if (member->group != group)
            continue;
        const uint64_t branch = member_address(stretch, member, trace->branch.address);
        const uint64_t key[3] = {trace->lacks_branch ? BAT_TRACE_FALLTHROUGH_ONLY
                                 : is_inside(branch) ? branch
                                                     : outside_branch(trace, branch),
                                 member_address(stretch, member, trace->from.address),
                                 trace->has_end ? member_address(stretch, member, trace->to.address)
                                                : BAT_TRACE_BRANCH_ONLY};
        if (is_inside(key[0]) || is_inside(key[1]))
            mark(stretch, view, member);
        code = add_trace(stretch, member, trace, key);
    }
    return code;
}

/* Add a trace to the profile of a member that one of its addresses is in. */
static inline enum bat_code add_to(const struct stretch *stretch, struct perf_view *view,
                                   uint32_t number, uint32_t group,
                                   const struct process_trace *trace)
{
    struct perf_member *member = &view->members[number];
    if (member->group != group)
        return BAT_OK;
    uint64_t end = trace->to.member == number ? trace->to.own : BAT_ADDRESS_EXTERNAL;
    uint64_t branch = trace->branch.member == number ? trace->branch.own
                                                     : outside_branch(trace, BAT_ADDRESS_EXTERNAL);
    const uint64_t key[3] = {trace->lacks_branch ? BAT_TRACE_FALLTHROUGH_ONLY : branch,
                             trace->from.member == number ? trace->from.own : BAT_ADDRESS_EXTERNAL,
                             trace->has_end ? end : BAT_TRACE_BRANCH_ONLY};
    mark(stretch, view, member);
    return add_trace(stretch, member, trace, key);
}

static inline enum bat_code add_process_trace(const struct stretch *stretch, struct perf_view *view,
                                              uint32_t group, const struct process_trace *trace)
{
    struct perf_tally *all =
        &view->groups[group].all[trace->has_end ? PERF_WITH_END : PERF_WITHOUT_END];
    all->count++;
    all->mispredictions += trace->is_mispredicted;
    if (trace->branch.is_special || trace->from.is_special ||
        (trace->has_end && trace->to.is_special))
        return add_special(stretch, view, group, trace);
    const uint32_t branch = trace->branch.member;
    const uint32_t from = trace->from.member;
    const uint32_t to = trace->has_end ? trace->to.member : BAT_NONE;
    enum bat_code code = BAT_OK;
    if (branch != BAT_NONE)
        code = add_to(stretch, view, branch, group, trace);
    if (code == BAT_OK && from != BAT_NONE && from != branch)
        code = add_to(stretch, view, from, group, trace);
    if (code == BAT_OK && to != BAT_NONE && to != branch && to != from)
        code = add_to(stretch, view, to, group, trace);
    return code;
}

/*
 * The code that ran from a branch that was not taken: up to the next newer entry if that is known,
 * or to the instruction behind it, which is its target.
 */
static void make_not_taken(struct process_trace *trace, struct perf_place target)
{
    trace->from = trace->branch;
    if (!trace->has_end)
        trace->to = target;
    trace->has_end = true;
    trace->is_mispredicted = false;
}

/*
 * Add the traces of a branch stack to the profiles of a group. Each entry is a branch; the
 * fall-through after it ends at the source of the next newer entry, if no branch between them was
 * left out.
 */
static enum bat_code add_branches(const struct stretch *stretch, const struct perf_sample *sample,
                                  struct perf_view *view, uint32_t group)
{
    const uint64_t kernel = group & PERF_GROUP_KERNEL ? UINT64_MAX : PERF_KERNEL_ADDRESS;
    const uint64_t skipped = group & PERF_GROUP_DOUBLED ? 2 : 0;
    struct process_trace trace = {.has_end = false};
    uint64_t left_out = 0;
    uint64_t wrong_path = 0;
    uint64_t seen = 0;
    enum bat_code code = BAT_OK;
    for (uint64_t i = 0; i < sample->branch_count && code == BAT_OK; i++) {
        const uint8_t *branch = sample->branches + i * PERF_BRANCH_SIZE;
        uint64_t from = bat_load64(branch);
        uint64_t to = bat_load64(branch + 8);
        const uint64_t flags = bat_load64(branch + 16);
        if (from >= kernel || to >= kernel) {
            left_out++;
            continue;
        }
        if ((flags & PERF_BRANCH_SPECULATION) == PERF_BRANCH_WRONG_PATH) {
            wrong_path++;
            continue;
        }
        if (seen++ < skipped)
            continue;
        trace.branch = perf_view_find(view, from);
        trace.from = perf_view_find(view, to);
        trace.is_mispredicted = flags & PERF_BRANCH_MISPREDICTED;
        trace.is_return = is_return(flags);
        const bool is_not_taken = (flags & PERF_BRANCH_NOT_TAKEN) != 0;
        /* SPE knows the last target alone, BRBE that of a return from where it must not look. */
        trace.lacks_branch = is_not_taken || from == 0;
        if (is_not_taken)
            make_not_taken(&trace, trace.from);
        code = add_process_trace(stretch, view, group, &trace);
        trace.to = trace.branch;
        trace.has_end = sample->branch_filter == 0 && from != 0;
    }
    uint64_t dropped = seen < skipped ? seen : skipped;
    struct bat_profile_counters *counters = &view->groups[group].counters;
    counters->perf_branches += sample->branch_count;
    counters->perf_kernel_branches += left_out;
    counters->perf_wrong_path += wrong_path;
    counters->perf_dropped += dropped;
    counters->trace_records += seen - dropped;
    counters->perf_used_branches += seen - dropped;
    counters->perf_plain_samples += seen == 0;
    counters->perf_used_samples += seen != 0;
    return code;
}

static enum bat_code add_stack(const struct stretch *stretch, const struct perf_sample *sample,
                               struct perf_view *view)
{
    for (uint32_t group = 0; group < PERF_GROUPS; group++)
        if (view->groups[group].members != 0)
            BAT_TRY(add_branches(stretch, sample, view, group));
    return BAT_OK;
}

/* Add a basic sample as a member has it. */
static enum bat_code add_address(const struct stretch *stretch, struct perf_view *view,
                                 struct perf_member *member, uint64_t address)
{
    if (is_inside(address))
        mark(stretch, view, member);
    member->added[PERF_BASIC].count++;
    return bat_counts_add(&stretch->profiles[member->binary]->samples, &address, 1, 0);
}

static enum bat_code add_basic_sample(const struct stretch *stretch,
                                      const struct perf_sample *sample, struct perf_view *view)
{
    const bool has_address = sample->ip != 0;
    for (struct perf_group *group = view->groups; group < view->groups + PERF_GROUPS; group++) {
        if (group->members == 0)
            continue;
        group->counters.perf_plain_samples += !has_address;
        group->counters.perf_used_samples += has_address;
        group->counters.sample_records += has_address;
        group->all[PERF_BASIC].count += has_address;
    }
    if (!has_address)
        return BAT_OK;
    const struct perf_place place = perf_view_find(view, sample->ip);
    if (!place.is_special)
        return place.member == BAT_NONE
                   ? BAT_OK
                   : add_address(stretch, view, &view->members[place.member], place.own);
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].span)
            BAT_TRY(add_address(stretch, view, &view->members[i],
                                member_address(stretch, &view->members[i], sample->ip)));
    return BAT_OK;
}

/* Add a load by a member. An address that it read outside the binary stays the process's. */
static enum bat_code add_load(const struct stretch *stretch, struct perf_view *view,
                              struct perf_member *member, const struct perf_sample *sample,
                              uint64_t ip)
{
    const uint64_t own = member_address(stretch, member, sample->address);
    const uint64_t key[2] = {ip, own == BAT_ADDRESS_EXTERNAL ? sample->address : own};
    if (perf_sample_counts(sample))
        mark(stretch, view, member);
    return bat_counts_add(&stretch->profiles[member->binary]->mem_samples, key, 1, 0);
}

static enum bat_code add_memory_load(const struct stretch *stretch,
                                     const struct perf_sample *sample, struct perf_view *view)
{
    const struct perf_place ip = perf_view_find(view, sample->ip);
    enum bat_code code = BAT_OK;
    if (!ip.is_special && ip.member == BAT_NONE)
        return BAT_OK;
    if (!ip.is_special)
        return add_load(stretch, view, &view->members[ip.member], sample, ip.own);
    for (uint32_t i = 0; i < view->member_count && code == BAT_OK; i++) {
        struct perf_member *member = &view->members[i];
        const uint64_t own =
            member->span ? member_address(stretch, member, sample->ip) : BAT_ADDRESS_EXTERNAL;
        if (is_inside(own))
            code = add_load(stretch, view, member, sample, own);
    }
    return code;
}

/* Add what is used of a sample to the view's profiles. */
static enum bat_code add_parts(const struct stretch *stretch, const struct perf_sample *sample,
                               struct perf_view *view)
{
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; perf_sample_counts(sample) && i < PERF_GROUPS; i++)
        view->groups[i].counters.perf_samples++;
    if (lacks_event(view, sample))
        code = add_event(stretch, view, sample);
    if (code == BAT_OK && sample->uses_ip)
        code = add_basic_sample(stretch, sample, view);
    if (code == BAT_OK && sample->uses_stack)
        code = add_stack(stretch, sample, view);
    if (code == BAT_OK && sample->is_load)
        code = add_memory_load(stretch, sample, view);
    return code;
}

/* The view of the sample's process; NULL if that has no binary, or with *code not BAT_OK. */
static struct perf_view *find_view(struct stretch *stretch, const struct perf_sample *sample,
                                   struct perf_moment moment, enum bat_code *code)
{
    struct perf_view *view = NULL;
    *code = BAT_OK;
    if (sample->has_process)
        view = perf_views_last(stretch->views, sample->process, moment);
    if (sample->has_process && !view)
        view = perf_views_get(stretch->views, stretch->session, sample->process, moment,
                              stretch->profiles, stretch->shares.inside, code);
    return view && view->present_count != 0 ? view : NULL;
}

/* Complete a sample of text, of which a process has some binary. */
static enum bat_code read_stack(struct stretch *stretch, struct perf_samples *samples,
                                struct perf_sample *sample, struct perf_moment moment,
                                struct perf_view **view)
{
    struct perf_session *session = stretch->session;
    enum bat_code code = perf_samples_stack(samples, sample);
    /* What perf prints is in order, and not known before. */
    if (code != BAT_OK || !session->text->path || !session->doubles_entry ||
        !perf_session_note_doubling(session, sample, moment))
        return code;
    perf_session_sort_doublings(session);
    code = perf_views_flush(stretch->views, stretch->profiles, stretch->shares.inside);
    perf_views_free(stretch->views);
    *stretch->views = (struct perf_views){.uses = 0};
    if (code == BAT_OK)
        *view = find_view(stretch, sample, moment, &code);
    return bat_counts_fail(&stretch->error, code, "the profile");
}

/* Add a sample, of which samples have the rest. */
static enum bat_code add_sample(struct stretch *stretch, struct perf_samples *samples,
                                struct perf_sample *sample, struct perf_moment moment)
{
    enum bat_code code;
    const bool counts = perf_sample_counts(sample);
    stretch->samples += counts;
    struct perf_view *view = find_view(stretch, sample, moment, &code);
    if (code == BAT_OK && !view) {
        stretch->shares.none += counts;
        return BAT_OK;
    }
    if (code == BAT_OK && sample->uses_stack && stretch->session->text)
        BAT_TRY(read_stack(stretch, samples, sample, moment, &view));
    code = code ? code : add_parts(stretch, sample, view);
    if (code == BAT_OK && counts)
        stretch->shares.none += view->last_sample != stretch->samples; /* in none of the members */
    return bat_counts_fail(&stretch->error, code, "the profile");
}

/* --- Stretches ---------------------------------------------------------------------------- */

/* Add what is still pending to the profiles. */
static enum bat_code complete(struct stretch *stretch)
{
    enum bat_code code =
        perf_views_flush(stretch->views, stretch->profiles, stretch->shares.inside);
    for (uint32_t i = 0; i < stretch->session->binary_count && code == BAT_OK; i++) {
        struct bat_profile *profile = stretch->profiles[i];
        /* Views have counted those of their processes. */
        profile->counters.perf_foreign_samples += stretch->samples - profile->counters.perf_samples;
        profile->counters.perf_samples = 0;
        code = bat_counts_flush(&profile->traces, &profile->trace_batch);
    }
    return bat_counts_fail(&stretch->error, code, "the profile");
}

static enum bat_code read_samples(struct stretch *stretch)
{
    struct perf_session *session = stretch->session;
    struct perf_samples samples;
    enum bat_code code = perf_samples_open(&samples, session, &stretch->from, &stretch->error);
    uint64_t reported = 0;
    bool is_sample = true;
    while (code == BAT_OK && is_sample) {
        struct perf_sample sample;
        struct perf_moment moment;
        code = perf_samples_next(&samples, &sample, &moment, &is_sample);
        if (samples.bytes != reported)
            perf_session_progress(session, samples.bytes - reported);
        reported = samples.bytes;
        if (code != BAT_OK || !is_sample)
            break;
        if (sample.uses_stack && stretch->samples_left == 0) {
            stretch->unread++;
            is_sample = session->text != NULL; /* the survey has counted those of perf.data */
            continue;
        }
        stretch->samples_left -= sample.uses_stack;
        code = add_sample(stretch, &samples, &sample, moment);
    }
    stretch->for_people += samples.text.for_people;
    if (session->text && session->text->path) {
        session->text->lines += samples.text.lines.line - 1;
        session->file_size += samples.bytes;
    }
    perf_samples_close(&samples);
    return code;
}

static enum bat_code read_output(int output, enum perf_script_content content, void *context)
{
    (void)content;
    struct stretch *stretch = context;
    stretch->from.file = output;
    return read_samples(stretch);
}

static enum bat_code read_stretch(struct stretch *stretch)
{
    const struct perf_text *text = stretch->session->text;
    if (!text || !text->path)
        return read_samples(stretch);
    return perf_script_run_samples(text->path, stretch->session->options,
                                   text->order == PERF_SCRIPT_BY_TIME, read_output, stretch,
                                   &stretch->error);
}

static void *run_stretch(void *context)
{
    struct stretch *stretch = context;
    const struct perf_session *session = stretch->session;
    stretch->views = calloc(1, sizeof(*stretch->views));
    stretch->shares.inside = calloc(session->binary_count, sizeof(*stretch->shares.inside));
    if (!stretch->views || !stretch->shares.inside) {
        stretch->code = bat_fail_memory(&stretch->error, "to read the profile");
        free(stretch->views);
        return NULL;
    }
    enum bat_code code = read_stretch(stretch);
    code = code ? code : complete(stretch);
    perf_views_free(stretch->views);
    free(stretch->views);
    stretch->code = code;
    return NULL;
}

static unsigned count_stretches(const struct perf_session *session)
{
    uint64_t size = session->data_end - session->data_start;
    /* Positions count unpacked records. */
    if (session->is_compressed && session->chunk_count != 0)
        size = session->chunks[session->chunk_count - 1].position - session->data_start;
    unsigned count = bat_parts_count(session->options->threads, size);
    /* The first samples cannot be divided, nor a pipe. */
    if (perf_samples_max(session->options) != UINT64_MAX || session->data_end == UINT64_MAX)
        return 1;
    uint32_t pieces = session->pieces.count;
    return session->is_compressed && pieces != 0 && count > pieces ? pieces : count;
}

/* Stretch i of count up to the end: it starts with a chunk, or in compressed pieces with one. */
static struct perf_stretch stretch_at(const struct perf_session *session, unsigned i,
                                      unsigned count)
{
    struct perf_stretch from = {
        .file = session->file, .start = session->data_start, .end = session->data_end, .line = 1};
    const uint64_t chunk = (uint64_t)session->chunk_count * i / count;
    if (i == 0 || (session->is_compressed && session->pieces.count == 0))
        return from;
    if (session->is_compressed) {
        uint64_t place = from.start + (from.end - from.start) / count * i;
        uint64_t start = session->pieces.items[perf_pieces_at(&session->pieces, place)].start;
        from.start = start > from.start ? start : from.start;
    } else if (chunk != 0) {
        from.start = session->chunks[chunk].position;
        from.line = session->chunks[chunk].line;
    }
    return from;
}

/* --- All stretches ------------------------------------------------------------------------ */

/* The error of the stretch that met one at the lowest offset; threads may meet several. */
static enum bat_code first_error(const struct stretch *stretches, unsigned count,
                                 struct bat_error *error)
{
    const struct stretch *first = NULL;
    for (unsigned i = 0; i < count; i++)
        if (stretches[i].code != BAT_OK &&
            (!first || stretches[i].error.offset < first->error.offset))
            first = &stretches[i];
    if (first && error)
        *error = first->error;
    return first ? first->code : BAT_OK;
}

/* Add up what stretches have counted besides their profiles. */
static void add_up(const struct stretch *stretch)
{
    struct perf_session *session = stretch->session;
    session->samples_read += stretch->samples;
    for (uint32_t i = 0; i < session->binary_count; i++)
        session->samples_inside += stretch->shares.inside[i];
    if (session->text) {
        session->counters.perf_samples += stretch->samples + stretch->unread;
        session->text->for_people += stretch->for_people;
    }
    for (uint32_t i = 0; session->shares && i < session->binary_count; i++)
        session->shares->inside[i] += stretch->shares.inside[i];
    if (session->shares)
        session->shares->none += stretch->shares.none;
}

static enum bat_code collect(struct perf_session *session, struct bat_profile_parts *parts,
                             struct stretch *stretches, struct bat_error *error)
{
    const unsigned count = parts->threads;
    /* A compressed file is one stream for all threads. */
    struct perf_batches batches = {.lock = PTHREAD_MUTEX_INITIALIZER};
    bool is_shared = session->is_compressed && session->pieces.count == 0 && count > 1;
    for (unsigned i = 0; i < count; i++) {
        stretches[i].session = session;
        stretches[i].profiles = parts->all + (size_t)i * parts->count;
        stretches[i].samples_left = perf_samples_max(session->options);
        stretches[i].from = stretch_at(session, i, count);
        stretches[i].from.batches = is_shared ? &batches : NULL;
        if (i != 0)
            stretches[i - 1].from.end = stretches[i].from.start;
    }
    enum bat_code code = is_shared
                             ? perf_session_open(session, &batches.stream, session->data_start,
                                                 session->data_end, error)
                             : BAT_OK;
    if (code == BAT_OK)
        bat_parts_run(run_stretch, stretches, sizeof(stretches[0]), count);
    if (is_shared)
        perf_stream_close(&batches.stream);
    code = code ? code : first_error(stretches, count, error);
    for (unsigned i = 0; i < count && code == BAT_OK; i++)
        add_up(&stretches[i]);
    return code ? code : bat_profile_parts_take(parts, error);
}

enum bat_code perf_session_collect(struct perf_session *session,
                                   struct bat_profile *const *profiles, struct bat_error *error)
{
    unsigned count = count_stretches(session);
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    struct bat_profile_parts parts;
    enum bat_code code =
        bat_profile_parts_make(&parts, profiles, session->binary_count, count) && stretches
            ? collect(session, &parts, stretches, error)
            : bat_fail_memory(error, "to read the profile");
    for (unsigned i = 0; stretches && i < count; i++)
        free(stretches[i].shares.inside);
    bat_profile_parts_free(&parts);
    free(stretches);
    return code;
}
