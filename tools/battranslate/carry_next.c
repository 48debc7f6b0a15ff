/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --for: the profiles of old builds, carried to the next one and added up. */
#include <inttypes.h>
#include <stdlib.h>

#include "debuginfo/optional_elf.h"
#include "foreign_profile.h"
#include "next/carry.h"
#include "profile/translate/records_to_traces.h"
#include "support/text_memory.h"
#include "translate_work.h"

/* The next build, and its profile. */
struct next_build {
    struct bat_binary binary;
    struct bat_elf *symbols; /* NULL: the binary's own */
    struct bat_profile *profile;
    struct translate_request request; /* for the old build that is being carried */
    struct work old;                  /* its profile; with --check it stays open */
    struct next_report *reports;      /* one for each old build, in the request's order */
    size_t count;                     /* of reports */
};

static void next_build_close(struct next_build *next)
{
    work_close(&next->old);
    bat_profile_free(next->profile);
    bat_elf_close(next->symbols);
    bat_binary_close(&next->binary);
    for (size_t i = 0; i < next->count; i++)
        next_report_free(&next->reports[i]);
    free(next->reports);
}

static enum tool_exit open_build(const struct translate_request *request, struct next_build *next)
{
    const char *path = request->next;
    struct bat_error error;
    next->reports = calloc(request->release_count + 1, sizeof(*next->reports));
    if (!next->reports)
        return tool_no_memory(NULL);
    if (bat_binary_find_note_if_any(path, &next->binary, &error) != BAT_OK)
        return tool_report(path, &error);
    if (!next->binary.elf || next->binary.note)
        return tool_message(path, "expected the build that llvm-bolt will read, found %s",
                            next->binary.elf ? "one that it has written" : "a BAT note");
    if (separate_symbols_open(path, NULL, &next->symbols, &error) != BAT_OK)
        return tool_report(path, &error);
    if (!bat_elf_has_symbols(next->symbols ? next->symbols : next->binary.elf))
        return tool_message(path, "expected a symbol table, found a stripped file");
    if (bat_profile_new_of(&next->binary, &next->profile, &error) != BAT_OK)
        return tool_report(path, &error);
    return TOOL_FINE;
}

static void put_place(struct bat_text_writer *out, const char *function, uint32_t offset)
{
    bat_text_escaped(out, function ? function : "[unknown]");
    bat_text_format(out, "+0x%" PRIx32, offset);
}

/* Print a block of the function that is explained. */
static void print_block(const struct next_explained *block, void *context)
{
    struct bat_text_writer *out = context;
    put_place(out, block->function, block->offset);
    bat_text_format(out, ": %" PRIu64, block->count);
    if (!block->old_function) {
        bat_text_string(out, ", inferred\n");
        return;
    }
    bat_text_string(out, block->is_piece ? ", a piece of " : ", was ");
    put_place(out, block->old_function, block->old_offset);
    bat_text_format(out, " (%" PRIu64 "), %.0f%%", block->old_count,
                    100 * (double)block->confidence);
    if (!block->is_piece)
        bat_text_format(out, " sure, code alike by %.0f%%", 100 * (double)block->content);
    bat_text_string(out, "\n");
}

/* Print the explanation of a function. */
static enum tool_exit print_explanation(struct bat_text_memory *explanation, const char *function,
                                        FILE *report)
{
    if (bat_text_memory_size(explanation) == 0)
        bat_text_name(&explanation->text, "", function,
                      ": no changed function of this name has got counts\n");
    const size_t size = bat_text_memory_size(explanation);
    const char *text = bat_text_memory_take(explanation);
    if (!text)
        return tool_no_memory(NULL);
    fwrite(text, 1, size, report);
    return TOOL_FINE;
}

/* Carry the records of an old build, which work has made. */
static enum tool_exit add_records(const struct work *work, FILE *report, struct next_build *next)
{
    const struct translate_request *request = work->arguments;
    struct bat_error error;
    struct bat_text_memory explanation;
    if (bat_text_memory_begin(&explanation, &error) != BAT_OK)
        return tool_report(NULL, &error);
    tool_step("finding the functions in %s", request->next);
    const struct next_carry_options options = {
        .old_symbols = work->original ? work->original_symbols : work->symbols,
        .new_symbols = next->symbols,
        .threads = request->reading.threads,
        .explain = request->explain,
        .explained = request->explain ? print_block : NULL,
        .explain_context = &explanation.text,
        .found_min = NEXT_FOUND_MIN};
    struct bat_elf *elf = work->original ? bat_original_elf(work->original) : work->binary.elf;
    enum tool_exit status = TOOL_FINE;
    const enum bat_code code = next_carry(work->records, elf, next->binary.elf, &options,
                                          next->profile, &next->reports[next->count++], &error);
    if (code == BAT_OK && request->explain)
        status = print_explanation(&explanation, request->explain, report);
    bat_text_memory_free(&explanation);
    if (code == BAT_OK)
        return status;
    if (request->release_count == 1)
        return tool_report(request->next, &error);
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(&error, text, sizeof(text));
    return tool_message(request->next, "for %s: %s", request->binary, text);
}

