/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which line of the old source a line of the new one was, and what lines tell about blocks. */
#include <math.h>

#include "next/align_lines.h"
#include "next/likeness.h"
#include "unit_test.h"

#define UNITS 3u
#define PLACES_MAX 10000u
#define CODE_MAX 10000u
#define NODES_MAX 8u

KEPT_COPY(kept_counts, struct bat_counts, bat_counts_free)
KEPT_COPY(kept_likeness, struct likeness, likeness_free)

static uint32_t random_state = 5;

/* A function with one call replaced by another function, in which one is, too. */
struct made {
    struct next_program program;
    struct next_unit units[UNITS];
    struct next_unit *pointers[UNITS];
    struct next_source sources[UNITS];
    struct next_place_in_source places[UNITS][PLACES_MAX];
    uint32_t place_count[UNITS];
    struct next_instruction code[UNITS][CODE_MAX];
    uint32_t of[UNITS][CODE_MAX];
    struct next_context contexts[UNITS];
    struct next_segment segments[UNITS * CODE_MAX];
    struct next_node nodes[NODES_MAX];
    uint32_t tested[NODES_MAX];
    struct next_graph graph;
};

static void begin(struct made *made)
{
    made->program = (struct next_program){.units = made->pointers};
    made->graph = (struct next_graph){.segments = made->segments,
                                      .contexts = made->contexts,
                                      .context_count = UNITS,
                                      .nodes = made->nodes,
                                      .tested = made->tested};
    for (uint32_t i = 0; i < UNITS; i++) {
        made->units[i] =
            (struct next_unit){.instructions = made->code[i], .source = &made->sources[i]};
        made->pointers[i] = &made->units[i];
        made->sources[i] = (struct next_source){.places = made->places[i], .of = made->of[i]};
        made->place_count[i] = 0;
        made->contexts[i] =
            (struct next_context){.unit = i, .parent = i > 0 ? i - 1 : 0, .place = BAT_NONE};
    }
}

/* A new place. Its index. */
static uint32_t add_place(struct made *made, uint32_t unit, uint32_t function, uint32_t line,
                          uint32_t column, uint32_t caller)
{
    assert_true(made->place_count[unit] < PLACES_MAX);
    made->places[unit][made->place_count[unit]] =
        (struct next_place_in_source){function, line, column, caller};
    return made->place_count[unit]++;
}

/* An instruction at a place, a segment of its own. */
static void add_code(struct made *made, uint32_t unit, uint32_t place,
                     const struct next_instruction *code)
{
    const uint32_t at = made->units[unit].instruction_count++;
    assert_true(at < CODE_MAX);
    made->code[unit][at] = *code;
    made->of[unit][at] = place;
    made->segments[made->graph.segment_count++] =
        (struct next_segment){.unit = unit, .first = at, .end = at + 1, .context = unit};
}

static struct bat_counts *align(const struct made both[2])
{
    const struct next_program *const programs[2] = {&both[0].program, &both[1].program};
    const struct next_graph *const graphs[2] = {&both[0].graph, &both[1].graph};
    struct bat_counts *lines = kept_counts(bat_counts_new(1));
    assert_ok(next_align_lines(programs, graphs, lines, NULL));
    return lines;
}

/* The line of the old source that a line of the new one was; BAT_NONE. */
static uint32_t old_line(const struct bat_counts *lines, uint32_t function, uint32_t line)
{
    const uint64_t key = (uint64_t)function << 32 | line;
    const uint64_t *found = bat_counts_find(lines, &key);
    return found ? (uint32_t)found[1] : BAT_NONE;
}

/* --- Lines with code of their own ----------------------------------------------------------- */

#define FUNCTIONS 6u
#define LINES 60u
#define LINES_MAX (3 * LINES)

/* What a line has that is in both sources: the same for the same number, and nothing else. */
static void add_statement(struct made *made, uint32_t unit, uint32_t function, uint32_t line,
                          uint32_t number, bool is_changed)
{
    const uint32_t hash = number * 100;
    const uint32_t place = add_place(made, unit, function, line, hash + is_changed, BAT_NONE);
    const struct next_instruction own[] = {
        {.shape = hash + 10, .name = hash + 11, .flags = NEXT_NAMES},
        {.shape = hash + 12, .field = hash + 13},
        {.shape = hash + 14, .constant = hash + 15},
    };
    for (uint32_t i = is_changed; i < COUNT(own); i++)
        add_code(made, unit, place, &own[i]);
}

