/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Lines are compared by what their code has, and put side by side so that the sum of their likeness
 * is the largest, as programs do that show the difference between two texts. So it needs no text:
 * what was inserted, deleted or moved down is known by the code alone.
 */
#include "align_lines.h"

#include <math.h>
#include <stdlib.h>

#include "spec/array.h"
#include "support/key_sort.h"

/* Lines of the old source, times lines of the new one. */
#define CELLS_MAX 16777216u

/* A token that more lines of the new source have tells little, and takes time. */
#define COMMON_MIN 16u
#define COMMON_SHARE 8u

/* Two lines that are as far from each other as the two before them: added to their likeness. */
#define SAME_SHIFT 0.2f

enum token_kind { TOKEN_SHAPE = 1, TOKEN_COLUMN, TOKEN_NAME, TOKEN_FIELD, TOKEN_CONSTANT };

/* --- What lines have ------------------------------------------------------------------------ */

/* Function and line; a token. Ascending, each once. */
struct tokens {
    struct bat_sort_key *all;
    size_t count;
    size_t capacity;
};

static bool add_token(struct tokens *tokens, const struct next_place_in_source *place,
                      enum token_kind kind, uint32_t hash, uint32_t more)
{
    return BAT_APPEND(
        tokens->all, tokens->count, tokens->capacity,
        (struct bat_sort_key){next_hash_pair(hash, more, kind), next_line_key(place)});
}

/* What an instruction tells about its line, and the lines where its function is inlined. */
static bool add_instruction(struct tokens *tokens, const struct next_instruction *at,
                            struct next_site site)
{
    const struct next_place_in_source *place = next_site_place(&site);
    bool is_fine =
        add_token(tokens, place, TOKEN_SHAPE, at->shape, at->name) &&
        add_token(tokens, place, TOKEN_COLUMN, place->column, 0) &&
        (!(at->flags & NEXT_NAMES) || add_token(tokens, place, TOKEN_NAME, at->name, 0)) &&
        (!at->field || add_token(tokens, place, TOKEN_FIELD, at->field, 0)) &&
        (!at->constant || add_token(tokens, place, TOKEN_CONSTANT, at->constant, 0));
    while (is_fine && next_site_caller(&site)) {
        const uint32_t callee = place->function;
        place = next_site_place(&site);
        is_fine = add_token(tokens, place, TOKEN_COLUMN, place->column, 0) &&
                  add_token(tokens, place, TOKEN_NAME, callee, 0);
    }
    return is_fine;
}

static void exchange_keys(struct bat_sort_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct bat_sort_key){keys[i].value, keys[i].key};
}

/* Sort tokens, which have been added as keys of lines, by line and then by token. */
static bool sort_tokens(struct tokens *tokens)
{
    struct bat_sort_key *spare = malloc((tokens->count + 1) * sizeof(*spare));
    if (!spare)
        return false;
    struct bat_sort_key *const both[] = {tokens->all, spare};
    struct bat_sort_key *sorted = bat_sort_keys(both[0], both[1], tokens->count);
    exchange_keys(sorted, tokens->count);
    sorted = bat_sort_keys(sorted, sorted == spare ? both[0] : spare, tokens->count);
    tokens->all = sorted;
    free(sorted == spare ? both[0] : spare);
    size_t kept = 0;
    for (size_t i = 0; i < tokens->count; i++)
        if (kept == 0 || sorted[kept - 1].key != sorted[i].key ||
            sorted[kept - 1].value != sorted[i].value)
            sorted[kept++] = sorted[i];
    tokens->count = kept;
    return true;
}

static bool list_tokens(const struct next_program *program, const struct next_graph *graph,
                        struct tokens *tokens)
{
    for (uint32_t i = 0; i < graph->segment_count; i++) {
        const struct next_segment *segment = &graph->segments[i];
        const struct next_unit *unit = program->units[segment->unit];
        for (uint32_t k = segment->first; k < segment->end; k++) {
            const struct next_site site = next_site_of(program, graph, segment, k);
            if (site.place != BAT_NONE && !add_instruction(tokens, &unit->instructions[k], site))
                return false;
        }
    }
    return sort_tokens(tokens);
}

/* --- One function of the source ------------------------------------------------------------- */

/* Its tokens in one program. */
struct function_lines {
    const struct bat_sort_key *tokens;
    size_t token_count;
    uint32_t count; /* of lines */
};

