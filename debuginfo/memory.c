/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * When libdw has no memory, it calls a handler that must not return; the default one ends the
 * process. The handler here jumps back to debug_run_libdw(), which keeps a target for each thread.
 * For its tables of abbreviations libdw 0.188 does not check whether an allocation failed: so as
 * much memory as they can need is allocated and freed first.
 */
#include <setjmp.h>
#include <stdlib.h>

#include "debuginfo.h"

/* Memory that a unit takes in libdw besides its abbreviations. */
#define RESERVE ((size_t)1 << 16)

static _Thread_local jmp_buf *way_out;

__attribute__((noreturn)) static void leave_libdw(void)
{
    longjmp(*way_out, 1);
}

void debug_handle_no_memory(Dwarf *dwarf)
{
    dwarf_new_oom_handler(dwarf, leave_libdw);
}

bool debug_has_memory(const struct debug_image *image)
{
    /* libdw's table has 16 bytes a slot and twice as many slots as it needs; an abbreviation has at
       least 5 bytes in the file. */
    void *volatile memory = malloc(RESERVE + 8 * image->abbreviations.size);
    bool has_memory = memory != NULL;
    free(memory);
    return has_memory;
}

bool debug_next_unit(const struct debug_image *image, Dwarf_Off *offset, Dwarf_Die *die,
                     bool *no_memory)
{
    Dwarf_Off next;
    size_t header_size;
    while (dwarf_next_unit(image->dwarf, *offset, &next, &header_size, NULL, NULL, NULL, NULL, NULL,
                           NULL) == 0) {
        const Dwarf_Off place = *offset + header_size;
        *offset = next;
        if (!debug_has_memory(image)) {
            *no_memory = true;
            return false;
        }
        if (dwarf_offdie(image->dwarf, place, die))
            return true;
    }
    return false;
}

bool debug_run_libdw(void (*work)(void *), void *context)
{
    jmp_buf place;
    jmp_buf *outer = way_out;
    if (setjmp(place) == 0) {
        way_out = &place;
        work(context);
        way_out = outer;
        return true;
    }
    way_out = outer;
    return false;
}