/* Lines of a function, which the new source has further down, and others between them. */
struct edited {
    uint32_t was[LINES_MAX]; /* for each new line: the old one; BAT_NONE: there is no code;
                                INSERTED */
};

#define INSERTED (BAT_NONE - 1)

static void edit(struct made both[2], uint32_t function, bool has_deleted, bool has_inserted,
                 struct edited *edited)
{
    uint32_t line = 0;
    for (uint32_t i = 0; i < LINES_MAX; i++)
        edited->was[i] = BAT_NONE;
    for (uint32_t i = 0; i < LINES; i++) {
        const uint32_t number = function * 10000 + i;
        if (any_below(&random_state, 4) == 0) {
            line += has_inserted; /* no code on this line */
            continue;
        }
        add_statement(&both[0], function % UNITS, function, i, number, false);
        while (has_inserted && any_below(&random_state, 4) == 0 && line + LINES < LINES_MAX) {
            edited->was[line] = INSERTED;
            add_statement(&both[1], function / 2 % UNITS, function, line++, number + 5000, false);
        }
        if (has_deleted && any_below(&random_state, 5) == 0)
            continue;
        edited->was[line] = i;
        add_statement(&both[1], function / 2 % UNITS, function, line++, number,
                      any_below(&random_state, 3) == 0);
    }
}

static struct made both[2];

/* Segments are in no order of the source. */
static void shuffle(struct made *made)
{
    for (uint32_t i = made->graph.segment_count; i-- > 1;) {
        const uint32_t k = any_below(&random_state, i + 1);
        const struct next_segment segment = made->segments[i];
        made->segments[i] = made->segments[k];
        made->segments[k] = segment;
    }
}

TEST(test_edited)
{
    for (unsigned round = 0; round < 200; round++) {
        struct edited edited[FUNCTIONS];
        const bool has_deleted = round % 2 == 0;
        const bool has_inserted = round % 4 < 2;
        uint32_t kept = 0;
        begin(&both[0]);
        begin(&both[1]);
        for (uint32_t i = 0; i < FUNCTIONS; i++)
            edit(both, i, has_deleted, has_inserted, &edited[i]);
        for (uint32_t line = 0; line < LINES; line++) { /* in one source only */
            add_statement(&both[0], 0, FUNCTIONS + 1, line, line, false);
            add_statement(&both[1], 0, FUNCTIONS, line, line, false);
            add_statement(&both[1], 0, FUNCTIONS + 2, line, line, false);
        }
        shuffle(&both[0]);
        shuffle(&both[1]);
        const struct bat_counts *lines = align(both);
        for (uint32_t i = 0; i < FUNCTIONS; i++)
            for (uint32_t line = 0; line < LINES_MAX; line++) {
                const uint32_t found = old_line(lines, i, line);
                kept += found != BAT_NONE;
                if (edited[i].was[line] != INSERTED)
                    assert_int_equal(found, edited[i].was[line]);
                else if (!has_deleted)
                    assert_int_equal(found, BAT_NONE);
            }
        assert_int_equal(lines->count, kept);
    }
}

/* All lines have the same code: as many as possible are as far from where they were. */
TEST(test_same_shift)
{
    begin(&both[0]);
    begin(&both[1]);
    for (uint32_t line = 0; line < 40; line++)
        if (line < 10 || line % 3 == 0)
            add_statement(&both[0], 0, 7, line, line == 0 ? 1 : 2, false);
    for (uint32_t line = 0; line < 60; line++)
        if ((line >= 5 && line < 15) || line % 3 == 2)
            add_statement(&both[1], 0, 7, line, line == 5 ? 1 : 2, false);
    const struct bat_counts *lines = align(both);
    for (uint32_t line = 5; line < 45; line++)
        if (line < 15 || line % 3 == 2)
            assert_int_equal(old_line(lines, 7, line), line - 5);
}

