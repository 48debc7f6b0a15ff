/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The entries (DIEs) of a unit one after the other, DWARF 2 to 5, section 7.5. libdw would look up
 * an entry's abbreviation, and go through its attributes, again for each question about it.
 * Internal to debuginfo/.
 */
#ifndef BAT_DEBUGINFO_ENTRIES_H
#define BAT_DEBUGINFO_ENTRIES_H

#include <elfutils/libdw.h>

#include "line_table.h"

/* An attribute of an abbreviation. */
struct entry_field {
    unsigned name;
    unsigned form;
    const uint8_t *constant; /* DW_FORM_implicit_const: the value, in .debug_abbrev */
};

struct entry_abbreviation {
    uint64_t code;
    unsigned tag;
    bool has_children;
    uint32_t first_field;
    uint32_t field_count;
    uint32_t size; /* of an entry's attributes; BAT_NONE: depends on the entry */
};

/* A unit, and the position in it. */
struct entries {
    Dwarf_CU *unit;
    const uint8_t *start; /* of the unit's header, to which references are relative */
    const uint8_t *end;
    const uint8_t *at; /* the next entry, or attribute of the current one */
    unsigned version;
    uint8_t address_size;
    uint8_t offset_size;

    struct entry_abbreviation *abbreviations;
    size_t count;
    bool is_dense; /* the codes are 1 to count, in this order */
    struct entry_field *fields;
    size_t field_count;
};

/*
 * Begin with a unit's own entry. abbreviations is the section in the unit's file. False if there is
 * no memory; a damaged unit has no entries. Free *entries with entries_free() in any case. Linear
 * in the unit's abbreviations, except for sorting.
 */
bool entries_begin(struct entries *entries, Dwarf_Die *unit_die,
                   const struct line_bytes *abbreviations);
void entries_free(struct entries *entries);

/*
 * Go to the next entry. *abbreviation becomes NULL at the end of a row of siblings. False at the
 * end of the unit, or where it is damaged. Its attributes must be read or skipped next.
 */
bool entries_next(struct entries *entries, const struct entry_abbreviation **abbreviation);

/* Go behind the attributes. False if they are damaged. */
bool entries_skip(struct entries *entries, const struct entry_abbreviation *abbreviation);

/* The same; take() is called for each attribute that is complete. */
bool entries_read(struct entries *entries, const struct entry_abbreviation *abbreviation,
                  void (*take)(Dwarf_Attribute *attribute, void *context), void *context);

/* The entry of the same unit that an attribute refers to, or NULL: not in the unit. */
const uint8_t *entries_reference(const struct entries *entries, const Dwarf_Attribute *attribute);

#endif
