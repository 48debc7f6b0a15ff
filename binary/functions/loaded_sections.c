/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "loaded_sections.h"

#include <elf.h>
#include <stdlib.h>

#include "spec/order.h"

static int by_address(const void *left, const void *right)
{
    const struct bat_section *a = *(const struct bat_section *const *)left;
    const struct bat_section *b = *(const struct bat_section *const *)right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

bool section_is_thread_local_zero(const struct bat_section *section)
{
    return section->type == SHT_NOBITS && (section->flags & SHF_TLS);
}

enum bat_code loaded_sections_read(struct loaded_sections *sections, const struct bat_elf *elf,
                                   bool with_empty, struct bat_error *error)
{
    size_t count;
    const struct bat_section *from = bat_elf_sections(elf, &count);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is meant. */
    *sections = (struct loaded_sections){.all = malloc((count + 1) * sizeof(*sections->all))};
    BAT_TRY_MEMORY(sections->all, error, "for %zu sections", count);
    for (size_t i = 0; i < count; i++) {
        bool is_loaded = (from[i].flags & SHF_ALLOC) && from[i].address != 0;
        if (is_loaded && !section_is_thread_local_zero(&from[i]) && (with_empty || from[i].size))
            sections->all[sections->count++] = &from[i];
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    qsort(sections->all, sections->count, sizeof(*sections->all), by_address);
    return BAT_OK;
}

void loaded_sections_free(struct loaded_sections *sections)
{
    free(sections->all);
    *sections = (struct loaded_sections){0};
}

bool section_holds(const struct bat_section *section, uint64_t address)
{
    uint64_t offset = address - section->address;
    return address >= section->address && (offset < section->size || offset == 0);
}

/* How many sections start at or below an address. */
static size_t count_up_to(const struct loaded_sections *sections, uint64_t address)
{
    struct bat_search search = {.high = sections->count};
    while (bat_search_next(&search))
        bat_search_go(&search, sections->all[search.middle]->address <= address);
    return search.low;
}

const struct bat_section *loaded_section_near(const struct loaded_sections *sections,
                                              uint64_t address, size_t *place)
{
    const bool is_there = *place != 0 && sections->all[*place - 1]->address <= address &&
                          (*place == sections->count || address < sections->all[*place]->address);
    if (!is_there)
        *place = count_up_to(sections, address);
    const struct bat_section *found = *place == 0 ? NULL : sections->all[*place - 1];
    return found && section_holds(found, address) ? found : NULL;
}

const struct bat_section *loaded_section_at(const struct loaded_sections *sections,
                                            uint64_t address)
{
    return loaded_section_near(sections, address, &(size_t){0});
}
