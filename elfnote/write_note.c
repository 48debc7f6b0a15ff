/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Adds, replaces and removes the BAT note: makes the new headers in memory, layout.c places the
 * pieces, replace_file.c writes the file.
 */
#include "elf_file.h"
#include "layout.h"
#include "output.h"

#include <assert.h>
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Headers are copied as bytes, so that unknown values in them are kept. */
static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ELF files are written on little-endian hosts");

/* Appended to the section names: a terminator, which they may lack, and the note's name. */
static const char names_suffix[] = "\0" BAT_SECTION_NAME;

/* A changed copy of a file. */
struct edit {
    const struct bat_elf *elf;
    const uint8_t *note; /* the section's new content; NULL to remove it */
    uint64_t note_size;
    bat_elf_passed_fn *written; /* called with parts of note that have been written; or NULL */
    void *written_context;
    const struct bat_section *old_note; /* NULL if the file has no note */

    const char *suffix; /* to append to the section names; NULL for nothing */
    uint64_t suffix_size;
    uint32_t name; /* the note's sh_name */

    Elf64_Shdr *headers; /* the new table */
    size_t header_count;
    size_t names_index;
    size_t note_index; /* 0 if the new file has no note */
    struct layout layout;
};

/* --- The old note and its name ------------------------------------------------------------ */

/* Refuse files where the note's section is not unique, or holds more than the note. */
static enum bat_code check_old_note(const struct edit *edit, const struct elf_note_place *place,
                                    struct bat_error *error)
{
    const struct bat_elf *elf = edit->elf;
    const struct bat_section *section = place->section;
    if (section->index == elf->names_index || section->index == 0)
        return bat_fail(error, BAT_ERR_ELF,
                        "section %u is called " BAT_SECTION_NAME
                        ", but is not a note: it is section 0 or holds the section names",
                        section->index);
    if (place->size != section->size)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "section %u (%s) holds other notes besides the BAT note: the note can only "
                        "be replaced or removed if its section holds nothing else",
                        section->index, section->name);
    for (size_t i = section->index + (size_t)1; i < elf->section_count; i++) {
        if (strcmp(elf->sections[i].name, BAT_SECTION_NAME) == 0)
            return bat_fail(error, BAT_ERR_UNSUPPORTED,
                            "expected one section called " BAT_SECTION_NAME
                            ", found sections %u and %zu",
                            section->index, i);
    }
    return BAT_OK;
}

/* True if two ranges of a file share a byte. */
static bool share_bytes(uint64_t start, uint64_t size, uint64_t other, uint64_t other_size)
{
    return size != 0 && other_size != 0 &&
           (start < other ? other - start < size : start - other < other_size);
}

/*
 * Program headers must be readable, and must not share bytes with what is about to change:
 * otherwise it is not known which bytes a segment maps.
 */
static enum bat_code check_program_headers(const struct bat_elf *elf,
                                           const struct bat_section *old_note,
                                           struct bat_error *error)
{
    Elf64_Ehdr header;
    memcpy(&header, elf->bytes, sizeof(header));
    if (header.e_phnum == PN_XNUM)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected fewer than 65535 program headers, found more");
    uint64_t start = header.e_phoff;
    uint64_t size = (uint64_t)header.e_phnum * sizeof(Elf64_Phdr);
    if (size == 0)
        return BAT_OK;
    if (start < sizeof(header) || start > elf->size || size > elf->size - start)
        return bat_fail(error, BAT_ERR_ELF,
                        "expected %u program headers between the ELF header and the file's end, "
                        "found them at 0x%lx",
                        (unsigned)header.e_phnum, start);
    const struct bat_section *names = &elf->sections[elf->names_index];
    if (share_bytes(start, size, header.e_shoff, elf->section_count * sizeof(Elf64_Shdr)) ||
        share_bytes(start, size, names->offset, names->size) ||
        (old_note && share_bytes(start, size, old_note->offset, old_note->size)))
        return bat_fail(error, BAT_ERR_ELF,
                        "expected program headers that share no bytes with section headers, "
                        "section names or the note, found them at 0x%lx",
                        start);
    return BAT_OK;
}

