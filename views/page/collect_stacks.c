/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The tree of calls: of folded stacks ("outermost;...;innermost COUNT", a stack a line), of a
 * profile of pprof or OpenTelemetry, or of the call chains in the profiles.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elfnote/descriptors.h"
#include "profile/stacks/stack_profile.h"
#include "report.h"
#include "support/text_file.h"

/* The deepest stack. perf's limit is 127 unless the system's settings are changed. */
#define DEPTH_MAX 4096u

struct stacks {
    struct report *report;
    struct call_tree tree;
    uint64_t sum;
    uint32_t *names; /* of each function, and then of other frames: in stack_names, or BAT_NONE */
};

/* --- Frames by address ------------------------------------------------------------------------ */

/* The frames that are in no function of the binary. */
enum other_frame { FRAME_UNKNOWN, FRAME_OTHER_FILES, FRAME_KERNEL, OTHER_FRAMES };

/* The number of a frame's name; BAT_NONE without memory. */
static uint32_t name_of(const struct stacks *stacks, uint64_t frame)
{
    static const char *const others[] = {
        [FRAME_UNKNOWN] = "[unknown]",
        [FRAME_OTHER_FILES] = "[other files]",
        [FRAME_KERNEL] = "[kernel]",
    };
    struct report *report = stacks->report;
    uint32_t function = report->function_count + FRAME_UNKNOWN;
    if (frame == BAT_ADDRESS_EXTERNAL || frame == BAT_FRAME_KERNEL) {
        function += frame == BAT_FRAME_KERNEL ? FRAME_KERNEL : FRAME_OTHER_FILES;
    } else {
        uint32_t piece = report_piece_at(report, frame);
        if (piece != BAT_NONE && *report->functions[report->pieces[piece].function].name)
            function = report->pieces[piece].function;
    }
    if (stacks->names[function] == BAT_NONE) {
        const char *name = function < report->function_count
                               ? report->functions[function].name
                               : others[function - report->function_count];
        if (bat_strings_add(&report->stack_names, name, strlen(name), &stacks->names[function]) !=
            BAT_OK)
            return BAT_NONE;
    }
    return stacks->names[function];
}

/* --- Folded stacks --------------------------------------------------------------------------- */

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

/* --- Call chains in profiles ----------------------------------------------------------------- */

static bool add_chain(const struct bat_call_chain *chain, void *context)
{
    struct stacks *stacks = context;
    uint32_t node = CALL_TREE_ROOT;
    for (size_t i = chain->depth < DEPTH_MAX ? chain->depth : DEPTH_MAX; i-- > 0;) {
        uint32_t name = name_of(stacks, chain->frames[i]);
        node = name == BAT_NONE ? BAT_NONE : call_tree_child(&stacks->tree, node, name);
        if (node == BAT_NONE)
            return false;
    }
    stacks->tree.nodes[node].count += chain->count;
    return true;
}

/* Profiles of other forms, and what can be read only once, have no chains for the page. */
static enum bat_code read_chains(struct stacks *stacks)
{
    struct report *report = stacks->report;
    const struct bat_page_request *request = report->request;
    for (size_t i = 0; i < request->profile_count; i++) {
        const char *path = request->profiles[i];
        if (strcmp(path, "-") == 0)
            continue;
        enum bat_code code =
            bat_profile_call_chains(report->profile, path, NULL, add_chain, stacks, &report->error);
        if (code != BAT_OK && code != BAT_ERR_UNSUPPORTED)
            return report_fail(report, path);
    }
    return BAT_OK;
}

/* --- Profiles of stacks ---------------------------------------------------------------------- */

/* Open a profile of pprof or OpenTelemetry. -1 for other files, and for those that are no regular
 * ones. */
