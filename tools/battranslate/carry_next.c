/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --for: the profiles of old builds, carried to the next one and added up. */
#include <stdlib.h>

#include "debuginfo/optional_elf.h"
#include "foreign_profile.h"
#include "next/carry.h"
#include "next/report_text.h"
#include "profile/translate/records_to_traces.h"
#include "support/text_memory.h"
#include "tools/common/output.h"
#include "translate_work.h"

/* The next build, and its profile. */
struct next_build {
    struct bat_binary binary;
    struct bat_elf *symbols; /* NULL: the binary's own */
    const char *debug_file;  /* NULL: its debug information is where it says */
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
    next->debug_file = request->format == FORMAT_AUTOFDO ? request->debug_file : NULL;
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

/* Where the old build's debug information is: --debug-file is the next build's for AutoFDO. */
static struct next_debug old_debug(const struct work *work)
{
    const struct translate_request *request = work->arguments;
    if (work->original)
        return (struct next_debug){request->original, request->debug_file};
    return (struct next_debug){bat_stored_or(&work->stored, request->binary), request->symbols};
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
        .old_debug = old_debug(work),
        .new_debug = {request->next, next->debug_file},
        .threads = request->reading.threads,
        .explain = request->explain,
        .explained = request->explain ? next_explained_text : NULL,
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

static void print_report_text(const struct work *work, const struct next_build *next,
                              const struct report_judgements *judgements,
                              struct bat_text_writer *out)
{
    const struct translate_request *request = work->arguments;
    for (size_t i = 0; i < next->count; i++) {
        if (next->count > 1)
            bat_text_name(out, "", request->releases[i].binary, ": ");
        next_report_text(&next->reports[i], out);
    }
    if (judgements->has_fdata)
        bat_text_format(
            out,
            "llvm-bolt will refuse the profile of %lu of %lu functions, with %.2f%% of the "
            "samples\n",
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
        next_report_json(&next->reports[i], out);
        if (is_list)
            bat_text_string(out, "}");
    }
    if (is_list)
        bat_text_string(out, "]");
    if (judgements->has_fdata)
        bat_text_format(out,
                        ",\"judged_functions\":%lu,\"stale_functions\":%lu,\"judged_samples\":%lu,"
                        "\"stale_samples\":%lu",
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
