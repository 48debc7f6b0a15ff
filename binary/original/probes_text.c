/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --probes: the text that llvm-profgen --show-pseudo-probe prints, by address. */

#include "bat_original.h"
#include "bat_probes.h"
#include "binary/note_text.h"
#include "spec/escape_controls.h"

/* What is open while probes are printed. */
struct probe_dump {
    struct bat_text_writer *output;
    const struct bat_probes *probes;
    const struct bat_binary *binary; /* has a map if FILE has a note */
    const struct bat_names *names;
    const struct bat_original *original; /* or NULL */
};

/* Names in the section may have any bytes. */
static void put_escaped(struct bat_text_writer *output, const char *text, size_t size)
{
    while (size != 0) {
        const size_t part = bat_text_part(text, size, BAT_MESSAGE_SIZE);
        char *at = bat_text_room(output, BAT_ESCAPED_BYTE * part);
        bat_text_end(output, bat_put_escaped(at, text, part));
        text += part;
        size -= part;
    }
}

static void put_name(const struct probe_dump *dump, uint32_t function, uint64_t guid)
{
    if (function == BAT_NONE) {
        bat_text_format(dump->output, "%lu", guid);
        return;
    }
    const struct bat_probe_function *found = &dump->probes->functions[function];
    put_escaped(dump->output, found->name, found->name_length);
}

static void put_functions(const struct probe_dump *dump)
{
    bat_text_string(dump->output, "Pseudo Probe Desc:\n");
    for (uint32_t i = 0; i < dump->probes->function_count; i++) {
        const struct bat_probe_function *function = &dump->probes->functions[i];
        bat_text_format(dump->output, "GUID: %lu Name: ", function->guid);
        put_name(dump, i, function->guid);
        bat_text_format(dump->output, "\nHash: %lu\n", function->hash);
    }
}

/* --- Probes ----------------------------------------------------------------------------------- */

/* Print the call sites that a node is inlined at, from the outermost inwards. */
static void put_context(const struct probe_dump *dump, uint32_t node)
{
    uint32_t path[BAT_PROBE_DEPTH_MAX];
    uint32_t depth = 0;
    const struct bat_probe_node *nodes = dump->probes->nodes;
    for (; nodes[node].parent != BAT_NONE; node = nodes[node].parent)
        path[depth++] = node;
    while (depth-- > 0) {
        const struct bat_probe_node *inlined = &nodes[path[depth]];
        const struct bat_probe_node *parent = &nodes[inlined->parent];
        bat_text_string(dump->output, parent->parent == BAT_NONE ? "Inlined: @ " : " @ ");
        put_name(dump, parent->function, parent->guid);
        bat_text_format(dump->output, ":%u", inlined->call_site);
    }
}

static void put_type(const struct probe_dump *dump, uint8_t type)
{
    static const char *const types[] = {[BAT_PROBE_BLOCK] = "Block",
                                        [BAT_PROBE_INDIRECT_CALL] = "IndirectCall",
                                        [BAT_PROBE_DIRECT_CALL] = "DirectCall"};
    if (type < sizeof(types) / sizeof(*types))
        bat_text_format(dump->output, "Type: %s  ", types[type]);
    else
        bat_text_format(dump->output, "Type: %u  ", type);
}

static void put_probe(const struct probe_dump *dump, const struct bat_probe *probe)
{
    const struct bat_probe_node *node = &dump->probes->nodes[probe->node];
    bat_text_string(dump->output, " [Probe]:\tFUNC: ");
    put_name(dump, node->function, node->guid);
    bat_text_format(dump->output, " Index: %u  ", probe->id);
    if (probe->discriminator)
        bat_text_format(dump->output, "Discriminator: %u  ", probe->discriminator);
    put_type(dump, probe->type);
    put_context(dump, probe->node);
    bat_text_string(dump->output, "\n");
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* Print where a probe's address was in the input, if the note or the input binary knows. */
static void put_input(const struct probe_dump *dump, const struct bat_probe *probe)
{
    const bool is_call = probe->type != BAT_PROBE_BLOCK;
    struct bat_original_place input;
    if (dump->original && bat_original_input_of(dump->original, probe->address, is_call, &input)) {
        bat_text_format(dump->output, " (input: 0x%lx", input.address);
        bat_text_name(dump->output, " ", input.name, "");
        bat_text_format(dump->output, " + 0x%lx)", input.address - input.function_address);
        return;
    }
    struct bat_binary_place place;
    if (dump->binary->map &&
        bat_binary_input_of(dump->binary, dump->names, probe->address, is_call, &place) &&
        place.symbol) {
        bat_text_name(dump->output, " (input: ", place.symbol->name, "");
        bat_text_format(dump->output, " + 0x%lx)", place.offset);
    }
}

static void put_probes(const struct probe_dump *dump)
{
    for (uint32_t i = 0; i < dump->probes->probe_count; i++) {
        const struct bat_probe *probe = &dump->probes->probes[i];
        if (i == 0 || probe[-1].address != probe->address) {
            bat_text_format(dump->output, "0x%lx", probe->address);
            put_input(dump, probe);
            bat_text_string(dump->output, ":\n");
        }
        put_probe(dump, probe);
    }
    if (dump->probes->unplaced_count != 0)
        bat_text_format(
            dump->output,
            "%u probes without an address: no symbol tells where their functions start\n",
            dump->probes->unplaced_count);
}

enum bat_code original_probes_text(struct bat_text_writer *output, const char *path,
                                   struct bat_binary *binary, const char *original_path,
                                   const char **failed, struct bat_error *error)
{
    struct bat_probes *probes;
    *failed = path;
    BAT_TRY(bat_probes_read(binary->elf, NULL, &probes, error));
    struct bat_names names = {0};
    struct bat_original *original = NULL;
    enum bat_code code = bat_names_collect(binary, &names, error);
    if (code == BAT_OK && original_path) {
        *failed = original_path;
        code = bat_original_open(original_path, binary, NULL, &original, error);
    }
    if (code == BAT_OK) {
        const struct probe_dump dump = {output, probes, binary, &names, original};
        put_functions(&dump);
        put_probes(&dump);
    }
    bat_original_close(original);
    bat_names_free(&names);
    bat_probes_free(probes);
    return code;
}
