/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "message_tree.h"

#include <string.h>

#include "spec/hex_bytes.h"

void message_tree_begin(struct message_tree *tree)
{
    const struct bat_elf *program = tree->subject->program;
    struct bat_segment segment;
    size_t size = 0;
    tree->arena.limit = SIZE_MAX;
    for (size_t i = 0; program && bat_elf_segment(program, i, &segment); i++)
        if (segment.flags & 1 && tree->mapping_count < MESSAGE_MAPPINGS_MAX) /* PF_X */
            tree->mappings[tree->mapping_count++] = segment;
    const uint8_t *id = program ? bat_elf_build_id(program, &size) : NULL;
    if (id)
        bat_hex_bytes(tree->build_id, sizeof(tree->build_id), id, size);
}

void message_tree_free(struct message_tree *tree)
{
    bat_arena_free(&tree->arena);
    bat_strings_free(&tree->strings);
}

uint32_t message_mapping_of(const struct message_tree *tree, uint64_t address)
{
    for (uint32_t i = 0; i < tree->mapping_count; i++)
        if (address - tree->mappings[i].address < tree->mappings[i].memory_size)
            return i + 1;
    return 0;
}

void *message_array(struct message_tree *tree, size_t count, size_t size)
{
    void *array = bat_arena_take(&tree->arena, count * size);
    tree->no_memory |= !array;
    return array;
}

void *message_list(struct message_tree *tree, size_t count, size_t size)
{
    void **list = message_array(tree, count, sizeof(*list));
    char *messages = message_array(tree, count, size);
    if (!list || !messages)
        return NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = messages + i * size;
    return list;
}

uint32_t message_string(struct message_tree *tree, const char *string)
{
    uint32_t number = 0;
    if (bat_strings_add(&tree->strings, string, strlen(string), &number) != BAT_OK)
        tree->no_memory = true;
    return message_name((uint64_t)tree->stacks->names.count + number);
}

size_t message_string_count(const struct message_tree *tree)
{
    return 1 + (size_t)tree->stacks->names.count + tree->strings.count;
}

char **message_strings(struct message_tree *tree)
{
    const struct bat_strings *const both[] = {&tree->stacks->names, &tree->strings};
    /* The messages have no constant strings, but only what is read changes them. */
    const char **strings = message_array(tree, message_string_count(tree), sizeof(*strings));
    if (!strings)
        return NULL;
    size_t count = 0;
    strings[count++] = "";
    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < both[k]->count; i++)
            strings[count++] = bat_strings_get(both[k], i);
    return (char **)strings;
}

size_t message_number_count(const char *text)
{
    size_t count = *text != '\0';
    for (; *text; text++)
        count += *text == ' ';
    return count;
}