/* An instruction that is alone on a line, but for others of the same number. */
static void add_alone(struct made *made, uint32_t line, uint32_t number)
{
    const struct next_instruction code = {.shape = number};
    add_code(made, 0, add_place(made, 0, 7, line, number, BAT_NONE), &code);
}

/* Lines that have nothing in common with old ones were not there, and do not make others another
 * line's, either. */
TEST(test_nothing_in_common)
{
    begin(&both[0]);
    begin(&both[1]);
    for (uint32_t line = 0; line < 12; line++)
        add_alone(&both[0], line, line % 11 == 0 ? 10 + line : 1);
    for (uint32_t line = 0; line < 14; line++)
        add_alone(&both[1], line,
                  line == 0    ? 10
                  : line == 13 ? 21
                  : line <= 2  ? line + 30
                  : line == 5  ? 40
                               : 1);
    const struct bat_counts *lines = align(both);
    for (uint32_t line = 0; line < 14; line++)
        assert_int_equal(old_line(lines, 7, line), line == 0 ? 0
                                                   : line == 1 || line == 2 || line == 5
                                                       ? BAT_NONE
                                                       : line - 2);
}

/* Line numbers are modulo 2^32, and a place that is not known is on no line. */
TEST(test_odd_lines)
{
    const struct next_instruction code = {.shape = 3};
    begin(&both[0]);
    begin(&both[1]);
    add_statement(&both[0], 0, 1, UINT32_MAX, 1, false);
    add_statement(&both[0], 0, 1, UINT32_MAX - 5, 2, false);
    add_statement(&both[1], 0, 1, UINT32_MAX - 2, 1, false);
    add_statement(&both[1], 0, 1, UINT32_MAX - 7, 2, false);
    add_code(&both[0], 1, BAT_NONE, &code);
    add_code(&both[1], 2, BAT_NONE, &code);
    const struct bat_counts *lines = align(both);
    assert_int_equal(lines->count, 2);
    assert_int_equal(old_line(lines, 1, UINT32_MAX - 2), UINT32_MAX);
    assert_int_equal(old_line(lines, 1, UINT32_MAX - 7), UINT32_MAX - 5);
}

TEST(test_nothing)
{
    for (unsigned has = 0; has < 4; has++) {
        begin(&both[0]);
        begin(&both[1]);
        for (unsigned side = 0; side < 2; side++)
            if (has >> side & 1)
                add_statement(&both[side], 0, 1, 4, 2, false);
        assert_int_equal(align(both)->count, has == 3);
    }
    for (unsigned side = 0; side < 2; side++) {
        begin(&both[0]);
        begin(&both[1]);
        for (unsigned k = 0; k < 2; k++) {
            add_statement(&both[k], 0, 1, 4, 2, false);
            add_statement(&both[k], 1, 2, 5, 3, false);
        }
        both[side].units[0].source = NULL;
        const struct bat_counts *lines = align(both);
        assert_int_equal(lines->count, 1);
        assert_int_equal(old_line(lines, 2, 5), 5);
    }
}

/* --- Where functions are inlined ------------------------------------------------------------ */

/* The code of all lines is the same but for what is inlined there, in the unit or in place of a
 * call: the line of a call is known by that alone. */
TEST(test_callers)
{
    const uint32_t olds[] = {3, 4, 9, 11, 20};
    const uint32_t news[] = {8, 15, 16, 17, 30}; /* callees 1 to 4: the last one is another */
    const struct next_instruction code = {.shape = 3};
    for (unsigned is_context = 0; is_context < 2; is_context++) {
        for (unsigned side = 0; side < 2; side++) {
            struct made *made = &both[side];
            begin(made);
            for (uint32_t i = 0; i < COUNT(olds); i++) {
                const uint32_t line = side ? news[i] : olds[i];
                const uint32_t callee = i + (i == 4 ? side : 0);
                const uint32_t call = add_place(made, 0, 50, line, i + 7 * side, BAT_NONE);
                if (is_context && i == 2) {
                    made->contexts[1].place = call;
                    add_code(made, 1, add_place(made, 1, 100 + callee, 6, 2, BAT_NONE), &code);
                } else {
                    add_code(made, 0, add_place(made, 0, 100 + callee, 6, 2, call), &code);
                }
            }
        }
        const struct bat_counts *lines = align(both);
        for (uint32_t i = 0; i < COUNT(olds); i++)
            assert_int_equal(old_line(lines, 50, news[i]), i < 4 ? olds[i] : BAT_NONE);
        for (uint32_t callee = 0; callee < 4; callee++)
            assert_int_equal(old_line(lines, 100 + callee, 6), 6);
        assert_int_equal(lines->count, 8);
    }
}

