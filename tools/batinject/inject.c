/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "inject.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "bat_validate.h"

/* A bad note may have an error in each of its tables: only the first findings are printed. */
#define FINDINGS_SHOWN 10u

/* The file and its new note. */
struct injection {
    const struct inject_request *request;
    struct bat_elf *elf; /* the file as it is */
    struct bat_output *output;
    struct bat_binary source; /* the file that has the note, except with --json */
    uint8_t *encoded;         /* a note that was encoded here, or NULL */
    const uint8_t *note;
    size_t note_size;
    uint32_t tables;  /* BAT_NONE if not known: the note was not decoded */
    const char *done; /* the message when it is written; NULL: nothing to write */
};

static const char *target(const struct inject_request *request)
{
    return request->output ? request->output : request->file;
}

static bool is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* --- Where the note comes from ------------------------------------------------------------ */

/* Use the note that bat_binary_find_note() finds in the argument. */
static bool find_source(struct injection *injection)
{
    struct bat_error error;
    const char *path = injection->request->argument;
    if (bat_binary_find_note(path, &injection->source, &error) != BAT_OK)
        return tool_complain(is_dash(path) ? "standard input" : path, &error);
    injection->note = injection->source.note;
    injection->note_size = injection->source.note_size;
    return true;
}

static bool note_from_raw(struct injection *injection)
{
    if (!find_source(injection))
        return false;
    if (!injection->source.elf)
        return true;
    return tool_refuse(
        injection->request->argument,
        "expected a raw note, found an ELF file (--from takes the note of an ELF file)");
}

/* False, with a message, unless both files are known to be the same build. */
static bool check_build_ids(const struct injection *injection)
{
    const struct inject_request *request = injection->request;
    size_t size = 0;
    size_t other_size = 0;
    const uint8_t *id = bat_elf_build_id(injection->elf, &size);
    const uint8_t *other = bat_elf_build_id(injection->source.elf, &other_size);
    if (!id && !other) {
        tool_message(request->file,
                     "warning: neither this file nor %s has a build-id: it is not known whether "
                     "the note belongs to this file",
                     request->argument);
        return true;
    }
    if (id && other && size == other_size && memcmp(id, other, size) == 0)
        return true;
    if (id && other)
        tool_message(request->file,
                     "its build-id is not that of %s, so the note describes "
                     "another binary (--force copies it anyway)",
                     request->argument);
    else
        tool_message(request->file,
                     "%s has a build-id and %s has none, so the note may describe "
                     "another binary (--force copies it anyway)",
                     id ? "this file" : request->argument, id ? request->argument : "this file");
    return false;
}

static bool note_from_elf(struct injection *injection)
{
    if (!find_source(injection))
        return false;
    if (!injection->source.elf)
        return tool_refuse(injection->request->argument,
                           "expected an ELF file, found a raw note (--note takes a raw note)");
    return injection->request->force || check_build_ids(injection);
}

/* Encode a map as the new note, and free the map. */
static bool encode(struct injection *injection, struct bat_map *map, const char *file)
{
    struct bat_error error;
    enum bat_code code = bat_encode(map, &injection->encoded, &injection->note_size, &error);
    injection->tables = bat_map_tables(map);
    injection->note = injection->encoded;
    bat_map_free(map);
    return code == BAT_OK || tool_complain(file, &error);
}

