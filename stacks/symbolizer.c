/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolizer.h"

#include <stdlib.h>
#include <string.h>

#include "debuginfo/second.h"
#include "spec/array.h"
#include "spec/options.h"
#include "support/parallel.h"

static enum bat_code open_binary(struct bat_symbolizer *symbolizer, const char *path,
                                 const struct bat_symbolizer_options *options,
                                 struct bat_error *error)
{
    if (!options->original) {
        BAT_TRY(bat_elf_open(path, &symbolizer->elf, error));
        const uint8_t *note;
        size_t size;
        symbolizer->lacks_original =
            bat_elf_note(symbolizer->elf, &note, &size, NULL, NULL) == BAT_OK;
        return BAT_OK;
    }
    /* bat_original_open_for_look_ups() decodes the note. */
    BAT_TRY(bat_binary_find_note(path, &symbolizer->binary, error));
    if (!symbolizer->binary.elf)
        return bat_fail(error, BAT_ERR_NOT_ELF, "expected an ELF file, found a BAT note alone");
    symbolizer->elf = symbolizer->binary.elf;
    return BAT_OK;
}

/* The index of the original's symbols, and how making it ended. */
struct original_index {
    struct symbol_index *index;
    enum bat_code code;
    struct bat_error error;
};

static void make_original_index(void *context, struct bat_elf *original)
{
    struct original_index *made = context;
    made->code = symbol_index_make(made->index, original, &made->error);
}

static enum bat_code open_original(struct bat_symbolizer *symbolizer,
                                   const struct bat_symbolizer_options *options,
                                   struct bat_error *error)
{
    if (!options->original)
        return BAT_OK;
    const struct bat_original_options pairing = {.size = sizeof(pairing),
                                                 .ignore_build_id = options->ignore_build_id,
                                                 .threads = options->threads,
                                                 .no_names = true};
    struct original_index made = {.index = &symbolizer->original_symbols};
    const struct bat_original_beside beside = {make_original_index, &made};
    enum bat_code code = bat_original_open_for_look_ups(
        options->original, &symbolizer->binary, &pairing, &beside, &symbolizer->original, error);
    if (code != BAT_OK && error && error->place != BAT_PLACE_SECTION) {
        /* The caller puts only the binary's name in front. */
        struct bat_error cause = *error;
        bat_fail(error, code, "%.200s: %s", options->original, cause.message);
    }
    if (code == BAT_OK && made.code != BAT_OK && error)
        *error = made.error;
    return code ? code : made.code;
}

static enum bat_code open_debuginfo(struct bat_symbolizer *symbolizer,
                                    const struct bat_symbolizer_options *options,
                                    struct bat_error *error)
{
    const char *path = options->original ? options->original : symbolizer->path;
    enum bat_code code = bat_debuginfo_open(path, options->debug_file, &symbolizer->debuginfo,
                                            &symbolizer->no_debug);
    if (code == BAT_OK || (!options->debug_file && code != BAT_ERR_MEMORY))
        return BAT_OK;
    if (error)
        *error = symbolizer->no_debug;
    return code;
}

/* What is opened at the same time: the original, or the rest. Of errors the first counts. */
enum { SYMBOLS, ORIGINAL, DEBUGINFO, OPENED };

struct opening {
    struct bat_symbolizer *symbolizer;
    const struct bat_symbolizer_options *options;
    enum bat_code codes[OPENED];
    struct bat_error errors[OPENED];
};

static void open_some(void *context, size_t first, size_t end, unsigned thread)
{
    (void)thread;
    (void)end;
    struct opening *opening = context;
    struct bat_symbolizer *symbolizer = opening->symbolizer;
    if (first == 0) {
        opening->codes[ORIGINAL] =
            open_original(symbolizer, opening->options, &opening->errors[ORIGINAL]);
        return;
    }
    opening->codes[SYMBOLS] =
        symbol_index_make(&symbolizer->symbols, symbolizer->elf, &opening->errors[SYMBOLS]);
    if (opening->codes[SYMBOLS] == BAT_OK)
        opening->codes[DEBUGINFO] =
            open_debuginfo(symbolizer, opening->options, &opening->errors[DEBUGINFO]);
}

static enum bat_code open_all(struct bat_symbolizer *symbolizer,
                              const struct bat_symbolizer_options *options, struct bat_error *error)
{
    struct opening opening = {.symbolizer = symbolizer, .options = options};
    const unsigned threads = options->original ? bat_parallel_threads(options->threads, 2) : 1;
    bat_parallel_run(2, 1, threads, open_some, &opening);
    for (unsigned i = 0; i < OPENED; i++) {
        if (opening.codes[i] == BAT_OK)
            continue;
        if (error)
            *error = opening.errors[i];
        return opening.codes[i];
    }
    return BAT_OK;
}

