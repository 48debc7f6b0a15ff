/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Split DWARF: the DIEs of skeleton units, in .dwo files or in a package of them (.dwp), DWARF 5,
 * sections 7.3.2 and 7.3.5; and the forms that compilers had before DWARF 5.
 */
#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debuginfo.h"
#include "elfnote/descriptors.h"
#include "spec/array.h"
#include "spec/little_endian.h"
#include "spec/order.h"

/* Map a .dwo file or package. NULL if there is none that can be read. */
static struct split_file *open_file(struct bat_debuginfo *debuginfo, const char *path)
{
    int file = bat_regular_open(AT_FDCWD, path);
    if (file < 0)
        return NULL;
    struct split_file *split = calloc(1, sizeof(*split));
    if (!split || !BAT_GROW(debuginfo->splits, debuginfo->split_count, debuginfo->split_capacity)) {
        debuginfo->no_memory = true;
        close(file);
        free(split);
        return NULL;
    }
    enum bat_code code = debug_image_map(&split->image, path, file, 0, NULL);
    if (code != BAT_OK) {
        debuginfo->no_memory |= code == BAT_ERR_MEMORY;
        free(split);
        return NULL;
    }
    debuginfo->splits[debuginfo->split_count++] = split;
    return split;
}

void debug_close_splits(struct bat_debuginfo *debuginfo)
{
    for (size_t i = 0; i < debuginfo->split_count; i++) {
        debug_image_close(&debuginfo->splits[i]->image);
        BAT_FREE_ALL(debuginfo->splits[i]->units, debuginfo->splits[i]);
    }
    BAT_FREE_ALL(debuginfo->splits, debuginfo->package);
}

/* The first unit of that id, or NULL. */
static struct split_unit *find_unit(const struct split_file *split, uint64_t id)
{
    size_t found = BAT_COUNT_BELOW(split->units, split->unit_count, id, id);
    return found < split->unit_count && split->units[found].id == id ? &split->units[found] : NULL;
}

/* --- .dwo files ------------------------------------------------------------------------------ */

/* Fill units with the units of a .dwo file, except type units. */
static void list_units(struct bat_debuginfo *debuginfo, struct split_file *split)
{
    size_t capacity = 0;
    Dwarf_Off offset = 0;
    Dwarf_Die die;
    while (debug_next_unit(&split->image, &offset, &die, &debuginfo->no_memory)) {
        uint8_t kind;
        uint64_t id;
        if (dwarf_cu_info(die.cu, NULL, &kind, NULL, NULL, &id, NULL, NULL) != 0 ||
            kind != DW_UT_split_compile)
            continue;
        if (!BAT_GROW(split->units, split->unit_count, capacity)) {
            debuginfo->no_memory = true;
            return;
        }
        split->units[split->unit_count++] =
            (struct split_unit){.id = id, .offset = dwarf_dieoffset(&die)};
    }
    BAT_SORT_BY_TWO(split->units, split->unit_count, id, offset);
}

/* The .dwo file at path, opened before or now; NULL if there is none with DWARF. */
static struct split_file *open_dwo(struct bat_debuginfo *debuginfo, const char *path)
{
    struct split_file *split = open_file(debuginfo, path);
    if (!split)
        return NULL;
    /* With link-time optimization a file has several units. */
    for (size_t i = 0; i + 1 < debuginfo->split_count; i++) {
        struct split_file *other = debuginfo->splits[i];
        if (other->image.device != split->image.device || other->image.inode != split->image.inode)
            continue;
        debug_image_close(&split->image);
        free(split);
        debuginfo->split_count--;
        return other;
    }
    enum bat_code code = debug_image_begin(&split->image, true, NULL);
    if (code != BAT_OK) {
        debuginfo->no_memory |= code == BAT_ERR_MEMORY;
        return split;
    }
    debug_allow(debuginfo, split->image.lines.line.size, split->image.info_size, split->image.size);
    list_units(debuginfo, split);
    return split;
}

static bool find_in_dwo(struct bat_debuginfo *debuginfo, const char *path,
                        const struct debug_unit *unit, struct split_found *found)
{
    struct split_file *split = open_dwo(debuginfo, path);
    struct split_unit *place = split ? find_unit(split, unit->split_id) : NULL;
    if (!place || place->is_used || !dwarf_offdie(split->image.dwarf, place->offset, &found->die))
        return false;
    place->is_used = true;
    found->image = &split->image;
    return true;
}

