/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program, the next build of it, and a profile of the first, all made of the bytes. The functions
 * of the next build are elsewhere, in another order, some of them renamed or changed. Any profile
 * can be carried or is refused with a sentence, gives the same records each time, and those of code
 * that did not change are the old ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_profile.h"
#include "made_program.h"
#include "next/carry.h"
#include "profile/translate/records_to_traces.h"

/* The bytes of fdata, to be freed. */
struct text {
    char *bytes;
    size_t size;
};

/* A file that can be read, or *binary is closed. */
static bool open_binary(const char *path, struct bat_binary *binary)
{
    struct bat_error error;
    enum bat_code code = bat_binary_find_note_if_any(path, binary, &error);
    if (code == BAT_OK)
        return true;
    fuzz_expect_error(code, &error, UINT64_MAX);
    return false;
}

/* An address of the program: a block's start, or one in or near its code. */
static uint64_t choose_address(const struct side *side, const struct function *all,
                               struct fuzz_bytes *bytes)
{
    unsigned choice = (unsigned)fuzz_take(bytes, 1);
    if (choice >= 240)
        return choice >= 248 ? UINT64_MAX - choice % 4 : side->address + fuzz_take(bytes, 2);
    unsigned function = choice % FUNCTIONS;
    size_t start = side->starts[function][choice / FUNCTIONS % all[function].count];
    return side->address + start + (choice >= 128 ? fuzz_take(bytes, 1) : 0);
}

/* A jump that the program has, and the run from there to the end of the block that it leads to. */
static struct bat_trace choose_jump(const struct side *side, const struct function *all,
                                    size_t ends[][BLOCKS], struct fuzz_bytes *bytes)
{
    unsigned choice = (unsigned)fuzz_take(bytes, 1);
    unsigned i = choice % FUNCTIONS;
    unsigned from = choice / FUNCTIONS % all[i].count;
    const struct block *block = &all[i].blocks[from];
    unsigned to = block->target % all[i].count;
    uint64_t function = side->address + side->function_start[i];
    struct bat_trace trace = {.branch = BAT_ADDRESS_EXTERNAL};
    if (block->ending == JUMP || block->ending == BRANCH || block->ending == BRANCH_AND_JUMP)
        trace.branch = function + ends[i][from];
    else
        to = 0;
    trace.from = side->address + side->starts[i][to];
    trace.to = function + ends[i][to];
    return trace;
}

static void add_traces(struct bat_profile *profile, const struct side *side,
                       const struct function *all, size_t ends[][BLOCKS], struct fuzz_bytes *bytes)
{
    for (unsigned i = 0; i < 24 && bytes->left != 0; i++) {
        struct bat_trace trace = {.is_return = false};
        if (ends) {
            trace = choose_jump(side, all, ends, bytes);
        } else {
            trace.branch = choose_address(side, all, bytes);
            trace.from = choose_address(side, all, bytes);
            trace.to = choose_address(side, all, bytes);
        }
        trace.count = 1 + fuzz_take(bytes, 1);
        trace.mispredictions = trace.count / 2;
        fuzz_expect(bat_profile_add_trace(profile, &trace, NULL) == BAT_OK, "few traces add up");
    }
}

static struct bat_profile *new_profile(const struct bat_binary *binary)
{
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new_of(binary, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    return profile;
}

static struct bat_records *translate(const struct bat_profile *profile, struct bat_binary *binary)
{
    struct bat_records *records;
    struct bat_error error;
    const struct bat_translate_options options = {.size = sizeof(options), .threads = 1};
    enum bat_code code = bat_profile_translate(profile, binary, &options, &records, &error);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, UINT64_MAX);
    return records;
}

/* Append what is written to the text `context`; true if there is memory. */
static bool take(const void *bytes, size_t size, void *context)
{
    struct text *text = context;
    char *grown = realloc(text->bytes, text->size + size + 1);
    if (!grown)
        return false;
    memcpy(grown + text->size, bytes, size);
    *text = (struct text){grown, text->size + size};
    return true;
}