enum bat_code bat_symbolizer_open(const char *path, const struct bat_symbolizer_options *options,
                                  struct bat_symbolizer **symbolizer, struct bat_error *error)
{
    *symbolizer = NULL;
    struct bat_symbolizer_options own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), options, "bat_symbolizer_options", error));
    struct bat_symbolizer *made = calloc(1, sizeof(*made));
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return bat_fail_memory(error, "to open the file");
    }
    made->file_name = basename(made->path);
    made->demangle = own.demangle;
    enum bat_code code = open_binary(made, path, &own, error);
    code = code ? code : open_all(made, &own, error);
    if (code != BAT_OK) {
        bat_symbolizer_close(made);
        return code;
    }
    *symbolizer = made;
    return BAT_OK;
}

enum bat_code bat_symbolizer_rename(struct bat_symbolizer *symbolizer, const char *path,
                                    struct bat_error *error)
{
    char *copy = strdup(path);
    BAT_TRY_MEMORY(copy, error, "to open the file");
    free(symbolizer->path);
    symbolizer->path = copy;
    symbolizer->file_name = basename(copy);
    return BAT_OK;
}

struct bat_symbolizer *bat_symbolizer_second(const struct bat_symbolizer *first)
{
    struct bat_symbolizer *second = calloc(1, sizeof(*second));
    if (!second)
        return NULL;
    second->second_of = (struct bat_symbolizer *)first;
    second->binary = first->binary;
    second->elf = first->elf;
    second->original = first->original;
    second->symbols = first->symbols;
    second->original_symbols = first->original_symbols;
    second->debuginfo = first->debuginfo ? debug_open_second(first->debuginfo) : NULL;
    if (!first->debuginfo || second->debuginfo)
        return second;
    free(second);
    return NULL;
}

void bat_symbolizer_close(struct bat_symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    if (symbolizer->second_of) {
        if (symbolizer->debuginfo)
            debug_close_second(symbolizer->second_of->debuginfo, symbolizer->debuginfo);
        bat_original_walks_free(&symbolizer->walks);
        BAT_FREE_ALL(symbolizer->frames, symbolizer);
        return;
    }
    if (symbolizer->debuginfo)
        bat_debuginfo_close(symbolizer->debuginfo);
    symbol_index_free(&symbolizer->original_symbols);
    symbol_index_free(&symbolizer->symbols);
    if (symbolizer->original)
        bat_original_close(symbolizer->original);
    bat_original_walks_free(&symbolizer->walks);
    if (symbolizer->elf && !symbolizer->binary.elf)
        bat_elf_close(symbolizer->elf);
    bat_binary_close(&symbolizer->binary);
    memory_map_free(&symbolizer->memory);
    BAT_FREE_ALL(symbolizer->frames, symbolizer->path, symbolizer);
}

const struct bat_error *bat_symbolizer_no_debug(const struct bat_symbolizer *symbolizer)
{
    return symbolizer->debuginfo ? NULL : &symbolizer->no_debug;
}

bool bat_symbolizer_lacks_original(const struct bat_symbolizer *symbolizer)
{
    return symbolizer->lacks_original;
}

uint64_t bat_symbolizer_units_missing(const struct bat_symbolizer *symbolizer, uint64_t *read)
{
    struct bat_debuginfo_counters counters = {0};
    if (symbolizer->debuginfo)
        counters = bat_debuginfo_counters(symbolizer->debuginfo);
    *read = counters.units_read;
    return counters.units_missing;
}

bool bat_symbolizer_lacks_memory(const struct bat_symbolizer *symbolizer)
{
    return (symbolizer->debuginfo && bat_debuginfo_lacks_memory(symbolizer->debuginfo)) ||
           (symbolizer->original && bat_original_lacks_memory(symbolizer->original));
}

const struct bat_symbol *bat_symbolizer_symbol(const struct bat_symbolizer *symbolizer,
                                               uint64_t address)
{
    return symbol_index_at(&symbolizer->symbols, address);
}

/* --- From the binary to its original -------------------------------------------------------- */

/*
 * The address in the original; in_call is true for an address inside a call. BAT has an entry for
 * each call of the input. Calls that BOLT added have none: they are mapped by the entry of their
 * basic block.
 */
static bool find_original(struct bat_symbolizer *symbolizer, uint64_t address, bool in_call,
                          uint64_t *original)
{
    struct bat_original_place place;
    if (!bat_original_input_of_again(symbolizer->original, &symbolizer->walks, address, false,
                                     &place))
        return false;
    if (in_call && place.kind == BAT_ORIGINAL_TABLE && place.table != BAT_NONE &&
        bat_original_is_in_branch(symbolizer->original, place.table, address))
        bat_original_input_of(symbolizer->original, address, true, &place);
    *original = place.address;
    return true;
}

/* --- Frames --------------------------------------------------------------------------------- */

static bool reserve_frames(struct bat_symbolizer *symbolizer, size_t count)
{
    return BAT_RESERVE(symbolizer->frames, 0, symbolizer->frame_capacity, count);
}