/* Find a unit in the .dwo file that it names, relative to the first length bytes of folder. */
static bool find_in_folder(struct bat_debuginfo *debuginfo, const char *folder, size_t length,
                           const struct debug_unit *unit, struct split_found *found)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, folder, length ? "/" : "",
                        unit->split_name);
    return size >= 0 && (size_t)size < sizeof(path) && find_in_dwo(debuginfo, path, unit, found);
}

/*
 * Look for the .dwo file where the compiler wrote it, relative to the folder that it ran in, else
 * beside the file with the debug information.
 */
static bool find_dwo(struct bat_debuginfo *debuginfo, const struct debug_unit *unit,
                     struct split_found *found)
{
    if (!unit->split_name)
        return false;
    bool is_absolute = unit->split_name[0] == '/';
    const char *folder = unit->compile_folder && !is_absolute ? unit->compile_folder : "";
    if (find_in_folder(debuginfo, folder, strnlen(folder, PATH_MAX), unit, found))
        return true;
    if (is_absolute)
        return false;
    const char *own = debuginfo->image.path;
    const char *slash = strrchr(own, '/');
    return find_in_folder(debuginfo, slash ? own : ".", slash ? (size_t)(slash - own) : 1, unit,
                          found);
}

/* --- Packages -------------------------------------------------------------------------------- */

/* Sections that a package has parts of, as DWARF 5 numbers them; 2 is the former .debug_types. */
enum part {
    PART_INFO = 1,
    PART_ABBREVIATIONS = 3,
    PART_LINE = 4,
    PART_STRING_OFFSETS = 6,
    PART_RNGLISTS = 8,
    PART_COUNT,
};

static const char *const part_names[PART_COUNT] = {
    [PART_INFO] = ".debug_info.dwo",         [PART_ABBREVIATIONS] = ".debug_abbrev.dwo",
    [PART_LINE] = ".debug_line.dwo",         [PART_STRING_OFFSETS] = ".debug_str_offsets.dwo",
    [PART_RNGLISTS] = ".debug_rnglists.dwo",
};

/* A slice: an ELF file for one unit. Its section headers point to the package's bytes behind it. */
struct slice {
    Elf64_Ehdr header;
    Elf64_Shdr sections[PART_COUNT + 2];
    char names[160];
};

/* .debug_cu_index: which parts of the sections each unit has. */
struct package_index {
    unsigned version;
    size_t columns;
    size_t units;
    size_t slots;
    const uint8_t *ids;     /* a number of 8 bytes for each slot */
    const uint8_t *rows;    /* 4 bytes each: number of the slot's row from 1; 0: it has none */
    const uint8_t *kinds;   /* 4 bytes each: which section a column is of */
    const uint8_t *offsets; /* 4 bytes for each column of each row */
    const uint8_t *sizes;
};

static uint32_t number_at(const uint8_t *bytes, size_t index)
{
    return bat_load32(bytes + 4 * index);
}

static bool read_index(struct package_index *index, const struct line_bytes *section)
{
    struct line_reader reader = {.at = section->bytes, .end = section->bytes + section->size};
    if (section->size < 16)
        return false;
    /* Version 5 has two bytes for its number and two of zeros, version 2 has four. */
    index->version = (unsigned)line_read_fixed(&reader, 4);
    index->columns = (size_t)line_read_fixed(&reader, 4);
    index->units = (size_t)line_read_fixed(&reader, 4);
    index->slots = (size_t)line_read_fixed(&reader, 4);
    /* Without columns, units take no bytes, and their number may be any. */
    if ((index->version != 2 && index->version != 5) || index->columns > 16 || index->columns == 0)
        return false;
    index->ids = reader.at;
    line_read_skip(&reader, (uint64_t)index->slots * 8);
    index->rows = reader.at;
    line_read_skip(&reader, (uint64_t)index->slots * 4);
    index->kinds = reader.at;
    line_read_skip(&reader, (uint64_t)index->columns * 4);
    index->offsets = reader.at;
    line_read_skip(&reader, (uint64_t)index->columns * index->units * 4);
    index->sizes = reader.at;
    line_read_skip(&reader, (uint64_t)index->columns * index->units * 4);
    return !reader.failed;
}

/* An open package. */
struct split_package {
    struct split_file *file;
    struct package_index index;
    struct line_bytes parts[PART_COUNT];
    struct line_bytes strings;
    uint64_t budget; /* bytes of units that may still be read: rows may overlap */
};

