/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * code_blocks_of BINARY [ADDRESS...]: the blocks of the functions at these addresses, or of all, as
 * lines "function ADDRESS SIZE OBSTACLE NAME" and, for each block, " START LAST FLAGS"; numbers are
 * hexadecimal, obstacle and flags those of code_blocks.h. With -t before BINARY, traces are read
 * from standard input, "FROM TO SOURCE" each, and answered by a line of "LAST>START" pairs each, or
 * "invalid". With -g, "simple" or "given-up" stands before the name, and each block's successors
 * and then its instructions with offsets follow its flags: " START LAST FLAGS >START...
 * @OFFSET...".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code/graph.h"

static void check(enum bat_code code, const struct bat_error *error)
{
    if (code == BAT_OK)
        return;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    fprintf(stderr, "%s\n", text);
    exit(1);
}

struct file {
    struct bat_elf *elf;
    struct bat_functions *functions;
    const struct bat_function_symbol *all;
    uint32_t count;
    uint32_t *indices; /* of the functions that are asked for */
    uint32_t index_count;
    struct bat_code_reader *reader;
};

static bool is_asked_for(uint64_t address, char *const *addresses, int count)
{
    for (int i = 0; i < count; i++)
        if (strtoull(addresses[i], NULL, 16) == address)
            return true;
    return count == 0;
}

static void open_file(struct file *file, const char *path, char *const *addresses, int count)
{
    struct bat_error error;
    check(bat_elf_open(path, &file->elf, &error), &error);
    check(bat_functions_create(file->elf, NULL, &file->functions, &error), &error);
    file->all = bat_functions_all(file->functions, &file->count);
    file->indices = malloc((file->count + 1) * sizeof(*file->indices));
    if (!file->indices)
        abort();
    for (uint32_t i = 0; i < file->count; i++)
        if (is_asked_for(file->all[i].address, addresses, count))
            file->indices[file->index_count++] = i;
    check(bat_code_open(file->elf, NULL, file->functions, file->indices, file->index_count, 0,
                        &file->reader, &error),
          &error);
}

static void close_file(struct file *file)
{
    bat_code_close(file->reader);
    bat_functions_free(file->functions);
    bat_elf_close(file->elf);
    free(file->indices);
}

static void print_blocks(const struct file *file, uint32_t index)
{
    const struct bat_function_symbol *function = &file->all[index];
    struct bat_code_blocks blocks;
    struct bat_error error;
    check(bat_code_blocks(file->reader, index, &blocks, &error), &error);
    printf("function %" PRIx64 " %" PRIx64 " %d %s\n", function->address, function->size,
           blocks.obstacle, function->name);
    for (uint32_t i = 0; i < blocks.count; i++)
        printf(" %" PRIx32 " %" PRIx32 " %" PRIx32 "\n", blocks.all[i].start, blocks.all[i].last,
               blocks.all[i].flags);
    bat_code_blocks_free(&blocks);
}

static void print_graph(const struct file *file, uint32_t index)
{
    const struct bat_function_symbol *function = &file->all[index];
    struct bat_code_graph graph;
    struct bat_error error;
    check(bat_code_graph(file->reader, index, &graph, &error), &error);
    const struct bat_code_block *blocks = graph.blocks.all;
    printf("function %" PRIx64 " %" PRIx64 " %d %s %s\n", function->address, function->size,
           graph.blocks.obstacle, graph.is_simple ? "simple" : "given-up", function->name);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph.blocks.count; i++) {
        printf(" %" PRIx32 " %" PRIx32 " %" PRIx32, blocks[i].start, blocks[i].last,
               blocks[i].flags);
        for (uint32_t edge = graph.first_edge[i]; edge < graph.end_edge[i]; edge++)
            printf(" >%" PRIx32, blocks[graph.edges[edge]].start);
        for (; kept < graph.kept_count && graph.kept[kept].offset <= blocks[i].last; kept++)
            printf(" @%" PRIx32, graph.kept[kept].offset);
        printf("\n");
    }
    bat_code_graph_free(&graph);
}

static void answer_trace(const struct file *file, uint64_t from, uint64_t to, unsigned source)
{
    uint32_t index = bat_functions_find(file->functions, from);
    struct bat_code_blocks blocks = {0};
    struct bat_code_fallthroughs found;
    struct bat_error error;
    if (index != BAT_NONE)
        check(bat_code_blocks(file->reader, index, &blocks, &error), &error);
    uint64_t start = index == BAT_NONE ? 0 : file->all[index].address;
    if (!bat_code_fallthroughs(&blocks, from - start, to - start, source, &found))
        printf("invalid");
    for (uint32_t i = found.first; i < found.end; i++)
        printf("%" PRIx32 ">%" PRIx32 " ", blocks.all[i].last, blocks.all[i + 1].start);
    printf("\n");
    bat_code_blocks_free(&blocks);
}

int main(int argc, char **argv)
{
    bool reads_traces = argc > 2 && strcmp(argv[1], "-t") == 0;
    bool prints_graph = argc > 2 && strcmp(argv[1], "-g") == 0;
    int first = reads_traces || prints_graph ? 2 : 1;
    if (argc <= first)
        return 2;
    struct file file = {0};
    open_file(&file, argv[first], argv + first + 1, argc - first - 1);
    uint64_t from;
    uint64_t to;
    unsigned source;
    if (reads_traces)
        while (scanf("%" SCNx64 " %" SCNx64 " %u", &from, &to, &source) == 3)
            answer_trace(&file, from, to, source);
    else
        for (uint32_t i = 0; i < file.index_count; i++)
            (prints_graph ? print_graph : print_blocks)(&file, file.indices[i]);
    close_file(&file);
    return 0;
}
