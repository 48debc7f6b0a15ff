/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF notes of the file: the BAT note, the build-id, BOLT's note about its run. */
#include "elf_file.h"
#include "text_budget.h"

#include <string.h>

#define BOLT_INFO_SECTION ".note.bolt_info"

/* Type of the note in .note.bolt_info: BOLT reuses the type of gold's version note. */
#define BOLT_INFO_TYPE 4u

/* More than any command line takes. A hostile note may claim the whole file. */
#define BOLT_INFO_LIMIT ((size_t)4 << 20)

/* A walk over the notes of a section or segment. */
struct note_walk {
    Elf_Data data;
    size_t next;
    /* The current note: */
    size_t start;
    const char *owner;
    size_t owner_size; /* with its terminator, if it has one */
    uint32_t type;
    const uint8_t *description;
    size_t description_size;
};

static struct note_walk start_walk(const uint8_t *bytes, uint64_t size, uint64_t alignment)
{
    /* gelf_getnote() does not write to d_buf. Notes of GNU properties are aligned to 8. */
    return (struct note_walk){
        .data =
            {
                .d_buf = (void *)bytes,
                .d_type = alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR,
                .d_version = EV_CURRENT,
                .d_size = (size_t)size,
                .d_align = (size_t)alignment,
            },
    };
}

/* Go to the next note. False at the end, and at bytes that are not a note. */
static bool next_note(struct note_walk *walk)
{
    GElf_Nhdr header;
    size_t owner = 0;
    size_t description = 0;
    size_t next = gelf_getnote(&walk->data, walk->next, &header, &owner, &description);
    if (next == 0)
        return false;
    const uint8_t *bytes = walk->data.d_buf;
    walk->start = walk->next;
    walk->owner = (const char *)bytes + owner;
    walk->owner_size = header.n_namesz;
    walk->type = header.n_type;
    walk->description = bytes + description;
    walk->description_size = header.n_descsz;
    walk->next = next;
    return true;
}

/* Go to the next note of this owner and type. */
static bool next_note_of(struct note_walk *walk, const char *owner, uint32_t type)
{
    size_t size = strlen(owner) + 1;
    while (next_note(walk)) {
        if (walk->type == type && walk->owner_size == size && memcmp(walk->owner, owner, size) == 0)
            return true;
    }
    return false;
}

static struct note_walk walk_section(const struct bat_elf *elf, const struct bat_section *section)
{
    uint64_t size = 0;
    const uint8_t *bytes = bat_elf_section_bytes(elf, section, &size);
    return start_walk(bytes, size, section->alignment);
}

static bool is_plain_note(const struct bat_section *section)
{
    return section->type == SHT_NOTE && (section->flags & SHF_COMPRESSED) == 0;
}

/* Notes are read up to a budget: in a sound file, sections or segments of them do not overlap, so
 * together they have at most the file's size. */

/* --- Build-id ----------------------------------------------------------------------------- */

static bool walk_to_build_id(struct note_walk *walk, const uint8_t **id, size_t *size)
{
    if (!next_note_of(walk, ELF_NOTE_GNU, NT_GNU_BUILD_ID))
        return false;
    *id = walk->description;
    *size = walk->description_size;
    return true;
}

/* Looks in the sections first, then in the segments: section headers may have been stripped. */
const uint8_t *bat_elf_build_id(const struct bat_elf *elf, size_t *size)
{
    const uint8_t *id = NULL;
    *size = 0;
    struct bat_budget in_sections = {elf->size};
    for (size_t i = 0; i < elf->section_count; i++) {
        struct note_walk walk = walk_section(elf, &elf->sections[i]);
        if (is_plain_note(&elf->sections[i]) &&
            bat_budget_spend(&in_sections, elf->sections[i].size) &&
            walk_to_build_id(&walk, &id, size))
            return id;
    }
    struct bat_budget in_segments = {elf->size};
    for (size_t i = 0; i < elf->segment_count; i++) {
        const GElf_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_NOTE || segment->p_offset > elf->size ||
            segment->p_filesz > elf->size - segment->p_offset ||
            !bat_budget_spend(&in_segments, segment->p_filesz))
            continue;
        struct note_walk walk = start_walk(
            bat_guarded(elf->mapping.start, elf->bytes + segment->p_offset, segment->p_filesz, 0),
            segment->p_filesz, segment->p_align);
        if (walk_to_build_id(&walk, &id, size))
            return id;
    }
    return NULL;
}

