/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads one unit after the other without libdw, whose handles belong to one thread at a time, and
 * without changing anything but the unit: several threads can have a reader each. Internal to
 * debuginfo/.
 */
#ifndef BAT_DEBUGINFO_UNIT_READER_H
#define BAT_DEBUGINFO_UNIT_READER_H

#include "debuginfo.h"

struct unit_reader;

/*
 * A reader that takes from *budget. Meanwhile nothing else may change debuginfo. NULL if there is
 * no memory.
 */
struct unit_reader *unit_reader_new(struct bat_debuginfo *debuginfo, struct debug_budget *budget);
void unit_reader_free(struct unit_reader *reader);

/*
 * Fill the arrays of a unit that was not read yet, as debug_read_unit() does; is_read and counters
 * are left to the caller. False if only libdw can read it: it is in a .dwo file, or it refers to
 * other units; or if there is no memory, which sets *no_memory.
 */
bool unit_reader_read(struct unit_reader *reader, struct debug_unit *unit, bool *no_memory);

/* True if a unit was not read because its names are too long for the budget. */
bool unit_reader_is_over(const struct unit_reader *reader);

#endif