/* The request for one of the old builds alone. It shares all arrays. */
static struct translate_request request_of(const struct translate_request *request, size_t index)
{
    const struct release *release = &request->releases[index];
    size_t end =
        index + 1 < request->release_count ? release[1].first_profile : request->profile_count;
    struct translate_request one = *request;
    one.binary = release->binary;
    one.symbols = release->symbols;
    one.note = release->note;
    one.original = release->original;
    one.profiles = request->profiles + release->first_profile;
    one.profile_count = end - release->first_profile;
    /* What is carried are records, and --debug-file is the next build's. */
    one.format = FORMAT_FDATA;
    one.row = &translate_formats[FORMAT_FDATA];
    one.yaml_probes = false;
    if (request->format == FORMAT_AUTOFDO)
        one.debug_file = NULL;
    return one;
}

/* Read the profile of one of the old builds, and carry it. */
static enum tool_exit add_release(struct work *whole, size_t index, struct parts *parts,
                                  struct next_build *next)
{
    bool has_check = whole->arguments->wants_check;
    struct work *old = &next->old;
    next->request = request_of(whole->arguments, index);
    *old = (struct work){.arguments = &next->request, .stored = bat_stored_nothing()};
    if (has_check) { /* the checks are those of the only old build */
        old->check = whole->check;
        whole->check = (struct bat_profile_verdict){0};
    }
    enum tool_exit status = work_open(old);
    status = status ? status : work_read_profiles(old, parts);
    parts->request = whole->arguments; /* which outlives it */
    old->parts = parts;
    status = status ? status : work_make_records(old);
    status = status ? status : add_records(old, work_report_file(whole), next);
    if (!has_check)
        work_close(old);
    return status;
}

static enum tool_exit translate_next(struct work *work, struct next_build *next)
{
    const struct bat_translate_options options = {
        .size = sizeof(options),
        .symbols = next->symbols,
        .yaml_extern = work->arguments->yaml_extern,
        .yaml_probes = work_writes_probes(work->arguments),
        .will_be_judged = !work->arguments->quiet || work->arguments->wants_check,
        .threads = work->arguments->reading.threads};
    tool_step("translating the profile");
    if (bat_profile_translate(next->profile, &next->binary, &options, &work->records,
                              &work->error) != BAT_OK)
        return tool_report(work->arguments->next, &work->error);
    return TOOL_FINE;
}

/* --- The report ----------------------------------------------------------------------------- */

/* Functions that changed most, in the text; JSON has all. */
#define CHANGED_PRINTED 5u

static void print_changed(struct bat_text_writer *out, const struct next_report *report)
{
    size_t count =
        report->changed_count < CHANGED_PRINTED ? report->changed_count : CHANGED_PRINTED;
    for (size_t i = 0; i < count; i++) {
        const struct next_changed *changed = &report->changed[i];
        bat_text_format(out, i == 0 ? "  most changed: " : "                ");
        bat_text_escaped(out, changed->name);
        bat_text_format(out, ", %.1f%% of the profile",
                        figures_percent(changed->count, report->all.count));
        if (changed->new_name)
            bat_text_format(out, ", alike by %.0f%%\n", 100 * (double)changed->likeness);
        else
            bat_text_string(out, ", gone\n");
    }
}

static void print_text(struct bat_text_writer *out, const struct next_report *report)
{
    bat_text_format(out, "the profile of %" PRIu64 " functions, carried to the next build:\n",
                    report->all.functions);
    struct next_way ways[NEXT_WAYS];
    next_report_ways(report, ways);
    for (size_t i = 0; i < NEXT_WAYS; i++)
        if (ways[i].share.functions != 0)
            bat_text_format(out, "  %.1f%% in %" PRIu64 " functions %s\n",
                            figures_percent(ways[i].share.count, report->all.count),
                            ways[i].share.functions, ways[i].words);
    if (report->blocks != 0)
        bat_text_format(out,
                        "in changed functions %.1f%% of the counts are of blocks that were found, "
                        "%.1f%% were inferred\n",
                        figures_percent(report->blocks_matched, report->blocks),
                        figures_percent(report->blocks - report->blocks_matched, report->blocks));
    print_changed(out, report);
    if (report->copies + report->unknown != 0)
        bat_text_format(out,
                        "of new functions that are called, %" PRIu64
                        " are like an old one and got its "
                        "counts, %" PRIu64 " are not and got none\n",
                        report->copies, report->unknown);
}

