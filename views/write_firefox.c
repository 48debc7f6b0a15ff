/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Firefox Profiler's processed profile format: one thread, whose tables have an array for each
 * column. Samples have no times; the one with number i gets the time i.
 */
#include <batkit/bat_version.h>
#include <stdio.h>

#include "bat_views.h"
#include "spec/array.h"
#include "stack_tables.h"

/* The version of the format. The profiler reads those before its own. */
#define PROCESSED_VERSION "57"

/* The profiler's number of resources that are libraries. */
#define RESOURCE_LIBRARY "1"

/* The profiler counts addresses from the library's start, in 32 bits. */
#define OFFSET_MAX UINT32_MAX

/* Categories, by their places in the file. */
enum category { CATEGORY_OTHER, CATEGORY_PROGRAM };

struct numbers {
    uint64_t *all;
    size_t count;
    size_t capacity;
};

struct firefox {
    const struct bat_sampled_stacks *stacks;
    const struct bat_sampled_subject *subject;
    struct bat_text_writer text;
    struct bat_counts frames;    /* key: offset in the program + 1 or 0, line, inline depth */
    struct bat_counts nodes;     /* key: the caller's node + 1 or 0, frame */
    struct bat_counts functions; /* key: function that is in the program */
    struct numbers samples;      /* the node of each */
    struct numbers places;       /* of one stack */
    struct numbers lines;        /* of one place */
    bool no_memory;
};

/* --- The tree of stacks --------------------------------------------------------------------- */

static void append(struct firefox *firefox, struct numbers *numbers, uint64_t number)
{
    if (BAT_GROW(numbers->all, numbers->count, numbers->capacity))
        numbers->all[numbers->count++] = number;
    else
        firefox->no_memory = true;
}

/* An address's offset in the program, plus 1; 0 if it is not in the program's code. */
static uint64_t offset_of(const struct firefox *firefox, uint64_t address)
{
    const struct bat_elf *program = firefox->subject->program;
    struct bat_segment segment;
    for (size_t i = 0; program && bat_elf_segment(program, i, &segment); i++) {
        bool is_inside = address - segment.address < segment.memory_size;
        uint64_t offset = address - bat_elf_base_address(program);
        if (is_inside && segment.flags & 1 && offset <= OFFSET_MAX) /* PF_X */
            return offset + 1;
    }
    return 0;
}

/* Add a place's frames behind the caller's node. Returns the node of the innermost, plus 1. */
static uint64_t add_place(struct firefox *firefox, uint64_t place, uint64_t caller)
{
    const char *text = bat_strings_get(&firefox->stacks->places, (uint32_t)place);
    uint64_t number;
    stack_next_number(&text, &number);
    uint64_t offset = offset_of(firefox, number);
    firefox->lines.count = 0;
    while (stack_next_number(&text, &number))
        append(firefox, &firefox->lines, number);
    for (size_t depth = 0; depth < firefox->lines.count; depth++) {
        uint64_t line = firefox->lines.all[firefox->lines.count - 1 - depth];
        const uint64_t frame[3] = {offset, line, depth};
        const uint64_t node[2] = {caller,
                                  stack_key_number(&firefox->frames, frame, &firefox->no_memory)};
        caller = stack_key_number(&firefox->nodes, node, &firefox->no_memory) + 1;
        if (offset != 0)
            stack_key_number(&firefox->functions,
                             bat_counts_item(&firefox->stacks->lines, (uint32_t)line),
                             &firefox->no_memory);
    }
    return caller;
}

static void add_samples(struct firefox *firefox)
{
    const struct bat_sampled_stacks *stacks = firefox->stacks;
    for (uint32_t i = 0; i < stacks->counts.count && !firefox->no_memory; i++) {
        uint64_t stack = bat_counts_item(&stacks->counts, i)[0];
        const char *text = bat_strings_get(&stacks->stacks, (uint32_t)stack);
        uint64_t place;
        uint64_t caller = 0;
        firefox->places.count = 0;
        while (stack_next_number(&text, &place))
            append(firefox, &firefox->places, place);
        for (size_t k = firefox->places.count; k != 0; k--)
            caller = add_place(firefox, firefox->places.all[k - 1], caller);
        append(firefox, &firefox->samples, caller - 1);
    }
}

/* --- Columns -------------------------------------------------------------------------------- */

static void put(struct firefox *firefox, const char *text)
{
    bat_text_string(&firefox->text, text);
}

/* What a column has where there is no value. */
#define NOTHING UINT64_MAX

static void put_value(struct firefox *firefox, uint32_t row, uint64_t number, const char *missing)
{
    put(firefox, row ? "," : "");
    if (number == NOTHING && missing)
        put(firefox, missing);
    else
        bat_text_decimal(&firefox->text, number);
}

static void begin_column(struct firefox *firefox, const char *name)
{
    put(firefox, "\"");
    put(firefox, name);
    put(firefox, "\":[");
}

/* The value of one row, or NOTHING. */
typedef uint64_t value_of(const struct firefox *firefox, uint32_t row);