static struct function_lines lines_at(const struct tokens *tokens, size_t first)
{
    struct function_lines found = {.tokens = tokens->all + first};
    const uint64_t function = tokens->all[first].key >> 32;
    for (size_t i = first; i < tokens->count && tokens->all[i].key >> 32 == function; i++) {
        found.token_count++;
        found.count += i == first || tokens->all[i].key != tokens->all[i - 1].key;
    }
    return found;
}

/* A token of both programs' lines. */
struct token_group {
    uint32_t first; /* in occurrences: first the old program's */
    uint32_t news;
    uint32_t end;
    float weight;
};

struct alignment {
    struct function_lines sides[2];
    uint32_t *lines[2];   /* their numbers, ascending */
    float *lengths[2];    /* of their weights */
    uint8_t *common[2];   /* for each line: 1 if it has a token of both that is not compared */
    uint32_t *occurrence; /* of each token, by token: index of the line */
    struct token_group *groups;
    uint32_t group_count;
    uint32_t *first_group; /* for each old line: its groups are group_of[first_group[i] ...) */
    uint32_t *group_of;
    float *row;         /* for each new line, how alike it is to one of the old ones */
    uint8_t *steps;     /* for each pair of lines: how it was reached */
    float *rows[2];     /* before and now: the best that the lines up to each new one give */
    struct last *lasts; /* by shift, as far as there is room: last_count of them */
    size_t last_count;  /* a power of two */
};

/* The best up to the last two lines that may be one and are this far apart: more than up to those
 * before. */
struct last {
    int64_t shift;
    float value;
};

#define NO_SHIFT INT64_MIN

/* Lasts for each line: functions have lines without code, and each is another shift. */
#define LASTS_PER_LINE 8u

/* The last step of the best way up to two lines, and of the best one that ends with both. */
enum step {
    STEP_OLD,
    STEP_NEW,
    STEP_BOTH,
    STEP_ALL = 3,
    STEP_SAME = 4,  /* if it ends with both: the last two lines before have the same shift */
    STEP_ALIKE = 8, /* they have something in common */
};

static void alignment_free(struct alignment *alignment)
{
    for (unsigned side = 0; side < 2; side++)
        BAT_FREE_ALL(alignment->lines[side], alignment->lengths[side], alignment->common[side],
                     alignment->rows[side]);
    BAT_FREE_ALL(alignment->occurrence, alignment->groups, alignment->first_group,
                 alignment->group_of, alignment->row, alignment->steps, alignment->lasts);
}

static bool allocate(struct alignment *alignment)
{
    const size_t olds = alignment->sides[0].count;
    const size_t news = alignment->sides[1].count;
    const size_t tokens = alignment->sides[0].token_count + alignment->sides[1].token_count;
    bool is_fine = true;
    for (unsigned side = 0; side < 2; side++) {
        alignment->lines[side] = calloc(alignment->sides[side].count, sizeof(uint32_t));
        alignment->lengths[side] = calloc(alignment->sides[side].count, sizeof(float));
        alignment->common[side] = calloc(alignment->sides[side].count, 1);
        alignment->rows[side] = calloc(news + 1, sizeof(float));
        is_fine &= alignment->lines[side] && alignment->lengths[side] && alignment->common[side] &&
                   alignment->rows[side];
    }
    alignment->occurrence = malloc(tokens * sizeof(*alignment->occurrence));
    alignment->groups = malloc(tokens * sizeof(*alignment->groups));
    alignment->first_group = calloc(olds + 2, sizeof(*alignment->first_group));
    alignment->group_of = malloc(tokens * sizeof(*alignment->group_of));
    alignment->row = calloc(news, sizeof(*alignment->row));
    alignment->steps = malloc(olds * news);
    alignment->last_count = 1;
    while (alignment->last_count < LASTS_PER_LINE * (olds + news))
        alignment->last_count *= 2;
    alignment->lasts = malloc(alignment->last_count * sizeof(*alignment->lasts));
    for (size_t i = 0; i < alignment->last_count && alignment->lasts; i++)
        alignment->lasts[i] = (struct last){i == 0 ? 0 : NO_SHIFT, 0};
    return is_fine && alignment->occurrence && alignment->groups && alignment->first_group &&
           alignment->group_of && alignment->row && alignment->steps && alignment->lasts;
}

