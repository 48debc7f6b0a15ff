/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What tests open and make of the library's, until they end. */
#pragma once

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "binary/code/code_blocks.h"
#include "binary/functions/functions.h"
#include "unit_test.h"

KEPT(kept_map, struct bat_map, bat_map_free)
KEPT(kept_builder, struct bat_builder, bat_builder_free)
KEPT(kept_elf, struct bat_elf, bat_elf_close)
KEPT(kept_functions, struct bat_functions, bat_functions_free)
KEPT(kept_code, struct bat_code_reader, bat_code_close)

static inline struct bat_elf *open_elf(const char *path)
{
    struct bat_elf *elf;
    struct bat_error error;
    if (bat_elf_open(path, &elf, &error) != BAT_OK)
        fail_msg("%s: %s", path, error.message);
    return kept_elf(elf);
}

/* A file's symbols, or its dynamic ones. */
static inline const struct bat_symbol *symbols_of(struct bat_elf *elf, bool dynamic, size_t *count)
{
    const struct bat_symbol *symbols = NULL;
    struct bat_error error;
    if (bat_elf_symbols(elf, dynamic, &symbols, count, &error) != BAT_OK)
        fail_msg("%s", error.message);
    return symbols;
}

/* The address of a symbol in a file. */
static inline uint64_t address_in(const char *path, const char *name)
{
    size_t count;
    const struct bat_symbol *symbols = symbols_of(open_elf(path), false, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(symbols[i].name, name) == 0)
            return symbols[i].address;
    fail_msg("%s has no symbol %s", path, name);
    return 0;
}

static inline struct bat_builder *new_builder(void)
{
    struct bat_builder *builder = bat_builder_new();
    assert_non_null(builder);
    return kept_builder(builder);
}

static inline struct bat_map *finish_map(struct bat_builder *builder,
                                         const struct bat_builder_options *options)
{
    struct bat_map *map = NULL;
    struct bat_error error;
    if (bat_builder_finish(builder, options, &map, &error) != BAT_OK)
        fail_msg("%s", error.message);
    return kept_map(map);
}

/* A map's section, with the note header. */
static inline uint8_t *encode_map(const struct bat_map *map, size_t *size)
{
    uint8_t *bytes;
    struct bat_error error;
    if (bat_encode(map, &bytes, size, &error) != BAT_OK)
        fail_msg("%s", error.message);
    keep(free, bytes);
    return bytes;
}
