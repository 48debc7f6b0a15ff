/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Converts an address in a text to an address of the binary. A text has addresses of the binary
 * itself, offsets in its file, or addresses in memory, where a position-independent binary is
 * loaded at its own addresses plus a multiple of the page size.
 */
#include <elf.h>
#include <string.h>

#include "spec/order.h"
#include "symbolizer.h"

#define PAGE_SIZE 4096u
#define PAGE_MASK ((uint64_t)PAGE_SIZE - 1)

/* --- The binary's name in texts ------------------------------------------------------------- */

/* The last part of a path, without the " (deleted)" that the kernel appends. */
static struct bat_slice last_part(struct bat_slice path)
{
    static const char deleted[] = " (deleted)";
    size_t length = sizeof(deleted) - 1;
    if (path.length > length && memcmp(path.text + path.length - length, deleted, length) == 0)
        path.length -= length;
    const char *slash = memrchr(path.text, '/', path.length);
    if (slash) {
        path.length -= (size_t)(slash + 1 - path.text);
        path.text = slash + 1;
    }
    return path;
}

/* True for "[name]" if the file is the kernel module name.ko, whose name may have hyphens. */
static bool is_module(const struct bat_symbolizer *symbolizer, struct bat_slice name)
{
    const char *file = symbolizer->file_name;
    if (bat_elf_type(symbolizer->elf) != ET_REL || name.length < 3 || name.text[0] != '[' ||
        name.text[name.length - 1] != ']')
        return false;
    for (size_t i = 1; i < name.length - 1; i++, file++)
        if (*file != name.text[i] && (*file != '-' || name.text[i] != '_'))
            return false;
    return strncmp(file, ".ko", 3) == 0;
}

bool bat_symbolizer_is(const struct bat_symbolizer *symbolizer, struct bat_slice module)
{
    if (module.length == 0)
        return false;
    struct bat_slice name = last_part(module);
    if (is_module(symbolizer, name))
        return true;
    return name.length == strlen(symbolizer->file_name) &&
           memcmp(name.text, symbolizer->file_name, name.length) == 0;
}

/* --- Segments ------------------------------------------------------------------------------- */

/*
 * The address of an executable segment's byte at an offset in the file; for a kernel module, whose
 * file is not mapped, in the module.
 */
static bool address_of_offset(const struct bat_elf *elf, uint64_t offset, uint64_t *address)
{
    struct bat_segment segment;
    *address = offset;
    if (bat_elf_type(elf) == ET_REL)
        return bat_elf_is_executable(elf, offset);
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++) {
        if (!(segment.flags & PF_X) || offset < segment.offset ||
            offset - segment.offset >= segment.file_size)
            continue;
        *address = segment.address + (offset - segment.offset);
        return true;
    }
    return false;
}

static bool address_of_mapped(const struct bat_symbolizer *symbolizer, uint64_t pid, uint64_t value,
                              uint64_t *address)
{
    const struct memory_mapping *mapping = memory_map_find(&symbolizer->memory, pid, value);
    return mapping && address_of_offset(symbolizer->elf,
                                        value - mapping->start + mapping->file_offset, address);
}

/* --- Candidates ---------------------------------------------------------------------------- */

#define CANDIDATES_MAX 4u

/* Addresses of the binary's code that a frame's address can stand for, the likeliest first. */
struct candidates {
    uint64_t addresses[CANDIDATES_MAX];
    size_t count;
};

static void add_candidate(const struct bat_symbolizer *symbolizer, struct candidates *candidates,
                          uint64_t address)
{
    if (bat_elf_is_executable(symbolizer->elf, address))
        candidates->addresses[candidates->count++] = address;
}