/* The part that a column describes; 0 for sections that are not read. */
static enum part part_of(const struct package_index *index, size_t column)
{
    uint32_t kind = number_at(index->kinds, column);
    bool has_name = kind < PART_COUNT && part_names[kind];
    return has_name && !(kind == PART_RNGLISTS && index->version == 2) ? (enum part)kind : 0;
}

/* Fill units with the rows of the index. */
static void list_rows(struct bat_debuginfo *debuginfo, struct split_package *package)
{
    const struct package_index *index = &package->index;
    struct split_file *file = package->file;
    file->unit_count = 0;
    file->units = index->slots ? calloc(index->slots, sizeof(*file->units)) : NULL;
    if (!file->units) {
        debuginfo->no_memory |= index->slots != 0;
        return;
    }
    for (size_t i = 0; i < index->slots; i++) {
        uint32_t row = number_at(index->rows, i);
        if (row == 0 || row > index->units)
            continue;
        struct split_unit *unit = &file->units[file->unit_count++];
        unit->offset = row - 1;
        unit->id = bat_load64(index->ids + 8 * i);
    }
    BAT_SORT_BY_TWO(file->units, file->unit_count, id, offset);
}

/* Find the index and the sections in the package. Fails with BAT_ERR_ELF, BAT_ERR_MEMORY. */
static enum bat_code find_sections(struct split_package *package)
{
    struct debug_image *image = &package->file->image;
    elf_version(EV_CURRENT);
    image->elf = elf_memory((char *)image->bytes, image->size);
    if (!image->elf)
        return BAT_ERR_MEMORY;
    struct line_bytes section = line_section_find(image->elf, ".debug_cu_index");
    for (size_t i = 0; i < PART_COUNT; i++)
        if (part_names[i])
            package->parts[i] = line_section_find(image->elf, part_names[i]);
    package->strings = line_section_find(image->elf, ".debug_str.dwo");
    package->budget = package->parts[PART_INFO].size;
    return read_index(&package->index, &section) ? BAT_OK : BAT_ERR_ELF;
}

/* Map the file once more, with space for the slices in front of it. */
static enum bat_code map_for_slices(struct split_package *package, const char *path)
{
    size_t head = package->index.units * sizeof(struct slice);
    size_t units = package->index.units;
    debug_image_close(&package->file->image);
    int file = bat_regular_open(AT_FDCWD, path);
    if (file < 0)
        return BAT_ERR_IO;
    enum bat_code code = debug_image_map(&package->file->image, path, file, head, NULL);
    code = code ? code : find_sections(package);
    return code == BAT_OK && package->index.units != units ? BAT_ERR_IO : code;
}

/* Open the package of the file at path, if there is one. */
static struct split_package *open_package(struct bat_debuginfo *debuginfo, const char *path)
{
    char name[PATH_MAX];
    int size = snprintf(name, sizeof(name), "%s.dwp", path);
    struct split_file *file =
        size >= 0 && (size_t)size < sizeof(name) ? open_file(debuginfo, name) : NULL;
    if (!file)
        return NULL;
    struct split_package *package = calloc(1, sizeof(*package));
    enum bat_code code = package ? BAT_OK : BAT_ERR_MEMORY;
    if (code == BAT_OK) {
        package->file = file;
        code = find_sections(package);
    }
    code = code ? code : map_for_slices(package, name);
    debuginfo->no_memory |= code == BAT_ERR_MEMORY;
    if (code == BAT_OK)
        list_rows(debuginfo, package);
    if (file->unit_count)
        return package;
    free(package);
    return NULL;
}

static struct split_package *find_package(struct bat_debuginfo *debuginfo)
{
    if (debuginfo->is_package_sought)
        return debuginfo->package;
    debuginfo->is_package_sought = true;
    debuginfo->package = open_package(debuginfo, debuginfo->program_path);
    if (!debuginfo->package)
        debuginfo->package = open_package(debuginfo, debuginfo->image.path);
    struct split_package *package = debuginfo->package;
    if (package)
        debug_allow(debuginfo, package->parts[PART_LINE].size, package->parts[PART_INFO].size,
                    package->file->image.size);
    return package;
}

