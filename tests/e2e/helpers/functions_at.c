/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * functions_at BINARY [SYMBOLS]: for each address on standard input, in hexadecimal, a line with
 * the function that perf2bolt would report for it and the offset in that function's input,
 * translated by the binary's BAT note if it has one; "[unknown] 0" outside of all functions.
 * With -l instead of SYMBOLS: all functions, a line "address size flags name" each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/functions/functions.h"

static void check(enum bat_code code, const struct bat_error *error)
{
    if (code == BAT_OK)
        return;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static struct bat_map *read_map(const struct bat_elf *elf)
{
    const uint8_t *note;
    size_t size;
    const struct bat_section *section;
    struct bat_map *map = NULL;
    struct bat_error error;
    enum bat_code code = bat_elf_note(elf, &note, &size, &section, &error);
    if (code == BAT_ERR_NO_NOTE)
        return NULL;
    check(code, &error);
    check(bat_decode(note, size, NULL, &map, &error), &error);
    return map;
}

static void print_all(const struct bat_functions *functions)
{
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(functions, &count);
    for (uint32_t i = 0; i < count; i++)
        printf("%" PRIx64 " %" PRIx64 " %" PRIx32 " %s\n", all[i].address, all[i].size,
               all[i].flags, all[i].name);
}

static void print_at(const struct bat_functions *functions, const struct bat_map *map,
                     uint64_t address)
{
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(functions, &count);
    uint32_t index = bat_functions_find(functions, address);
    if (index == BAT_NONE) {
        printf("[unknown] 0\n");
        return;
    }
    uint64_t offset = address - all[index].address;
    uint32_t table = map ? bat_map_table_at(map, all[index].address) : BAT_NONE;
    if (table != BAT_NONE) {
        offset = bat_map_translate(map, table, offset, false);
        uint32_t parent = bat_map_parent(map, table);
        if (parent != table)
            index = bat_functions_find(functions, map->tables[parent].address);
    }
    printf("%s %" PRIx64 "\n", index == BAT_NONE ? "[unknown]" : all[index].name, offset);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: functions_at BINARY [SYMBOLS | -l]\n");
        return 2;
    }
    struct bat_elf *elf;
    struct bat_elf *symbols = NULL;
    struct bat_functions *functions;
    struct bat_error error;
    bool is_list = argc > 2 && strcmp(argv[2], "-l") == 0;
    check(bat_elf_open(argv[1], &elf, &error), &error);
    if (argc > 2 && !is_list)
        check(bat_elf_open(argv[2], &symbols, &error), &error);
    check(bat_functions_create(elf, symbols, &functions, &error), &error);
    struct bat_map *map = read_map(elf);
    if (is_list) {
        print_all(functions);
    } else {
        char line[64];
        while (fgets(line, sizeof(line), stdin)) {
            char *end;
            errno = 0;
            uint64_t address = strtoull(line, &end, 16);
            if (end == line || *end != '\n' || errno) {
                fprintf(stderr, "not an address: %s\n", line);
                return 1;
            }
            print_at(functions, map, address);
        }
    }
    bat_map_free(map);
    bat_functions_free(functions);
    bat_elf_close(symbols);
    bat_elf_close(elf);
    return 0;
}
