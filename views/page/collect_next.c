/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Carries the profile to the next build, and keeps what became of it. */
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "spec/array.h"

void report_free_next(struct report_next *next)
{
    bat_records_free(next->records);
    bat_profile_free(next->profile);
    next_report_free(&next->figures);
    bat_strings_free(&next->names);
    free(next->blocks);
    bat_binary_close(&next->binary);
}

/* The number of a name. */
static uint32_t add_name(struct report_next *next, const char *name)
{
    uint32_t number = BAT_NONE;
    if (name && bat_strings_add(&next->names, name, strlen(name), &number) != BAT_OK)
        next->lacks_memory = true;
    return number;
}

static void keep_block(const struct next_explained *block, void *context)
{
    struct report_next *next = context;
    const struct report_carried kept = {.unit = add_name(next, block->unit),
                                        .function = add_name(next, block->function),
                                        .old_function = add_name(next, block->old_function),
                                        .offset = block->offset,
                                        .old_offset = block->old_offset,
                                        .confidence = block->confidence,
                                        .content = block->content,
                                        .is_piece = block->is_piece,
                                        .old_count = block->old_count,
                                        .count = block->count};
    /* A block that calls divide is there in pieces: the first one is what is shown. */
    const struct report_carried *last =
        next->block_count ? &next->blocks[next->block_count - 1] : NULL;
    if (last && last->function == kept.function && last->offset == kept.offset)
        return;
    if (BAT_GROW(next->blocks, next->block_count, next->block_capacity))
        next->blocks[next->block_count++] = kept;
    else
        next->lacks_memory = true;
}

static enum bat_code open_next(struct report *report)
{
    const char *path = report->request->next;
    struct report_next *next = &report->next;
    if (bat_binary_find_note_if_any(path, &next->binary, &report->error) != BAT_OK)
        return report_fail(report, path);
    if (!next->binary.elf || next->binary.note)
        return report_refuse(report, path, "expected the build that llvm-bolt will read, found %s",
                             next->binary.elf ? "one that it has written" : "a BAT note");
    if (!bat_elf_has_symbols(next->binary.elf))
        return report_refuse(report, path, "expected a symbol table, found a stripped file");
    if (bat_profile_new_of(&next->binary, &next->profile, &report->error) != BAT_OK)
        return report_fail(report, path);
    return BAT_OK;
}

static enum bat_code carry(struct report *report)
{
    struct report_next *next = &report->next;
    const struct next_carry_options options = {
        .explained = keep_block, .explain_context = next, .found_min = NEXT_FOUND_MIN};
    const struct bat_translate_options judged = {.size = sizeof(judged), .will_be_judged = true};
    enum bat_code code =
        next_carry(report->records, bat_original_elf(report->original), next->binary.elf, &options,
                   next->profile, &next->figures, &report->error);
    code = code ? code
                : bat_profile_translate(next->profile, &next->binary, &judged, &next->records,
                                        &report->error);
    code = code ? code : bat_records_judge(next->records, false, &next->judgement, &report->error);
    next->has_judgement = code == BAT_OK;
    if (code == BAT_ERR_UNSUPPORTED && next->records)
        code = BAT_OK;
    return code == BAT_OK ? code : report_fail(report, report->request->next);
}

enum bat_code report_collect_next(struct report *report)
{
    if (!report->request->next || !report->original || !report->has_profile)
        return BAT_OK;
    enum bat_code code = open_next(report);
    code = code ? code : carry(report);
    return code == BAT_OK && report->next.lacks_memory ? report_no_memory(report) : code;
}
