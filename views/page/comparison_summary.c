/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The summary of the page about two binaries: what differs. */
#include <stdlib.h>

#include "binary/note_facts.h"
#include "comparison_report.h"
#include "page.h"
#include "profile/verdict/words.h"

/* --- Where the binaries come from ------------------------------------------------------------- */

static void write_bolt(const struct report *report, const char *const labels[2],
                       struct bat_text_writer *page)
{
    const char *info = bat_elf_bolt_info(report->binary.elf);
    char revision[NOTE_REVISION_SIZE];
    const char *command;
    if (info && note_bolt_info(info, revision, &command)) {
        html_term(page, labels[0], revision);
        html_term(page, labels[1], command);
    } else {
        html_term(page, labels[0], info ? info : "not recorded (no .note.bolt_info)");
    }
}

static void write_verdict(const struct report *report, const char *label,
                          struct bat_text_writer *page)
{
    char *words = bat_verdict_words(&report->check);
    if (words)
        html_term(page, label, words);
    else if (bat_verdict_made(&report->check) != 0 && page->code == BAT_OK)
        page->code = bat_fail_memory(page->error, "for the page");
    free(words);
}

static void write_profiles(const struct report *report, const char *label, const char *verdict,
                           struct bat_text_writer *page)
{
    for (size_t i = 0; i < report->request->profile_count; i++)
        html_term(page, label, report->request->profiles[i]);
    if (report->has_profile)
        write_verdict(report, verdict, page);
}

static void write_origin(const struct report_comparison *comparison, struct bat_text_writer *page)
{
    static const char *const old_labels[2] = {"BOLT revision, old", "Command line, old"};
    static const char *const new_labels[2] = {"BOLT revision, new", "Command line, new"};
    static const char *const both_labels[2] = {"BOLT revision, both", "Command line, both"};
    const struct report *sides = comparison->sides;
    bat_text_string(page, "<dl class=\"origin\">\n");
    html_term(page, "Old", sides[OLD].request->binary);
    html_term(page, "New", sides[NEW].request->binary);
    write_profiles(&sides[OLD], "Profile of old", "Verdict on it, old", page);
    write_profiles(&sides[NEW], "Profile of new", "Verdict on it, new", page);
    html_term(page, "The same input",
              comparison->facts.same_input ? "yes, by the build-id" : "not by the build-id");
    if (comparison->facts.same_info) {
        write_bolt(&sides[NEW], both_labels, page);
    } else {
        write_bolt(&sides[OLD], old_labels, page);
        write_bolt(&sides[NEW], new_labels, page);
    }
    bat_text_string(page, "</dl>\n");
}

/* --- Figures of both -------------------------------------------------------------------------- */

/* first: the first column's head; "" for none, as a head without text says nothing. */
static void begin_pairs(struct bat_text_writer *page, const char *title, const char *first)
{
    bat_text_format(
        page, "<div class=\"card scroll\"><h3>%s</h3>\n<table class=\"rows both\"><thead><tr>",
        title);
    if (*first)
        bat_text_format(page, "<th scope=\"col\">%s</th>", first);
    else
        bat_text_string(page, "<td></td>");
    bat_text_string(page, "<th scope=\"col\">old</th><th scope=\"col\">new</th>"
                          "<th scope=\"col\">change</th></tr></thead><tbody>\n");
}

/* The cells behind a label. */
static void write_both(struct bat_text_writer *page, uint64_t old, uint64_t new)
{
    char text[NUMBER_SIZE];
    bat_text_format(page, "<td>%s</td>", with_commas(old, text));
    bat_text_format(page, "<td>%s</td>", with_commas(new, text));
    if (old == new)
        bat_text_string(page, "<td></td></tr>\n");
    else
        bat_text_format(page, "<td>%s%s</td></tr>\n", new > old ? "+" : "\u2212",
                        with_commas(new > old ? new - old : old - new, text));
}

static void write_pair(struct bat_text_writer *page, const char *label, uint64_t old, uint64_t new)
{
    bat_text_format(page, "<tr><th scope=\"row\">%s</th>", label);
    write_both(page, old, new);
}

/* --- Cards ------------------------------------------------------------------------------------ */

static void write_count(struct bat_text_writer *page, const char *filter, const char *label,
                        uint64_t count)
{
    char text[NUMBER_SIZE];
    bat_text_format(page,
                    "<tr><th scope=\"row\" class=\"level0\"><a href=\"#functions?filter=%s\">%s</a>"
                    "</th><td>%s</td><td></td></tr>\n",
                    filter, label, with_commas(count, text));
}

static void write_counts(const struct comparison *facts, struct bat_text_writer *page)
{
    html_begin_card(page, "Functions in the notes");
    write_count(page, "appeared", "appeared", facts->appeared);
    write_count(page, "went", "went", facts->went);
    for (unsigned bit = 0; bit < CHANGES; bit++)
        write_count(page, change_keys[bit], change_labels[bit], facts->changed[bit]);
    write_count(page, "equal", "are as they were", facts->equal);
    html_end_card(page);
}

