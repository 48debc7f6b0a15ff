/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "add_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "elfnote/whole_file.h"
#include "profile/perf/perf_data.h"
#include "profile/yaml/yaml_lists.h"

const char *bat_compared_form_name(enum bat_compared_form form)
{
    static const char *const names[] = {
        [BAT_COMPARED_FDATA] = "fdata of branches",
        [BAT_COMPARED_FDATA_SAMPLES] = "fdata of basic samples",
        [BAT_COMPARED_YAML] = "YAML",
        [BAT_COMPARED_PREAGG] = "a pre-aggregated profile",
        [BAT_COMPARED_AUTOFDO] = "a sample profile of LLVM",
        [BAT_COMPARED_AUTOFDO_MD5] = "a sample profile of LLVM with MD5 sums as names",
    };
    return names[form];
}

/* --- YAML ------------------------------------------------------------------------------------ */

static const char *name_of(const struct bat_yaml_profile *profile, uint32_t number)
{
    const struct bat_yaml_profile_function *function = bat_yaml_profile_find(profile, number);
    return function ? function->name : "[unknown]";
}

/* Add a block's successors, calls and samples. */
static enum bat_code add_block(struct bat_overlaps *comparison,
                               const struct bat_yaml_profile_function *function,
                               const struct bat_yaml_profile_block *block,
                               const struct bat_yaml_profile *profile, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    char *text = NULL;
    for (uint32_t i = 0; i < block->successors.count && code == BAT_OK; i++) {
        const struct bat_yaml_edge *edge = &block->successors.all[i];
        char place[64];
        snprintf(place, sizeof(place), "%u to %lu", block->index, edge->at);
        code = bat_overlaps_record(comparison, function->name, place, edge->count, error);
    }
    for (uint32_t i = 0; i < block->calls.count && code == BAT_OK; i++) {
        const struct bat_yaml_edge *edge = &block->calls.all[i];
        if (bat_yaml_is_uncounted(edge))
            continue;
        if (asprintf(&text, "%u+%lx calls %s %u", block->index, edge->at,
                     name_of(profile, edge->function), edge->entry) < 0)
            return bat_fail_memory(error, "for a record");
        code = bat_overlaps_record(comparison, function->name, text, edge->count, error);
        free(text);
    }
    if (code == BAT_OK && block->events != 0) {
        char place[32];
        snprintf(place, sizeof(place), "%u", block->index);
        code = bat_overlaps_record(comparison, function->name, place, block->events, error);
    }
    return code;
}

static enum bat_code add_yaml(struct bat_overlaps *comparison, struct bat_yaml_profile *profile,
                              struct bat_error *error)
{
    bat_yaml_sort_list(profile->functions, profile->count, sizeof(*profile->functions),
                       bat_yaml_by_number);
    enum bat_code code = bat_overlaps_begin(comparison, error);
    for (uint32_t i = 0; i < profile->count && code == BAT_OK; i++) {
        const struct bat_yaml_profile_function *function = &profile->functions[i];
        for (uint32_t j = 0; j < function->count && code == BAT_OK; j++)
            code = add_block(comparison, function, &function->blocks[j], profile, error);
    }
    return code;
}

static enum bat_code read_yaml(struct bat_overlaps *comparison, const char *text, size_t size,
                               struct bat_error *error)
{
    struct bat_yaml_profile profile = {0};
    enum bat_code code = bat_yaml_profile_read(text, size, &profile, error);
    code = code ? code : add_yaml(comparison, &profile, error);
    bat_yaml_profile_free(&profile);
    return code;
}

/* --- The other forms ------------------------------------------------------------------------- */

/* True for "name:number:number" in the first line that is not empty. */
static bool is_autofdo(const char *text)
{
    text += strspn(text, "\n");
    size_t size = strcspn(text, "\n");
    unsigned numbers = 0;
    while (numbers < 2 && size > 0) {
        size_t digits = 0;
        while (size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9') {
            size--;
            digits++;
        }
        if (digits == 0 || size < 2 || text[--size] != ':')
            return false;
        numbers++;
    }
    return numbers == 2 && !memchr(text, '\0', size);
}

