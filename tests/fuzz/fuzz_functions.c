/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as an ELF file: the table of its functions is in order and has names, and look-ups give
 * the result of a search of the whole table.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_elf.h"
#include "binary/functions/functions.h"
#include "fuzz.h"

/* The function that holds the address according to its size, or BAT_NONE. */
static uint32_t search(const struct bat_function_symbol *all, uint32_t count, uint64_t address)
{
    uint32_t found = BAT_NONE;
    for (uint32_t i = 0; i < count && all[i].address <= address; i++)
        found = i;
    if (found != BAT_NONE && address - all[found].address >= all[found].size)
        return BAT_NONE;
    return found;
}

static void expect_found(const struct bat_functions *functions, uint64_t address)
{
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(functions, &count);
    uint32_t index = bat_functions_find(functions, address);
    uint32_t expected = search(all, count, address);
    fuzz_expect(index == BAT_NONE || index < count, "what is found is in the table");
    if (index == expected)
        return;
    fuzz_expect(expected == BAT_NONE, "an address inside a function is found");
    fuzz_expect(address - all[index].address < bat_function_extent(&all[index]),
                "what is found for padding reaches as far");
}

static void expect_sound(const struct bat_functions *functions)
{
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(functions, &count);
    for (uint32_t i = 0; i < count; i++) {
        fuzz_expect(i == 0 || all[i - 1].address < all[i].address, "functions ascend");
        fuzz_expect(bat_function_extent(&all[i]) >= all[i].size,
                    "a function reaches over all of itself");
        fuzz_expect(strlen(all[i].name) > 0, "a function has a name");
        uint32_t entries;
        const uint64_t *entry = bat_functions_entry_points(functions, i, &entries);
        for (uint32_t j = 0; j < entries; j++)
            fuzz_expect(entry[j] > (j ? entry[j - 1] : all[i].address), "entry points ascend");
    }
    for (uint32_t i = 0; i < count && i < 64; i++) {
        expect_found(functions, all[i].address - 1);
        expect_found(functions, all[i].address);
        expect_found(functions, all[i].address + all[i].size / 2);
        expect_found(functions, all[i].address + all[i].size - 1);
        expect_found(functions, all[i].address + all[i].size);
    }
    expect_found(functions, 0);
    expect_found(functions, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = fuzz_spread_file(data, size);
    struct bat_elf *elf;
    struct bat_functions *functions;
    struct bat_error error;
    enum bat_code code = bat_elf_open(path, &elf, &error);
    if (code == BAT_OK) {
        code = bat_functions_create(elf, NULL, &functions, &error);
        if (code == BAT_OK)
            expect_sound(functions);
        else
            fuzz_expect_error(code, &error, UINT64_MAX);
        bat_functions_free(functions);
        bat_elf_close(elf);
    }
    unlink(path);
    free(path);
    return 0;
}
