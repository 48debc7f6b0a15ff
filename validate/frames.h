/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where functions are by the frame descriptions of .eh_frame. Internal to validate/. */
#ifndef BAT_VALIDATE_FRAMES_H
#define BAT_VALIDATE_FRAMES_H

#include "bat_elf.h"

/* A stretch of code that a frame description covers. */
struct bat_frame {
    uint64_t address;
    uint64_t size;
};

struct bat_frames {
    struct bat_frame *frames; /* by address */
    size_t count;
};

/*
 * Read them; *frames is to be freed with bat_frames_free(). What stands behind an entry that
 * cannot be read is left out: that is no fault of the note's. Fails with BAT_ERR_MEMORY only.
 */
enum bat_code bat_frames_collect(const struct bat_elf *elf, struct bat_frames *frames,
                                 struct bat_error *error);
void bat_frames_free(struct bat_frames *frames);

/* True if one starts at the address; *size gets the number of bytes covered. Logarithmic. */
bool bat_frames_at(const struct bat_frames *frames, uint64_t address, uint64_t *size);

#endif
