/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the address of a frame stands for, by where in its stack the frame is. */
#include "bat_stacks.h"

#include <string.h>

/* The start of the kernel's half of the address space. */
#define KERNEL_START 0xffff800000000000u

static bool is_kernel(const struct bat_stack_line *line)
{
    static const char kernel[] = "[kernel.";
    return line->address >= KERNEL_START ||
           (line->module.length > sizeof(kernel) &&
            memcmp(line->module.text, kernel, sizeof(kernel) - 1) == 0);
}

/* The innermost frame of a stack was interrupted, and so was the one behind a signal handler's. */
static enum bat_frame_pc innermost_or_return(bool innermost, bool interrupted)
{
    return innermost || interrupted ? BAT_PC_EXACT : BAT_PC_RETURN;
}

static enum bat_frame_pc perf_frame(struct bat_stack_place *place,
                                    const struct bat_stack_line *line)
{
    bool innermost = !place->in_stack;
    /* The frame that entered the kernel follows the kernel's frames; inlined calls have the
       address of the frame that follows them. */
    place->in_stack = place->in_stack || (!is_kernel(line) && !line->is_inlined);
    return innermost_or_return(innermost, false);
}

static enum bat_frame_pc frame(struct bat_stack_place *place, const struct bat_stack_line *line)
{
    bool interrupted = place->interrupted;
    place->interrupted = false;
    place->of = line->form;
    switch (line->form) {
    case BAT_FORM_PERF:
        return perf_frame(place, line);
    case BAT_FORM_GDB:
    case BAT_FORM_SYSTEMD:
        return innermost_or_return(line->number == 0, interrupted);
    case BAT_FORM_SANITIZER:
        /* The sanitizers print addresses of calls, except where the program crashed. */
        return line->number == 0 ? BAT_PC_EXACT : BAT_PC_INSIDE;
    case BAT_FORM_GLOG:
        return place->has_crash && place->crash == line->address ? BAT_PC_EXACT : BAT_PC_RETURN;
    case BAT_FORM_BACKTRACE:
        return BAT_PC_RETURN;
    default:
        return BAT_PC_EXACT;
    }
}

enum bat_frame_pc bat_stack_place_next(struct bat_stack_place *place,
                                       const struct bat_stack_line *line)
{
    if (line->kind == BAT_LINE_FRAME)
        return frame(place, line);
    if (line->kind == BAT_LINE_PC) {
        place->has_crash = true;
        place->crash = line->address;
    }
    place->interrupted = line->kind == BAT_LINE_SIGNAL;
    /* perf prints source lines between the frames. */
    if (line->kind != BAT_LINE_TEXT || place->of != BAT_FORM_PERF)
        place->in_stack = false;
    return BAT_PC_EXACT;
}
