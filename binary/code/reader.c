/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups in the code reader. */

#include "reader.h"
#include "spec/array.h"
#include "spec/order.h"
#include <stdlib.h>

const struct bat_section *code_section_at(const struct bat_code_reader *reader, uint64_t address)
{
    return loaded_section_at(&reader->sections, address);
}

const uint8_t *code_bytes(const struct bat_code_reader *reader, uint64_t address, uint64_t *size)
{
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(reader->elf, address, &available);
    if (*size > available)
        *size = available;
    return bytes;
}

/* The number of markers at or below address. */
static uint32_t markers_up_to(const struct bat_code_reader *reader, uint64_t address)
{
    return BAT_COUNT_UP_TO(reader->markers, reader->marker_count, address, address);
}

bool code_is_data(const struct bat_code_reader *reader, uint64_t address)
{
    uint32_t count = markers_up_to(reader, address);
    return count > 0 && reader->markers[count - 1].is_data;
}

/* Markers alternate between data and code, so the next one ends the data. */
uint64_t code_end_of_data(const struct bat_code_reader *reader, uint64_t address, uint64_t end)
{
    uint32_t count = markers_up_to(reader, address);
    bool goes_on = count < reader->marker_count && reader->markers[count].address < end;
    return goes_on ? reader->markers[count].address : end;
}

uint64_t code_skip_data(const struct bat_code_reader *reader, uint64_t address, uint64_t end)
{
    uint32_t count = markers_up_to(reader, address);
    if (count == 0 || !reader->markers[count - 1].is_data ||
        reader->markers[count - 1].address != address)
        return address;
    return code_end_of_data(reader, address, end);
}

struct code_wanted *code_find_wanted(const struct bat_code_reader *reader, uint32_t function)
{
    uint32_t found = BAT_COUNT_BELOW(reader->wanted, reader->wanted_count, function, function);
    if (found == reader->wanted_count || reader->wanted[found].function != function)
        return NULL;
    return &reader->wanted[found];
}

struct code_wanted *code_find_wanted_at(const struct bat_code_reader *reader, uint64_t address)
{
    if (!code_may_be_wanted(reader, address))
        return NULL;
    uint32_t index = bat_functions_find(reader->functions, address);
    if (index == BAT_NONE || reader->all[index].address != address)
        return NULL;
    return code_find_wanted(reader, index);
}

enum bat_code code_addresses_add(struct code_addresses *addresses, uint64_t address,
                                 struct bat_error *error)
{
    return BAT_APPEND(addresses->all, addresses->count, addresses->capacity, address)
               ? BAT_OK
               : bat_fail_memory(error, "for %u entry points", addresses->count);
}

void code_addresses_sort(struct code_addresses *addresses)
{
    uint32_t kept = 0;
    if (addresses->count > 1)
        qsort(addresses->all, addresses->count, sizeof(*addresses->all), bat_compare_u64);
    for (uint32_t i = 0; i < addresses->count; i++)
        if (i == 0 || addresses->all[i] != addresses->all[i - 1])
            addresses->all[kept++] = addresses->all[i];
    addresses->count = kept;
}

bool code_is_in_other_part(const struct bat_code_reader *reader,
                           const struct bat_function_symbol *function, uint64_t address)
{
    uint32_t whole = reader->whole_of ? reader->whole_of[function - reader->all] : BAT_NONE;
    if (whole == BAT_NONE)
        return false;
    uint32_t other = bat_functions_find(reader->functions, address);
    return other != BAT_NONE && reader->whole_of[other] == whole &&
           code_contains(&reader->all[other], address);
}
