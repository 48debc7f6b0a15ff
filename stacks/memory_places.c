/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which address of the binary an address in a text is. A text may have addresses of the binary
 * itself, addresses in memory (where position-independent binaries lie anywhere, but at a multiple
 * of the page size behind their own addresses), or offsets in the file.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer.h"

#define PAGE_SIZE 4096u
#define PAGE_MASK ((uint64_t)PAGE_SIZE - 1)

void memory_places_free(struct memory_places *places)
{
    free(places->mappings);
    free(places->biases);
    *places = (struct memory_places){0};
}

/* --- The binary's name in texts ------------------------------------------------------------- */

/* The last part of a path, without the " (deleted)" that the kernel puts behind. */
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

bool bat_symbolizer_is(const struct bat_symbolizer *symbolizer, struct bat_slice module)
{
    if (module.length == 0)
        return false;
    struct bat_slice name = last_part(module);
    return name.length == strlen(symbolizer->file_name) &&
           memcmp(name.text, symbolizer->file_name, name.length) == 0;
}

/* --- Segments ------------------------------------------------------------------------------- */

/* The address of an executable segment's byte at an offset in the file. */
static bool address_of_offset(const struct bat_elf *elf, uint64_t offset, uint64_t *address)
{
    struct bat_segment segment;
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
    const struct memory_places *places = &symbolizer->places;
    bool found = false;
    /* The last that fits, best of this process: one may have been replaced, or be a parent's. */
    for (size_t i = places->mapping_count; i != 0; i--) {
        const struct memory_mapping *mapping = &places->mappings[i - 1];
        if (value < mapping->start || value - mapping->start >= mapping->size ||
            (found && mapping->pid != pid))
            continue;
        uint64_t offset = value - mapping->start + mapping->file_offset;
        if (!address_of_offset(symbolizer->elf, offset, address))
            continue;
        if (mapping->pid == pid)
            return true;
        found = true;
    }
    return found;
}

/* --- What could be meant ------------------------------------------------------------------- */

static const struct memory_bias *find_bias(const struct memory_places *places, uint64_t pid)
{
    for (size_t i = 0; i < places->bias_count; i++)
        if (places->biases[i].pid == pid)
            return &places->biases[i];
    return NULL;
}

#define CANDIDATES_MAX 4u

/* Addresses of code in the binary that a frame's can be, the likeliest first. */
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
    const struct memory_bias *bias = find_bias(&symbolizer->places, pid);
    if (bias)
        add_candidate(symbolizer, &candidates, line->address - bias->bias);
    add_candidate(symbolizer, &candidates, line->address);
    return candidates;
}

/* --- With a function's name ----------------------------------------------------------------- */

static bool is_candidate(const struct candidates *candidates, uint64_t address)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->addresses[i] == address)
            return true;
    return false;
}

/* "f+0x29": the symbol tells. Of several called so, the one that fits what is known. */
static bool by_name_offset(const struct named_symbol *named, size_t count,
                           const struct bat_stack_line *line, const struct candidates *candidates,
                           uint64_t *address)
{
    bool congruent = false;
    for (size_t i = 0; i < count; i++) {
        const struct bat_symbol *symbol = named[i].symbol;
        uint64_t here = symbol->address + line->name_offset;
        /* What a function that never returns calls last returns behind its end. */
        if (symbol->size != 0 && line->name_offset > symbol->size)
            continue;
        if (count == 1 || is_candidate(candidates, here)) {
            *address = here;
            return true;
        }
        if (!congruent && ((here ^ line->address) & PAGE_MASK) == 0) {
            *address = here;
            congruent = true;
        }
    }
    return congruent;
}

static bool holds(const struct bat_symbol *symbol, uint64_t address)
{
    return address >= symbol->address && address - symbol->address < symbol->size;
}

/*
 * "f": a candidate in f, or else the one address in f that is a whole number of pages away from the
 * frame's. False if there are several.
 */
static bool by_name(const struct named_symbol *named, size_t count,
                    const struct bat_stack_line *line, const struct candidates *candidates,
                    uint64_t *address)
{
    for (size_t c = 0; c < candidates->count; c++)
        for (size_t i = 0; i < count; i++)
            if (holds(named[i].symbol, candidates->addresses[c])) {
                *address = candidates->addresses[c];
                return true;
            }
    size_t found = 0;
    for (size_t i = 0; i < count && found < 2; i++) {
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
        /* Other files have functions of this name too. */
        if (!is_ours)
            return false;
    }
    if (candidates.count == 0)
        return false;
    *address = candidates.addresses[0];
    return true;
}

/* --- Learning ------------------------------------------------------------------------------- */

/* No text is about so many: what is beyond is forgotten, so that none can fill the memory. */
#define PLACES_MAX ((size_t)1 << 16)

static void *grown(void *elements, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return elements;
    size_t wanted = *room ? *room * 2 : 16;
    void *larger = wanted > PLACES_MAX ? NULL : realloc(elements, wanted * size);
    if (larger)
        *room = wanted;
    return larger;
}

static void learn_mapping(struct memory_places *places, const struct bat_stack_line *line)
{
    struct memory_mapping *mappings =
        grown(places->mappings, places->mapping_count, &places->mapping_room, sizeof(*mappings));
    if (!mappings)
        return;
    places->mappings = mappings;
    mappings[places->mapping_count++] = (struct memory_mapping){
        .pid = line->pid,
        .start = line->address,
        .size = line->size,
        .file_offset = line->file_offset,
    };
}

static void learn_bias(struct memory_places *places, uint64_t pid, uint64_t bias)
{
    for (size_t i = 0; i < places->bias_count; i++)
        if (places->biases[i].pid == pid) {
            places->biases[i].bias = bias;
            return;
        }
    struct memory_bias *biases =
        grown(places->biases, places->bias_count, &places->bias_room, sizeof(*biases));
    if (!biases)
        return;
    places->biases = biases;
    biases[places->bias_count++] = (struct memory_bias){pid, bias};
}

void bat_symbolizer_learn(struct bat_symbolizer *symbolizer, const struct bat_stack_line *line,
                          uint64_t pid)
{
    if (line->kind == BAT_LINE_MAPPING) {
        if (bat_symbolizer_is(symbolizer, line->module))
            learn_mapping(&symbolizer->places, line);
        return;
    }
    bool tells = line->kind == BAT_LINE_FRAME || line->kind == BAT_LINE_PC;
    uint64_t address;
    if (!tells || bat_elf_type(symbolizer->elf) != ET_DYN ||
        (line->name.length == 0 && !line->has_module_offset) ||
        !bat_symbolizer_address(symbolizer, line, pid, &address))
        return;
    uint64_t bias = line->address - address;
    uint64_t in_file;
    bool is_offset = line->form == BAT_FORM_PERF &&
                     address_of_offset(symbolizer->elf, line->address, &in_file) &&
                     in_file == address;
    if (bias != 0 && (bias & PAGE_MASK) == 0 && !is_offset)
        learn_bias(&symbolizer->places, pid, bias);
}