/* --- By the definition ---------------------------------------------------------------------- */

#define FEW_LINES 7u
#define TOKENS_MAX 128u

/* What a line of a function has: each once. */
struct listed {
    uint32_t tokens[FEW_LINES][TOKENS_MAX][3];
    uint32_t token_counts[FEW_LINES];
};

static bool has(const struct listed *listed, uint32_t line, const uint32_t token[3])
{
    for (uint32_t i = 0; i < listed->token_counts[line]; i++)
        if (memcmp(listed->tokens[line][i], token, sizeof(listed->tokens[0][0])) == 0)
            return true;
    return false;
}

static void list(struct listed *listed, uint32_t line, uint32_t kind, uint32_t hash, uint32_t more)
{
    const uint32_t token[3] = {kind, hash, more};
    if (has(listed, line, token))
        return;
    assert_true(listed->token_counts[line] < TOKENS_MAX);
    memcpy(listed->tokens[line][listed->token_counts[line]++], token, sizeof(token));
}

/* Random places, some of them inlined, and code; and what each line of each function has. */
static void draw(struct made *made, struct listed listed[2])
{
    enum { SHAPE, COLUMN, NAME, FIELD, CONSTANT };
    uint32_t count = 1 + any_below(&random_state, 10);
    begin(made);
    memset(listed, 0, 2 * sizeof(*listed));
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        for (uint32_t i = 0; i < 8; i++)
            add_place(made, unit, any_below(&random_state, 2), any_below(&random_state, FEW_LINES),
                      any_below(&random_state, 3),
                      i > 0 && any_below(&random_state, 2) ? any_below(&random_state, i)
                                                           : BAT_NONE);
        if (unit > 0 && any_below(&random_state, 4) > 0)
            made->contexts[unit].place = any_below(&random_state, 8);
    }
    while (count-- > 0) {
        const struct next_instruction code = {.shape = any_below(&random_state, 3),
                                              .name = any_below(&random_state, 3),
                                              .field = any_below(&random_state, 3),
                                              .constant = any_below(&random_state, 3),
                                              .flags =
                                                  any_below(&random_state, 2) ? NEXT_NAMES : 0};
        uint32_t unit = any_below(&random_state, UNITS);
        uint32_t place = any_below(&random_state, 8);
        add_code(made, unit, place, &code);
        const struct next_place_in_source *at = &made->places[unit][place];
        list(&listed[at->function], at->line, SHAPE, code.shape, code.name);
        list(&listed[at->function], at->line, COLUMN, at->column, 0);
        if (code.flags)
            list(&listed[at->function], at->line, NAME, code.name, 0);
        if (code.field)
            list(&listed[at->function], at->line, FIELD, code.field, 0);
        if (code.constant)
            list(&listed[at->function], at->line, CONSTANT, code.constant, 0);
        for (;;) {
            const uint32_t callee = at->function;
            place = at->caller;
            if (place == BAT_NONE && unit > 0)
                place = made->contexts[unit--].place;
            if (place == BAT_NONE)
                break;
            at = &made->places[unit][place];
            list(&listed[at->function], at->line, COLUMN, at->column, 0);
            list(&listed[at->function], at->line, NAME, callee, 0);
        }
    }
}

/* How much a token tells. */
static double weight(const struct listed sides[2], const uint32_t token[3])
{
    double all = 0;
    double with = 0;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < FEW_LINES; i++) {
            all += sides[side].token_counts[i] > 0;
            with += has(&sides[side], i, token);
        }
    return log(1 + all / with);
}

