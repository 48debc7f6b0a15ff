/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes the BAT note of a binary and prints a line for each table.
 *
 *     decode_note BINARY
 */
#include <batkit/bat_decoder.h>
#include <batkit/bat_elf.h>

#include <stdio.h>

static void print_tables(const struct bat_map *map)
{
    for (uint32_t table = 0; table < bat_map_tables(map); table++) {
        const struct bat_table *function = &map->tables[table];
        printf("0x%lx: %u entries, %u blocks", function->address, function->entry_count,
               function->block_count);
        if (bat_map_parent(map, table) != table)
            printf(", fragment of 0x%lx", map->tables[bat_map_parent(map, table)].address);
        putchar('\n');
    }
}

/* The note is in the file's mapping, which can be closed: the map does not refer to it. */
static enum bat_code decode(const char *path, struct bat_map **map, struct bat_error *error)
{
    struct bat_elf *elf;
    enum bat_code code = bat_elf_open(path, &elf, error);
    if (code != BAT_OK)
        return code;
    const uint8_t *note;
    size_t size;
    code = bat_elf_note(elf, &note, &size, NULL, error);
    if (code == BAT_OK)
        code = bat_decode(note, size, NULL, map, error);
    bat_elf_close(elf);
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: decode_note BINARY\n");
        return 2;
    }
    struct bat_map *map;
    struct bat_error error;
    if (decode(argv[1], &map, &error) != BAT_OK) {
        char text[BAT_MESSAGE_SIZE + 64];
        bat_error_text(&error, text, sizeof(text));
        fprintf(stderr, "decode_note: %s: %s\n", argv[1], text);
        return 1;
    }
    print_tables(map);
    bat_map_free(map);
    return 0;
}
