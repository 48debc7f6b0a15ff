/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "plt_slots.h"
#include "spec/array.h"

void plt_slots_add(struct plt_slots *slots, const struct bat_section *in, uint64_t offset,
                   uint64_t slot)
{
    if (!BAT_APPEND(slots->slots, slots->count, slots->capacity,
                    (struct plt_slot){.address = in->address + offset, .slot = slot, .in = in}))
        slots->out_of_memory = true;
}