static struct candidates find_candidates(const struct bat_symbolizer *symbolizer,
                                         const struct bat_stack_line *line, uint64_t pid)
{
    struct candidates candidates = {.count = 0};
    uint64_t address = 0;
    if (line->has_module_offset) {
        /* systemd-coredump counts from the first page of the file, others from address 0. */
        bool from_page = line->form == BAT_FORM_SYSTEMD;
        uint64_t base = from_page ? bat_elf_base_address(symbolizer->elf) & ~PAGE_MASK : 0;
        add_candidate(symbolizer, &candidates, base + line->module_offset);
        return candidates;
    }
    if (line->form == BAT_FORM_PERF && address_of_offset(symbolizer->elf, line->address, &address))
        add_candidate(symbolizer, &candidates, address);
    if (address_of_mapped(symbolizer, pid, line->address, &address))
        add_candidate(symbolizer, &candidates, address);
    uint64_t bias;
    if (memory_map_bias(&symbolizer->memory, pid, &bias))
        add_candidate(symbolizer, &candidates, line->address - bias);
    add_candidate(symbolizer, &candidates, line->address);
    return candidates;
}

/* --- With a function's name ----------------------------------------------------------------- */

/* The first of a name's symbols, which ascend by address, at or above this address. */
static size_t first_from(const struct named_symbol *named, size_t count, uint64_t address)
{
    struct bat_search search = {.high = count};
    while (bat_search_next(&search))
        bat_search_go(&search, named[search.middle].symbol->address < address);
    return search.low;
}

/*
 * If more functions than this have one name, they are not compared by their offsets in a page: one
 * of them would fit any address.
 */
#define NAMESAKES_MAX 1024u

/* offset can be the size: a return address is there if the last instruction is a call. */
static bool reaches(const struct bat_symbol *symbol, uint64_t offset)
{
    return symbol->size == 0 || offset <= symbol->size;
}

/*
 * Resolve "f+0x29" by the symbols of f: a candidate at this offset in one of them, or else the
 * address in the only f, or in the first for which its offset in a page is the frame's.
 */
static bool by_name_offset(const struct named_symbol *named, size_t count,
                           const struct bat_stack_line *line, const struct candidates *candidates,
                           uint64_t *address)
{
    uint64_t offset = line->name_offset;
    for (size_t c = 0; c < candidates->count; c++) {
        uint64_t start = candidates->addresses[c] - offset;
        size_t i = first_from(named, count, start);
        /* Of those at one address, the first has size 0, if any has, or is the largest. */
        if (i < count && named[i].symbol->address == start && reaches(named[i].symbol, offset)) {
            *address = candidates->addresses[c];
            return true;
        }
    }
    for (size_t i = 0; i < count && count <= NAMESAKES_MAX; i++) {
        const struct bat_symbol *symbol = named[i].symbol;
        uint64_t here = symbol->address + offset;
        if (reaches(symbol, offset) && (count == 1 || ((here ^ line->address) & PAGE_MASK) == 0)) {
            *address = here;
            return true;
        }
    }
    return false;
}

static bool holds(const struct bat_symbol *symbol, uint64_t address)
{
    return address >= symbol->address && address - symbol->address < symbol->size;
}

/* True if the nearest function of a name at or below the address contains it. */
static bool nearest_holds(const struct named_symbol *named, size_t count, uint64_t address)
{
    size_t behind = address == UINT64_MAX ? count : first_from(named, count, address + 1);
    if (behind == 0)
        return false;
    size_t first = first_from(named, count, named[behind - 1].symbol->address);
    return holds(named[first].symbol, address) || holds(named[behind - 1].symbol, address) ||
           (first + 1 < behind && holds(named[first + 1].symbol, address));
}

/*
 * Resolve "f": a candidate in f, or else the only address in f that is a whole number of pages away
 * from the frame's. False if there is none, or more than one.
 */