/* --- BOLT's command line ------------------------------------------------------------------ */

enum bat_code elf_read_bolt_info(struct bat_elf *elf, struct bat_error *error)
{
    const struct bat_section *section = bat_elf_section(elf, BOLT_INFO_SECTION);
    if (!section || !is_plain_note(section))
        return BAT_OK;
    struct note_walk walk = walk_section(elf, section);
    if (!next_note_of(&walk, ELF_NOTE_GNU, BOLT_INFO_TYPE))
        return BAT_OK;
    /* The text has no terminator; it ends with the description. */
    size_t limit =
        walk.description_size < BOLT_INFO_LIMIT ? walk.description_size : BOLT_INFO_LIMIT;
    elf->bolt_info = strndup((const char *)walk.description, limit);
    BAT_TRY_MEMORY(elf->bolt_info, error, "for the text of " BOLT_INFO_SECTION);
    return BAT_OK;
}

const char *bat_elf_bolt_info(const struct bat_elf *elf)
{
    return elf->bolt_info;
}

/* --- The BAT note ------------------------------------------------------------------------- */

/* The first BAT note of a section of notes, found by owner and type. */
static bool find_in_section(const struct bat_elf *elf, const struct bat_section *section,
                            struct elf_note_place *place)
{
    struct note_walk walk = walk_section(elf, section);
    if (!next_note_of(&walk, BAT_NOTE_OWNER, BAT_NOTE_TYPE))
        return false;
    /* The padding of the last note may be missing, so walk.next may be beyond the section. */
    uint64_t end = walk.next < section->size ? walk.next : section->size;
    *place = (struct elf_note_place){section, walk.start, end - walk.start};
    /* If no other note follows, the rest of the section is the note's; the decoder checks it. */
    if (place->offset == 0 && !next_note(&walk))
        place->size = section->size;
    return true;
}

struct elf_note_place elf_find_note(const struct bat_elf *elf)
{
    struct elf_note_place place = {NULL, 0, 0};
    const struct bat_section *section = bat_elf_section(elf, BAT_SECTION_NAME);
    if (section)
        return (struct elf_note_place){section, 0, section->size};
    struct bat_budget budget = {elf->size};
    for (size_t i = 0; i < elf->section_count; i++) {
        if (is_plain_note(&elf->sections[i]) && bat_budget_spend(&budget, elf->sections[i].size) &&
            find_in_section(elf, &elf->sections[i], &place))
            break;
    }
    return place;
}

enum bat_code elf_no_note(const struct bat_elf *elf, struct bat_error *error)
{
    if (elf->section_count == 0)
        return bat_fail(error, BAT_ERR_NO_NOTE,
                        "no section headers, so no " BAT_SECTION_NAME
                        " section can be found: they were stripped from this file");
    if (bat_elf_section(elf, BOLT_INFO_SECTION))
        return bat_fail(error, BAT_ERR_NO_NOTE,
                        "no " BAT_SECTION_NAME
                        " section, but BOLT has written this file: it was made without "
                        "--enable-bat, or the note was taken out (--store=DIR has it, if it was "
                        "put there)");
    return bat_fail(error, BAT_ERR_NO_NOTE,
                    "no BOLT note, neither " BAT_SECTION_NAME " nor " BOLT_INFO_SECTION
                    ": not a BOLTed binary (llvm-bolt --enable-bat writes the note)");
}

enum bat_code bat_elf_note(const struct bat_elf *elf, const uint8_t **bytes, size_t *size,
                           const struct bat_section **section, struct bat_error *error)
{
    *bytes = NULL;
    *size = 0;
    if (section)
        *section = NULL;
    struct elf_note_place place = elf_find_note(elf);
    if (!place.section)
        return elf_no_note(elf, error);
    if (place.section->type == SHT_NOBITS || place.section->type == SHT_NULL)
        return bat_fail(error, BAT_ERR_ELF,
                        "section " BAT_SECTION_NAME
                        " has no bytes in this file (type %u): the note is in another file, "
                        "perhaps split off by objcopy",
                        place.section->type);
    if ((place.section->flags & SHF_COMPRESSED) != 0)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "section " BAT_SECTION_NAME
                        " is compressed: BOLT reads and writes it uncompressed only");
    *bytes = bat_guarded(elf->mapping.start, elf->bytes + place.section->offset + place.offset,
                         place.size, 0);
    *size = (size_t)place.size;
    if (section)
        *section = place.section;
    return BAT_OK;
}
