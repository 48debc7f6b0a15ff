/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "debuginfo.h"

#include <dwarf.h>

/* As many references from one DIE to the next are followed as libdw follows. */
#define REFERENCES_MAX 16u

/* The code of an attribute that was found is not 0. */
static void take_first(Dwarf_Attribute *place, const Dwarf_Attribute *attribute)
{
    if (place->code == 0)
        *place = *attribute;
}

static void take_name_attribute(Dwarf_Attribute *attribute, void *context)
{
    struct name_attributes *attributes = context;
    switch (attribute->code) {
    case DW_AT_linkage_name:
        take_first(&attributes->linkage_name, attribute);
        break;
    case DW_AT_MIPS_linkage_name:
        take_first(&attributes->old_linkage_name, attribute);
        break;
    case DW_AT_name:
        take_first(&attributes->name, attribute);
        break;
    case DW_AT_decl_line:
        take_first(&attributes->line, attribute);
        break;
    case DW_AT_decl_file:
        take_first(&attributes->file, attribute);
        break;
    case DW_AT_abstract_origin:
        take_first(&attributes->origin, attribute);
        break;
    case DW_AT_specification:
        take_first(&attributes->specification, attribute);
        break;
    default:
        break;
    }
}

/* Take what is still missing from a DIE of another unit. */
static void integrate(struct name_attributes *attributes, Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name,
                                     DW_AT_decl_line, DW_AT_decl_file};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        Dwarf_Attribute attribute;
        if (entries_attribute_integrate(die, names[i], &attribute))
            take_name_attribute(&attribute, attributes);
    }
}

void name_attributes_find(struct name_attributes *attributes, const struct entries *entries,
                          Dwarf_Die *die)
{
    struct entries at = *entries;
    Dwarf_Die next = *die;
    for (unsigned i = 0; i < REFERENCES_MAX; i++) {
        if (next.cu != at.unit) {
            integrate(attributes, &next);
            return;
        }
        const struct entry_abbreviation *abbreviation;
        at.at = next.addr;
        attributes->origin.code = 0;
        attributes->specification.code = 0;
        if (!entries_next(&at, &abbreviation) || !abbreviation)
            return;
        entries_read(&at, abbreviation, take_name_attribute, attributes);
        Dwarf_Attribute *reference =
            attributes->origin.code ? &attributes->origin : &attributes->specification;
        if (reference->code == 0)
            return;
        const uint8_t *place = entries_reference(&at, reference);
        if (place)
            next = (Dwarf_Die){.addr = (void *)place, .cu = at.unit};
        else if (!dwarf_formref_die(reference, &next))
            return;
    }
}
