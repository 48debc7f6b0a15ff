/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "explain_recording.h"

#include <stdio.h>
#include <string.h>

#include "bat_binary.h"
#include "debuginfo/optional_elf.h"

const char *recorded_state_word(enum recorded_state state)
{
    static const char *const words[] = {"bolted",      "plain",   "unusable",
                                        "other-build", "missing", "none"};
    return words[state];
}

enum match { MATCH_NO_FILE, MATCH_OTHER, MATCH_YES };

/* Whether path is the recorded file: by its build-id, if both are known. */
static enum match match_file(const char *path, const struct perf_recorded_file *file)
{
    struct bat_elf *elf = NULL;
    struct bat_error ignored;
    if (optional_elf_open(path, &elf, &ignored) != BAT_OK || !elf)
        return MATCH_NO_FILE;
    const bool is_same = optional_elf_is(elf, file->build_id, file->build_id_size);
    bat_elf_close(elf);
    return is_same ? MATCH_YES : MATCH_OTHER;
}

/* Of a binary that the user names: if build-ids cannot tell, names do. */
static bool is_named(const char *path, const struct perf_recorded_file *file)
{
    const bool is_same_name = strcmp(basename(path), basename(file->path)) == 0;
    return (file->build_id_size != 0 || is_same_name) && match_file(path, file) == MATCH_YES;
}

static void judge_file(const struct recorded_places *places, struct recorded_binary *found)
{
    struct bat_stored stored = bat_stored_nothing();
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_stores_find_whole(places->stores, found->path, &stored, &error);
    if (code == BAT_OK)
        code = bat_binary_find_note_if_any(bat_stored_or(&stored, found->path), &binary, &error);
    if (code == BAT_OK) {
        found->state = binary.note ? RECORDED_BOLTED : RECORDED_PLAIN;
        bat_binary_close(&binary);
    } else {
        found->state = RECORDED_UNUSABLE;
        snprintf(found->message, sizeof(found->message), "%s", error.message);
    }
    bat_stored_close(&stored);
}

void recorded_binary_find(const struct perf_recorded_file *file,
                          const struct recorded_places *places, struct recorded_binary *found)
{
    *found = (struct recorded_binary){.state = RECORDED_NO_FILE, .path = file->path};
    for (size_t i = 0; i < places->binary_count; i++) {
        if (is_named(places->binaries[i], file)) {
            found->path = places->binaries[i];
            judge_file(places, found);
            return;
        }
    }
    /* "[vdso]"; and perf's name for code that was made at run time has a comma and a remark. */
    if (file->path[0] != '/' || strstr(file->path, ".map, "))
        return;
    const enum match match = match_file(file->path, file);
    found->state = match == MATCH_OTHER ? RECORDED_OTHER_BUILD : RECORDED_MISSING;
    if (match == MATCH_YES)
        judge_file(places, found);
}