/* Write records as fdata or as YAML. */
static struct text write_records(const struct bat_records *records, bool as_yaml)
{
    struct text text = {0};
    struct bat_output *output;
    fuzz_expect(bat_output_begin_callback(take, &text, &output, NULL) == BAT_OK &&
                    (as_yaml ? bat_records_write_yaml : bat_records_write_fdata)(records, output,
                                                                                 NULL) == BAT_OK &&
                    bat_outputs_commit(&output, 1, NULL) == BAT_OK,
                "records can be written");
    return text;
}

/* Records have a form for compilers, and YAML with blocks of the code, or there is a sentence. */
static void check_forms(const struct bat_records *records, struct bat_binary *next)
{
    struct bat_profile *traces = new_profile(next);
    struct bat_error error;
    enum bat_code code = bat_records_to_traces(records, traces, &error);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, UINT64_MAX);
    bat_profile_free(traces);
    free(write_records(records, true).bytes);
}

/* Carry the records; without bytes if they are refused. */
static struct text carry(const struct bat_records *records, const struct bat_binary *old,
                         struct bat_binary *next, unsigned threads)
{
    struct bat_profile *profile = new_profile(next);
    struct next_report report;
    struct bat_error error;
    const struct next_carry_options options = {.threads = threads};
    enum bat_code code =
        next_carry(records, old->elf, next->elf, &options, profile, &report, &error);
    struct text text = {0};
    if (code == BAT_OK) {
        struct bat_records *carried = translate(profile, next);
        fuzz_expect(carried != NULL, "what was carried can be translated");
        text = write_records(carried, false);
        check_forms(carried, next);
        bat_records_free(carried);
        fuzz_expect(report.same.count <= report.all.count && report.found.count <= report.own.count,
                    "parts are not larger than the whole");
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
    }
    next_report_free(&report);
    bat_profile_free(profile);
    return text;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sort the lines: functions have another order in another build. */
static void sort_lines(struct text *text)
{
    char *lines[512];
    size_t count = 0;
    if (text->size == 0)
        return;
    text->bytes[text->size] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(text->bytes, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        fuzz_expect(count < sizeof(lines) / sizeof(lines[0]), "few traces are few records");
        lines[count++] = line;
    }
    qsort(lines, count, sizeof(*lines), compare_lines);
    struct text sorted = {0};
    for (size_t i = 0; i < count; i++)
        fuzz_expect(take(lines[i], strlen(lines[i]), &sorted) && take("\n", 1, &sorted),
                    "there is memory for records");
    free(text->bytes);
    *text = sorted;
}

static void expect_same_text(const struct text *left, const struct text *right,
                             const char *sentence)
{
    bool is_same = left->size == right->size &&
                   (left->size == 0 || memcmp(left->bytes, right->bytes, left->size) == 0);
    if (!is_same)
        fprintf(stderr, "%.*s--\n%.*s", (int)left->size, left->bytes ? left->bytes : "",
                (int)right->size, right->bytes ? right->bytes : "");
    fuzz_expect(is_same, sentence);
}

static void check_carried(struct bat_binary *old, struct bat_binary *next,
                          const struct bat_profile *profile, bool is_same_program)
{
    struct bat_records *records = translate(profile, old);
    if (!records)
        return;
    struct text carried = carry(records, old, next, 1);
    struct text again = carry(records, old, next, 2);
    expect_same_text(&carried, &again, "a profile is carried the same way each time");
    if (is_same_program && carried.size != 0) {
        struct text text = write_records(records, false);
        sort_lines(&text);
        sort_lines(&carried);
        expect_same_text(&text, &carried, "the same program in another place has the same records");
        free(text.bytes);
    }
    free(carried.bytes);
    free(again.bytes);
    bat_records_free(records);
}

/* Another order of the functions. */
static void take_order(struct fuzz_bytes *bytes, unsigned *order)
{
    unsigned choice = (unsigned)fuzz_take(bytes, 1);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        order[i] = (i + choice) % FUNCTIONS;
    unsigned other = choice / 4 % FUNCTIONS;
    unsigned first = order[0];
    order[0] = order[other];
    order[other] = first;
}

/* Change the program; false if nothing is other than before. */
static bool take_changes(struct fuzz_bytes *bytes, struct function *all, struct side *side)
{
    unsigned count = (unsigned)fuzz_take(bytes, 1) % 16;
    for (unsigned i = 0; i < count; i++) {
        unsigned what = (unsigned)fuzz_take(bytes, 1);
        struct function *function = &all[what % FUNCTIONS];
        struct block *block = &function->blocks[what / FUNCTIONS % function->count];
        unsigned value = (unsigned)fuzz_take(bytes, 1);
        switch (what / 32) {
        case 0:
            side->is_renamed[what % FUNCTIONS] ^= true;
            break;
        case 1:
            block->ending = value % 8;
            break;
        case 2:
            block->target = value % BLOCKS;
            block->other = value / BLOCKS % BLOCKS;
            break;
        case 3:
            function->count = 1 + value % BLOCKS;
            break;
        case 4:
            block->count = value % (BODY + 1);
            break;
        case 5:
            *block = all[value % FUNCTIONS].blocks[value / FUNCTIONS % BLOCKS];
            break;
        default:
            block->body[what / 4 % BODY] = (uint8_t)value;
        }
    }
    return count != 0;
}

/* True if the code says nothing about where it is: 5 and 6 have addresses (made_emit_body()), and
 * what leads to an empty block at a function's end leads to the next function. */
static bool can_be_moved(const struct function *all)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const struct block *last = all[i].count > 0 ? &all[i].blocks[all[i].count - 1] : NULL;
        if (last && last->count == 0 && last->ending == FALL)
            return false;
        for (unsigned k = 0; k < all[i].count; k++)
            for (unsigned n = 0; n < all[i].blocks[k].count; n++) {
                unsigned kind = all[i].blocks[k].body[n] % 11;
                if (kind == 5 || kind == 6)
                    return false;
            }
    }
    return true;
}