static void print_share_json(struct bat_text_writer *out, const char *name,
                             const struct next_share *share)
{
    bat_text_format(out, "\"%s\":{\"functions\":%" PRIu64 ",\"count\":%" PRIu64 "},", name,
                    share->functions, share->count);
}

/* Print the members of an object. */
static void print_json(struct bat_text_writer *out, const struct next_report *report)
{
    print_share_json(out, "all", &report->all);
    print_share_json(out, "same", &report->same);
    print_share_json(out, "by_name", &report->by_name);
    print_share_json(out, "by_plain_name", &report->by_plain_name);
    print_share_json(out, "by_code", &report->by_code);
    print_share_json(out, "gone", &report->gone);
    bat_text_format(out,
                    "\"copies\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"blocks\":%" PRIu64
                    ",\"blocks_matched\":%" PRIu64,
                    report->copies, report->unknown, report->blocks, report->blocks_matched);
    bat_text_string(out, ",\"changed\":[");
    for (size_t i = 0; i < report->changed_count; i++) {
        const struct next_changed *changed = &report->changed[i];
        bat_text_member(out, i ? ",{\"name\":" : "{\"name\":", changed->name);
        bat_text_string(out, ",\"next\":");
        if (changed->new_name)
            bat_text_json(out, changed->new_name);
        else
            bat_text_string(out, "null");
        bat_text_format(out, ",\"count\":%" PRIu64 ",\"likeness\":%.3f}", changed->count,
                        (double)changed->likeness);
    }
    bat_text_string(out, "]");
}

static void print_report_text(const struct work *work, const struct next_build *next,
                              const struct report_judgements *judgements,
                              struct bat_text_writer *out)
{
    const struct translate_request *request = work->arguments;
    for (size_t i = 0; i < next->count; i++) {
        if (next->count > 1)
            bat_text_name(out, "", request->releases[i].binary, ": ");
        print_text(out, &next->reports[i]);
    }
    if (judgements->has_fdata)
        bat_text_format(
            out,
            "llvm-bolt will refuse the profile of %" PRIu64 " of %" PRIu64
            " functions, with %.2f%% of the samples\n",
            judgements->fdata.stale_functions, judgements->fdata.functions,
            figures_percent(judgements->fdata.stale_samples, judgements->fdata.samples));
    if (request->yaml || request->format == FORMAT_YAML)
        bat_text_string(out,
                        "the YAML has no hashes: llvm-bolt reads it with -profile-ignore-hash\n");
}

/* One object "next", or a list "releases" of them, in the request's order. */
static void print_report_json(const struct work *work, const struct next_build *next,
                              const struct report_judgements *judgements,
                              struct bat_text_writer *out)
{
    const struct translate_request *request = work->arguments;
    bool is_list = next->count > 1;
    /* AutoFDO's figures have begun the object. */
    bat_text_string(out, request->format == FORMAT_AUTOFDO ? "," : "{");
    bat_text_string(out, is_list ? "\"next\":{\"releases\":[" : "\"next\":{");
    for (size_t i = 0; i < next->count; i++) {
        if (is_list)
            bat_text_string(out, i ? ",{" : "{");
        print_json(out, &next->reports[i]);
        if (is_list)
            bat_text_string(out, "}");
    }
    if (is_list)
        bat_text_string(out, "]");
    if (judgements->has_fdata)
        bat_text_format(out,
                        ",\"judged_functions\":%" PRIu64 ",\"stale_functions\":%" PRIu64
                        ",\"judged_samples\":%" PRIu64 ",\"stale_samples\":%" PRIu64,
                        judgements->fdata.functions, judgements->fdata.stale_functions,
                        judgements->fdata.samples, judgements->fdata.stale_samples);
    bat_text_string(out, request->wants_check ? "}" : "}}\n");
}

static enum tool_exit print_report(const struct work *work, const struct next_build *next,
                                   const struct report_judgements *judgements)
{
    struct output *out = output_begin_stream(work_report_file(work));
    if (!out)
        return TOOL_BAD;
    (work->arguments->json_report ? print_report_json : print_report_text)(work, next, judgements,
                                                                           &out->text);
    return output_end(out, TOOL_FINE);
}

