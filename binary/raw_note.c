/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "raw_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "elfnote/unpack.h"
#include "elfnote/whole_file.h"

/* Every note starts with these bytes: sizes of owner and description, type, owner. */
#define HEAD_SIZE 16u

/* Bytes that are read at first. */
#define ROOM ((size_t)64 << 10)

/* A file that is being read into a growing buffer. */
struct intake {
    int file;
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

/* Read the first bytes, by which the file is recognised. */
static enum bat_code read_head(struct intake *intake, struct bat_error *error)
{
    intake->capacity = ROOM;
    intake->bytes = malloc(intake->capacity);
    BAT_TRY_MEMORY(intake->bytes, error, "for the note");
    ssize_t got = bat_read_all(intake->file, intake->bytes, HEAD_SIZE, -1);
    if (got < 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
    intake->size = (size_t)got;
    return BAT_OK;
}

static enum bat_code read_rest(struct intake *intake, struct bat_error *error)
{
    if (bat_read_rest(intake->file, &intake->bytes, &intake->size, &intake->capacity) == 0)
        return BAT_OK;
    return errno == ENOMEM ? bat_fail_memory(error, "for the note")
                           : bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
}

/*
 * True if a file with these first bytes may be a note, perhaps a damaged one: either the owner or
 * its size and the type are right, as far as there are bytes.
 */
static bool looks_like_note(const uint8_t *bytes, size_t size)
{
    static const uint8_t sizes[4] = {BAT_NOTE_OWNER_SIZE};
    static const uint8_t type[4] = {BAT_NOTE_TYPE};
    if (size >= HEAD_SIZE && memcmp(bytes + 12, BAT_NOTE_OWNER, 4) == 0)
        return true;
    if (memcmp(bytes, sizes, size < 4 ? size : 4) != 0)
        return false;
    return size < 12 || memcmp(bytes + 8, type, sizeof(type)) == 0;
}

/* Smaller files are read: mapping them saves nothing. */
#define MAPPED_MIN ((size_t)1 << 20)

/* Map a large regular file instead of reading it; it stays open. False if it cannot be mapped. */
static bool map_all(const struct intake *intake, struct bat_raw_note *note)
{
    struct stat status;
    if (fstat(intake->file, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size < (off_t)MAPPED_MIN ||
        lseek(intake->file, 0, SEEK_CUR) != (off_t)intake->size)
        return false;
    struct bat_mapped_file *mapped = malloc(sizeof(*mapped));
    int file = fcntl(intake->file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    struct bat_mapping mapping;
    if (!mapped || file < 0 || !bat_map(&mapping, file, (size_t)status.st_size)) {
        if (file >= 0)
            close(file);
        free(mapped);
        return false;
    }
    *mapped = (struct bat_mapped_file){.mapping = mapping, .file = file, .status = status};
    *note = (struct bat_raw_note){
        .bytes = mapping.bytes, .size = (size_t)status.st_size, .mapped = mapped};
    return true;
}

static enum bat_code read_intake(struct intake *intake, bool *is_elf, struct bat_raw_note *note,
                                 struct bat_error *error)
{
    BAT_TRY(read_head(intake, error));
    if (intake->size == 0)
        return bat_fail(error, BAT_ERR_NOT_ELF,
                        "expected an ELF file or a BAT note, found an empty file");
    *is_elf = bat_elf_is(intake->bytes, intake->size) ||
              (intake->file != STDIN_FILENO &&
               bat_packing_of(intake->bytes, intake->size) != BAT_PACKING_NONE);
    if (*is_elf)
        return BAT_OK;
    if (!looks_like_note(intake->bytes, intake->size))
        return bat_fail_at(error, BAT_ERR_NOT_ELF, BAT_PLACE_FILE, 0,
                           "expected an ELF file or a BAT note, found a file that starts like "
                           "neither");
    return map_all(intake, note) ? BAT_OK : read_rest(intake, error);
}

/* Open an ELF file; *elf owns file on success. It cannot come from standard input. */
static enum bat_code take_elf(int file, const char *path, bool standard_input, struct bat_elf **elf,
                              struct bat_error *error)
{
    if (standard_input)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a BAT note on standard input, found an ELF file: give its path");
    return bat_elf_open_file(file, path, elf, error);
}

enum bat_code bat_raw_note_read(const char *path, struct bat_elf **elf, struct bat_raw_note *note,
                                struct bat_error *error)
{
    *elf = NULL;
    *note = (struct bat_raw_note){0};
    bool standard_input = strcmp(path, "-") == 0;
    struct intake intake = {.file = STDIN_FILENO};
    if (!standard_input)
        intake.file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (intake.file < 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be opened: %m");

    bool is_elf = false;
    enum bat_code code = read_intake(&intake, &is_elf, note, error);
    if (code == BAT_OK && is_elf)
        code = take_elf(intake.file, path, standard_input, elf, error);
    else if (!standard_input)
        close(intake.file);
    if (code != BAT_OK || is_elf || note->mapped) {
        free(intake.bytes);
        return code;
    }
    note->bytes = intake.bytes;
    note->size = intake.size;
    return BAT_OK;
}

void bat_raw_note_free(struct bat_raw_note *note)
{
    if (note->mapped) {
        bat_unmap(&note->mapped->mapping);
        close(note->mapped->file);
        free(note->mapped);
    } else {
        free(note->bytes);
    }
    *note = (struct bat_raw_note){0};
}

void bat_raw_note_release(const struct bat_raw_note *note, const uint8_t *bytes, size_t size)
{
    if (note->mapped)
        bat_map_release(&note->mapped->mapping, bytes, size);
}
