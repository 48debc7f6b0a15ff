/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Formats of other people's programs: compilers (autofdo, profgen) and viewers. */
#include <string.h>

#include "bat_probes.h"
#include "binary/note_facts.h"
#include "foreign_profile.h"
#include "translate_work.h"

/* True if the profile is counted by the binary's own probes, which BOLT has moved with its code. */
static bool is_by_own_probes(const struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    const bool can_be = arguments->row->has_contexts ||
                        (arguments->format == FORMAT_AUTOFDO && !arguments->by_lines);
    return can_be && !arguments->reading.basic_samples && bat_probes_are_in(work->binary.elf);
}

/*
 * Refuse a binary that BOLT has written: its lines are those of its code before, unless BOLT has
 * updated them and left no note. --debug-file may have the probes.
 */
static enum tool_exit refuse_bolted(const struct work *work)
{
    const struct bat_elf *elf = work->binary.elf;
    const char *info = bat_elf_bolt_info(elf);
    const uint8_t *note;
    size_t size;
    if (bat_elf_note(elf, &note, &size, NULL, NULL) == BAT_OK)
        return tool_message(work->arguments->binary,
                            "expected --original=FILE with the input binary, which compilers know, "
                            "found a BOLTed binary alone");
    if (!note_is_bolted(elf) || work->arguments->debug_file ||
        (info && strstr(info, "update-debug-sections")))
        return TOOL_FINE;
    return tool_message(work->arguments->binary,
                        "expected --original=FILE with the input binary, which compilers know, and "
                        "the BAT note (--note=FILE, --store=DIR), found a BOLTed binary that has "
                        "lost its note");
}

/*
 * Open a binary that BOLT has not written, or that has probes: compilers need its profile without
 * translation.
 */
enum tool_exit compilers_open(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    if (arguments->original)
        return records_open(work);
    enum tool_exit status = work_find_stored(work);
    status = status ? status : work_open_elf(work, &work->binary.elf);
    return status != TOOL_FINE || is_by_own_probes(work) ? status : refuse_bolted(work);
}

/* Open a binary for viewers without its input: if BOLT wrote it, its note is read. */
enum tool_exit viewers_open(struct work *work)
{
    if (work->arguments->original)
        return records_open(work);
    enum tool_exit status = work_find_stored(work);
    status = status ? status : work_open_binary(work);
    if (status != TOOL_FINE || !work->binary.note ||
        bat_binary_decode(&work->binary, &work->error) == BAT_OK)
        return status;
    return tool_report(work_note_path(work->arguments), &work->error);
}

/* Write a profile for compilers, which is of the input binary always, or one for viewers. */
enum tool_exit foreign_finish(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    const enum bat_viewer_format viewer = arguments->row->viewer;
    struct foreign_profile wanted = {
        .profile = work->profile,
        .elf = work->binary.elf,
        .bolted = work->binary.note ? &work->binary : NULL,
        .whole = bat_stored_or(&work->stored, arguments->binary),
        .debug_file = arguments->debug_file,
        .output = work->outputs[0],
        .by_lines = arguments->by_lines,
        .by_addresses = arguments->format == FORMAT_PROFGEN || arguments->format == FORMAT_HYBRID,
        .format = viewer,
        .report = arguments->quiet ? NULL : work_report_file(work),
        .json_report = arguments->json_report,
        .threads = arguments->reading.threads,
    };
    const bool has_contexts = arguments->row->has_contexts;
    enum tool_exit status = arguments->original && !has_contexts ? work_move(work) : TOOL_FINE;
    if (status != TOOL_FINE)
        return status;
    if (has_contexts)
        wanted.work = work;
    if (arguments->original) {
        wanted.profile = has_contexts ? work->profile : work->input;
        wanted.elf = bat_original_elf(work->original);
        wanted.bolted = NULL;
        wanted.whole = arguments->original;
        wanted.moved = has_contexts ? NULL : &work->to_input;
    }
    wanted.kind = has_contexts                       ? BAT_PROFILE_BRANCHES
                  : arguments->reading.basic_samples ? BAT_PROFILE_SAMPLES
                                                     : bat_profile_main_kind(wanted.profile);
    /* Probes count branch stacks only. */
    if (viewer == BAT_VIEWER_NONE && wanted.kind == BAT_PROFILE_SAMPLES && !arguments->original)
        status = refuse_bolted(work);
    if (status == TOOL_FINE)
        status = viewer == BAT_VIEWER_NONE ? compiler_profile_write(&wanted)
                                           : viewer_profile_write(&wanted);
    if (status == TOOL_FINE && !has_contexts) /* viewers need no branch stacks */
        work_end_report(work, wanted.moved,
                        viewer != BAT_VIEWER_NONE || arguments->reading.basic_samples);
    return status;
}
