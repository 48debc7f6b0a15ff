/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pseudo probes (spec/pseudo-probes.md): marks that clang -fpseudo-probe-for-profiling leaves for
 * the blocks and calls of the source, with the addresses of the code that was made of them. Reads
 * the sections .pseudo_probe_desc and .pseudo_probe as clang writes them and as BOLT rewrites them.
 *
 * Terms: a function of the source has a GUID, the first 8 bytes of the MD5 of its name. A node is a
 * copy of a function's probes: a body with code of its own ("top-level"), or one that was inlined
 * at a call of the node above. Any bytes are safe to read. Threads may share what was read.
 */
#ifndef BAT_PROBES_H
#define BAT_PROBES_H

#include "bat.h"
#include "bat_elf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bodies may be inlined into each other so deeply; compilers stay far below. */
#define BAT_PROBE_DEPTH_MAX 1024u

/* Values of bat_probe.type. Others are kept as they are. */
enum bat_probe_type {
    BAT_PROBE_BLOCK = 0,
    BAT_PROBE_INDIRECT_CALL = 1,
    BAT_PROBE_DIRECT_CALL = 2,
};

/* Bits of bat_probe.attributes. */
enum bat_probe_attribute {
    BAT_PROBE_RESERVED = 1,
    BAT_PROBE_SENTINEL = 2, /* never in bat_probes.probes: a sentinel only names a start address */
    BAT_PROBE_DISCRIMINATED = 4, /* the probe has a discriminator */
};

/* A record of .pseudo_probe_desc: a function of the source, with or without code. */
struct bat_probe_function {
    uint64_t guid;
    uint64_t hash;        /* of its control flow when it was compiled ("CFGChecksum") */
    const char *name;     /* in the ELF file, NOT terminated */
    uint32_t name_length; /* bytes */
};

/* A function's body, top-level or inlined. */
struct bat_probe_node {
    uint64_t guid;      /* of the function of the source */
    uint32_t parent;    /* index of the node that it is inlined into; BAT_NONE: top-level */
    uint32_t call_site; /* id of the parent's probe where it is inlined; may be 0, not known;
                           of a top-level body 0 */
    uint32_t end;       /* index behind the last node that is inlined in it, at any depth */
    uint32_t function;  /* index of the first one with this GUID in functions; BAT_NONE: none */
};

/* A probe at an address. A block or call of the source may have several: copies of code. */
struct bat_probe {
    uint64_t address;       /* virtual, as in the ELF file */
    uint32_t node;          /* index of its node */
    uint32_t id;            /* from 1; each function of the source numbers its own */
    uint32_t discriminator; /* tells copies of code apart; 0: none */
    uint8_t type;           /* enum bat_probe_type */
    uint8_t attributes;     /* enum bat_probe_attribute */
};

/*
 * All that the two sections say. The structure is open, as struct bat_map is: programs go over its
 * arrays. Members are for callers to read; later versions add some at the end.
 */
struct bat_probes {
    /* Ascending by GUID, then in the section's order. A GUID may be there several times, with the
     * same or with other hashes: object files have their own records. */
    const struct bat_probe_function *functions;
    /* In the section's order: a node comes before those that are inlined in it. The first of these
     * is the next node, if that is below its `end`; the next sibling of node n is nodes[n].end. */
    const struct bat_probe_node *nodes;
    /* Ascending by address; those at one address in the section's order. */
    const struct bat_probe *probes;
    /* The top-level nodes, ascending by GUID, then in the section's order. */
    const uint32_t *bodies;
    uint32_t function_count;
    uint32_t node_count;
    uint32_t probe_count;
    uint32_t body_count;
    /* Probes that are not in `probes`, because no symbol tells where their body starts (only in
     * clang's encoding: after `strip`, for instance). */
    uint32_t unplaced_count;
    /* The section has absolute addresses: BOLT has written it. */
    bool is_rewritten;
    /* BOLT 22 and earlier leave out the discriminators of probes that have the attribute
     * BAT_PROBE_DISCRIMINATED (LLVM's tools cannot read such sections): they are 0 here. */
    bool lacks_discriminators;
};