static enum bat_code find_old_note(struct edit *edit, struct bat_error *error)
{
    struct elf_note_place place = elf_find_note(edit->elf);
    if (!edit->note && !place.section)
        return elf_no_note(edit->elf, error);
    if (edit->elf->section_count == 0)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "no section header table: a " BAT_SECTION_NAME " section cannot be added");
    BAT_TRY(check_program_headers(edit->elf, place.section, error));
    edit->old_note = place.section;
    return place.section ? check_old_note(edit, &place, error) : BAT_OK;
}

/* Find the note's name among the section names, or decide what to append to them. */
static enum bat_code find_name(struct edit *edit, struct bat_error *error)
{
    const struct bat_elf *elf = edit->elf;
    edit->names_index = elf->names_index;
    if (!edit->note)
        return BAT_OK;
    if (elf->names_index == SHN_UNDEF)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "no section name table: the name " BAT_SECTION_NAME " cannot be added");
    uint64_t size = 0;
    const uint8_t *names = bat_elf_section_bytes(elf, &elf->sections[elf->names_index], &size);
    const uint8_t *found = memmem(names, (size_t)size, BAT_SECTION_NAME, sizeof(BAT_SECTION_NAME));
    uint64_t name = 0;
    if (found) {
        name = (uint64_t)(found - names);
    } else {
        bool is_terminated = size > 0 && names[size - 1] == '\0';
        edit->suffix = is_terminated ? names_suffix + 1 : names_suffix;
        edit->suffix_size = is_terminated ? sizeof(names_suffix) - 1 : sizeof(names_suffix);
        name = size + !is_terminated;
    }
    if (name > UINT32_MAX)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "the section name table of %lu bytes is too long for another name", size);
    edit->name = (uint32_t)name;
    return BAT_OK;
}

/* --- Extents in the old file, cut at its end ---------------------------------------------- */

static struct layout_extent extent_of(const struct bat_elf *elf, uint64_t offset, uint64_t size)
{
    if (offset >= elf->size)
        return (struct layout_extent){0, 0};
    uint64_t most = elf->size - offset;
    return (struct layout_extent){offset, offset + (size < most ? size : most)};
}

static struct layout_extent section_extent(const struct bat_elf *elf, size_t index)
{
    uint64_t size = 0;
    bat_elf_section_bytes(elf, &elf->sections[index], &size);
    return extent_of(elf, elf->sections[index].offset, size);
}

static struct layout_extent segment_extent(const struct bat_elf *elf, size_t index)
{
    const GElf_Phdr *segment = &elf->segments[index];
    return extent_of(elf, segment->p_offset, segment->p_type == PT_NULL ? 0 : segment->p_filesz);
}

/* --- Headers ------------------------------------------------------------------------------ */

/* True if the section names must stay in place: a segment maps them, or a section links to them. */
static bool names_are_shared(const struct bat_elf *elf)
{
    const struct bat_section *names = &elf->sections[elf->names_index];
    if ((names->flags & SHF_ALLOC) != 0)
        return true;
    /* In section 0, sh_link may be the index of the section names: see make_elf_header(). */
    for (size_t i = 1; i < elf->section_count; i++) {
        if (elf->sections[i].link == names->index && i != names->index)
            return true;
    }
    struct layout_extent extent = section_extent(elf, elf->names_index);
    for (size_t i = 0; i < elf->segment_count; i++) {
        struct layout_extent segment = segment_extent(elf, i);
        if (layout_overlap(&extent, &segment))
            return true;
    }
    return false;
}

/* Add a header; edit->headers has room for it. Returns its index. */
static size_t add_header(struct edit *edit)
{
    edit->headers[edit->header_count] = (Elf64_Shdr){.sh_type = SHT_NULL};
    return edit->header_count++;
}