/* What two lines have in common, or one line's length if they are the same. */
static double in_common(const struct listed sides[2], unsigned one, uint32_t i, unsigned other,
                        uint32_t j)
{
    double sum = 0;
    for (uint32_t k = 0; k < sides[one].token_counts[i]; k++) {
        const uint32_t *token = sides[one].tokens[i][k];
        if (has(&sides[other], j, token))
            sum += pow(weight(sides, token), 2);
    }
    return sum;
}

static double likeness(const struct listed sides[2], uint32_t i, uint32_t j)
{
    return in_common(sides, 0, i, 1, j) /
           sqrt(in_common(sides, 0, i, 0, i) * in_common(sides, 1, j, 1, j));
}

/* The largest sum of pairs in ascending order from here on, if the last pair was this far apart. */
static double best_from(const double alike[FEW_LINES][FEW_LINES], uint32_t first_old,
                        uint32_t first_new, uint32_t shift)
{
    double best = 0;
    for (uint32_t i = first_old; i < FEW_LINES; i++)
        for (uint32_t j = first_new; j < FEW_LINES; j++)
            if (alike[i][j] > 0) {
                const double here = alike[i][j] + (j - i == shift ? 0.2 : 0);
                const double rest = best_from(alike, i + 1, j + 1, j - i);
                best = fmax(best, here + rest);
            }
    return best;
}

/* Check the lines of a function: one old line each, ascending, and no others are more alike as a
 * whole. True if it has several. */
static bool check_function(const struct listed sides[2], uint32_t function,
                           const struct bat_counts *lines)
{
    double alike[FEW_LINES][FEW_LINES];
    for (uint32_t i = 0; i < FEW_LINES; i++)
        for (uint32_t j = 0; j < FEW_LINES; j++)
            alike[i][j] =
                sides[0].token_counts[i] && sides[1].token_counts[j] ? likeness(sides, i, j) : -1;
    double sum = 0;
    uint32_t shift = 0;
    uint32_t count = 0;
    uint32_t least = 0;
    for (uint32_t j = 0; j < FEW_LINES; j++) {
        const uint32_t i = old_line(lines, function, j);
        if (i == BAT_NONE)
            continue;
        assert_in_range(i, least, FEW_LINES - 1);
        assert_true(alike[i][j] > 0);
        sum += alike[i][j] + (j - i == shift ? 0.2 : 0);
        shift = j - i;
        least = i + 1;
        count++;
    }
    assert_true(fabs(sum - best_from(alike, 0, 0, 0)) < 1e-5);
    return count > 1;
}

TEST(test_definition)
{
    uint32_t several = 0;
    for (unsigned round = 0; round < 3000; round++) {
        static struct listed listed[2][2]; /* by side and function */
        uint32_t count = 0;
        for (unsigned side = 0; side < 2; side++)
            draw(&both[side], listed[side]);
        const struct bat_counts *lines = align(both);
        for (uint32_t function = 0; function < 2; function++) {
            const struct listed sides[2] = {listed[0][function], listed[1][function]};
            several += check_function(sides, function, lines);
            for (uint32_t line = 0; line < FEW_LINES; line++)
                count += old_line(lines, function, line) != BAT_NONE;
        }
        assert_int_equal(count, lines->count);
    }
    assert_true(several > 1000);
}

/* --- Limits --------------------------------------------------------------------------------- */

#define LARGE 4096u /* lines; the square is the limit */

/* A function with more lines than are compared has none; others have. */
TEST(test_large)
{
    const struct next_instruction code = {.shape = 3};
    for (uint32_t more = 0; more < 2; more++) {
        for (unsigned side = 0; side < 2; side++) {
            begin(&both[side]);
            for (uint32_t line = 0; line < LARGE + more * side; line++)
                add_code(&both[side], 0, add_place(&both[side], 0, 1, line, line, BAT_NONE), &code);
            add_statement(&both[side], 1, 0, 3, 5, false);
            add_statement(&both[side], 1, 2, 4, 5, false);
        }
        const struct bat_counts *lines = align(both);
        assert_int_equal(lines->count, 2 + (more ? 0 : LARGE));
        assert_int_equal(old_line(lines, 0, 3), 3);
        assert_int_equal(old_line(lines, 2, 4), 4);
        for (uint32_t line = 0; line < LARGE; line++)
            assert_int_equal(old_line(lines, 1, line), more ? BAT_NONE : line);
    }
}

