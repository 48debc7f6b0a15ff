/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The summary: what BOLT did, and what the profile says. */

#include "bat_decoder.h"
#include "binary/note_facts.h"
#include "page.h"

/* A figure; level 1 is a part of the one before it. whole 0: no share. */
static void write_figure(struct bat_text_writer *page, unsigned level, const char *label,
                         uint64_t value, uint64_t whole)
{
    char text[NUMBER_SIZE];
    bat_text_format(page, "<tr><th scope=\"row\" class=\"level%u\">%s</th><td>%s</td>", level,
                    label, with_commas(value, text));
    if (whole == 0)
        bat_text_string(page, "<td></td></tr>\n");
    else
        bat_text_format(page,
                        "<td><span class=\"share\">%.1f%%</span><meter max=\"100\" value=\"%.2f\" "
                        "aria-hidden=\"true\"></meter></td></tr>\n",
                        html_percent(value, whole), html_percent(value, whole));
}

/* --- Where the binary comes from -------------------------------------------------------------- */

static void write_origin(const struct report *report, struct bat_text_writer *page)
{
    const struct bat_elf *elf = report->binary.elf;
    bat_text_string(page, "<dl class=\"origin\">\n");
    html_term(page, "Binary", report->request->binary);
    if (report->original)
        html_term(page, "Input of BOLT", report->request->original);
    for (size_t i = 0; i < report->request->profile_count; i++)
        html_term(page, "Profile", report->request->profiles[i]);
    const char *info = bat_elf_bolt_info(elf);
    char revision[NOTE_REVISION_SIZE];
    const char *command;
    if (info && note_bolt_info(info, revision, &command)) {
        html_term(page, "BOLT revision", revision);
        html_term(page, "Command line", command);
    } else {
        html_term(page, "BOLT", info ? info : "not recorded (no .note.bolt_info)");
    }
    html_term(page, "Note", note_version_text(report->binary.map));
    html_term(page, "Machine", note_machine_name(elf));
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    bat_text_string(page, "<dt>Build-id</dt><dd>");
    if (build_id)
        bat_text_hex_bytes(page, build_id, size);
    bat_text_string(page, build_id ? "</dd>\n</dl>\n" : "none</dd>\n</dl>\n");
}

/* --- What BOLT did ---------------------------------------------------------------------------- */

struct code_figures {
    uint64_t of_kind[REPORT_KINDS];
    uint64_t bytes[REPORT_KINDS];
    uint64_t split;
    uint64_t split_further;
    uint64_t reordered;
    uint64_t moved; /* begin at another address than in the input */
    uint64_t known; /* whose input address is known */
    uint64_t all_bytes;
    uint64_t old_bytes; /* in sections that BOLT replaced, and in no function */
};

static struct code_figures count_code(const struct report *report)
{
    struct code_figures figures = {0};
    for (uint32_t i = 0; i < report->piece_count; i++) {
        figures.of_kind[report->pieces[i].kind]++;
        figures.bytes[report->pieces[i].kind] += report->pieces[i].size;
        if (report_is_old_section(&report->output.all[report->pieces[i].section]))
            figures.old_bytes -= report->pieces[i].size;
    }
    for (uint32_t i = 0; i < report->function_count; i++) {
        const struct report_function *function = &report->functions[i];
        figures.split += function->piece_count > 1;
        figures.split_further += function->piece_count > 2;
        figures.reordered += function->is_reordered;
        if (function->input_section == BAT_NONE ||
            report->pieces[function->main_piece].kind != REPORT_HOT)
            continue;
        figures.known++;
        figures.moved += report->pieces[function->main_piece].address != function->input_address;
    }
    for (uint32_t i = 0; i < report->output.count; i++) {
        const struct report_section *section = &report->output.all[i];
        figures.all_bytes += section->size;
        figures.old_bytes += report_is_old_section(section) ? section->size : 0;
    }
    return figures;
}