static int open_profile(const char *path)
{
    uint8_t head[STACK_PROFILE_HEAD];
    int file = bat_regular_open(AT_FDCWD, path);
    ssize_t size = file < 0 ? 0 : bat_read_all(file, head, sizeof(head), 0);
    if (size > 0 && stack_profile_is(head, (size_t)size))
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* Step to the child of a node with a name. */
static uint32_t named_child(struct stacks *stacks, uint32_t node, const char *string)
{
    uint32_t name;
    const char *shown = *string ? string : "[unknown]";
    return bat_strings_add(&stacks->report->stack_names, shown, strlen(shown), &name) == BAT_OK
               ? call_tree_child(&stacks->tree, node, name)
               : BAT_NONE;
}

/* The same for the functions of a place: by the profile, or without its names by the address. */
static uint32_t place_child(struct stacks *stacks, uint32_t node, const struct stack_place *place,
                            bool is_caller)
{
    for (size_t i = place->line_count; i-- > 0 && node != BAT_NONE;) {
        const struct stack_line *line = &place->lines[i];
        node = named_child(stacks, node, *line->function ? line->function : line->linkage);
    }
    if (place->line_count != 0)
        return node;
    const bool is_own = place->mapping && place->mapping->is_own;
    uint64_t address =
        is_own ? stack_place_own(place, stacks->report->binary.elf) : BAT_ADDRESS_EXTERNAL;
    if (address == BAT_ADDRESS_EXTERNAL && place->mapping)
        return named_child(stacks, node, place->mapping->path);
    /* A caller's address may be behind its call. */
    address -= address != BAT_ADDRESS_EXTERNAL && is_caller;
    const uint32_t name = name_of(stacks, address);
    /* Several frames of other files are one, as in call chains. */
    if (address == BAT_ADDRESS_EXTERNAL && node != CALL_TREE_ROOT &&
        name == stacks->tree.nodes[node].name)
        return node;
    return name == BAT_NONE ? BAT_NONE : call_tree_child(&stacks->tree, node, name);
}

static enum bat_code add_sample(struct stacks *stacks, const struct stack_sample *sample)
{
    uint32_t node = CALL_TREE_ROOT;
    for (size_t i = sample->depth; i-- > 0;) {
        const struct stack_place *place = sample->places[i];
        if (stacks->tree.nodes[node].depth + place->line_count >= DEPTH_MAX)
            return report_refuse(stacks->report, stacks->report->request->stacks,
                                 "expected stacks of at most %u frames, found a deeper one",
                                 DEPTH_MAX);
        node = place_child(stacks, node, place, i != 0);
        if (node == BAT_NONE)
            return report_no_memory(stacks->report);
    }
    stacks->tree.nodes[node].count += sample->count;
    return BAT_OK;
}

static enum bat_code read_profile(struct stacks *stacks, int file)
{
    struct report *report = stacks->report;
    const char *path = report->request->stacks;
    struct stack_profile *profile;
    enum bat_code code = stack_profile_read(file, NULL, &profile, &report->error);
    if (code != BAT_OK)
        return report_fail(report, path);
    size_t size = 0;
    const struct bat_elf *elf = report->binary.elf;
    const uint8_t *build_id =
        report->request->ignore_build_id ? NULL : bat_elf_build_id(elf, &size);
    stack_profile_own(profile, bat_elf_path(elf), build_id, size);
    if (profile->sample_count == 0)
        code = report_refuse(report, path, "expected stacks, found none in it");
    for (size_t i = 0; code == BAT_OK && i < profile->sample_count; i++)
        code = add_sample(stacks, &profile->samples[i]);
    stack_profile_free(profile);
    return code;
}

/* --- All ------------------------------------------------------------------------------------- */

static enum bat_code read_all(struct stacks *stacks)
{
    const char *path = stacks->report->request->stacks;
    const int file = path ? open_profile(path) : -1;
    if (file < 0)
        return path ? read_stacks(stacks) : read_chains(stacks);
    enum bat_code code = read_profile(stacks, file);
    close(file);
    return code;
}

enum bat_code report_collect_stacks(struct report *report)
{
    if (!report->request->stacks && !report->has_profile)
        return BAT_OK;
    struct stacks stacks = {.report = report};
    const uint32_t count = report->function_count + OTHER_FRAMES;
    stacks.names = malloc(count * sizeof(*stacks.names));
    for (uint32_t i = 0; stacks.names && i < count; i++)
        stacks.names[i] = BAT_NONE;
    enum bat_code code = call_tree_begin(&stacks.tree) && stacks.names ? read_all(&stacks)
                                                                       : report_no_memory(report);
    if (code == BAT_OK && !call_tree_list(&stacks.tree, report))
        code = report_no_memory(report);
    call_tree_free(&stacks.tree);
    free(stacks.names);
    return code;
}