/* --- Blocks --------------------------------------------------------------------------------- */

static void add_node(struct made *made, uint32_t number, uint32_t place)
{
    const uint32_t hash = number * 10;
    const struct next_instruction code = {
        .kind = hash + 1, .shape = hash + 2, .exact = hash + 3, .constant = hash + 4};
    const uint32_t first = made->graph.segment_count;
    add_code(made, 0, place, &code);
    made->nodes[made->graph.node_count++] =
        (struct next_node){.first = first,
                           .end = first + 1,
                           .code_count = 1,
                           .code = &made->code[0][made->units[0].instruction_count - 1]};
}

static struct likeness *compare(bool has_lines)
{
    static char lines; /* which is not looked at */
    for (unsigned side = 0; side < 2; side++)
        both[side].program.lines = has_lines ? (void *)&lines : NULL;
    struct likeness *likeness = kept_likeness((struct likeness){0});
    assert_ok(likeness_open(&both[0].program, &both[0].graph, &both[1].program, &both[1].graph,
                            false, likeness, NULL));
    return likeness;
}

static float content(const struct likeness *likeness, uint32_t old_node, uint32_t new_node)
{
    return likeness->content[likeness_pair(likeness, old_node, new_node)];
}

/* Two blocks with the same code, from one line of a function that is inlined at two, or from two
 * lines: they are what is at these lines, which other code between them has moved. */
TEST(test_blocks)
{
    for (unsigned is_inlined = 0; is_inlined < 2; is_inlined++) {
        for (unsigned side = 0; side < 2; side++) {
            struct made *made = &both[side];
            begin(made);
            const uint32_t down = 10 * side;
            const uint32_t lines[] = {1, 3 + down, 5 + down, 7 + 3 * down};
            uint32_t places[COUNT(lines)];
            for (uint32_t i = 0; i < COUNT(lines); i++)
                places[i] = add_place(made, 0, 1, lines[i], 2, BAT_NONE);
            for (uint32_t i = 1; i < COUNT(lines) && is_inlined; i += 2)
                places[i] = add_place(made, 0, 2, 4, 2, places[i]);
            add_node(made, 1, places[0]);
            add_node(made, 2, places[side ? 3 : 1]); /* the other one comes first */
            add_node(made, 3, places[2]);
            add_node(made, 2, places[side ? 1 : 3]);
        }
        const struct likeness *without = compare(false);
        const struct likeness *with = compare(true);
        for (uint32_t i = 1; i < 4; i += 2)
            for (uint32_t j = 1; j < 4; j += 2) {
                assert_true(fabsf(content(without, i, j) - 1) < 1e-5f);
                assert_true(i == j ? content(with, i, j) < 0.9f
                                   : fabsf(content(with, i, j) - 1) < 1e-5f);
            }
    }
}

/* Blocks of two lines of a function have nothing in common if that is inlined at one line. */
TEST(test_inlined_lines)
{
    for (unsigned side = 0; side < 2; side++) {
        struct made *made = &both[side];
        begin(made);
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t caller = add_place(made, 0, 1, 3, 2, BAT_NONE);
            add_node(made, i, add_place(made, 0, 2, 4 * i, 2, caller));
        }
    }
    const struct likeness *with = compare(true);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            assert_true(i == j ? content(with, i, j) > 0.99f : content(with, i, j) <= 0.0f);
}

/* Lines that only one of the graphs has take nothing away. */
TEST(test_other_lines)
{
    for (unsigned side = 0; side < 2; side++) {
        begin(&both[side]);
        for (uint32_t i = 0; i < 4; i++)
            add_node(&both[side], 1 + i / (1 + side),
                     add_place(&both[side], 0, 1 + side, 3 * i, i, BAT_NONE));
    }
    const struct likeness *without = compare(false);
    const struct likeness *with = compare(true);
    assert_int_equal(without->pair_count, with->pair_count);
    for (uint32_t i = 0; i < with->pair_count; i++)
        assert_true(without->content[i] == with->content[i]);
}