/* Write both builds; *changed is whether their code is not the same. ends are of the old one. */
static void write_builds(struct fuzz_bytes *bytes, struct function *all, struct side *old,
                         struct side *next, char *paths[2], size_t ends[][BLOCKS], bool *changed)
{
    static const unsigned order[FUNCTIONS] = {0, 1, 2, 3};
    static size_t next_ends[FUNCTIONS][BLOCKS];
    made_take_program(bytes, all);
    made_write_program(old, all, order, ends);
    old->address = made_choose_base(bytes, 0x401000, old->size);
    made_patch(old->code, old->size, bytes, true);
    paths[0] = made_write_file(old, "old", NULL, 0, bytes);
    struct function changing[FUNCTIONS];
    memcpy(changing, all, sizeof(changing));
    unsigned next_order[FUNCTIONS];
    take_order(bytes, next_order);
    *changed = take_changes(bytes, changing, next);
    made_write_program(next, changing, next_order, next_ends);
    next->address = made_choose_base(bytes, 0x501230, next->size);
    made_patch(next->code, next->size, bytes, true);
    paths[1] = made_write_file(next, "next", NULL, 0, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    made_is_damaged = false;
    struct fuzz_bytes bytes = {data, size};
    struct function all[FUNCTIONS] = {{.count = 0}};
    static struct side old;
    static struct side next;
    bool is_aarch64 = fuzz_take(&bytes, 1) % 2 != 0;
    old = next = (struct side){.is_aarch64 = is_aarch64};
    static size_t ends[FUNCTIONS][BLOCKS];
    char *paths[2];
    bool is_changed;
    write_builds(&bytes, all, &old, &next, paths, ends, &is_changed);
    bool is_sound = fuzz_take(&bytes, 1) % 2 == 0;
    struct bat_binary binaries[2] = {{0}};
    if (open_binary(paths[0], &binaries[0]) && open_binary(paths[1], &binaries[1])) {
        struct bat_profile *profile = new_profile(&binaries[0]);
        add_traces(profile, &old, all, is_sound ? ends : NULL, &bytes);
        check_carried(&binaries[0], &binaries[1], profile,
                      is_sound && !is_changed && !made_is_damaged && can_be_moved(all));
        bat_profile_free(profile);
    }
    for (int i = 0; i < 2; i++) {
        bat_binary_close(&binaries[i]);
        unlink(paths[i]);
        free(paths[i]);
    }
    return 0;
}