/* Append a section header to the slice; bytes are in the slice or behind it. */
static void add_section(struct slice *slice, const char *name, const struct line_bytes *bytes)
{
    size_t used = slice->sections[0].sh_name; /* of names; section 0 has none */
    Elf64_Shdr *section = &slice->sections[slice->header.e_shnum++];
    section->sh_name = (Elf64_Word)used;
    section->sh_type = SHT_PROGBITS;
    section->sh_addralign = 1;
    if (bytes->size) {
        section->sh_offset = (Elf64_Off)(bytes->bytes - (const uint8_t *)slice);
        section->sh_size = bytes->size;
    }
    size_t length = strlen(name) + 1;
    memcpy(slice->names + used, name, length);
    slice->sections[0].sh_name = (Elf64_Word)(used + length);
}

/*
 * Make the ELF file of a row: its parts of the sections, and the strings, which all rows share. Of
 * several columns for one section the first is used.
 */
static bool make_slice(const struct split_package *package, size_t row, struct slice *slice,
                       uint64_t *info_size)
{
    const struct package_index *index = &package->index;
    *slice = (struct slice){0};
    memcpy(&slice->header, package->file->image.bytes, sizeof(slice->header));
    slice->header.e_phnum = 0;
    slice->header.e_phoff = 0;
    slice->header.e_shoff = offsetof(struct slice, sections);
    slice->header.e_shentsize = sizeof(Elf64_Shdr);
    slice->header.e_shnum = 1;
    slice->sections[0].sh_name = 1;
    *info_size = 0;
    bool is_added[PART_COUNT] = {false};
    for (size_t i = 0; i < index->columns; i++) {
        enum part part = part_of(index, i);
        if (!part || is_added[part])
            continue;
        is_added[part] = true;
        struct line_bytes whole = package->parts[part];
        size_t place = row * index->columns + i;
        uint32_t offset = number_at(index->offsets, place);
        uint32_t size = number_at(index->sizes, place);
        if (offset > whole.size || size > whole.size - offset)
            return false;
        struct line_bytes bytes = {whole.bytes + offset, size};
        add_section(slice, part_names[part], &bytes);
        if (part == PART_INFO)
            *info_size = size;
    }
    add_section(slice, ".debug_str.dwo", &package->strings);
    struct line_bytes names = {(const uint8_t *)slice->names, sizeof(slice->names)};
    slice->header.e_shstrndx = slice->header.e_shnum;
    add_section(slice, ".shstrtab", &names);
    slice->sections[slice->header.e_shstrndx].sh_type = SHT_STRTAB;
    slice->sections[0].sh_name = 0;
    return *info_size != 0;
}

/* Find the first unit of the slice that has the skeleton's id. */
static bool find_in_slice(struct bat_debuginfo *debuginfo, struct split_found *found, uint64_t id)
{
    Dwarf_Off offset = 0;
    uint8_t kind;
    uint64_t found_id;
    while (debug_next_unit(&found->slice, &offset, &found->die, &debuginfo->no_memory))
        if (dwarf_cu_info(found->die.cu, NULL, &kind, NULL, NULL, &found_id, NULL, NULL) == 0 &&
            kind == DW_UT_split_compile && found_id == id)
            return true;
    return false;
}

static bool find_in_package(struct bat_debuginfo *debuginfo, const struct debug_unit *unit,
                            struct split_found *found)
{
    struct split_package *package = find_package(debuginfo);
    struct split_unit *place = package ? find_unit(package->file, unit->split_id) : NULL;
    if (!place || place->is_used)
        return false;
    place->is_used = true;
    struct debug_image *image = &package->file->image;
    struct slice *slice = (struct slice *)(void *)image->bytes - (place->offset + 1);
    uint64_t size;
    if (!make_slice(package, place->offset, slice, &size) || size > package->budget)
        return false;
    package->budget -= size;
    found->slice.owner = image->owner;
    found->slice.bytes = (uint8_t *)slice;
    found->slice.size = image->size + (size_t)(image->bytes - (const uint8_t *)slice);
    enum bat_code code = debug_image_begin(&found->slice, true, NULL);
    debuginfo->no_memory |= code == BAT_ERR_MEMORY;
    if (code != BAT_OK || !find_in_slice(debuginfo, found, unit->split_id)) {
        debug_image_close(&found->slice);
        return false;
    }
    found->image = &found->slice;
    return true;
}

bool debug_find_split(struct bat_debuginfo *debuginfo, const struct debug_unit *unit,
                      struct split_found *found)
{
    *found = (struct split_found){0};
    return find_in_package(debuginfo, unit, found) || find_dwo(debuginfo, unit, found);
}