static void write_functions(const struct report *report, const struct code_figures *figures,
                            struct bat_text_writer *page)
{
    uint64_t hot = figures->of_kind[REPORT_HOT];
    html_begin_card(page, "What BOLT did");
    write_figure(page, 0, "functions rewritten", hot, 0);
    if (report->original)
        write_figure(page, 1, "moved to another address", figures->moved, figures->known);
    write_figure(page, 1, "with blocks in a new order", figures->reordered, hot);
    write_figure(page, 1, "split", figures->split, hot);
    write_figure(page, 1, "split into more than two", figures->split_further, hot);
    if (report->original)
        write_figure(page, 0, "functions folded into others",
                     bat_original_counters(report->original).folded, 0);
    write_figure(page, 0, "functions left in place", figures->of_kind[REPORT_LEFT], 0);
    write_figure(page, 0, "PLT entries", figures->of_kind[REPORT_PLT], 0);
    if (report->without_code != 0)
        write_figure(page, 0, "tables of the note without code", report->without_code, 0);
    html_end_card(page);
}

static void write_bytes(const struct code_figures *figures, struct bat_text_writer *page)
{
    uint64_t used = 0;
    for (unsigned i = 0; i < REPORT_KINDS; i++)
        used += figures->bytes[i];
    html_begin_card(page, "Bytes of code");
    write_figure(page, 0, "hot parts and whole functions", figures->bytes[REPORT_HOT],
                 figures->all_bytes);
    write_figure(page, 0, "cold fragments", figures->bytes[REPORT_COLD], figures->all_bytes);
    write_figure(page, 0, "functions left in place", figures->bytes[REPORT_LEFT],
                 figures->all_bytes);
    write_figure(page, 0, "PLT", figures->bytes[REPORT_PLT], figures->all_bytes);
    write_figure(page, 0, "old code that is no longer used", figures->old_bytes,
                 figures->all_bytes);
    write_figure(page, 0, "padding", figures->all_bytes - used - figures->old_bytes,
                 figures->all_bytes);
    write_figure(page, 0, "all sections of code", figures->all_bytes, 0);
    html_end_card(page);
}

/* --- The note --------------------------------------------------------------------------------- */

static void write_note(const struct report *report, struct bat_text_writer *page)
{
    const struct bat_map *map = report->binary.map;
    struct bat_shares shares;
    bat_map_shares(map, &shares);
    uint64_t sum = bat_shares_sum(&shares);
    html_begin_card(page, "The note");
    write_figure(page, 0, "functions", map->hot_count, 0);
    write_figure(page, 0, "cold fragments", map->cold_count, 0);
    write_figure(page, 0, "entries", map->entry_count, 0);
    write_figure(page, 1, "blocks", map->block_count, map->entry_count);
    write_figure(page, 1, "branches and calls", map->entry_count - map->block_count,
                 map->entry_count);
    write_figure(page, 0, "secondary entry points", map->secondary_count, 0);
    write_figure(page, 0, "bytes", sum, 0);
    for (unsigned i = 0; i < BAT_SHARES; i++)
        if (shares.bytes[i] != 0)
            write_figure(page, 1, note_share_label((enum bat_share)i), shares.bytes[i], sum);
    html_end_card(page);
}

/* --- The profile ------------------------------------------------------------------------------ */

static void write_samples(const struct report *report, struct bat_text_writer *page)
{
    uint64_t all = report->samples;
    uint64_t functions = 0;
    for (uint32_t i = 0; i < report->function_count; i++)
        functions += report->functions[i].samples != 0;
    html_begin_card(page, "Samples");
    write_figure(page, 0, "all", all, 0);
    write_figure(page, 1, "in hot parts and whole functions", report->samples_of_kind[REPORT_HOT],
                 all);
    write_figure(page, 1, "in cold fragments", report->samples_of_kind[REPORT_COLD], all);
    write_figure(page, 1, "in functions left in place", report->samples_of_kind[REPORT_LEFT], all);
    write_figure(page, 1, "in the PLT", report->samples_of_kind[REPORT_PLT], all);
    write_figure(page, 1, "in old code, before BOLT moved it", report->samples_old, all);
    write_figure(page, 1, "in code of no function", report->samples_nowhere, all);
    write_figure(page, 1, "outside of the binary", report->samples_outside, all);
    write_figure(page, 0, "functions with samples", functions, 0);
    struct bat_profile_counters read = bat_profile_counters(report->profile);
    if (read.perf_samples != 0)
        write_figure(page, 0, "samples in perf.data", read.perf_samples, 0);
    if (read.fdata_records != 0)
        write_figure(page, 0, "records of fdata, not on the map", read.fdata_records, 0);
    html_end_card(page);
}

