/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .pseudo_probe: spec/pseudo-probes.md 3. */
#include <stdlib.h>

#include "reading.h"
#include "spec/array.h"
#include "spec/order.h"

/* The least bytes of a probe (id, type, distance), of a top-level body (GUID, and the numbers of
 * its probes and bodies) and of an inlined one (call site, too). */
#define PROBE_MIN 3u
#define TOP_MIN 10u
#define BODY_MIN 11u

#define TYPE_BITS 0x0fu
#define ATTRIBUTE_SHIFT 4u
#define ATTRIBUTE_BITS 7u
#define DISTANCE 0x80u

/* Where distances are counted from. */
enum start {
    START_UNKNOWN, /* no symbol has the function's name */
    START_SYMBOL,  /* the symbol with the GUID in `address`, not looked for yet */
    START_ADDRESS, /* of the probe before */
};

/* Bodies that the next one is inlined in. */
struct level {
    uint32_t node;
    uint32_t left; /* bodies inlined in it that follow */
};

/* Addresses [start, start + size), all of them wanted, or none. */
struct stretch {
    uint64_t start;
    uint64_t size;
    bool is_wanted;
};

struct reading {
    struct probe_bytes bytes;
    struct probe_bases *bases;
    struct owned_probes *into; /* whose arrays have room for all that the section can have */
    uint32_t node_count;
    uint32_t probe_count;
    uint32_t body_count;
    uint32_t unplaced_count;
    bool has_addresses;
    bool lacks_discriminators;
    enum start start;
    uint64_t address;
    struct stretch stretch;  /* that the last probe was in, if only some are wanted */
    uint32_t probes_at_body; /* number of probes before the top-level body that is read */
    unsigned depth;
    struct level levels[BAT_PROBE_DEPTH_MAX];
};

/* --- Probes ----------------------------------------------------------------------------------- */

/* Read a distance; afterwards `address` is the probe's, if it is known. */
static enum bat_code read_distance(struct reading *reading)
{
    int64_t distance;
    BAT_TRY(probe_bytes_signed(&reading->bytes, "a probe's distance", &distance));
    if (reading->start == START_SYMBOL) {
        bool is_known;
        BAT_TRY(probe_bases_find(reading->bases, reading->address, &reading->address, &is_known,
                                 reading->bytes.error));
        reading->start = is_known ? START_ADDRESS : START_UNKNOWN;
    }
    reading->address += (uint64_t)distance;
    return BAT_OK;
}

/* Read an absolute address, or the GUID of a sentinel. */
static enum bat_code read_word(struct reading *reading, bool is_sentinel)
{
    enum bat_code code =
        probe_bytes_word(&reading->bytes, is_sentinel ? "a sentinel's GUID" : "a probe's address",
                         &reading->address);
    reading->start = is_sentinel ? START_SYMBOL : START_ADDRESS;
    reading->has_addresses |= !is_sentinel;
    return code;
}

/* Find the wanted span around an address, or the gap between two. */
static void find_stretch(struct reading *reading, uint64_t address)
{
    const struct bat_probe_spans *wanted = reading->into->wanted;
    const size_t next = BAT_COUNT_UP_TO(wanted->spans, wanted->count, start, address);
    const struct bat_probe_span *before = next > 0 ? &wanted->spans[next - 1] : NULL;
    const uint64_t after = next < wanted->count ? wanted->spans[next].start : UINT64_MAX;
    if (before && address < before->end)
        reading->stretch = (struct stretch){before->start, before->end - before->start, true};
    else
        reading->stretch =
            (struct stretch){before ? before->end : 0, after - (before ? before->end : 0), false};
}

static inline bool is_wanted(struct reading *reading, uint64_t address)
{
    if (!reading->into->wanted)
        return true;
    if (address - reading->stretch.start >= reading->stretch.size)
        find_stretch(reading, address);
    return reading->stretch.is_wanted;
}

static void keep_probe(struct reading *reading, const struct bat_probe *probe)
{
    if (reading->start == START_UNKNOWN) {
        reading->unplaced_count++;
        return;
    }
    if (is_wanted(reading, probe->address))
        reading->into->probes[reading->probe_count++] = *probe;
}

