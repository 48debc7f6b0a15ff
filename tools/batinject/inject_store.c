/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "inject.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_elf.h"
#include "elfnote/shipped.h"
#include "tools/common/tool.h"

/* True if the store has the file that this one was shipped from, undamaged. */
static bool is_whole_in(const char *folder, const struct bat_elf *elf, const uint8_t *id,
                        size_t size)
{
    const struct bat_stores stores = {.folders = {folder}, .count = 1};
    struct bat_stored stored;
    struct bat_error error;
    enum bat_code code = bat_stores_find(&stores, id, size, elf, &stored, &error);
    bat_stored_close(&stored);
    return code == BAT_OK || tool_complain(NULL, &error);
}

/* True if nothing is to be stored: that was done before. */
static bool check_shipped(const struct inject_request *request, const struct bat_elf *elf,
                          bool *is_done)
{
    *is_done = bat_store_is_shipped(elf);
    if (!*is_done)
        return true;
    size_t size;
    const uint8_t *id = bat_elf_build_id(elf, &size);
    if (id && bat_store_has(request->argument, id, size))
        return is_whole_in(request->argument, elf, id, size);
    return tool_refuse(request->file,
                       "expected a file with a BAT note or symbols to store, found neither");
}

/* Write what is loaded to an output that replaces the file, or is another one. */
static bool write_shipped(const struct inject_request *request, const struct bat_elf *elf,
                          struct bat_output *output)
{
    struct bat_error error;
    if (bat_elf_write_shipped(elf, output, &error) != BAT_OK) {
        bat_output_abandon(output);
        return tool_complain(request->file, &error);
    }
    return tool_commit(request->file, &output, 1) == TOOL_FINE;
}

static bool store_and_ship(const struct inject_request *request, const struct bat_elf *elf)
{
    struct bat_error error;
    struct bat_output *output;
    bool is_done;
    if (bat_elf_check_shippable(elf, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    if (!check_shipped(request, elf, &is_done))
        return false;
    if (is_done && !request->output) {
        if (!request->quiet)
            tool_print("%s: is shipped already, and whole in the store", request->file);
        return true;
    }
    const char *target = request->output ? request->output : request->file;
    if (bat_elf_begin_output(elf, target, &output, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    bool was_there = true;
    if (!is_done &&
        bat_store_put(request->argument, elf, request->force, &was_there, &error) != BAT_OK) {
        bat_output_abandon(output);
        return tool_complain(NULL, &error);
    }
    if (!request->quiet)
        tool_print("%s: %s", request->file,
                   was_there ? "is in the store already" : "put into the store");
    return write_shipped(request, elf, output);
}

bool inject_store(const struct inject_request *request)
{
    struct bat_elf *elf;
    struct bat_error error;
    if (bat_elf_open(request->file, &elf, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    const bool is_made = mkdir(request->argument, 0777) == 0;
    bool fine = is_made || errno == EEXIST ||
                tool_refuse(request->argument, "cannot make the folder: %s", strerror(errno));
    fine = fine && store_and_ship(request, elf);
    if (is_made && !fine)
        rmdir(request->argument); /* if it is empty still */
    bat_elf_close(elf);
    return fine;
}
