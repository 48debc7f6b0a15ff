/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The attributes that name a function. Internal to debuginfo/. */
#ifndef BAT_DEBUGINFO_NAME_ATTRIBUTES_H
#define BAT_DEBUGINFO_NAME_ATTRIBUTES_H

#include "entries.h"

/*
 * Each from a function's DIE or else from those that it refers to, its declaration or its abstract
 * function. code is 0 where none of them has it.
 */
struct name_attributes {
    Dwarf_Attribute linkage_name;
    Dwarf_Attribute old_linkage_name; /* as compilers called it before DWARF 4 */
    Dwarf_Attribute name;
    Dwarf_Attribute line;
    Dwarf_Attribute file;
    Dwarf_Attribute origin; /* of the last DIE alone, ... */
    Dwarf_Attribute specification;
};

/*
 * Find the attributes of a DIE's name; *attributes is zero before. Only those in other units than
 * that of entries are searched with libdw. If is_alone says that libdw cannot be called, returns
 * false instead.
 */
bool name_attributes_find(struct name_attributes *attributes, const struct entries *entries,
                          Dwarf_Die *die, bool is_alone);

#endif