/* List the lines, and their tokens by token. False without memory. */
static bool list_occurrences(struct alignment *alignment, struct bat_sort_key **sorted)
{
    const size_t count = alignment->sides[0].token_count + alignment->sides[1].token_count;
    struct bat_sort_key *all = malloc(count * sizeof(*all));
    struct bat_sort_key *spare = malloc(count * sizeof(*spare));
    if (!all || !spare) {
        BAT_FREE_ALL(all, spare);
        return false;
    }
    size_t added = 0;
    for (unsigned side = 0; side < 2; side++) {
        const struct function_lines *lines = &alignment->sides[side];
        uint32_t line = 0;
        for (size_t i = 0; i < lines->token_count; i++) {
            line += i > 0 && lines->tokens[i].key != lines->tokens[i - 1].key;
            alignment->lines[side][line] = (uint32_t)lines->tokens[i].key;
            all[added++] =
                (struct bat_sort_key){lines->tokens[i].value, (uint64_t)side << 32 | line};
        }
    }
    *sorted = bat_sort_keys(all, spare, count); /* stable: the old program's are first */
    free(*sorted == all ? spare : all);
    return true;
}

/* Weigh tokens, and find which ones each old line has. */
static void make_groups(struct alignment *alignment, const struct bat_sort_key *sorted)
{
    const uint32_t count =
        (uint32_t)(alignment->sides[0].token_count + alignment->sides[1].token_count);
    const float lines = (float)(alignment->sides[0].count + alignment->sides[1].count);
    const uint32_t common = COMMON_MIN + alignment->sides[1].count / COMMON_SHARE;
    uint32_t end = 0;
    for (uint32_t first = 0; first < count; first = end) {
        struct token_group group = {.first = first, .news = first};
        for (; end < count && sorted[end].key == sorted[first].key; end++) {
            alignment->occurrence[end] = (uint32_t)sorted[end].value;
            group.news += sorted[end].value >> 32 == 0;
        }
        group.end = end;
        group.weight = logf(1 + lines / (float)(end - first));
        for (uint32_t i = first; i < end; i++)
            alignment->lengths[i >= group.news][alignment->occurrence[i]] +=
                group.weight * group.weight;
        if (group.news == first || group.news == end)
            continue;
        if (end - group.news > common) {
            for (uint32_t i = first; i < end; i++)
                alignment->common[i >= group.news][alignment->occurrence[i]] = 1;
            continue;
        }
        for (uint32_t i = first; i < group.news; i++)
            alignment->first_group[alignment->occurrence[i] + 2]++;
        alignment->groups[alignment->group_count++] = group;
    }
    for (uint32_t i = 0; i < alignment->sides[0].count; i++)
        alignment->first_group[i + 2] += alignment->first_group[i + 1];
    for (uint32_t k = 0; k < alignment->group_count; k++)
        for (uint32_t i = alignment->groups[k].first; i < alignment->groups[k].news; i++)
            alignment->group_of[alignment->first_group[alignment->occurrence[i] + 1]++] = k;
}

/* Set how alike the new lines are to an old one, but for the new ones' lengths. */
static void compare_line(struct alignment *alignment, uint32_t line)
{
    for (uint32_t j = 0; j < alignment->sides[1].count; j++)
        alignment->row[j] = 0;
    for (uint32_t k = alignment->first_group[line]; k < alignment->first_group[line + 1]; k++) {
        const struct token_group *group = &alignment->groups[alignment->group_of[k]];
        for (uint32_t i = group->news; i < group->end; i++)
            alignment->row[alignment->occurrence[i]] += group->weight * group->weight;
    }
}

static int64_t shift_of(const struct alignment *alignment, uint32_t line, uint32_t new_line)
{
    return (int64_t)alignment->lines[1][new_line] - alignment->lines[0][line];
}

/* True if two lines have something in common. */
static bool is_alike(const struct alignment *alignment, uint32_t line, uint32_t new_line)
{
    return alignment->row[new_line] > 0 ||
           (alignment->common[0][line] && alignment->common[1][new_line]);
}

/* The best ways to a line of the old source and each of the new one. Lines with nothing in common
 * are not one, even if they are as far from each other as those before them. */