/* Add the header of a section for a longer copy of section names that cannot grow. */
static void copy_names_header(struct edit *edit)
{
    size_t index = add_header(edit);
    edit->headers[index].sh_name = edit->headers[edit->names_index].sh_name;
    edit->headers[index].sh_type = SHT_STRTAB;
    edit->headers[index].sh_size = edit->headers[edit->names_index].sh_size;
    edit->headers[index].sh_addralign = 1;
    edit->names_index = index;
}

/* Only the last header is removed: the headers after another one must keep their indices. */
static void remove_note_header(struct edit *edit)
{
    size_t index = edit->old_note->index;
    if (index == edit->header_count - 1 && !elf_is_referenced(edit->elf, edit->old_note->index))
        edit->header_count--;
    else
        edit->headers[index] = (Elf64_Shdr){.sh_type = SHT_NULL};
}

static void set_note_header(struct edit *edit)
{
    edit->note_index = edit->old_note ? edit->old_note->index : add_header(edit);
    edit->headers[edit->note_index] = (Elf64_Shdr){
        .sh_name = edit->name,
        .sh_type = SHT_NOTE,
        .sh_size = edit->note_size,
        .sh_addralign = 1,
    };
}

/* Make the new section header table; write_pieces() sets the offsets of the pieces. */
static enum bat_code make_headers(struct edit *edit, struct bat_error *error)
{
    const struct bat_elf *elf = edit->elf;
    const size_t most_added = 2; /* section names and note */
    edit->header_count = elf->section_count;
    edit->headers = calloc(edit->header_count + most_added, sizeof(*edit->headers));
    BAT_TRY_MEMORY(edit->headers, error, "for %zu section headers", edit->header_count);
    memcpy(edit->headers, elf->bytes + elf->header.e_shoff,
           edit->header_count * sizeof(*edit->headers));
    if (edit->suffix && names_are_shared(elf))
        copy_names_header(edit);
    if (edit->note)
        set_note_header(edit);
    else if (edit->old_note)
        remove_note_header(edit);
    if (edit->suffix)
        edit->headers[edit->names_index].sh_size += edit->suffix_size;
    return BAT_OK;
}

/* --- Layout ------------------------------------------------------------------------------- */

/* The extents of everything that headers describe, except the pieces. */
static size_t find_others(const struct edit *edit, struct layout_extent *others)
{
    const struct bat_elf *elf = edit->elf;
    size_t count = 0;
    others[count++] = extent_of(elf, 0, sizeof(Elf64_Ehdr));
    others[count++] = extent_of(elf, elf->header.e_phoff, elf->segment_count * sizeof(Elf64_Phdr));
    for (size_t i = 0; i < elf->segment_count; i++)
        others[count++] = segment_extent(elf, i);
    for (size_t i = 0; i < elf->section_count; i++) {
        if (i != edit->names_index && (!edit->old_note || i != edit->old_note->index))
            others[count++] = section_extent(elf, i);
    }
    return count;
}

static enum bat_code plan(struct edit *edit, struct bat_error *error)
{
    const struct bat_elf *elf = edit->elf;
    struct layout_piece *names = &edit->layout.pieces[LAYOUT_NAMES];
    struct layout_piece *note = &edit->layout.pieces[LAYOUT_NOTE];
    struct layout_piece *table = &edit->layout.pieces[LAYOUT_TABLE];
    names->is_same = !edit->suffix;
    if (edit->names_index != SHN_UNDEF)
        names->size = edit->headers[edit->names_index].sh_size;
    if (edit->names_index == elf->names_index && edit->names_index != SHN_UNDEF)
        names->old = section_extent(elf, edit->names_index);
    if (edit->old_note)
        note->old = section_extent(elf, edit->old_note->index);
    note->size = edit->note_size;
    table->old = extent_of(elf, elf->header.e_shoff, elf->section_count * sizeof(Elf64_Shdr));
    table->size = edit->header_count * sizeof(Elf64_Shdr);

    struct layout_extent *others =
        calloc(elf->section_count + elf->segment_count + 2, sizeof(*others));
    BAT_TRY_MEMORY(others, error, "to lay out %zu sections", elf->section_count);
    size_t count = find_others(edit, others);
    layout_plan(&edit->layout, others, count, elf->bytes, elf->size);
    free(others);
    return BAT_OK;
}

