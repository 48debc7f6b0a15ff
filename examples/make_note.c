/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Makes a note from nothing, table by table, checks it and puts it into a binary. The tables are
 * those of the binary's own note, so that the result is the same file; a post-link optimizer would
 * add its own.
 *
 *     make_note BINARY RESULT
 */
#include <batkit/bat_binary.h>
#include <batkit/bat_encoder.h>
#include <batkit/bat_validate.h>

#include <stdio.h>
#include <stdlib.h>

static enum bat_code add_entries(struct bat_builder *builder, const struct bat_map *map,
                                 uint32_t table, uint32_t handle, struct bat_error *error)
{
    const struct bat_table *from = &map->tables[table];
    uint32_t block = from->first_block;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; code == BAT_OK && i < from->entry_count; i++) {
        uint32_t output = map->output_offsets[from->first_entry + i];
        uint32_t input = map->input_offsets[from->first_entry + i];
        if (input & BAT_BRANCH_ENTRY) {
            code = bat_builder_add_branch(builder, handle, output, input >> 1, error);
        } else {
            code =
                bat_builder_add_block(builder, handle, output, input >> 1, map->block_hashes[block],
                                      map->block_indices[block], error);
            block++;
        }
    }
    for (uint32_t i = 0; code == BAT_OK && i < from->secondary_count; i++)
        code = bat_builder_add_secondary(builder, handle,
                                         map->secondary_entries[from->first_secondary + i], error);
    return code;
}

/* Hot functions come first in a map, so a fragment's parent is there when it is added. */
static enum bat_code build(const struct bat_map *map, struct bat_builder *builder,
                           uint32_t *handles, struct bat_map **made, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; code == BAT_OK && i < bat_map_tables(map); i++) {
        const struct bat_table *from = &map->tables[i];
        if (from->parent == i)
            code = bat_builder_add_function(builder, from->address, from->hash,
                                            from->input_block_count, &handles[i], error);
        else
            code = bat_builder_add_fragment(builder, from->address, handles[from->parent],
                                            &handles[i], error);
        if (code == BAT_OK)
            code = add_entries(builder, map, i, handles[i], error);
    }
    return code == BAT_OK ? bat_builder_finish(builder, NULL, made, error) : code;
}

/* A bat_finding_fn. */
static void print_finding(const struct bat_finding *finding, void *context)
{
    (void)context;
    fprintf(stderr, "%s: %s: %s\n", bat_severity_name(finding->severity), finding->check,
            finding->message);
}

static enum bat_code run(const char *path, const char *result, struct bat_binary *binary,
                         struct bat_error *error)
{
    struct bat_map *made = NULL;
    struct bat_verdict verdict;
    uint8_t *note = NULL;
    size_t size = 0;
    struct bat_builder *builder = bat_builder_new();
    uint32_t *handles = calloc((size_t)bat_map_tables(binary->map) + 1, sizeof(*handles));
    enum bat_code code = BAT_OK;
    if (!builder || !handles)
        code = bat_fail_memory(error, "for the note");
    if (code == BAT_OK && !bat_map_has_hashes(binary->map))
        code = bat_map_upgrade(binary->map, NULL, NULL, error);
    if (code == BAT_OK)
        code = build(binary->map, builder, handles, &made, error);
    bat_builder_free(builder);
    free(handles);
    if (code == BAT_OK)
        code = bat_encode(made, &note, &size, error);
    bat_map_free(made);
    if (code == BAT_OK)
        code = bat_elf_write_note(path, result, note, size, error);
    free(note);
    bat_binary_close(binary);
    /* Check what was written. */
    if (code == BAT_OK)
        code = bat_binary_find_note(result, binary, error);
    if (code == BAT_OK)
        code = bat_validate(binary, NULL, print_finding, NULL, &verdict, error);
    if (code == BAT_OK && verdict.errors != 0)
        code = bat_fail(error, BAT_ERR_MISMATCH, "the note has errors");
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_note BINARY RESULT\n");
        return 2;
    }
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(argv[1], &binary, &error);
    if (code == BAT_OK) {
        code = run(argv[1], argv[2], &binary, &error);
        bat_binary_close(&binary);
    }
    if (code == BAT_OK)
        return 0;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(&error, text, sizeof(text));
    fprintf(stderr, "make_note: %s: %s\n", argv[1], text);
    return 1;
}
