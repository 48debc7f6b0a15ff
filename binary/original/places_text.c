/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <stdlib.h>
#include <string.h>

#include "bat_original.h"
#include "binary/note_text.h"
#include "spec/hex_bytes.h"

static void put_place(struct bat_text_writer *output, const struct bat_original_place *place)
{
    bat_text_format(output, "0x%lx ", place->address);
    bat_text_escaped(output, place->name);
    bat_text_format(output, " + 0x%lx", place->address - place->function_address);
}

static enum bat_code put_inputs(struct bat_text_writer *output, const struct bat_original *original,
                                const struct note_address *addresses, size_t count,
                                struct bat_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct bat_original_place place;
        if (!bat_original_input_of(original, addresses[i].address, addresses[i].is_branch_source,
                                   &place))
            return bat_fail(error, BAT_ERR_MISMATCH,
                            "--to-input=0x%lx: expected an address in a function that the input "
                            "binary also has, found none there",
                            addresses[i].address);
        bat_text_format(output, "0x%lx -> ", addresses[i].address);
        put_place(output, &place);
        bat_text_string(output, "\n");
    }
    return BAT_OK;
}

/* --- To the output -------------------------------------------------------------------------- */

/* Find "FUNCTION+0xOFFSET", split at the last plus sign; "FUNCTION" alone is its start. */
static enum bat_code find_function(const struct bat_original *original, const char *text,
                                   uint64_t *address, struct bat_error *error)
{
    const char *plus = strrchr(text, '+');
    uint64_t offset = 0;
    size_t length = strlen(text);
    if (plus && bat_parse_address(plus + 1, &offset))
        length = (size_t)(plus - text);
    char *name = strndup(text, length);
    BAT_TRY_MEMORY(name, error, "for a name");
    size_t found = bat_original_input_function_named(original, name, address);
    free(name);
    *address += offset;
    if (found == 1)
        return BAT_OK;
    if (found == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "--to-output=%.200s: expected a function of the input binary, found none",
                        text);
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "--to-output=%.200s: expected one function, found %zu with this name: give an "
                    "address, or a name with file and number such as f/file.c/1",
                    text, found);
}

static enum bat_code find_place(const struct bat_original *original, const char *text,
                                struct bat_original_place *place, struct bat_error *error)
{
    uint64_t address = 0;
    bool is_address = strncmp(text, "0x", 2) == 0 && bat_parse_address(text, &address);
    BAT_TRY(is_address ? BAT_OK : find_function(original, text, &address, error));
    if (!bat_original_input_function_at(original, address, place))
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "--to-output=%.200s: expected an address in a function of the input "
                        "binary, found none at 0x%lx",
                        text, address);
    if (place->kind == BAT_ORIGINAL_GONE)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "--to-output=%.200s: expected a function that the BOLTed binary also has, "
                        "found \"%.200s\"",
                        text, place->name);
    return BAT_OK;
}

static void put_output(struct bat_text_writer *output, const struct bat_names *names,
                       uint64_t address)
{
    bat_text_format(output, "0x%lx", address);
    const struct bat_symbol *symbol = bat_names_containing(names, address);
    if (!symbol)
        return;
    bat_text_name(output, " ", symbol->name, "");
    bat_text_format(output, " + 0x%lx", address - symbol->address);
}

static enum bat_code put_outputs(struct bat_text_writer *output,
                                 const struct bat_original *original, const struct bat_names *names,
                                 const struct bat_original_place *place, struct bat_error *error)
{
    uint64_t *addresses = NULL;
    size_t count = 0;
    BAT_TRY(bat_original_outputs_of(original, place->address, &addresses, &count, error));
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
    return BAT_OK;
}

static enum bat_code put_all(struct bat_text_writer *output, const struct bat_original *original,
                             const struct bat_names *names, const char *path,
                             const struct original_queries *queries, const char **failed,
                             struct bat_error *error)
{
    *failed = path;
    BAT_TRY(put_inputs(output, original, queries->to_input, queries->to_input_count, error));
    for (size_t i = 0; i < queries->to_output_count; i++) {
        struct bat_original_place place;
        *failed = queries->path;
        BAT_TRY(find_place(original, queries->to_output[i], &place, error));
        *failed = NULL;
        BAT_TRY(put_outputs(output, original, names, &place, error));
    }
    return BAT_OK;
}

enum bat_code original_places_text(struct bat_text_writer *output, const char *path,
                                   struct bat_binary *binary,
                                   const struct original_queries *queries, const char **failed,
                                   struct bat_error *error)
{
    struct bat_original *original;
    struct bat_names names = {0};
    enum bat_code code = bat_original_open(queries->path, binary, NULL, &original, error);
    *failed = code == BAT_OK || code == BAT_ERR_ARGUMENT ? path : queries->path;
    BAT_TRY(code);
    code = bat_names_collect(binary, &names, error);
    code = code ? code : put_all(output, original, &names, path, queries, failed, error);
    bat_names_free(&names);
    bat_original_close(original);
    return code;
}
