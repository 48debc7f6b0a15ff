/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The features that are read: names of events, build-ids of files, the machine. */
#include <string.h>

#include "session.h"

/* Offsets in a build-id record: header, process, build-id, its size, the file's name. */
#define BUILD_ID_AT 12u
#define BUILD_ID_SIZE_AT 32u
#define BUILD_ID_NAME_AT 36u

/* The versions of perf's folders: all records are in "data", or in files of their own. */
#define FOLDER_OF_ONE_FILE 0u
#define FOLDER_VERSION 1u

/* True for the kernel itself, which may be listed by its file; modules are others. */
static bool is_kernel_path(const char *path)
{
    size_t size;
    const char *name = perf_base_name(path, &size);
    return strncmp(name, "vmlinu", 6) == 0 ||
           strncmp(path, PERF_KERNEL_NAME, sizeof(PERF_KERNEL_NAME) - 1) == 0;
}

enum bat_code perf_session_build_id(struct perf_session *session, const uint8_t *bytes, size_t size,
                                    uint64_t offset, struct bat_error *error)
{
    if (size <= BUILD_ID_NAME_AT || !memchr(bytes + BUILD_ID_NAME_AT, 0, size - BUILD_ID_NAME_AT))
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, offset,
                           "expected a build-id and a terminated name, found a record of %zu bytes",
                           size);
    uint16_t misc = bat_load16(bytes + 4);
    if ((misc & MISC_CPU_MODE) == MISC_GUEST_KERNEL || (misc & MISC_CPU_MODE) == MISC_GUEST_USER)
        return BAT_OK;
    bool knows_size = (misc & MISC_BUILD_ID_SIZE) != 0;
    size_t id_size = knows_size ? bytes[BUILD_ID_SIZE_AT] : PERF_BUILD_ID_SIZE;
    if (id_size > PERF_BUILD_ID_SIZE)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, offset,
                           "expected a build-id of at most %u bytes, found one of %zu",
                           PERF_BUILD_ID_SIZE, id_size);
    const char *path = (const char *)bytes + BUILD_ID_NAME_AT;
    if ((misc & MISC_CPU_MODE) == MISC_KERNEL && is_kernel_path(path))
        path = PERF_KERNEL_NAME;
    if (perf_processes_list(&session->processes, path, bytes + BUILD_ID_AT, id_size, knows_size) !=
        BAT_OK)
        return bat_fail_memory(error, "for the profile's build-ids");
    return BAT_OK;
}

static enum bat_code read_build_ids(struct perf_session *session, const uint8_t *bytes, size_t size,
                                    uint64_t offset, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (size_t at = 0, step; at < size && code == BAT_OK; at += step) {
        size_t left = size - at;
        step = left < PERF_RECORD_HEADER_SIZE ? 0 : bat_load16(bytes + at + 6);
        if (step < PERF_RECORD_HEADER_SIZE || step > left)
            return bat_fail_at(
                error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, offset + at,
                "expected a list of complete build-id records, found one of %zu bytes with %zu "
                "left",
                step, left);
        code = perf_session_build_id(session, bytes + at, step, offset + at, error);
    }
    return code;
}

/* --- Names of events ---------------------------------------------------------------------- */

struct descriptions {
    const uint8_t *bytes;
    size_t size;
    size_t at;
};

/* Take `size` bytes; NULL if fewer are left. */
static const uint8_t *take(struct descriptions *list, uint64_t size)
{
    if (size > list->size - list->at)
        return NULL;
    const uint8_t *bytes = list->bytes + list->at;
    list->at += (size_t)size;
    return bytes;
}

/* Read an event: attributes, number of ids, name, ids. False if it is not complete. */
static bool take_description(struct perf_session *session, struct descriptions *list,
                             uint32_t number, uint32_t attribute_size, struct bat_error *error,
                             enum bat_code *code)
{
    const uint8_t *attribute = take(list, attribute_size);
    const uint8_t *counts = attribute ? take(list, 8) : NULL;
    if (!counts)
        return false;
    uint32_t id_count = bat_load32(counts);
    uint32_t name_size = bat_load32(counts + 4);
    const uint8_t *name = take(list, name_size);
    const uint8_t *ids = name ? take(list, (uint64_t)id_count * 8) : NULL;
    if (!ids)
        return false;
    if (id_count != 0)
        *code = perf_attributes_name(&session->attributes, bat_load64(ids), (const char *)name,
                                     name_size, error);
    if (*code == BAT_OK)
        *code = perf_attributes_name_number(&session->attributes, number, (const char *)name,
                                            name_size, error);
    return true;
}

static enum bat_code read_descriptions(struct perf_session *session, const uint8_t *bytes,
                                       size_t size, uint64_t offset, struct bat_error *error)
{
    struct descriptions list = {.bytes = bytes, .size = size};
    const uint8_t *header = take(&list, 8);
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; header && i < bat_load32(header) && code == BAT_OK; i++)
        if (!take_description(session, &list, i, bat_load32(header + 4), error, &code))
            header = NULL;
    if (header)
        return code;
    return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, offset + list.at,
                       "expected another description of an event, found the end of all %zu bytes",
                       size);
}

/* What "data" of a folder says of it. */
static enum bat_code check_folder(const struct perf_session *session, const uint8_t *bytes,
                                  size_t size, uint64_t offset, struct bat_error *error)
{
    if (size == 8 && bat_load64(bytes) == FOLDER_OF_ONE_FILE)
        return BAT_OK;
    if (session->pieces.count == 0)
        return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, offset,
                           "expected a file with all records, found one of several in a folder: "
                           "give the folder");
    if (size != 8 || bat_load64(bytes) != FOLDER_VERSION)
        return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, offset,
                           "expected a folder of version %u, found another version",
                           FOLDER_VERSION);
    if (session->pieces.count == 1)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected data.0 and so on in the folder, found none");
    return BAT_OK;
}

void perf_session_set_machine(struct perf_session *session, const char *name, size_t size)
{
    char *machine = session->processes.machine;
    if (size >= PERF_MACHINE_SIZE)
        return;
    memcpy(machine, name, size);
    machine[size] = '\0';
}

/* A string: its length, and that many bytes. What is no name is left out. */
static void read_machine(struct perf_session *session, const uint8_t *bytes, size_t size)
{
    if (size > 4)
        perf_session_set_machine(session, (const char *)bytes + 4,
                                 strnlen((const char *)bytes + 4, size - 4));
}

enum bat_code perf_session_feature(struct perf_session *session, uint64_t feature,
                                   const uint8_t *bytes, size_t size, uint64_t offset,
                                   struct bat_error *error)
{
    if (feature == FEATURE_BUILD_ID)
        return read_build_ids(session, bytes, size, offset, error);
    if (feature == FEATURE_ARCH)
        read_machine(session, bytes, size);
    if (feature == FEATURE_FOLDER)
        return check_folder(session, bytes, size, offset, error);
    if (feature == FEATURE_EVENT_DESC)
        return read_descriptions(session, bytes, size, offset, error);
    return BAT_OK;
}
