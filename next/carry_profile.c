/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "carry.h"

#include <elf.h>
#include <stdlib.h>

#include "carrying.h"
#include "source_lines.h"
#include "spec/array.h"
#include "support/parallel.h"

static void fill_report(const struct next_carrying *carrying)
{
    struct next_report *report = carrying->report;
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++) {
        const struct next_counts *counts = carrying->measured.units[i];
        if (!counts)
            continue;
        struct next_share *shares[] = {
            [NEXT_GONE] = &report->gone,
            [NEXT_BY_NAME] = &report->by_name,
            [NEXT_BY_PLAIN_NAME] = &report->by_plain_name,
            [NEXT_BY_CODE] = &report->by_code,
        };
        next_add_share(&report->all, counts->total);
        for (uint32_t k = 0; carrying->is_same[i] && k < carrying->olds.units[i]->block_count; k++)
            report->same_blocks += counts->blocks[k];
        next_add_share(carrying->is_same[i] ? &report->same : shares[carrying->pairs.how[i]],
                       counts->total);
    }
}

static enum bat_code carry(struct next_carrying *carrying, const struct bat_records *records,
                           struct bat_profile *profile)
{
    enum bat_code code = next_fold(carrying, records);
    code = code ? code
                : next_measure(&carrying->olds, &carrying->records, &carrying->measured,
                               carrying->error);
    if (code == BAT_OK)
        code = next_match_functions(&carrying->measured, &carrying->news, &carrying->pairs,
                                    carrying->error);
    code = code ? code : next_find_same(carrying);
    code = code ? code : next_unfold(carrying);
    if (code == BAT_OK) {
        fill_report(carrying);
        code = next_check_foreign(carrying);
    }
    code = code ? code : next_find_calls(carrying);
    carrying->counts = calloc((size_t)carrying->news.unit_count + 1, sizeof(*carrying->counts));
    carrying->inlined = calloc((size_t)carrying->olds.unit_count + 1, sizeof(*carrying->inlined));
    if (code == BAT_OK && (!carrying->counts || !carrying->inlined))
        code = bat_fail_memory(carrying->error, "for counts");
    code = code ? code : next_infer_changed(carrying);
    code = code ? code : next_infer_new(carrying);
    return code ? code : next_write_records(carrying, profile);
}

static void carrying_free(struct next_carrying *carrying)
{
    for (uint32_t i = 0; carrying->counts && i < carrying->news.unit_count; i++)
        next_new_counts_free(carrying->counts[i]);
    bat_counts_free(&carrying->folded_branches);
    BAT_FREE_ALL(carrying->counts, carrying->inlined, carrying->is_same, carrying->members,
                 carrying->most_calls, carrying->origins, carrying->replacements);
    next_inlining_sets_free(carrying->inlining);
    next_pairs_free(&carrying->pairs);
    if (carrying->measured.program)
        next_measured_free(&carrying->measured);
    next_program_free(&carrying->news);
    next_program_free(&carrying->olds);
}

static const char *machine_name(const struct bat_elf *elf)
{
    switch (bat_elf_machine(elf)) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "AArch64";
    default:
        return "another machine";
    }
}

static enum bat_code check_machines(const struct bat_elf *old_elf, const struct bat_elf *new_elf,
                                    struct bat_error *error)
{
    if (bat_elf_machine(old_elf) == bat_elf_machine(new_elf))
        return BAT_OK;
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected a program for %s, as the old one is, found one for %s",
                    machine_name(old_elf), machine_name(new_elf));
}

/* One of both programs, and how opening it went. */
struct opening {
    struct bat_elf *elf;
    struct bat_elf *symbols; /* or NULL */
    const struct next_debug *debug;
    bool has_probes; /* and so has the other program */
    unsigned threads;
    struct next_program *program;
    struct bat_error error;
    enum bat_code code;
};

/* The file that has a program's probes, or NULL. */
static struct bat_elf *file_with_probes(struct bat_elf *elf, struct bat_elf *symbols)
{
    if (bat_probes_are_in(elf))
        return elf;
    return symbols && bat_probes_are_in(symbols) ? symbols : NULL;
}

static void *open_one(void *part)
{
    struct opening *opening = part;
    opening->code = next_program_open(opening->elf, opening->symbols, opening->threads,
                                      opening->program, &opening->error);
    struct bat_elf *file =
        opening->has_probes ? file_with_probes(opening->elf, opening->symbols) : NULL;
    if (opening->code == BAT_OK && file)
        opening->code = next_probes_read(opening->program, file, opening->symbols, &opening->error);
    if (opening->code == BAT_OK)
        opening->code = next_lines_open(opening->program, opening->debug, &opening->error);
    return NULL;
}

/* Open both programs, by two threads if there may be several. */
static enum bat_code open_both(struct next_carrying *carrying, struct bat_elf *old_elf,
                               struct bat_elf *new_elf)
{
    const struct next_carry_options *options = carrying->options;
    const bool have_probes = file_with_probes(old_elf, options->old_symbols) &&
                             file_with_probes(new_elf, options->new_symbols);
    struct opening both[] = {
        {.elf = old_elf,
         .symbols = options->old_symbols,
         .debug = &options->old_debug,
         .program = &carrying->olds},
        {.elf = new_elf,
         .symbols = options->new_symbols,
         .debug = &options->new_debug,
         .program = &carrying->news},
    };
    for (unsigned i = 0; i < 2; i++) {
        both[i].has_probes = have_probes;
        both[i].threads = options->threads;
    }
    if (options->threads == 1) {
        open_one(&both[0]);
        open_one(&both[1]);
    } else {
        bat_parts_run(open_one, both, sizeof(both[0]), 2);
    }
    carrying->report->has_lines = carrying->olds.lines && carrying->news.lines;
    if (!carrying->report->has_lines) {
        next_lines_close(&carrying->olds);
        next_lines_close(&carrying->news);
    }
    const struct opening *failed = both[0].code != BAT_OK ? &both[0] : &both[1];
    if (failed->code != BAT_OK && carrying->error)
        *carrying->error = failed->error;
    return failed->code;
}

enum bat_code next_carry(const struct bat_records *old_records, struct bat_elf *old_elf,
                         struct bat_elf *new_elf, const struct next_carry_options *options,
                         struct bat_profile *profile, struct next_report *report,
                         struct bat_error *error)
{
    *report = (struct next_report){0};
    if (old_records->kind != BAT_PROFILE_BRANCHES)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a profile of branches to carry to another build, found basic "
                        "samples");
    struct next_carrying carrying = {.options = options, .report = report, .error = error};
    enum bat_code code = check_machines(old_elf, new_elf, error);
    code = code ? code : open_both(&carrying, old_elf, new_elf);
    if (code == BAT_OK && carrying.olds.function_count != old_records->function_count)
        code = bat_fail(error, BAT_ERR_ARGUMENT, "expected records of the old program");
    code = code ? code : carry(&carrying, old_records, profile);
    carrying_free(&carrying);
    return code;
}