/* A column; without values `missing` is in all rows. NULL: every number is a value. */
static void put_column(struct firefox *firefox, const char *name, uint32_t count, value_of *value,
                       const char *missing)
{
    begin_column(firefox, name);
    for (uint32_t i = 0; i < count; i++)
        put_value(firefox, i, value ? value(firefox, i) : NOTHING, missing);
    put(firefox, "],\n");
}

/* A word of the items of a table, or of the lines that its items have. */
struct word {
    const struct bat_counts *table;
    unsigned number;
    bool of_line;
    bool counts_from_one; /* what the profiler counts from 0 */
    const char *zero;     /* what a column has for 0; NULL: 0 is a value */
};

static void put_words(struct firefox *firefox, const char *name, struct word word)
{
    begin_column(firefox, name);
    for (uint32_t i = 0; i < word.table->count; i++) {
        const uint64_t *item = bat_counts_item(word.table, i);
        if (word.of_line)
            item = bat_counts_item(&firefox->stacks->lines, (uint32_t)item[1]);
        uint64_t number = item[word.number];
        put_value(firefox, i, number == 0 && word.zero ? NOTHING : number - word.counts_from_one,
                  word.zero);
    }
    put(firefox, "],\n");
}

/* The number of rows, and the table's end. */
static void put_length(struct firefox *firefox, uint64_t count)
{
    put(firefox, "\"length\":");
    bat_text_decimal(&firefox->text, count);
    put(firefox, "},\n");
}

/* --- Frames --------------------------------------------------------------------------------- */

static uint64_t frame_category(const struct firefox *firefox, uint32_t row)
{
    return bat_counts_item(&firefox->frames, row)[0] != 0 ? CATEGORY_PROGRAM : CATEGORY_OTHER;
}

static void put_frames(struct firefox *firefox)
{
    const struct bat_counts *frames = &firefox->frames;
    uint32_t count = frames->count;
    put(firefox, "\"frameTable\":{\n");
    put_words(firefox, "address",
              (struct word){.table = frames, .number = 0, .counts_from_one = true, .zero = "-1"});
    put_words(firefox, "inlineDepth", (struct word){.table = frames, .number = 2});
    put_column(firefox, "category", count, frame_category, NULL);
    put_column(firefox, "subcategory", count, NULL, "0");
    put_words(firefox, "func", (struct word){.table = frames, .number = 0, .of_line = true});
    put_column(firefox, "nativeSymbol", count, NULL, "null");
    put_column(firefox, "innerWindowID", count, NULL, "null");
    put_words(firefox, "line",
              (struct word){.table = frames, .number = 1, .of_line = true, .zero = "null"});
    put_words(firefox, "column",
              (struct word){.table = frames, .number = 2, .of_line = true, .zero = "null"});
    put_length(firefox, count);
}

/* --- Functions ------------------------------------------------------------------------------ */

static uint64_t function_resource(const struct firefox *firefox, uint32_t row)
{
    const uint64_t function = row;
    return bat_counts_find(&firefox->functions, &function) ? 0 : NOTHING;
}

static uint64_t function_file(const struct firefox *firefox, uint32_t row)
{
    uint64_t name = bat_counts_item(&firefox->stacks->functions, row)[2];
    return bat_strings_get(&firefox->stacks->names, (uint32_t)name)[0] ? name : NOTHING;
}

static void put_functions(struct firefox *firefox)
{
    const struct bat_counts *functions = &firefox->stacks->functions;
    uint32_t count = functions->count;
    put(firefox, "\"funcTable\":{\n");
    put_words(firefox, "name", (struct word){.table = functions, .number = 0});
    put_column(firefox, "isJS", count, NULL, "false");
    put_column(firefox, "relevantForJS", count, NULL, "false");
    put_column(firefox, "resource", count, function_resource, "-1");
    put_column(firefox, "fileName", count, function_file, "null");
    put_words(firefox, "lineNumber",
              (struct word){.table = functions, .number = 3, .zero = "null"});
    put_column(firefox, "columnNumber", count, NULL, "null");
    put_length(firefox, count);
}

/* --- Stacks and samples --------------------------------------------------------------------- */

static uint64_t sample_node(const struct firefox *firefox, uint32_t row)
{
    return firefox->samples.all[row];
}

static uint64_t sample_time(const struct firefox *firefox, uint32_t row)
{
    (void)firefox;
    return row;
}

static void put_samples(struct firefox *firefox)
{
    const struct bat_counts *nodes = &firefox->nodes;
    uint32_t count = firefox->stacks->counts.count;
    put(firefox, "\"stackTable\":{\n");
    put_words(firefox, "frame", (struct word){.table = nodes, .number = 1});
    put_words(firefox, "prefix",
              (struct word){.table = nodes, .number = 0, .counts_from_one = true, .zero = "null"});
    put_length(firefox, nodes->count);
    put(firefox, "\"samples\":{\n");
    put_column(firefox, "stack", count, sample_node, "null");
    put_column(firefox, "time", count, sample_time, NULL);
    put_words(firefox, "weight", (struct word){.table = &firefox->stacks->counts, .number = 1});
    put(firefox, "\"weightType\":\"samples\",\n");
    put_length(firefox, count);
}

