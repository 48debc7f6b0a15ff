/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the GOT slots that the instructions of a PLT section use. Internal to plt*.c. */
#pragma once

#include "bat_elf.h"

/* A piece of a PLT section that ends with a jump to the address in a GOT slot. */
struct plt_slot {
    uint64_t address; /* of the piece */
    uint64_t slot;    /* address of the GOT slot */
    const struct bat_section *in;
};

struct plt_slots {
    struct plt_slot *slots;
    size_t count;
    size_t capacity;
    bool out_of_memory;
};

void plt_slots_add(struct plt_slots *slots, const struct bat_section *in, uint64_t offset,
                   uint64_t slot);

/* Collect the slots of one section, whose content is bytes. */
void plt_slots_x86(struct plt_slots *slots, const struct bat_section *section, const uint8_t *bytes,
                   uint64_t size);
void plt_slots_aarch64(struct plt_slots *slots, const struct bat_section *section,
                       const uint8_t *bytes, uint64_t size);