static void write_code(const struct report_comparison *comparison, struct bat_text_writer *page)
{
    static const char *const labels[REPORT_KINDS] = {
        "bytes of hot parts and whole functions", "bytes of cold fragments",
        "bytes of functions left in place", "bytes of the PLT"};
    const struct compared_side *old = &comparison->facts.sides[OLD];
    const struct compared_side *new = &comparison->facts.sides[NEW];
    const struct report *sides = comparison->sides;
    uint64_t bytes[2][REPORT_KINDS] = {0};
    uint64_t sections[2] = {0};
    uint64_t left[2] = {0};
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < sides[side].piece_count; i++) {
            bytes[side][sides[side].pieces[i].kind] += sides[side].pieces[i].size;
            left[side] += sides[side].pieces[i].kind == REPORT_LEFT;
        }
        for (uint32_t i = 0; i < sides[side].output.count; i++)
            sections[side] += sides[side].output.all[i].size;
    }
    begin_pairs(page, "Code", "");
    write_pair(page, "functions with a table", old->binary->map->hot_count,
               new->binary->map->hot_count);
    write_pair(page, "cold fragments", old->binary->map->cold_count, new->binary->map->cold_count);
    write_pair(page, "functions left in place", left[OLD], left[NEW]);
    if (old->unnamed + new->unnamed != 0)
        write_pair(page, "without a name, not compared", old->unnamed, new->unnamed);
    if (sides[OLD].without_code + sides[NEW].without_code != 0)
        write_pair(page, "tables without code", sides[OLD].without_code, sides[NEW].without_code);
    for (unsigned kind = 0; kind < REPORT_KINDS; kind++)
        write_pair(page, labels[kind], bytes[OLD][kind], bytes[NEW][kind]);
    write_pair(page, "bytes of all sections of code", sections[OLD], sections[NEW]);
    html_end_card(page);
}

static void write_note(const struct comparison *facts, struct bat_text_writer *page)
{
    const struct compared_side *old = &facts->sides[OLD];
    const struct compared_side *new = &facts->sides[NEW];
    begin_pairs(page, "The note", facts->same_note ? "the same bytes" : "bytes");
    write_pair(page, "all", old->binary->note_size, new->binary->note_size);
    for (unsigned i = 0; i < BAT_SHARES; i++)
        if (old->shares.bytes[i] + new->shares.bytes[i] != 0)
            write_pair(page, note_share_label((enum bat_share)i), old->shares.bytes[i],
                       new->shares.bytes[i]);
    html_end_card(page);
}

static void write_sections(const struct comparison *facts, struct bat_text_writer *page)
{
    begin_pairs(page, "Sections of other sizes",
                facts->section_count ? "bytes" : "all have the same");
    for (uint32_t i = 0; i < facts->section_count; i++) {
        html_put(page, "<tr><th scope=\"row\"><bdi>",
                 facts->sections[i].name[0] ? facts->sections[i].name : "(no name)", "</bdi></th>");
        write_both(page, facts->sections[i].sizes[OLD], facts->sections[i].sizes[NEW]);
    }
    html_end_card(page);
}

/* A side without a profile has no figures, which is not the same as none. */
static void write_sampled(const struct report *sides, struct bat_text_writer *page,
                          const char *label, uint64_t old, uint64_t new)
{
    char text[NUMBER_SIZE];
    if (sides[OLD].has_profile && sides[NEW].has_profile) {
        write_pair(page, label, old, new);
        return;
    }
    bat_text_format(page, "<tr><th scope=\"row\">%s</th><td>%s</td>", label,
                    sides[OLD].has_profile ? with_commas(old, text) : "");
    bat_text_format(page, "<td>%s</td><td></td></tr>\n",
                    sides[NEW].has_profile ? with_commas(new, text) : "");
}

static void write_samples(const struct report *sides, struct bat_text_writer *page)
{
    static const char *const labels[REPORT_KINDS] = {"in hot parts and whole functions",
                                                     "in cold fragments",
                                                     "in functions left in place", "in the PLT"};
    uint64_t functions[2] = {0};
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side].function_count; i++)
            functions[side] += sides[side].functions[i].samples != 0;
    begin_pairs(page, "Samples", "");
    write_sampled(sides, page, "all", sides[OLD].samples, sides[NEW].samples);
    for (unsigned kind = 0; kind < REPORT_KINDS; kind++)
        write_sampled(sides, page, labels[kind], sides[OLD].samples_of_kind[kind],
                      sides[NEW].samples_of_kind[kind]);
    write_sampled(sides, page, "in old code, before BOLT moved it", sides[OLD].samples_old,
                  sides[NEW].samples_old);
    write_sampled(sides, page, "in code of no function", sides[OLD].samples_nowhere,
                  sides[NEW].samples_nowhere);
    write_sampled(sides, page, "outside of the binary", sides[OLD].samples_outside,
                  sides[NEW].samples_outside);
    write_sampled(sides, page, "functions with samples", functions[OLD], functions[NEW]);
    html_end_card(page);
}

static void write_curves(const struct report *sides, struct bat_text_writer *page)
{
    static const char *const names[2] = {"old", "new"};
    static const char *const old_names[2] = {"", "old"};
    if (sides[NEW].has_profile)
        report_write_curves(sides[OLD].has_profile ? sides[OLD].pages[1] : NULL,
                            sides[NEW].pages[1], names, page);
    else if (sides[OLD].has_profile)
        report_write_curves(NULL, sides[OLD].pages[1], old_names, page);
}

void comparison_write_summary(const struct report_comparison *comparison,
                              struct bat_text_writer *page)
{
    const struct report *sides = comparison->sides;
    const struct comparison *facts = &comparison->facts;
    write_origin(comparison, page);
    if (comparison_is_same(facts))
        bat_text_string(page, "<p><strong>Nothing differs that is compared.</strong></p>\n");
    bat_text_string(page, "<div class=\"cards\">\n");
    write_counts(facts, page);
    write_code(comparison, page);
    if (sides[OLD].has_profile || sides[NEW].has_profile)
        write_samples(sides, page);
    write_note(facts, page);
    write_sections(facts, page);
    bat_text_string(page, "</div>\n");
    write_curves(sides, page);
}