static struct bat_source_frame from_debug(const struct bat_frame *frame, bool plain_names)
{
    return (struct bat_source_frame){
        .function = plain_names || !frame->linkage_name ? frame->name : frame->linkage_name,
        .file = frame->file,
        .start_file = frame->start_file,
        .start_line = frame->start_line,
        .line = frame->line,
        .column = frame->column,
        .discriminator = frame->discriminator,
        .start_address = frame->low_pc,
        .has_start_address = frame->low_pc != 0,
    };
}

/* The frames that debug information knows; 0 if it knows none. */
static size_t debug_frames(struct bat_symbolizer *symbolizer, uint64_t address,
                           const struct bat_frames_options *options)
{
    if (!symbolizer->debuginfo)
        return 0;
    const struct bat_frame *known;
    size_t count = bat_debuginfo_frames(symbolizer->debuginfo, address, &known);
    struct bat_frame line;
    if (count == 0) {
        if (!bat_debuginfo_line(symbolizer->debuginfo, address, &line))
            return 0;
        known = &line;
        count = 1;
    }
    if (!reserve_frames(symbolizer, count))
        return 0;
    for (size_t i = 0; i < count; i++)
        symbolizer->frames[i] = from_debug(&known[i], options->plain_names);
    const char *folder =
        options->folders ? bat_debuginfo_folder(symbolizer->debuginfo, address) : NULL;
    for (size_t i = 0; i < count; i++)
        symbolizer->frames[i].folder = folder;
    return options->no_inlines ? 1 : count;
}

/* The symbol names the function that has the code, with suffixes such as ".cold". */
static void apply_symbol(struct bat_source_frame *frame, const struct bat_symbol *symbol)
{
    frame->function = symbol->name;
    frame->start_address = symbol->address;
    frame->has_start_address = true;
    if (!frame->file)
        frame->file = symbol->file;
}

/*
 * True if an address is in the stretch of the last one, or else in a new one, which becomes
 * symbolizer->stretch: bat_symbolizer_frames() has one answer for all its addresses, BAT_FOUND.
 */
static bool is_in_stretch(struct bat_symbolizer *symbolizer, uint64_t address)
{
    if (address - symbolizer->stretch.start >= symbolizer->stretch.size)
        symbolizer_find_stretch(symbolizer, address);
    return symbolizer->stretch.size != 0 && symbolizer->stretch.symbol;
}

/*
 * The symbol of an address in the original. What BOLT has inlined can lead behind the end of the
 * input function, where no symbol is: then it is the input function's.
 */
static const struct bat_symbol *original_symbol(struct bat_symbolizer *symbolizer, uint64_t address,
                                                uint64_t original)
{
    struct bat_original_functions functions;
    const struct symbol_index *symbols = &symbolizer->original_symbols;
    const struct bat_symbol *symbol =
        symbol_index_near(symbols, original, &symbolizer->last_original);
    if (symbol || !bat_original_functions_at(symbolizer->original, address, &functions))
        return symbol;
    return symbol_index_near(symbols, functions.input, &symbolizer->last_original);
}

enum bat_symbolizer_found bat_symbolizer_frames(struct bat_symbolizer *symbolizer, uint64_t address,
                                                enum bat_frame_pc pc,
                                                const struct bat_frames_options *options,
                                                const struct bat_source_frame **frames,
                                                size_t *count)
{
    static const struct bat_source_frame unknown;
    uint64_t inside = pc == BAT_PC_RETURN && address != 0 ? address - 1 : address;
    uint64_t original = inside;
    *frames = &unknown;
    *count = 1;
    struct bat_frames_options own;
    if (bat_options_copy(&own, sizeof(own), options, "bat_frames_options", NULL) != BAT_OK)
        return BAT_FOUND_NOWHERE;
    if (reserve_frames(symbolizer, 1) && is_in_stretch(symbolizer, inside)) {
        symbolizer->frames[0] = unknown;
        *frames = symbolizer->frames;
        if (!own.plain_names)
            apply_symbol(&symbolizer->frames[0], symbolizer->stretch.symbol);
        return BAT_FOUND;
    }
    bool moved =
        !symbolizer->original || find_original(symbolizer, inside, pc != BAT_PC_EXACT, &original);
    if (!reserve_frames(symbolizer, 1))
        return BAT_FOUND_NOWHERE;
    size_t known = moved ? debug_frames(symbolizer, original, &own) : 0;
    if (known == 0)
        symbolizer->frames[0] = unknown;
    *frames = symbolizer->frames;
    *count = known ? known : 1;
    const struct bat_symbol *symbol =
        moved && symbolizer->original
            ? original_symbol(symbolizer, inside, original)
            : symbol_index_near(&symbolizer->symbols, inside, &symbolizer->last_symbol);
    if (symbol && !own.plain_names)
        apply_symbol(&symbolizer->frames[*count - 1], symbol);
    if (moved && (known || symbol))
        return BAT_FOUND;
    bool is_code = symbol || bat_elf_is_executable(symbolizer->elf, inside);
    return is_code ? BAT_FOUND_NOT_MOVED : BAT_FOUND_NOWHERE;
}
