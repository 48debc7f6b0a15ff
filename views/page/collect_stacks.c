/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The tree of calls: of folded stacks ("outermost;...;innermost COUNT", a stack a line), or of the
 * call chains in the profiles.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "support/text_file.h"

/* The deepest stack. perf's limit is 127 unless the system's settings are changed. */
#define DEPTH_MAX 4096u

struct stacks {
    struct report *report;
    struct call_tree tree;
    uint64_t sum;
};

static enum bat_code bad_line(struct report *report, uint64_t number, const char *found)
{
    bat_fail_text(&report->error, BAT_ERR_SYNTAX, number, 1,
                  "expected \"frame;frame COUNT\", found \"%.200s\"", found);
    return report_fail(report, report->request->stacks);
}

static enum bat_code deep_line(struct report *report, uint64_t number)
{
    bat_fail_text(&report->error, BAT_ERR_RANGE, number, 1,
                  "expected stacks of at most %u frames, found a deeper one", DEPTH_MAX);
    return report_fail(report, report->request->stacks);
}

/* Add the frames of a line, which end at semicolons. False if there are too many, or no memory. */
static bool add_frames(struct stacks *stacks, const char *line, size_t length, uint64_t count,
                       bool *is_deep)
{
    uint32_t node = CALL_TREE_ROOT;
    const char *end = line + length;
    for (const char *frame = line; frame <= end;) {
        const char *stop = memchr(frame, ';', (size_t)(end - frame));
        stop = stop ? stop : end;
        *is_deep = stacks->tree.nodes[node].depth == DEPTH_MAX;
        uint32_t name;
        if (*is_deep || bat_strings_add(&stacks->report->stack_names, frame, (size_t)(stop - frame),
                                        &name) != BAT_OK)
            return false;
        node = call_tree_child(&stacks->tree, node, name);
        if (node == BAT_NONE)
            return false;
        frame = stop + 1;
    }
    stacks->tree.nodes[node].count += count;
    return true;
}

