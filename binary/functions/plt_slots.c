/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "plt_slots.h"
#include "spec/grow.h"

void plt_slots_add(struct plt_slots *slots, const struct bat_section *in, uint64_t offset,
                   uint64_t slot)
{
    if (!bat_grow(&slots->slots, &slots->capacity, slots->count, sizeof(*slots->slots))) {
        slots->out_of_memory = true;
        return;
    }
    slots->slots[slots->count++] =
        (struct plt_slot){.address = in->address + offset, .slot = slot, .in = in};
}