/* --- Everything else ------------------------------------------------------------------------ */

/* A build-id as Breakpad spells it: a GUID's integers are little-endian; the last digit is an age.
 */
static void put_breakpad_id(struct firefox *firefox, const uint8_t *id, size_t size)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char text[34] = "";
    for (size_t i = 0; id && i < sizeof(order); i++)
        snprintf(text + 2 * i, 3, "%02X", order[i] < size ? id[order[i]] : 0);
    put(firefox, "\"breakpadId\":\"");
    put(firefox, text);
    put(firefox, id ? "0\"" : "\"");
}

static void put_code_id(struct firefox *firefox, const uint8_t *id, size_t size)
{
    put(firefox, id ? ",\"codeId\":\"" : ",\"codeId\":null");
    if (id)
        bat_text_hex_bytes(&firefox->text, id, size);
    put(firefox, id ? "\"" : "");
}

static void put_library(struct firefox *firefox)
{
    static const char *const names[] = {"name", "path", "debugName", "debugPath"};
    const struct bat_elf *program = firefox->subject->program;
    size_t size = 0;
    const uint8_t *id = program ? bat_elf_build_id(program, &size) : NULL;
    put(firefox, "\"libs\":[");
    if (program) {
        put(firefox, "{\"arch\":\"\",");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            put(firefox, "\"");
            put(firefox, names[i]);
            put(firefox, "\":");
            bat_text_json(&firefox->text, firefox->subject->title);
            put(firefox, ",");
        }
        put_breakpad_id(firefox, id, size);
        put_code_id(firefox, id, size);
        put(firefox, "}");
    }
    put(firefox, "],\n");
}

static void put_strings(struct firefox *firefox)
{
    const struct bat_strings *names = &firefox->stacks->names;
    put(firefox, "\"shared\":{\"stringArray\":[\n");
    for (uint32_t i = 0; i < names->count; i++) {
        bat_text_json(&firefox->text, bat_strings_get(names, i));
        put(firefox, ",\n");
    }
    /* The name of the resource, behind the others. */
    bat_text_json(&firefox->text, firefox->subject->title);
    put(firefox, "]},\n");
}

static void put_meta(struct firefox *firefox)
{
    put(firefox, "{\"meta\":{\"preprocessedProfileVersion\":" PROCESSED_VERSION
                 ",\"version\":30,\"importedFrom\":\"batkit ");
    put(firefox, bat_version());
    put(firefox, "\",\"product\":");
    bat_text_json(&firefox->text, firefox->subject->title);
    put(firefox,
        ",\n\"startTime\":0,\"interval\":1,\"processType\":0,\"stackwalk\":1,\"symbolicated\":true,"
        "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\n"
        "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Program\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}],\n"
        "\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0},\"markerSchema\":[]},"
        "\n");
}

static void put_thread(struct firefox *firefox)
{
    put(firefox, "\"threads\":[{\"name\":");
    bat_text_json(&firefox->text, firefox->subject->unit);
    put(firefox, ",\"processName\":");
    bat_text_json(&firefox->text, firefox->subject->title);
    put(firefox,
        ",\n\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
        "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"pid\":\"0\",\"tid\":0,"
        "\"isMainThread\":true,\n");
    put_samples(firefox);
    put_frames(firefox);
    put_functions(firefox);
    put(firefox, "\"resourceTable\":{");
    if (firefox->subject->program) {
        put(firefox, "\"type\":[" RESOURCE_LIBRARY "],\"lib\":[0],\"host\":[null],\"name\":[");
        bat_text_decimal(&firefox->text, firefox->stacks->names.count);
        put(firefox, "],\"length\":1},\n");
    } else {
        put(firefox, "\"type\":[],\"lib\":[],\"host\":[],\"name\":[],\"length\":0},\n");
    }
    put(firefox, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                 "\"functionSize\":[],\"length\":0},\n"
                 "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
                 "\"phase\":[],\"category\":[],\"length\":0}}]}\n");
}

static enum bat_code write_profile(struct firefox *firefox, struct bat_output *output,
                                   struct bat_error *error)
{
    add_samples(firefox);
    if (firefox->no_memory)
        return bat_fail_memory(error, "for the stacks");
    BAT_TRY(bat_text_begin(&firefox->text, output, error));
    put_meta(firefox);
    put_library(firefox);
    put_strings(firefox);
    put_thread(firefox);
    return bat_text_finish(&firefox->text, BAT_OK);
}

enum bat_code write_firefox(const struct bat_sampled_stacks *stacks,
                            const struct bat_sampled_subject *subject, struct bat_output *output,
                            struct bat_error *error)
{
    struct firefox firefox = {.stacks = stacks,
                              .subject = subject,
                              .frames = bat_counts_new(3),
                              .nodes = bat_counts_new(2),
                              .functions = bat_counts_new(1)};
    enum bat_code code = write_profile(&firefox, output, error);
    bat_counts_free(&firefox.frames);
    bat_counts_free(&firefox.nodes);
    bat_counts_free(&firefox.functions);
    BAT_FREE_ALL(firefox.samples.all, firefox.places.all, firefox.lines.all);
    return code;
}
