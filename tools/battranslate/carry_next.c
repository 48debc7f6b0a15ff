/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "translate_work.h"

#include <inttypes.h>

#include "optional_elf.h"
#include "tools/common/store.h"

void next_build_close(struct next_build *next)
{
    bat_records_free(next->records);
    bat_profile_free(next->profile);
    bat_elf_close(next->symbols);
    bat_binary_close(&next->binary);
    *next = (struct next_build){0};
}

static enum tool_exit open_build(const char *path, struct next_build *next)
{
    struct bat_error error;
    if (bat_binary_find_note_if_any(path, &next->binary, &error) != BAT_OK)
        return tool_report(path, &error);
    if (!next->binary.elf || next->binary.note)
        return tool_message(path, "expected the build that llvm-bolt will read, found %s",
                            next->binary.elf ? "one that it has written" : "a BAT note");
    if (separate_symbols_open(path, NULL, &next->symbols, &error) != BAT_OK)
        return tool_report(path, &error);
    if (!has_symbols(next->symbols ? next->symbols : next->binary.elf))
        return tool_message(path, "expected a symbol table, found a stripped file");
    return TOOL_FINE;
}

/* Print a block of the function that is explained. */
static void print_block(const struct next_explained *block, void *context)
{
    FILE *file = context;
    fprintf(file, "%s+0x%" PRIx32 ": %" PRIu64, block->function, block->offset, block->count);
    if (!block->old_function)
        fprintf(file, ", inferred\n");
    else if (block->is_piece)
        fprintf(file, ", a piece of %s+0x%" PRIx32 " (%" PRIu64 "), %.0f%%\n", block->old_function,
                block->old_offset, block->old_count, 100 * (double)block->confidence);
    else
        fprintf(file, ", was %s+0x%" PRIx32 " (%" PRIu64 "), %.0f%% sure, code alike by %.0f%%\n",
                block->old_function, block->old_offset, block->old_count,
                100 * (double)block->confidence, 100 * (double)block->content);
}

enum tool_exit next_build_make(const char *path, const struct next_origin *origin, unsigned threads,
                               bool will_be_judged, struct next_build *next)
{
    struct bat_error error;
    *next = (struct next_build){0};
    enum tool_exit status = open_build(path, next);
    if (status != TOOL_FINE)
        return status;
    if (bat_profile_new_of(&next->binary, &next->profile, &error) != BAT_OK)
        return tool_report(path, &error);
    const struct next_carry_options options = {.old_symbols = origin->symbols,
                                               .new_symbols = next->symbols,
                                               .threads = threads,
                                               .explain = origin->explain,
                                               .explained = print_block,
                                               .explain_context = origin->report,
                                               .found_min = NEXT_FOUND_MIN};
    if (next_carry(origin->records, origin->elf, next->binary.elf, &options, next->profile,
                   &next->report, &error) != BAT_OK)
        return tool_report(path, &error);
    const struct bat_translate_options translate = {.size = sizeof(translate),
                                                    .symbols = next->symbols,
                                                    .will_be_judged = will_be_judged,
                                                    .threads = threads};
    if (bat_profile_translate(next->profile, &next->binary, &translate, &next->records, &error) !=
        BAT_OK)
        return tool_report(path, &error);
    return TOOL_FINE;
}

/* --- The report ----------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static void print_share(FILE *file, const struct next_report *report, const char *text,
                        const struct next_share *share)
{
    if (share->functions != 0)
        fprintf(file, "  %.1f%% in %" PRIu64 " functions %s\n",
                percent(share->count, report->all.count), share->functions, text);
}

static void print_text(FILE *file, const struct next_report *report,
                       const struct bat_judgement *judgement)
{
    fprintf(file, "the profile of %" PRIu64 " functions, carried to the next build:\n",
            report->all.functions);
    print_share(file, report, "whose code did not change: count for count", &report->same);
    print_share(file, report, "that changed, found by name", &report->by_name);
    print_share(file, report, "found by name but for what compilers append to it",
                &report->by_plain_name);
    print_share(file, report, "under another name, found by their code", &report->by_code);
    print_share(file, report, "that were not found", &report->gone);
    if (report->blocks != 0)
        fprintf(file,
                "in changed functions %.1f%% of the counts are of blocks that were found, "
                "%.1f%% were inferred\n",
                percent(report->blocks_matched, report->blocks),
                percent(report->blocks - report->blocks_matched, report->blocks));
    if (report->copies + report->unknown != 0)
        fprintf(file,
                "of new functions that are called, %" PRIu64 " are like an old one and got its "
                "counts, %" PRIu64 " are not and got none\n",
                report->copies, report->unknown);
    if (judgement)
        fprintf(file,
                "llvm-bolt will refuse the profile of %" PRIu64 " of %" PRIu64
                " functions, with %.2f%% of the samples\n",
                judgement->stale_functions, judgement->functions,
                percent(judgement->stale_samples, judgement->samples));
}

static void print_share_json(FILE *file, const char *name, const struct next_share *share)
{
    fprintf(file, "\"%s\":{\"functions\":%" PRIu64 ",\"count\":%" PRIu64 "},", name,
            share->functions, share->count);
}

static void print_json(FILE *file, const struct next_report *report,
                       const struct bat_judgement *judgement)
{
    fputs("{\"next\":{", file);
    print_share_json(file, "all", &report->all);
    print_share_json(file, "same", &report->same);
    print_share_json(file, "by_name", &report->by_name);
    print_share_json(file, "by_plain_name", &report->by_plain_name);
    print_share_json(file, "by_code", &report->by_code);
    print_share_json(file, "gone", &report->gone);
    fprintf(file,
            "\"copies\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"blocks\":%" PRIu64
            ",\"blocks_matched\":%" PRIu64,
            report->copies, report->unknown, report->blocks, report->blocks_matched);
    if (judgement)
        fprintf(file,
                ",\"judged_functions\":%" PRIu64 ",\"stale_functions\":%" PRIu64
                ",\"judged_samples\":%" PRIu64 ",\"stale_samples\":%" PRIu64,
                judgement->functions, judgement->stale_functions, judgement->samples,
                judgement->stale_samples);
    fputs("}}\n", file);
}

void next_build_print(FILE *file, const struct next_build *next,
                      const struct bat_judgement *judgement, bool as_json)
{
    if (as_json)
        print_json(file, &next->report, judgement);
    else
        print_text(file, &next->report, judgement);
}