static Elf64_Ehdr make_elf_header(struct edit *edit)
{
    Elf64_Ehdr header;
    memcpy(&header, edit->elf->bytes, sizeof(header));
    elf_set_numbers(&header, &edit->headers[0], edit->header_count, edit->names_index);
    header.e_shoff = edit->layout.pieces[LAYOUT_TABLE].offset;
    return header;
}

/* --- The file ----------------------------------------------------------------------------- */

/* Copy the bytes that stay. Dropped pieces become holes, which read as zeros. */
static enum bat_code copy_kept(const struct edit *edit, struct replacement *file,
                               struct bat_error *error)
{
    const struct layout *layout = &edit->layout;
    uint64_t position = 0;
    while (position < layout->kept) {
        struct layout_extent dropped = {layout->kept, layout->kept};
        for (size_t p = 0; p < LAYOUT_PARTS; p++) {
            const struct layout_piece *piece = &layout->pieces[p];
            if (layout_is_dropped(piece) && piece->old.start >= position &&
                piece->old.start < dropped.start)
                dropped = piece->old;
        }
        BAT_TRY(replacement_copy(file, edit->elf->file, position, dropped.start - position,
                                 position, error));
        position = dropped.end;
    }
    return replacement_resize(file, layout->size, error);
}

static enum bat_code write_names(const struct edit *edit, struct replacement *file,
                                 struct bat_error *error)
{
    const struct layout_piece *piece = &edit->layout.pieces[LAYOUT_NAMES];
    if (!layout_is_written(piece))
        return BAT_OK;
    struct layout_extent old = section_extent(edit->elf, edit->elf->names_index);
    enum bat_code code = replacement_copy(file, edit->elf->file, old.start, old.end - old.start,
                                          piece->offset, error);
    if (code != BAT_OK || !edit->suffix)
        return code;
    return replacement_write(file, edit->suffix, edit->suffix_size,
                             piece->offset + (old.end - old.start), error);
}

/* written() is called after this many bytes. */
#define NOTE_STEP ((uint64_t)4 << 20)

static enum bat_code write_new_note(const struct edit *edit, struct replacement *file,
                                    struct bat_error *error)
{
    uint64_t offset = edit->layout.pieces[LAYOUT_NOTE].offset;
    enum bat_code code = BAT_OK;
    for (uint64_t done = 0; done < edit->note_size && code == BAT_OK;) {
        uint64_t left = edit->note_size - done;
        uint64_t step = left < NOTE_STEP ? left : NOTE_STEP;
        code = replacement_write(file, edit->note + done, step, offset + done, error);
        if (code == BAT_OK && edit->written)
            edit->written(edit->note + done, (size_t)step, edit->written_context);
        done += step;
    }
    return code;
}

static enum bat_code write_pieces(struct edit *edit, struct replacement *file,
                                  struct bat_error *error)
{
    const struct layout_piece *pieces = edit->layout.pieces;
    if (layout_is_written(&pieces[LAYOUT_NAMES]))
        edit->headers[edit->names_index].sh_offset = pieces[LAYOUT_NAMES].offset;
    if (edit->note_index != 0)
        edit->headers[edit->note_index].sh_offset = pieces[LAYOUT_NOTE].offset;
    Elf64_Ehdr header = make_elf_header(edit);

    enum bat_code code = write_names(edit, file, error);
    if (code == BAT_OK && edit->note)
        code = write_new_note(edit, file, error);
    if (code == BAT_OK)
        code = replacement_write(file, edit->headers, pieces[LAYOUT_TABLE].size,
                                 pieces[LAYOUT_TABLE].offset, error);
    return code ? code : replacement_write(file, &header, sizeof(header), 0, error);
}

/*
 * In a damaged file, parts may overlap, and writing one may have changed another. So check that the
 * new file is an ELF file that can be read.
 */
