/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A YAML profile of llvm-bolt in memory (spec/profiles.md 4): read, changed, compared, and written
 * as LLVM does.
 *
 *     bat_yaml_profile_read_file(path, &profile, &error)
 *     for (uint32_t i = 0; i < profile.count; i++)
 *         ... profile.functions[i] ...
 *     bat_yaml_profile_write(&profile, output, &error)
 *     bat_yaml_profile_free(&profile)
 */
#ifndef BAT_YAML_PROFILE_H
#define BAT_YAML_PROFILE_H

#include "bat_output.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call (at: its offset in the block) or a successor (at: its block). */
struct bat_yaml_edge {
    uint64_t at;
    uint32_t function; /* calls: fid, 0 if not known */
    uint32_t entry;    /* calls: disc */
    uint64_t count;
    uint64_t mispredictions;
    uint32_t probe;      /* calls: pp, the id of the call's pseudo probe; 0: none */
    uint32_t probe_node; /* calls: ppn, the probe's node in the function's tree */
    bool is_indirect;    /* calls: ind, the probe is an indirect call's */
};

struct bat_yaml_edges {
    struct bat_yaml_edge *all;
    uint32_t count;
    uint32_t capacity;
};

struct bat_yaml_profile_block {
    uint32_t index;
    uint32_t instructions;
    uint64_t hash;
    uint64_t executions;
    uint64_t events;
    struct bat_yaml_edges calls;
    struct bat_yaml_edges successors;
    uint64_t *probes; /* pseudo probes: node << 32 | id, ascending, with repeats */
    uint32_t probe_count;
    uint32_t probe_capacity;
};

/* A node of a function's inline tree, of pseudo probes. */
struct bat_yaml_node {
    uint64_t guid;      /* of the function of the source */
    uint32_t parent;    /* index of the node that it is inlined in, which is before it; root: 0 */
    uint32_t call_site; /* id of the parent's probe; may be 0, not known */
};

/* A function of the source, of which there are pseudo probes. */
struct bat_yaml_guid {
    uint64_t guid;
    uint64_t hash; /* of its control flow */
};

struct bat_yaml_profile_function {
    char *name;
    uint32_t number; /* fid */
    uint32_t block_count;
    uint64_t hash;
    uint64_t executions;
    uint64_t from_outside; /* extern */
    struct bat_yaml_profile_block *blocks;
    uint32_t count; /* of blocks */
    uint32_t capacity;
    struct bat_yaml_node *nodes; /* its inline tree, breadth first; the root is the first */
    uint32_t node_count;         /* 0: it has no pseudo probes */
    uint32_t node_capacity;
};

enum bat_yaml_flag { BAT_YAML_FLAG_LBR = 1, BAT_YAML_FLAG_SAMPLE = 2, BAT_YAML_FLAG_MEMEVENT = 4 };

/*
 * A profile. Strings are owned, and never NULL after reading. Whoever changes it allocates strings
 * and lists with malloc(); capacities are in elements.
 */
struct bat_yaml_profile {
    uint64_t version;
    char *binary;
    char *build_id;
    char *origin;
    char *events;
    uint32_t flags; /* enum bat_yaml_flag */
    bool is_dfs_order;
    bool has_xxh3; /* the hashes are xxh3, not std-hash */
    struct bat_yaml_profile_function *functions;
    uint32_t count; /* of functions */
    uint32_t capacity;
    /* Tables of pseudo probes, in the order in which they are written. Empty: there are none. */
    struct bat_yaml_guid *guids; /* gs and gh: of all nodes; each once, unless the file is odd */
    uint64_t *hashes;            /* hs: of all functions of the source */
    uint32_t guid_count;
    uint32_t guid_capacity;
    uint32_t hash_count;
    uint32_t hash_capacity;
};

/*
 * Read the text of a profile: YAML in the layout that LLVM and battranslate write. Unknown keys are
 * skipped. So are pseudo probes, if the file lacks their tables: LLVM's merge-fdata drops these.
 * *profile is to be freed in any case. Errors have line and column: BAT_ERR_SYNTAX, BAT_ERR_MEMORY.
 * Linear in the text.
 */
BAT_API enum bat_code bat_yaml_profile_read(const char *text, size_t size,
                                            struct bat_yaml_profile *profile,
                                            struct bat_error *error);

/*
 * Read the file at path, or standard input ("-"). As above; also BAT_ERR_IO, and BAT_ERR_MISMATCH
 * for a file in another form.
 */
BAT_API enum bat_code bat_yaml_profile_read_file(const char *path, struct bat_yaml_profile *profile,
                                                 struct bat_error *error);

/* Free what a profile holds; it is empty then. An empty one is allowed. */
BAT_API void bat_yaml_profile_free(struct bat_yaml_profile *profile);

/* True for text that begins as YAML does. */
BAT_API bool bat_yaml_profile_is(const char *text, size_t size);

/*
 * Write a profile as LLVM's YAML writer does, with lists broken behind column 70. Fails with
 * BAT_ERR_MEMORY, and as bat_output_write().
 */
BAT_API enum bat_code bat_yaml_profile_write(const struct bat_yaml_profile *profile,
                                             struct bat_output *output, struct bat_error *error);

/* --- What several profiles agree on (spec/compare.md 5) -------------------------------------- */

/*
 * Sort a profile that was read: functions by name, blocks by index, edges; equal edges are added
 * up. BAT_ERR_SYNTAX for a function or a block that is there twice, BAT_ERR_RANGE for sums of 2^64.
 */
BAT_API enum bat_code bat_yaml_profile_sort(struct bat_yaml_profile *profile,
                                            struct bat_error *error);

/*
 * Keep of a sorted profile what another sorted one has, too, each with the lower count. The result
 * is sorted. BAT_ERR_MISMATCH if they are not of the same kind and build, BAT_ERR_MEMORY.
 */
BAT_API enum bat_code bat_yaml_profile_keep_common(struct bat_yaml_profile *profile,
                                                   const struct bat_yaml_profile *from,
                                                   struct bat_error *error);

/*
 * Put functions into the order in which they are written, by number; leave out calls of functions
 * that were not kept, and blocks without counts. Returns the number of edges, calls and samples.
 */
BAT_API uint64_t bat_yaml_profile_finish_common(struct bat_yaml_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