/* Add a line, which is changed; blank ones are ignored. */
static enum bat_code add_line(struct stacks *stacks, uint64_t number, char *line, size_t length)
{
    while (length != 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        line[--length] = '\0';
    if (length == 0)
        return BAT_OK;
    char *blank = strrchr(line, ' ');
    if (strlen(line) != length || !blank || blank == line || blank[1] < '0' || blank[1] > '9')
        return bad_line(stacks->report, number, line);
    char *end;
    errno = 0;
    uint64_t count = strtoull(blank + 1, &end, 10);
    if (*end != '\0' || errno != 0 || count > (uint64_t)INT64_MAX - stacks->sum)
        return bad_line(stacks->report, number, line);
    bool is_deep = false;
    if (!add_frames(stacks, line, (size_t)(blank - line), count, &is_deep))
        return is_deep ? deep_line(stacks->report, number) : report_no_memory(stacks->report);
    stacks->sum += count;
    return BAT_OK;
}

static enum bat_code read_stacks(struct stacks *stacks)
{
    struct report *report = stacks->report;
    const char *path = report->request->stacks;
    FILE *file = bat_text_file_open(path);
    if (!file)
        return report_refuse(report, path, "cannot open it: %s", strerror(errno));
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    enum bat_code code = BAT_OK;
    for (uint64_t number = 1;
         code == BAT_OK && (length = bat_text_file_line(file, &line, &capacity)) >= 0; number++)
        code = add_line(stacks, number, line, (size_t)length);
    if (code == BAT_OK && !feof(file))
        code = report_refuse(report, path, "cannot read it: %s", strerror(errno));
    if (code == BAT_OK && stacks->tree.count == 1)
        code = report_refuse(report, path, "expected stacks, found none in it");
    free(line);
    fclose(file);
    return code;
}

/* --- Call chains in perf.data ------------------------------------------------------------------
 */

/* The frames that are in no function of the binary. */
enum other_frame { FRAME_UNKNOWN, FRAME_OTHER_FILES, FRAME_KERNEL, OTHER_FRAMES };

struct chains {
    struct report *report;
    struct call_tree tree;
    uint32_t *names; /* of each function, and then of other frames: in stack_names, or BAT_NONE */
};

/* The number of a frame's name; BAT_NONE without memory. */
static uint32_t name_of(const struct chains *chains, uint64_t frame)
{
    static const char *const others[] = {
        [FRAME_UNKNOWN] = "[unknown]",
        [FRAME_OTHER_FILES] = "[other files]",
        [FRAME_KERNEL] = "[kernel]",
    };
    struct report *report = chains->report;
    uint32_t function = report->function_count + FRAME_UNKNOWN;
    if (frame == BAT_ADDRESS_EXTERNAL || frame == BAT_FRAME_KERNEL) {
        function += frame == BAT_FRAME_KERNEL ? FRAME_KERNEL : FRAME_OTHER_FILES;
    } else {
        uint32_t piece = report_piece_at(report, frame);
        if (piece != BAT_NONE && *report->functions[report->pieces[piece].function].name)
            function = report->pieces[piece].function;
    }
    if (chains->names[function] == BAT_NONE) {
        const char *name = function < report->function_count
                               ? report->functions[function].name
                               : others[function - report->function_count];
        if (bat_strings_add(&report->stack_names, name, strlen(name), &chains->names[function]) !=
            BAT_OK)
            return BAT_NONE;
    }
    return chains->names[function];
}

static bool add_chain(const struct bat_call_chain *chain, void *context)
{
    struct chains *chains = context;
    uint32_t node = CALL_TREE_ROOT;
    for (size_t i = chain->depth; i-- > 0;) {
        uint32_t name = name_of(chains, chain->frames[i]);
        node = name == BAT_NONE ? BAT_NONE : call_tree_child(&chains->tree, node, name);
        if (node == BAT_NONE)
            return false;
    }
    chains->tree.nodes[node].count++;
    return true;
}

/* Profiles of other forms, and what can be read only once, have no chains for the page. */
static enum bat_code read_chains(struct chains *chains)
{
    struct report *report = chains->report;
    const struct bat_page_request *request = report->request;
    for (size_t i = 0; i < request->profile_count; i++) {
        const char *path = request->profiles[i];
        if (strcmp(path, "-") == 0)
            continue;
        enum bat_code code =
            bat_profile_call_chains(report->profile, path, NULL, add_chain, chains, &report->error);
        if (code != BAT_OK && code != BAT_ERR_UNSUPPORTED)
            return report_fail(report, path);
    }
    return BAT_OK;
}

static enum bat_code collect_chains(struct report *report)
{
    struct chains chains = {.report = report};
    const uint32_t count = report->function_count + OTHER_FRAMES;
    chains.names = malloc(count * sizeof(*chains.names));
    for (uint32_t i = 0; chains.names && i < count; i++)
        chains.names[i] = BAT_NONE;
    enum bat_code code = call_tree_begin(&chains.tree) && chains.names ? read_chains(&chains)
                                                                       : report_no_memory(report);
    if (code == BAT_OK && !call_tree_list(&chains.tree, report))
        code = report_no_memory(report);
    call_tree_free(&chains.tree);
    free(chains.names);
    return code;
}

static enum bat_code collect_file(struct report *report)
{
    struct stacks stacks = {.report = report};
    enum bat_code code =
        call_tree_begin(&stacks.tree) ? read_stacks(&stacks) : report_no_memory(report);
    if (code == BAT_OK && !call_tree_list(&stacks.tree, report))
        code = report_no_memory(report);
    call_tree_free(&stacks.tree);
    return code;
}

enum bat_code report_collect_stacks(struct report *report)
{
    if (report->request->stacks)
        return collect_file(report);
    return report->has_profile ? collect_chains(report) : BAT_OK;
}