static enum bat_code read_probe(struct reading *reading, uint32_t node)
{
    struct bat_probe probe = {.node = node};
    uint8_t flags = 0;
    enum bat_code code = probe_bytes_number(&reading->bytes, "a probe's id", &probe.id);
    BAT_TRY(code);
    BAT_TRY(probe_bytes_byte(&reading->bytes, "a probe's type", &flags));
    probe.type = flags & TYPE_BITS;
    probe.attributes = flags >> ATTRIBUTE_SHIFT & ATTRIBUTE_BITS;
    const bool is_sentinel = probe.attributes & BAT_PROBE_SENTINEL;
    code = flags & DISTANCE ? read_distance(reading) : read_word(reading, is_sentinel);
    probe.address = reading->address;
    if (code == BAT_OK && probe.attributes & BAT_PROBE_DISCRIMINATED &&
        !reading->lacks_discriminators)
        code = probe_bytes_number(&reading->bytes, "a discriminator", &probe.discriminator);
    if (code == BAT_OK && !is_sentinel)
        keep_probe(reading, &probe);
    return code;
}

/* --- Bodies ----------------------------------------------------------------------------------- */

static void keep_node(struct reading *reading, struct bat_probe_node node)
{
    struct owned_probes *into = reading->into;
    if (node.parent == BAT_NONE) {
        into->bodies[reading->body_count++] = reading->node_count;
        reading->probes_at_body = reading->probe_count;
    }
    into->nodes[reading->node_count++] = node;
}

/* Note that the bodies inlined in a node are complete. */
static void end_node(struct reading *reading, uint32_t node)
{
    reading->into->nodes[node].end = reading->node_count;
}

/* Read a body's fields, its probes, and how many bodies are inlined in it, which follow. */
static enum bat_code read_body(struct reading *reading, uint32_t parent, uint32_t *inlined)
{
    struct probe_bytes *bytes = &reading->bytes;
    struct bat_probe_node node = {.parent = parent};
    enum bat_code code = BAT_OK;
    if (parent != BAT_NONE)
        code = probe_bytes_number(bytes, "a call site's id", &node.call_site);
    code = code ? code : probe_bytes_word(bytes, "a body's GUID", &node.guid);
    uint32_t probes;
    code = code ? code : probe_bytes_count(bytes, "a number of probes", PROBE_MIN, &probes);
    BAT_TRY(code);
    BAT_TRY(probe_bytes_count(bytes, "a number of inlined bodies", BODY_MIN, inlined));
    if (parent == BAT_NONE && !reading->has_addresses) {
        reading->start = START_SYMBOL;
        reading->address = node.guid;
    }
    const uint32_t number = reading->node_count;
    keep_node(reading, node);
    for (uint32_t i = 0; i < probes && code == BAT_OK; i++)
        code = read_probe(reading, number);
    return code;
}

/* Forget the top-level body that was read, if only some are wanted, and it has no probe in these.
 */
static void leave_unwanted(struct reading *reading)
{
    if (reading->into->wanted && reading->probe_count == reading->probes_at_body)
        reading->node_count = reading->into->bodies[--reading->body_count];
}

/* End those bodies on the way down to the current one in which no more are inlined. */
static void end_levels(struct reading *reading)
{
    while (reading->depth > 0 && reading->levels[reading->depth - 1].left == 0)
        end_node(reading, reading->levels[--reading->depth].node);
    if (reading->depth == 0)
        leave_unwanted(reading);
}

/* Read the next body; *reading has the way down to it. */
static enum bat_code read_next(struct reading *reading)
{
    const uint8_t *at = reading->bytes.at;
    uint32_t parent = BAT_NONE;
    if (reading->depth > 0) {
        struct level *level = &reading->levels[reading->depth - 1];
        parent = level->node;
        level->left--;
    }
    if (reading->depth == BAT_PROBE_DEPTH_MAX)
        return probe_bytes_fail(&reading->bytes, at, BAT_ERR_COUNT,
                                "expected at most %u bodies inlined into each other, found more",
                                BAT_PROBE_DEPTH_MAX);
    const uint32_t number = reading->node_count;
    uint32_t inlined;
    BAT_TRY(read_body(reading, parent, &inlined));
    reading->levels[reading->depth++] = (struct level){number, inlined};
    end_levels(reading);
    return BAT_OK;
}