/* --- Whether it is fit ---------------------------------------------------------------------- */

/* Make the checks of the only old build's profile, and of what became of it. */
static enum tool_exit check_next(struct work *work, struct next_build *next,
                                 const struct report_judgements *judgements)
{
    const struct next_report *report = &next->reports[0];
    struct bat_verdict_lost *lost = calloc(report->changed_count + 1, sizeof(*lost));
    if (!lost)
        return tool_no_memory(NULL);
    struct bat_verdict_next check = {.found = report->found.count,
                                     .whole = report->own.count,
                                     .inferred = report->blocks - report->blocks_matched,
                                     .blocks = report->blocks + report->same_blocks,
                                     .lost = lost,
                                     .records = work->records};
    for (size_t i = 0; i < report->changed_count; i++) {
        const struct next_changed *changed = &report->changed[i];
        if (changed->is_own && !changed->is_found)
            lost[check.lost_count++] =
                (struct bat_verdict_lost){changed->name, changed->count, (double)changed->likeness};
    }
    enum tool_exit status = work_check(&next->old, &check, judgements);
    free(lost);
    return status;
}

/* --- AutoFDO -------------------------------------------------------------------------------- */

/* Write the profile of the next build for compilers, by the lines of its debug information. */
static enum tool_exit write_autofdo(struct work *work, struct next_build *next)
{
    const struct translate_request *request = work->arguments;
    struct bat_profile *traces;
    if (bat_profile_new_of(&next->binary, &traces, &work->error) != BAT_OK)
        return tool_report(request->next, &work->error);
    const struct foreign_profile wanted = {.profile = traces,
                                           .elf = next->binary.elf,
                                           .whole = request->next,
                                           .debug_file = request->debug_file,
                                           .output = work->outputs[0],
                                           .kind = BAT_PROFILE_BRANCHES,
                                           .format = BAT_VIEWER_NONE,
                                           .report = request->quiet ? NULL : work_report_file(work),
                                           .json_report = request->json_report,
                                           .threads = request->reading.threads};
    enum tool_exit status = bat_records_to_traces(work->records, traces, &work->error) == BAT_OK
                                ? compiler_profile_write(&wanted)
                                : tool_report(request->next, &work->error);
    bat_profile_free(traces);
    return status;
}

/* --- All of it ------------------------------------------------------------------------------ */

static enum tool_exit add_releases(struct work *work, struct parts *parts, struct next_build *next)
{
    enum tool_exit status = add_release(work, 0, parts, next);
    work->parts = parts;
    for (size_t i = 1; i < work->arguments->release_count && status == TOOL_FINE; i++) {
        struct parts more = {0};
        status = add_release(work, i, &more, next);
        parts_free(&more);
        next->old.parts = NULL;
    }
    return status;
}

/* Judge, and write and report what was carried. */
static enum tool_exit finish(struct work *work, struct next_build *next)
{
    const struct translate_request *request = work->arguments;
    struct report_judgements judgements = {0};
    enum tool_exit status = request->format == FORMAT_AUTOFDO
                                ? write_autofdo(work, next)
                                : work_write_records(work, &judgements);
    if (status == TOOL_FINE && request->wants_check)
        status = check_next(work, next, &judgements);
    if (status == TOOL_FINE && !request->quiet)
        status = print_report(work, next, &judgements);
    return status;
}

/* The checks go back to where they are printed. */
static void take_checks(struct work *work, struct next_build *next)
{
    if (!next->old.arguments || !work->arguments->wants_check)
        return;
    work->check = next->old.check;
    next->old.check = (struct bat_profile_verdict){0};
}

enum tool_exit carry_next_run(struct work *work, struct parts *parts)
{
    struct next_build next = {.old.stored = bat_stored_nothing()};
    bool is_judged = false;
    enum tool_exit status = open_build(work->arguments, &next);
    status = status ? status : add_releases(work, parts, &next);
    status = status ? status : translate_next(work, &next);
    if (status == TOOL_FINE) {
        status = finish(work, &next);
        is_judged = status == TOOL_FINE;
    }
    take_checks(work, &next);
    if (work->arguments->wants_check && (is_judged || bat_verdict_fail_reading(&work->check)))
        status = work_finish_check(work);
    bat_records_free(work->records);
    work->records = NULL;
    next_build_close(&next);
    return status;
}
