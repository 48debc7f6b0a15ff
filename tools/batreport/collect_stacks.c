/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Folded stacks ("outermost;...;innermost COUNT", a stack a line) as a tree of calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* The deepest stack. perf's limit is 127 unless the system's settings are changed. */
#define DEPTH_MAX 4096u

struct stack {
    char *text;    /* frames, each with a terminating zero; owned */
    size_t length; /* with the last zero */
    uint64_t count;
};

struct stacks {
    struct stack *all;
    size_t count;
    size_t capacity;
    uint64_t sum;
};

/* Frames end with the lowest byte, so that stacks with the same beginning stand together. */
static int by_frames(const void *left, const void *right)
{
    const struct stack *a = left;
    const struct stack *b = right;
    size_t length = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static enum tool_exit bad_line(const char *path, uint64_t number, const char *found)
{
    struct bat_error error;
    bat_fail_text(&error, BAT_ERR_SYNTAX, number, 1,
                  "expected \"frame;frame COUNT\", found \"%.200s\"", found);
    tool_report(path, &error);
    return TOOL_BAD;
}

/* Add a line, which is changed; blank ones are ignored. */
static enum tool_exit add_line(struct stacks *stacks, const char *path, uint64_t number, char *line,
                               size_t length)
{
    while (length != 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        line[--length] = '\0';
    if (length == 0)
        return TOOL_FINE;
    char *blank = strrchr(line, ' ');
    if (strlen(line) != length || !blank || blank == line || blank[1] < '0' || blank[1] > '9')
        return bad_line(path, number, line);
    char *end;
    errno = 0;
    uint64_t count = strtoull(blank + 1, &end, 10);
    if (*end != '\0' || errno != 0 || count > (uint64_t)INT64_MAX - stacks->sum)
        return bad_line(path, number, line);
    *blank = '\0';
    unsigned depth = 1;
    for (char *at = line; at < blank; at++)
        if (*at == ';') {
            *at = '\0';
            depth++;
        }
    if (depth > DEPTH_MAX)
        return bad_line(path, number, line);
    if (stacks->count == stacks->capacity) {
        size_t capacity = stacks->capacity ? stacks->capacity * 2 : 1024;
        struct stack *grown = reallocarray(stacks->all, capacity, sizeof(*grown));
        if (!grown)
            return report_no_memory();
        stacks->all = grown;
        stacks->capacity = capacity;
    }
    size_t size = (size_t)(blank - line) + 1;
    char *copy = malloc(size);
    if (!copy)
        return report_no_memory();
    stacks->sum += count;
    stacks->all[stacks->count++] =
        (struct stack){.text = memcpy(copy, line, size), .length = size, .count = count};
    return TOOL_FINE;
}

static enum tool_exit read_stacks(const char *path, struct stacks *stacks)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file) {
        tool_message(path, "cannot open it: %s", strerror(errno));
        return TOOL_BAD;
    }
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    enum tool_exit status = TOOL_FINE;
    errno = 0;
    for (uint64_t number = 1;
         status == TOOL_FINE && (length = getline(&line, &capacity, file)) >= 0; number++)
        status = add_line(stacks, path, number, line, (size_t)length);
    if (status == TOOL_FINE && !feof(file)) {
        tool_message(path, "cannot read it: %s", strerror(errno));
        status = TOOL_BAD;
    }
    if (status == TOOL_FINE && stacks->count == 0) {
        tool_message(path, "expected stacks, found none in it");
        status = TOOL_BAD;
    }
    free(line);
    if (file != stdin)
        fclose(file);
    return status;
}

/* --- The tree -------------------------------------------------------------------------------- */

/* The nodes of the stack before, by depth. */
struct path {
    uint32_t nodes[DEPTH_MAX];
    uint32_t names[DEPTH_MAX];
    uint32_t depth;
};

static bool add_stack(struct report *report, const struct stack *stack, struct path *path)
{
    uint32_t depth = 0;
    bool is_shared = true;
    for (size_t at = 0; at < stack->length; depth++) {
        const char *frame = stack->text + at;
        size_t length = strlen(frame);
        at += length + 1;
        uint32_t name;
        if (bat_strings_add(&report->stack_names, frame, length, &name) != BAT_OK)
            return false;
        is_shared = is_shared && depth < path->depth && path->names[depth] == name;
        if (!is_shared) {
            path->names[depth] = name;
            path->nodes[depth] = report->node_count;
            report->nodes[report->node_count++] =
                (struct report_node){.name = name, .depth = depth};
        }
        report->nodes[path->nodes[depth]].count += stack->count;
    }
    path->depth = depth;
    return true;
}

static bool make_tree(struct report *report, const struct stacks *stacks)
{
    size_t frames = 0;
    for (size_t i = 0; i < stacks->count; i++)
        for (size_t at = 0; at < stacks->all[i].length; at++)
            frames += stacks->all[i].text[at] == '\0';
    report->nodes = malloc((frames + 1) * sizeof(*report->nodes));
    struct path *path = calloc(1, sizeof(*path));
    bool fits = report->nodes && path && frames < BAT_NONE;
    for (size_t i = 0; fits && i < stacks->count; i++)
        fits = add_stack(report, &stacks->all[i], path);
    free(path);
    return fits;
}

enum tool_exit report_collect_stacks(struct report *report)
{
    if (!report->request->stacks)
        return TOOL_FINE;
    struct stacks stacks = {0};
    enum tool_exit status = read_stacks(report->request->stacks, &stacks);
    if (status == TOOL_FINE) {
        qsort(stacks.all, stacks.count, sizeof(*stacks.all), by_frames);
        if (!make_tree(report, &stacks))
            status = report_no_memory();
    }
    for (size_t i = 0; i < stacks.count; i++)
        free(stacks.all[i].text);
    free(stacks.all);
    return status;
}
