/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bat_original.h"
#include "tools/common/output.h"

static void put_place(struct bat_text_writer *output, const struct bat_original_place *place)
{
    bat_text_format(output, "0x%" PRIx64 " ", place->address);
    bat_text_escaped(output, place->name);
    bat_text_format(output, " + 0x%" PRIx64, place->address - place->function_address);
}

static bool dump_to_input(struct bat_text_writer *output, const char *path,
                          const struct bat_original *original, const struct dump_address *addresses,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bat_original_place place;
        if (!bat_original_input_of(original, addresses[i].address, addresses[i].is_branch_source,
                                   &place))
            return tool_refuse(
                path,
                "--to-input=0x%" PRIx64
                ": expected an address in a function that the input binary also has, "
                "found none there",
                addresses[i].address);
        bat_text_format(output, "0x%" PRIx64 " -> ", addresses[i].address);
        put_place(output, &place);
        bat_text_string(output, "\n");
    }
    return true;
}

/* --- To the output -------------------------------------------------------------------------- */

/* Find "FUNCTION+0xOFFSET", split at the last plus sign; "FUNCTION" alone is its start. */
static bool find_function(const char *path, const struct bat_original *original, const char *text,
                          uint64_t *address)
{
    const char *plus = strrchr(text, '+');
    uint64_t offset = 0;
    size_t length = strlen(text);
    if (plus && tool_parse_address(plus + 1, &offset))
        length = (size_t)(plus - text);
    char *name = strndup(text, length);
    if (!name)
        return tool_refuse(NULL, "not enough memory");
    size_t found = bat_original_input_function_named(original, name, address);
    free(name);
    *address += offset;
    if (found == 1)
        return true;
    if (found == 0)
        tool_message(path, "--to-output=%s: expected a function of the input binary, found none",
                     text);
    else
        tool_message(path,
                     "--to-output=%s: expected one function, found %zu with this name: give an "
                     "address, or a name with file and number such as f/file.c/1",
                     text, found);
    return false;
}

static bool find_place(const char *path, const struct bat_original *original, const char *text,
                       struct bat_original_place *place)
{
    uint64_t address = 0;
    bool is_address = strncmp(text, "0x", 2) == 0 && tool_parse_address(text, &address);
    if (!is_address && !find_function(path, original, text, &address))
        return false;
    if (!bat_original_input_function_at(original, address, place))
        return tool_refuse(path,
                           "--to-output=%s: expected an address in a function of the input binary, "
                           "found none at 0x%" PRIx64,
                           text, address);
    if (place->kind == BAT_ORIGINAL_GONE)
        return tool_refuse(
            path,
            "--to-output=%s: expected a function that the BOLTed binary also has, found "
            "\"%.200s\"",
            text, place->name);
    return true;
}

static void put_output(struct bat_text_writer *output, const struct bat_names *names,
                       uint64_t address)
{
    bat_text_format(output, "0x%" PRIx64, address);
    const struct bat_symbol *symbol = bat_names_containing(names, address);
    if (!symbol)
        return;
    bat_text_name(output, " ", symbol->name, "");
    bat_text_format(output, " + 0x%" PRIx64, address - symbol->address);
}

static bool put_outputs(struct bat_text_writer *output, const struct bat_original *original,
                        const struct bat_names *names, const struct bat_original_place *place)
{
    struct bat_error error;
    uint64_t *addresses = NULL;
    size_t count = 0;
    if (bat_original_outputs_of(original, place->address, &addresses, &count, &error) != BAT_OK)
        return tool_complain(NULL, &error);
    for (size_t i = 0; i < count || i == 0; i++) {
        put_place(output, place);
        bat_text_string(output, " -> ");
        if (count == 0)
            bat_text_string(output, "nothing: BOLT removed this instruction");
        else
            put_output(output, names, addresses[i]);
        bat_text_string(output, "\n");
    }
    free(addresses);
    return true;
}

static bool dump_to_output(struct bat_text_writer *output, const char *original_path,
                           const struct bat_original *original, const struct bat_names *names,
                           const char *const *instructions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bat_original_place place;
        if (!find_place(original_path, original, instructions[i], &place) ||
            !put_outputs(output, original, names, &place))
            return false;
    }
    return true;
}

bool dump_original(struct bat_text_writer *output, const char *path, struct bat_binary *binary,
                   const struct original_queries *queries)
{
    struct bat_original *original;
    struct bat_names names = {0};
    struct bat_error error;
    if (bat_original_open(queries->path, binary, NULL, &original, &error) != BAT_OK)
        return tool_complain(error.code == BAT_ERR_ARGUMENT ? path : queries->path, &error);
    bool fine = bat_names_collect(binary, &names, &error) == BAT_OK;
    if (!fine)
        tool_report(path, &error);
    fine = fine &&
           dump_to_input(output, path, original, queries->to_input, queries->to_input_count) &&
           dump_to_output(output, queries->path, original, &names, queries->to_output,
                          queries->to_output_count);
    bat_names_free(&names);
    bat_original_close(original);
    return fine;
}