static bool by_name(const struct named_symbol *named, size_t count,
                    const struct bat_stack_line *line, const struct candidates *candidates,
                    uint64_t *address)
{
    for (size_t c = 0; c < candidates->count; c++)
        if (nearest_holds(named, count, candidates->addresses[c])) {
            *address = candidates->addresses[c];
            return true;
        }
    size_t found = 0;
    for (size_t i = 0; i < count && count <= NAMESAKES_MAX && found < 2; i++) {
        const struct bat_symbol *symbol = named[i].symbol;
        uint64_t first = symbol->address + ((line->address - symbol->address) & PAGE_MASK);
        if (!holds(symbol, first))
            continue;
        *address = first;
        found += symbol->size - (first - symbol->address) > PAGE_SIZE ? 2 : 1;
    }
    return found == 1;
}

bool bat_symbolizer_address(struct bat_symbolizer *symbolizer, const struct bat_stack_line *line,
                            uint64_t pid, uint64_t *address)
{
    bool is_ours = bat_symbolizer_is(symbolizer, line->module);
    if (!line->has_address || line->is_inlined || (line->module.length != 0 && !is_ours))
        return false;
    struct candidates candidates = find_candidates(symbolizer, line, pid);
    const struct named_symbol *named;
    size_t count =
        symbol_index_named(&symbolizer->symbols, line->name, symbolizer->demangle, &named);
    if (count != 0 && !line->has_module_offset) {
        bool found = line->has_name_offset
                         ? by_name_offset(named, count, line, &candidates, address)
                         : by_name(named, count, line, &candidates, address);
        if (found)
            return true;
        /* The frame can be in another file's function of this name. */
        if (!is_ours)
            return false;
    }
    if (candidates.count == 0)
        return false;
    *address = candidates.addresses[0];
    return true;
}

/* --- Learning ------------------------------------------------------------------------------- */

/* True if a segment with code is in these bytes of the file. */
static bool has_code(const struct bat_elf *elf, uint64_t offset, uint64_t size)
{
    struct bat_segment segment;
    if (bat_elf_type(elf) == ET_REL)
        return offset == 0;
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++)
        if ((segment.flags & PF_X) && segment.offset < offset + size &&
            offset < segment.offset + segment.file_size)
            return true;
    return false;
}

/* Learn mappings of code only: those of data can be where code is mapped later or was before. */
static void learn_mapping(struct bat_symbolizer *symbolizer, const struct bat_stack_line *line)
{
    uint64_t size_max = UINT64_MAX - line->address;
    if (UINT64_MAX - line->file_offset < size_max)
        size_max = UINT64_MAX - line->file_offset;
    uint64_t size = line->size < size_max ? line->size : size_max;
    if (size == 0 || !has_code(symbolizer->elf, line->file_offset, size))
        return;
    const struct memory_mapping mapping = {
        .pid = line->pid,
        .start = line->address,
        .end = line->address + size,
        .file_offset = line->file_offset,
    };
    memory_map_add(&symbolizer->memory, &mapping);
}

void bat_symbolizer_learn(struct bat_symbolizer *symbolizer, const struct bat_stack_line *line,
                          uint64_t pid)
{
    if (line->kind == BAT_LINE_MAPPING) {
        if (bat_symbolizer_is(symbolizer, line->module))
            learn_mapping(symbolizer, line);
        return;
    }
    bool is_frame = line->kind == BAT_LINE_FRAME || line->kind == BAT_LINE_PC;
    uint64_t address;
    if (!is_frame || bat_elf_type(symbolizer->elf) == ET_EXEC ||
        (line->name.length == 0 && !line->has_module_offset) ||
        !bat_symbolizer_address(symbolizer, line, pid, &address))
        return;
    uint64_t bias = line->address - address;
    uint64_t in_file;
    bool is_offset = line->form == BAT_FORM_PERF &&
                     address_of_offset(symbolizer->elf, line->address, &in_file) &&
                     in_file == address;
    if (bias != 0 && (bias & PAGE_MASK) == 0 && !is_offset)
        memory_map_set_bias(&symbolizer->memory, pid, bias);
}