/* True if the file has both sections. */
BAT_API bool bat_probes_are_in(const struct bat_elf *elf);

/*
 * Read the probes of elf. clang's encoding counts addresses from symbols, which are searched for in
 * symbols, an unstripped copy of the same build, or in elf itself if symbols is NULL. Of several
 * symbols of a name the last one in the table holds, as for LLVM's tools.
 *
 * On success the caller frees *probes with bat_probes_free(); names point into elf, which must stay
 * open. Fails with BAT_ERR_NO_DEBUG (no probes in the file), BAT_ERR_ELF (a section whose bytes are
 * not in the file, a damaged symbol table), BAT_ERR_UNSUPPORTED (a compressed section, or one of 4
 * GiB and more), BAT_ERR_TRUNCATED, BAT_ERR_LEB128, BAT_ERR_RANGE, BAT_ERR_COUNT (damaged sections;
 * the message names section, offset, what was expected and what was found) or BAT_ERR_MEMORY.
 * Linear in the sections, n log n in the symbols; each array is one allocation. Memory: at most 11
 * times the size of .pseudo_probe and twice that of .pseudo_probe_desc; meanwhile three times that.
 */
BAT_API enum bat_code bat_probes_read(struct bat_elf *elf, struct bat_elf *symbols,
                                      struct bat_probes **probes, struct bat_error *error);

/* Addresses [start, end). */
struct bat_probe_span {
    uint64_t start;
    uint64_t end;
};

/* Spans of which none is empty, and no two overlap, ascending. */
struct bat_probe_spans {
    const struct bat_probe_span *spans;
    size_t count;
};

/*
 * The same, of the probes in wanted spans only; NULL: of all. There are no other probes, no
 * top-level bodies without one of these, and no functions that no node is of; unplaced_count is
 * that of the section. All bytes are read, and damage to any of them is found.
 */
BAT_API enum bat_code bat_probes_read_spans(struct bat_elf *elf, struct bat_elf *symbols,
                                            const struct bat_probe_spans *wanted,
                                            struct bat_probes **probes, struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_probes_free(struct bat_probes *probes);

/*
 * The probes with addresses in [start, end): returns their number; the first one is
 * probes->probes[*first]. Logarithmic.
 */
BAT_API uint32_t bat_probes_between(const struct bat_probes *probes, uint64_t start, uint64_t end,
                                    uint32_t *first);

/* The first record of this GUID in .pseudo_probe_desc, or NULL. Logarithmic. */
BAT_API const struct bat_probe_function *bat_probes_function(const struct bat_probes *probes,
                                                             uint64_t guid);

/*
 * The top-level bodies of this GUID: returns their number; the first one is
 * probes->nodes[probes->bodies[*first]]. Logarithmic. A function can have several: those whose code
 * stands in functions of other names (aliases, lost inline data).
 */
BAT_API uint32_t bat_probes_bodies(const struct bat_probes *probes, uint64_t guid, uint32_t *first);

/* The top-level node that a node is inlined in, or the node itself. Linear in the depth. */
BAT_API uint32_t bat_probes_top(const struct bat_probes *probes, uint32_t node);

/* --- Which body a symbol has ------------------------------------------------------------------ */

/* The GUID of a function with this name: mangled, as symbols are. Bodies of a symbol's function are
 * those of the GUID of its name, or of its name without a suffix. */
BAT_API uint64_t bat_probe_guid(const char *name, size_t length);

/*
 * The length of a symbol's name without what compilers put behind a function's name when they split
 * or promote it: ".destroy", ".resume", ".llvm.", ".cold" or ".warm" and all that follows; the
 * first of these that the name has, in this order. Returns length if it has none.
 */
BAT_API size_t bat_probe_name_length(const char *name, size_t length);

#ifdef __cplusplus
}
#endif

#endif