/* Read from the start of the section to its end. */
static enum bat_code read_all(struct reading *reading, struct probe_bytes bytes)
{
    reading->bytes = bytes;
    reading->node_count = reading->probe_count = reading->body_count = 0;
    reading->unplaced_count = 0;
    reading->has_addresses = false;
    reading->start = START_ADDRESS;
    reading->address = 0;
    reading->stretch = (struct stretch){.size = 0};
    reading->depth = 0;
    enum bat_code code = BAT_OK;
    while (code == BAT_OK && (reading->bytes.at < reading->bytes.end || reading->depth > 0))
        code = read_next(reading);
    return code;
}

/* --- The section ------------------------------------------------------------------------------ */

/* Sort the top-level bodies by GUID. */
static bool sort_bodies(struct owned_probes *probes, uint32_t count)
{
    struct bat_sort_key *keys = bat_array_new(count, sizeof(*keys));
    for (uint32_t i = 0; keys && i < count; i++)
        keys[i] = (struct bat_sort_key){probes->nodes[probes->bodies[i]].guid, i};
    probes->bodies = probes_sorted(probes->bodies, keys, count, sizeof(*probes->bodies));
    return probes->bodies != NULL;
}

/* Make room for what a section of this size can have at most: what is not filled is not touched. */
static bool allocate(struct owned_probes *into, size_t size)
{
    into->probes = bat_array_new(size / PROBE_MIN, sizeof(*into->probes));
    into->bodies = bat_array_new(size / TOP_MIN, sizeof(*into->bodies));
    into->nodes = bat_array_new(size / TOP_MIN, sizeof(*into->nodes));
    return into->probes && into->bodies && into->nodes;
}

/* Sort the probes by address; those at the same one keep their order. */
static bool sort_probes(struct owned_probes *into, size_t count)
{
    struct bat_sort_key *keys = bat_array_new(count, sizeof(*keys));
    for (size_t i = 0; keys && i < count; i++)
        keys[i] = (struct bat_sort_key){into->probes[i].address, i};
    into->probes = probes_sorted(into->probes, keys, count, sizeof(*into->probes));
    return into->probes != NULL;
}

/* Sort what was read, and make it public. */
static bool finish(struct reading *reading)
{
    struct owned_probes *into = reading->into;
    BAT_SHRINK(into->nodes, reading->node_count);
    if (!sort_probes(into, reading->probe_count) || !sort_bodies(into, reading->body_count))
        return false;
    BAT_SHRINK(into->probes, reading->probe_count);
    struct bat_probes *public = &into->public;
    public->nodes = into->nodes;
    public->probes = into->probes;
    public->bodies = into->bodies;
    public->node_count = reading->node_count;
    public->probe_count = reading->probe_count;
    public->body_count = reading->body_count;
    public->unplaced_count = reading->unplaced_count;
    public->is_rewritten = reading->has_addresses;
    public->lacks_discriminators = reading->lacks_discriminators;
    return true;
}

/*
 * BOLT 22 leaves out the discriminators, but not the attribute that
 * announces them: what cannot be read with them is read without them.
 */
static enum bat_code read_either(struct reading *reading, struct probe_bytes bytes)
{
    enum bat_code code = read_all(reading, bytes);
    if (code == BAT_OK || !reading->has_addresses)
        return code;
    struct probe_bytes quiet = bytes;
    quiet.error = NULL;
    reading->lacks_discriminators = true;
    return read_all(reading, quiet) == BAT_OK ? BAT_OK : code;
}

enum bat_code probes_read_bodies(struct probe_bytes bytes, struct probe_bases *bases,
                                 struct owned_probes *probes)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    BAT_TRY_MEMORY(reading, bytes.error, "to read probes");
    reading->bases = bases;
    reading->into = probes;
    enum bat_code code = BAT_OK;
    if (!allocate(probes, probe_bytes_left(&bytes)))
        code = bat_fail_memory(bytes.error, "for probes of %zu bytes", probe_bytes_left(&bytes));
    code = code ? code : read_either(reading, bytes);
    if (code == BAT_OK && !finish(reading))
        code = bat_fail_memory(bytes.error, "for %u probes", reading->probe_count);
    free(reading);
    return code;
}