static void write_next(const struct report *report, struct bat_text_writer *page)
{
    struct bat_translate_counters done = bat_records_counters(report->records);
    html_begin_card(page, "For the next BOLT run");
    write_figure(page, 0, "records of fdata", bat_records_count(report->records), 0);
    write_figure(page, 0, "fall-throughs", done.fallthroughs, 0);
    write_figure(page, 1, "not one run of code", done.invalid, done.fallthroughs);
    if (report->is_moved) {
        const struct bat_to_input_counters *moved = &report->moved;
        write_figure(page, 1, "cut: no way in the input's code", moved->unfollowed, moved->samples);
        write_figure(page, 0, "runs and branches in moved code", moved->parts, 0);
        write_figure(page, 1, "explained by BOLT's known passes", moved->parts_explained,
                     moved->parts);
        write_figure(page, 1, "in functions by the note alone", moved->by_note_parts, moved->parts);
    } else {
        write_figure(page, 1, "left out: no edges of the input", done.left_out, 0);
    }
    if (report->has_judgement) {
        const struct bat_judgement *judged = &report->judgement;
        write_figure(page, 0, "functions that llvm-bolt will judge", judged->functions, 0);
        write_figure(page, 1, "refused as stale", judged->stale_functions, judged->functions);
        write_figure(page, 1, "judged by the note alone", judged->functions_by_note,
                     judged->functions);
        write_figure(page, 0, "counts of their records", judged->samples, 0);
        write_figure(page, 1, "of refused functions", judged->stale_samples, judged->samples);
    }
    if (report->has_yaml_judgement) {
        const struct bat_judgement *judged = &report->yaml_judgement;
        write_figure(page, 0, "functions refused in YAML", judged->stale_functions,
                     judged->functions);
        write_figure(page, 1, "counts of their records in YAML", judged->stale_samples,
                     judged->samples);
    }
    const struct bat_verdict_result *density = &report->check.results[BAT_VERDICT_DENSITY];
    if (density->status != BAT_VERDICT_UNKNOWN)
        bat_text_format(
            page,
            "<tr><th scope=\"row\" class=\"level0\">density, of the functions with 99%% of "
            "the branches</th><td>%.1f</td><td><span class=\"share\">of 60</span></td>"
            "</tr>\n",
            density->value);
    html_end_card(page);
}

/* The functions whose profile is that of the note alone. */
static void write_by_note(const struct report *report, struct bat_text_writer *page)
{
    const struct bat_to_input_counters *moved = &report->moved;
    uint64_t count = report->is_moved ? moved->by_note_functions : 0;
    if (count == 0)
        return;
    char text[NUMBER_SIZE];
    bat_text_format(
        page,
        "<p class=\"remark\" id=\"by-note\">BOLT's known passes do not explain what became of %s "
        "function%s, whose profile is by the note alone:",
        with_commas(count, text), count == 1 ? "" : "s");
    for (uint64_t i = 0; i < count && i < BAT_UNEXPLAINED_MAX; i++) {
        const struct bat_unexplained *function = &moved->heaviest[i];
        bat_text_string(page, i == 0 ? " " : ", ");
        report_write_name(report, BAT_NONE, function->name ? function->name : "?", page);
        bat_text_format(page, " (%.1f%% of %s explained)",
                        html_percent(bat_unexplained_rest(function), function->counts),
                        with_commas(function->counts, text));
    }
    bat_text_string(page, count > BAT_UNEXPLAINED_MAX ? " and others.</p>\n" : ".</p>\n");
}

void report_write_summary(struct report *report, struct bat_text_writer *page)
{
    struct code_figures figures = count_code(report);
    if (report->has_profile)
        report_write_banner(report, page);
    report_write_answer(report, page);
    write_origin(report, page);
    bat_text_string(page, "<div class=\"cards\">\n");
    write_functions(report, &figures, page);
    write_bytes(&figures, page);
    if (report->has_profile) {
        write_samples(report, page);
        write_next(report, page);
    }
    write_note(report, page);
    bat_text_string(page, "</div>\n");
    if (report->has_profile) {
        write_by_note(report, page);
        report_write_next(report, page);
        report_write_check(report, page);
    } else {
        bat_text_string(page,
                        "<p class=\"remark\">No profile was given (<code>-p</code>): the page "
                        "has no samples.</p>\n");
    }
    if (!report->original)
        bat_text_string(page, "<p class=\"remark\">The input binary was not given "
                              "(<code>--original</code>): the page shows the code after BOLT "
                              "only.</p>\n");
}