static bool note_from_json(struct injection *injection)
{
    const char *path = injection->request->argument;
    const char *name = is_dash(path) ? "standard input" : path;
    int file = is_dash(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return tool_refuse(path, "cannot be opened: %m");
    struct bat_error error;
    struct bat_map *map = NULL;
    enum bat_code code = bat_map_read_json(file, &map, &error);
    if (file != STDIN_FILENO)
        close(file);
    return code == BAT_OK ? encode(injection, map, name) : tool_complain(name, &error);
}

/* The file's own note as injection->source. */
static bool decode_own(struct injection *injection)
{
    struct bat_error error;
    struct bat_binary *source = &injection->source;
    source->elf = injection->elf;
    return (bat_elf_note(source->elf, &source->note, &source->note_size, NULL, &error) == BAT_OK &&
            bat_binary_decode(source, &error) == BAT_OK) ||
           tool_complain(injection->request->file, &error);
}

/* Encode the map of the file's own note. done is set to NULL if the note was this before. */
static bool encode_own(struct injection *injection)
{
    struct bat_binary *source = &injection->source;
    struct bat_map *map = source->map;
    source->map = NULL;
    if (!encode(injection, map, injection->request->file))
        return false;
    if (injection->note_size == source->note_size &&
        memcmp(injection->note, source->note, source->note_size) == 0)
        injection->done = NULL;
    return true;
}

/* The file's own note as version 3. */
static bool note_upgraded(struct injection *injection)
{
    const struct inject_request *request = injection->request;
    if (!decode_own(injection))
        return false;
    const struct bat_map *map = injection->source.map;
    if (map->hot_index == BAT_HOT_INDEX_FRAGMENT && map->hot_index_ambiguous)
        tool_message(request->file, "warning: the note does not tell whose fragments are whose, "
                                    "nor do symbols tell it of all: BOLT 18's perf2bolt's guess "
                                    "is taken");
    struct bat_error error;
    bool dropped = false;
    if (request->original && !inject_upgrade_by_input(&injection->source, request->original))
        return false;
    /* Without the input, blocks get their numbers in the note. */
    enum bat_code code = BAT_OK;
    if (!request->original)
        code = bat_map_upgrade(injection->source.map, NULL, NULL, &error);
    code = code ? code : bat_map_drop_unemitted(injection->source.map, &dropped, &error);
    if (code != BAT_OK)
        return tool_complain(request->file, &error);
    return encode_own(injection);
}

/* The file's own note in canonical form. */
static bool note_repaired(struct injection *injection)
{
    const char *path = injection->request->file;
    struct bat_error error;
    struct bat_binary *source = &injection->source;
    if (!decode_own(injection))
        return false;
    if (source->map->hot_index_ambiguous)
        tool_message(path,
                     "warning: the note's hot indices can be read in two ways, and there are no "
                     "symbols to decide: they are taken to count %s",
                     source->map->hot_index == BAT_HOT_INDEX_MERGED
                         ? "hot and cold tables together, as some of BOLT 19's do"
                         : "hot tables only");
    bat_map_canonicalize(source->map);
    bool dropped = false;
    if (bat_map_drop_unemitted(source->map, &dropped, &error) != BAT_OK)
        return tool_complain(path, &error);
    return encode_own(injection);
}

/* --- Checking ----------------------------------------------------------------------------- */

/* The file that is checked, and the number of its findings. */
struct findings {
    const char *file;
    uint64_t shown;
};

static void show_finding(const struct bat_finding *finding, void *context)
{
    struct findings *findings = context;
    if (finding->severity == BAT_NOTE || findings->shown++ >= FINDINGS_SHOWN)
        return;
    char place[64] = BAT_SECTION_NAME;
    if (finding->offset != BAT_NO_OFFSET)
        snprintf(place, sizeof(place), "%s+0x%lx", BAT_SECTION_NAME, finding->offset);
    tool_message(findings->file, "%s: %s: %s: %s", place, bat_severity_name(finding->severity),
                 finding->check, finding->message);
}

/* Check the new note as part of the file. */
static bool check(struct injection *injection)
{
    const char *file = injection->request->file;
    struct bat_error error;
    struct bat_verdict verdict = {0};
    struct findings findings = {.file = file};
    /* A note in a file's mapping is released while it is checked. */
    struct bat_binary binary = injection->source;
    binary.elf = injection->elf;
    binary.note = injection->note;
    binary.note_size = injection->note_size;
    binary.map = NULL;
    enum bat_code code = bat_validate(&binary, NULL, show_finding, &findings, &verdict, &error);
    bat_map_free(binary.map);
    if (code != BAT_OK)
        return tool_complain(file, &error);
    injection->tables = verdict.tables;
    if (findings.shown > FINDINGS_SHOWN)
        tool_message(file, "and %lu more findings", findings.shown - FINDINGS_SHOWN);
    if (verdict.errors == 0)
        return true;
    if (verdict.tables == 0 && injection->note_size != 0)
        tool_message(file, "nothing written: the new note cannot be decoded (--no-check writes "
                           "it anyway)");
    else
        tool_message(file,
                     "nothing written: the new note has %lu error%s (--no-check writes it anyway)",
                     verdict.errors, verdict.errors == 1 ? "" : "s");
    return false;
}

/* --- Writing ------------------------------------------------------------------------------ */

static void print_done(const struct injection *injection)
{
    const struct inject_request *request = injection->request;
    if (request->quiet)
        return;
    char tables[32] = "";
    if (injection->tables != BAT_NONE)
        snprintf(tables, sizeof(tables), "%u table%s, ", injection->tables,
                 injection->tables == 1 ? "" : "s");
    tool_print("%s: %s: %s%zu bytes", target(request), injection->done, tables,
               injection->note_size);
}

/* A copy of the file with the new note, written by a thread while the note is checked. */
struct copying {
    const struct injection *injection;
    enum bat_code code;
    struct bat_error error;
};

static void release_written(const uint8_t *bytes, size_t size, void *context)
{
    const struct injection *injection = context;
    if (injection->note == injection->source.note)
        bat_binary_release_note(&injection->source, bytes, size);
}

static void *run_copying(void *context)
{
    struct copying *copying = context;
    const struct injection *injection = copying->injection;
    copying->code =
        bat_elf_put_note(injection->elf, injection->note, injection->note_size, release_written,
                         (void *)injection, injection->output, &copying->error);
    return NULL;
}

/* Begin the output, which may be the file itself but not the file that the note comes from. */
static bool begin_output(struct injection *injection)
{
    const struct inject_request *request = injection->request;
    struct bat_error error;
    const char *input = request->argument ? request->argument : request->original;
    size_t inputs = input ? 1 : 0;
    if (bat_elf_begin_output(injection->elf, target(request), &injection->output, &error) !=
            BAT_OK ||
        bat_outputs_check(&injection->output, 1, &input, inputs, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    return true;
}

/* Print what was done, then replace the file: if the message cannot be printed, nothing is done. */
static bool commit(struct injection *injection)
{
    struct bat_output *output = injection->output;
    injection->output = NULL;
    print_done(injection);
    return tool_commit(injection->request->file, &output, 1) == TOOL_FINE;
}

/* Put the copy in its place if the note is sound. */
static bool write_note(struct injection *injection)
{
    struct copying copying = {.injection = injection};
    struct bat_error error;
    bool is_checked = !injection->request->no_check;
    pthread_t thread;
    bool has_thread = is_checked && pthread_create(&thread, NULL, run_copying, &copying) == 0;
    bool is_sound = !is_checked || check(injection);
    if (has_thread)
        pthread_join(thread, NULL);
    else if (is_sound)
        run_copying(&copying);
    if (!is_sound)
        return false;
    if (copying.code != BAT_OK)
        return tool_complain(injection->request->file, &copying.error);
    /* The note was read twice, once to check it and once to write it. */
    if (bat_binary_check_unchanged(&injection->source, &error) != BAT_OK)
        return tool_complain(injection->request->argument ? injection->request->argument
                                                          : injection->request->file,
                             &error);
    return commit(injection);
}

/* Read or make the new note. */
static bool get_note(struct injection *injection)
{
    switch (injection->request->action) {
    case INJECT_NOTE:
        return note_from_raw(injection);
    case INJECT_JSON:
        return note_from_json(injection);
    case INJECT_FROM:
        return note_from_elf(injection);
    case INJECT_UPGRADE:
        return note_upgraded(injection);
    default:
        return note_repaired(injection);
    }
}

/* The message for when the note is written. */
static const char *describe(const struct injection *injection)
{
    const uint8_t *note = NULL;
    size_t size = 0;
    if (injection->request->action == INJECT_REPAIR)
        return "note repaired";
    if (injection->request->action == INJECT_UPGRADE)
        return "note upgraded to version 3 (for fdata: it has no hashes for YAML)";
    bool is_there = bat_elf_note(injection->elf, &note, &size, NULL, NULL) != BAT_ERR_NO_NOTE;
    return is_there ? "note replaced" : "note added";
}

/* A note that needs no change is only written to another file (-o). */
static bool leave_as_it_is(struct injection *injection)
{
    const struct inject_request *request = injection->request;
    bool is_repair = request->action == INJECT_REPAIR;
    if (request->output) {
        injection->done =
            is_repair ? "note copied, nothing needed repair" : "note copied, it is of version 3";
        return write_note(injection);
    }
    if (!request->quiet)
        tool_print(is_repair ? "%s: nothing needed repair: the note is in canonical form"
                             : "%s: nothing to upgrade: the note is of version 3",
                   request->file);
    return true;
}

static bool inject(struct injection *injection)
{
    const struct inject_request *request = injection->request;
    struct bat_error error;
    if (bat_elf_open(request->file, &injection->elf, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    injection->done = describe(injection);
    if (!begin_output(injection) || !get_note(injection))
        return false;
    if (!injection->done)
        return leave_as_it_is(injection);
    return write_note(injection);
}

static bool run_inject(const struct inject_request *request)
{
    struct injection injection = {.request = request, .tables = BAT_NONE};
    bool fine = inject(&injection);
    bat_output_abandon(injection.output);
    if (injection.source.elf != injection.elf)
        bat_elf_close(injection.elf);
    bat_binary_close(&injection.source);
    free(injection.encoded);
    return fine;
}

/* --- Removing and extracting -------------------------------------------------------------- */

static bool remove_note(struct injection *injection)
{
    const char *file = injection->request->file;
    const uint8_t *note = NULL;
    struct bat_error error;
    if (bat_elf_open(file, &injection->elf, &error) != BAT_OK)
        return tool_complain(file, &error);
    /* A note that cannot be read, a compressed one say, can still be removed. */
    bat_elf_note(injection->elf, &note, &injection->note_size, NULL, NULL);
    if (!begin_output(injection))
        return false;
    if (bat_elf_leave_note(injection->elf, injection->output, &error) != BAT_OK)
        return tool_complain(file, &error);
    return commit(injection);
}

static bool run_remove(const struct inject_request *request)
{
    struct injection injection = {.request = request, .tables = BAT_NONE, .done = "note removed"};
    bool fine = remove_note(&injection);
    bat_output_abandon(injection.output);
    bat_elf_close(injection.elf);
    return fine;
}

/* Write the note. If it goes to standard output, nothing else is printed there. */
static bool extract_note(const struct inject_request *request, const struct bat_elf *elf,
                         struct bat_output *output)
{
    struct bat_error error;
    const uint8_t *note = NULL;
    size_t size = 0;
    if (bat_outputs_check(&output, 1, &request->file, 1, &error) != BAT_OK ||
        bat_elf_note(elf, &note, &size, NULL, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    if (bat_output_write(output, note, size, &error) != BAT_OK)
        return tool_complain(is_dash(request->argument) ? NULL : request->file, &error);
    if (bat_elf_check_unchanged(elf, &error) != BAT_OK)
        return tool_complain(request->file, &error);
    if (!request->quiet && !is_dash(request->argument))
        tool_print("%s: note extracted: %zu bytes", request->argument, size);
    return true;
}

static enum bat_code begin_extract(const struct inject_request *request, struct bat_output **output,
                                   struct bat_error *error)
{
    return is_dash(request->argument) ? bat_output_begin(request->argument, output, error)
                                      : bat_output_begin_file(request->argument, output, error);
}

static bool run_extract(const struct inject_request *request)
{
    struct bat_error error;
    struct bat_elf *elf = NULL;
    struct bat_output *output = NULL;
    if (bat_elf_open(request->file, &elf, &error) != BAT_OK ||
        begin_extract(request, &output, &error) != BAT_OK) {
        bat_elf_close(elf);
        return tool_complain(request->file, &error);
    }
    bool fine = extract_note(request, elf, output);
    if (fine)
        fine = tool_commit(request->file, &output, 1) == TOOL_FINE;
    else
        bat_output_abandon(output);
    bat_elf_close(elf);
    return fine;
}

enum tool_exit inject_run(const struct inject_request *request)
{
    bool fine = false;
    if (request->action == INJECT_REMOVE)
        fine = run_remove(request);
    else if (request->action == INJECT_EXTRACT)
        fine = run_extract(request);
    else
        fine = run_inject(request);
    return fine ? TOOL_FINE : TOOL_BAD;
}