static enum bat_code read_records(struct bat_overlaps *comparison, const char *text, size_t size,
                                  struct bat_elf *elf, enum bat_compared_form *form,
                                  struct bat_error *error)
{
    const struct bat_profile_target target = {.size = sizeof(target), .ignore_build_id = true};
    struct bat_profile *profile;
    enum bat_code code = bat_profile_new(&target, &profile, error);
    code = code ? code : bat_profile_read_memory(profile, text, size, NULL, error);
    if (code == BAT_OK) {
        bool is_fdata = bat_profile_counters(profile).fdata_records != 0;
        bool has_samples = bat_profile_main_kind(profile) == BAT_PROFILE_SAMPLES;
        *form = !is_fdata     ? BAT_COMPARED_PREAGG
                : has_samples ? BAT_COMPARED_FDATA_SAMPLES
                              : BAT_COMPARED_FDATA;
        code = bat_overlaps_add_profile(comparison, profile, elf, error);
    }
    bat_profile_free(profile);
    return code;
}

/* A file's header, which may have two lines, and the first record, which begins with a number. */
static enum bat_fdata_origin origin_of(const char *text)
{
    for (unsigned lines = 0; lines < 3; lines++) {
        size_t size = strcspn(text, "\n");
        if (size == strlen("boltedcollection") && strncmp(text, "boltedcollection", size) == 0)
            return BAT_FDATA_BOLTED;
        if (text[0] >= '0' && text[0] <= '9')
            return BAT_FDATA_UNBOLTED;
        if (text[size] == '\0' || strncmp(text, "no_lbr", strlen("no_lbr")) != 0)
            break;
        text += size + 1;
    }
    return BAT_FDATA_NONE;
}

enum bat_code bat_fdata_origin_of(const char *path, enum bat_fdata_origin *origin,
                                  struct bat_error *error)
{
    char text[256] = "";
    *origin = BAT_FDATA_NONE;
    if (strcmp(path, "-") == 0)
        return BAT_OK;
    int file = bat_regular_open(AT_FDCWD, path);
    if (file < 0 && (errno == EISDIR || errno == ENXIO))
        return BAT_OK;
    ssize_t got = file < 0 ? -1 : bat_read_all(file, text, sizeof(text) - 1, 0);
    enum bat_code code = got < 0 ? bat_fail(error, BAT_ERR_IO, "%s", strerror(errno)) : BAT_OK;
    if (file >= 0)
        close(file);
    *origin = origin_of(text);
    return code;
}

enum bat_code bat_overlaps_add_file(struct bat_overlaps *comparison, const char *path,
                                    struct bat_elf *elf, enum bat_compared_form *form,
                                    struct bat_error *error)
{
    bool has_md5 = false;
    char *text;
    size_t size;
    BAT_TRY(bat_whole_file_read(path, &text, &size, error));
    enum bat_code code = BAT_OK;
    if (perf_data_is((const uint8_t *)text, size)) {
        code = bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected fdata, YAML, a pre-aggregated profile or a sample profile, "
                        "found perf.data: translate it first, or write --format=preagg");
    } else if (bat_yaml_profile_is(text, size)) {
        *form = BAT_COMPARED_YAML;
        code = read_yaml(comparison, text, size, error);
    } else if (is_autofdo(text)) {
        code = memchr(text, '\0', size)
                   ? bat_fail(error, BAT_ERR_SYNTAX, "expected text, found a byte 0")
                   : bat_overlaps_add_autofdo(comparison, text, &has_md5, error);
        *form = has_md5 ? BAT_COMPARED_AUTOFDO_MD5 : BAT_COMPARED_AUTOFDO;
    } else if (bat_is_sample_binary(text, size)) {
        code = bat_overlaps_add_sample_binary(comparison, text, size, &has_md5, error);
        *form = has_md5 ? BAT_COMPARED_AUTOFDO_MD5 : BAT_COMPARED_AUTOFDO;
    } else {
        code = read_records(comparison, text, size, elf, form, error);
    }
    free(text);
    return code;
}
