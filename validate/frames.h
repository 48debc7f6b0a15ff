/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions by the frame descriptions of .eh_frame. Internal to validate/. */
#ifndef BAT_VALIDATE_FRAMES_H
#define BAT_VALIDATE_FRAMES_H

#include "bat_elf.h"

/* The code that a frame description covers. */
struct bat_frame {
    uint64_t address;
    uint64_t size;
};

struct bat_frames {
    struct bat_frame *frames; /* by address */
    size_t count;
};

/*
 * Read them; the caller frees *frames with bat_frames_free(). If an entry cannot be read, it and
 * all after it are left out: a damaged .eh_frame is not a fault of the note. Fails with
 * BAT_ERR_MEMORY only.
 */
enum bat_code bat_frames_collect(const struct bat_elf *elf, struct bat_frames *frames,
                                 struct bat_error *error);
void bat_frames_free(struct bat_frames *frames);

/* True if one starts at the address; *size gets the number of bytes that it covers. Logarithmic. */
bool bat_frames_at(const struct bat_frames *frames, uint64_t address, uint64_t *size);

#endif