static void step(struct alignment *alignment, uint32_t line, const float *before, float *now)
{
    const uint32_t news = alignment->sides[1].count;
    const float length = sqrtf(alignment->lengths[0][line]);
    uint8_t *steps = alignment->steps + (size_t)line * news;
    compare_line(alignment, line);
    now[0] = 0;
    for (uint32_t j = 0; j < news; j++) {
        const bool is_old = before[j + 1] >= now[j];
        now[j + 1] = is_old ? before[j + 1] : now[j];
        steps[j] = is_old ? STEP_OLD : STEP_NEW;
        if (!is_alike(alignment, line, j))
            continue;
        const int64_t shift = shift_of(alignment, line, j);
        struct last *last = &alignment->lasts[(uint64_t)shift & (alignment->last_count - 1)];
        const bool is_same = last->shift == shift && last->value + SAME_SHIFT >= before[j];
        const float value = alignment->row[j] / (length * sqrtf(alignment->lengths[1][j])) +
                            (is_same ? last->value + SAME_SHIFT : before[j]);
        if (value > now[j + 1]) {
            now[j + 1] = value;
            steps[j] = STEP_BOTH;
        }
        steps[j] |= STEP_ALIKE | (is_same ? STEP_SAME : 0);
        *last = (struct last){shift, value};
    }
}

/* Go back to the two lines before that may be one and have the same shift; false if there are
 * none. */
static bool find_last(const struct alignment *alignment, uint32_t *line, uint32_t *new_line)
{
    const uint32_t news = alignment->sides[1].count;
    const int64_t shift = shift_of(alignment, *line, *new_line);
    while (*line > 0 && *new_line > 0) {
        const int64_t other = shift_of(alignment, *line - 1, *new_line - 1);
        *line -= other <= shift;
        *new_line -= other >= shift;
        if (other == shift && alignment->steps[(size_t)*line * news + *new_line] & STEP_ALIKE)
            return true;
    }
    return false;
}

/* Add the lines that are one. */
static enum bat_code add_lines(const struct alignment *alignment, uint64_t function,
                               struct bat_counts *lines)
{
    const uint32_t news = alignment->sides[1].count;
    uint32_t i = alignment->sides[0].count;
    uint32_t j = news;
    enum bat_code code = BAT_OK;
    while (i > 0 && j > 0 && code == BAT_OK) {
        uint8_t last = alignment->steps[(size_t)(i - 1) * news + j - 1];
        i -= (last & STEP_ALL) != STEP_NEW;
        j -= (last & STEP_ALL) != STEP_OLD;
        bool is_both = (last & STEP_ALL) == STEP_BOTH;
        while (is_both && code == BAT_OK) {
            const uint64_t key = function << 32 | alignment->lines[1][j];
            code = bat_counts_add(lines, &key, alignment->lines[0][i], 0);
            is_both = last & STEP_SAME && find_last(alignment, &i, &j);
            last = alignment->steps[(size_t)i * news + j];
        }
    }
    return code;
}

static enum bat_code align(struct alignment *alignment, struct bat_counts *lines)
{
    struct bat_sort_key *sorted;
    if ((uint64_t)alignment->sides[0].count * alignment->sides[1].count > CELLS_MAX)
        return BAT_OK;
    if (!allocate(alignment) || !list_occurrences(alignment, &sorted))
        return BAT_ERR_MEMORY;
    make_groups(alignment, sorted);
    free(sorted);
    for (uint32_t i = 0; i < alignment->sides[0].count; i++)
        step(alignment, i, alignment->rows[i % 2], alignment->rows[(i + 1) % 2]);
    return add_lines(alignment, alignment->sides[0].tokens->key >> 32, lines);
}

enum bat_code next_align_lines(const struct next_program *const programs[2],
                               const struct next_graph *const graphs[2], struct bat_counts *lines,
                               struct bat_error *error)
{
    struct tokens tokens[2] = {0};
    enum bat_code code = BAT_OK;
    for (unsigned side = 0; side < 2 && code == BAT_OK; side++)
        if (!list_tokens(programs[side], graphs[side], &tokens[side]))
            code = BAT_ERR_MEMORY;
    size_t at[2] = {0, 0};
    while (code == BAT_OK && at[0] < tokens[0].count && at[1] < tokens[1].count) {
        struct alignment alignment = {
            .sides = {lines_at(&tokens[0], at[0]), lines_at(&tokens[1], at[1])}};
        const uint64_t olds = alignment.sides[0].tokens->key >> 32;
        const uint64_t news = alignment.sides[1].tokens->key >> 32;
        if (olds == news)
            code = align(&alignment, lines);
        at[0] += olds <= news ? alignment.sides[0].token_count : 0;
        at[1] += news <= olds ? alignment.sides[1].token_count : 0;
        alignment_free(&alignment);
    }
    BAT_FREE_ALL(tokens[0].all, tokens[1].all);
    return code == BAT_OK ? BAT_OK : bat_fail_memory(error, "to compare lines");
}