static enum bat_code check_readable(const struct replacement *file, struct bat_error *error)
{
    int copy = fcntl(file->file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0)
        return replacement_fail(file, error);
    struct bat_elf *elf = NULL;
    struct bat_error cause;
    enum bat_code code = bat_elf_open_file(copy, file->path, &elf, &cause);
    bat_elf_close(elf);
    if (code == BAT_OK)
        return BAT_OK;
    /* Or what was written is lost already: then that is the error. */
    BAT_TRY(replacement_check_written(file, error));
    if (code != BAT_ERR_ELF)
        return bat_fail(error, code, "the file with the new note cannot be checked: %.200s",
                        cause.message);
    return bat_fail(error, BAT_ERR_ELF,
                    "expected parts that do not overlap, found that the file with the new note "
                    "cannot be read: %.200s",
                    cause.message);
}

static enum bat_code write_edit(struct edit *edit, struct replacement *file,
                                struct bat_error *error)
{
    enum bat_code code = copy_kept(edit, file, error);
    code = code ? code : write_pieces(edit, file, error);
    code = code ? code : bat_elf_check_unchanged(edit->elf, error);
    return code ? code : check_readable(file, error);
}

static enum bat_code make_edit(struct edit *edit, struct bat_output *output,
                               struct bat_error *error)
{
    if (output->source != edit->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT, "the output was begun for another file");
    enum bat_code code = find_old_note(edit, error);
    code = code ? code : find_name(edit, error);
    code = code ? code : make_headers(edit, error);
    code = code ? code : plan(edit, error);
    code = code ? code : write_edit(edit, &output->replacement, error);
    free(edit->headers);
    return code;
}

enum bat_code bat_elf_begin_output(const struct bat_elf *elf, const char *path,
                                   struct bat_output **output, struct bat_error *error)
{
    return output_begin_file(path, elf, false, output, error);
}

enum bat_code bat_elf_put_note(const struct bat_elf *elf, const void *section, size_t size,
                               bat_elf_passed_fn *written, void *context, struct bat_output *output,
                               struct bat_error *error)
{
    if (!section || size == 0)
        return bat_fail(error, BAT_ERR_ARGUMENT, "an empty note cannot be written");
    struct edit edit = {.elf = elf,
                        .note = section,
                        .note_size = size,
                        .written = written,
                        .written_context = context};
    return make_edit(&edit, output, error);
}

enum bat_code bat_elf_leave_note(const struct bat_elf *elf, struct bat_output *output,
                                 struct bat_error *error)
{
    struct edit edit = {.elf = elf};
    return make_edit(&edit, output, error);
}

/*
 * Write a copy of elf to path with section, which has size bytes, as its note, or without a note
 * if section is NULL.
 */
static enum bat_code rewrite(const struct bat_elf *elf, const char *path, const void *section,
                             size_t size, struct bat_error *error)
{
    struct bat_output *output;
    BAT_TRY(bat_elf_begin_output(elf, path, &output, error));
    enum bat_code code = section ? bat_elf_put_note(elf, section, size, NULL, NULL, output, error)
                                 : bat_elf_leave_note(elf, output, error);
    if (code == BAT_OK)
        return bat_outputs_commit(&output, 1, error);
    bat_output_abandon(output);
    return code;
}

/* The same for a file that is not open. */
static enum bat_code rewrite_path(const char *path, const char *output, const void *section,
                                  size_t size, struct bat_error *error)
{
    struct bat_elf *elf = NULL;
    enum bat_code code = bat_elf_open(path, &elf, error);
    code = code ? code : rewrite(elf, output, section, size, error);
    bat_elf_close(elf);
    return code;
}

enum bat_code bat_elf_write_note(const char *path, const char *output, const void *section,
                                 size_t size, struct bat_error *error)
{
    if (!section || size == 0)
        return bat_fail(error, BAT_ERR_ARGUMENT, "an empty note cannot be written");
    return rewrite_path(path, output, section, size, error);
}

enum bat_code bat_elf_remove_note(const char *path, const char *output, struct bat_error *error)
{
    return rewrite_path(path, output, NULL, 0, error);
}
