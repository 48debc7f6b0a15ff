/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line-number programs: DWARF 2 to 5, section 6.2. */
#include "line_table.h"
#include "spec/array.h"
#include "spec/order.h"

#include <dwarf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* --- Sections ------------------------------------------------------------------------------- */

struct line_bytes line_section_bytes(Elf_Scn *section)
{
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
        header.sh_flags & SHF_COMPRESSED)
        return (struct line_bytes){0};
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf)
        return (struct line_bytes){0};
    return (struct line_bytes){data->d_buf, data->d_size};
}

/* True for ".debug_line" and, as GNU's tools call it when it is packed, ".zdebug_line". */
static bool is_called(const char *name, const char *wanted)
{
    return strcmp(name, wanted) == 0 ||
           (strncmp(name, ".z", 2) == 0 && wanted[0] == '.' && strcmp(name + 2, wanted + 1) == 0);
}

struct line_bytes line_section_find(Elf *elf, const char *wanted)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return (struct line_bytes){0};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && is_called(name, wanted))
            return line_section_bytes(section);
    }
    return (struct line_bytes){0};
}

/* Up to the end of the last string: then each string in it has an end. */
static struct line_bytes whole_strings(struct line_bytes section)
{
    const uint8_t *last = section.size ? memrchr(section.bytes, 0, section.size) : NULL;
    return (struct line_bytes){section.bytes, last ? (size_t)(last - section.bytes) + 1 : 0};
}

struct line_sections line_sections_find(Elf *elf, bool is_split)
{
    struct line_sections found;
    found.line = line_section_find(elf, is_split ? ".debug_line.dwo" : ".debug_line");
    found.line_strings =
        line_section_find(elf, is_split ? ".debug_line_str.dwo" : ".debug_line_str");
    found.strings = line_section_find(elf, is_split ? ".debug_str.dwo" : ".debug_str");
    found.line_strings = whole_strings(found.line_strings);
    found.strings = whole_strings(found.strings);
    return found;
}

/* --- The program ---------------------------------------------------------------------------- */

struct line_state {
    struct line_table *table;
    const struct line_header *header;
    line_filter *filter;
    const void *context;
    size_t row_capacity;
    size_t sequence_capacity;
    struct line_row row;
    size_t first_row; /* of the current sequence */
    bool is_damaged;  /* the current sequence goes backwards */
    bool has_memory;
};

static void start_sequence(struct line_state *state)
{
    state->row = (struct line_row){.line = 1, .file = 1};
    state->first_row = state->table->row_count;
    state->is_damaged = false;
}

static struct line_row *new_row(struct line_state *state)
{
    struct line_table *table = state->table;
    state->has_memory = BAT_GROW(table->rows, table->row_count, state->row_capacity);
    return state->has_memory ? &table->rows[table->row_count++] : NULL;
}

/* Of rows at one address the last one counts. */
static void add_row(struct line_state *state)
{
    struct line_table *table = state->table;
    if (table->row_count > state->first_row) {
        struct line_row *last = &table->rows[table->row_count - 1];
        state->is_damaged |= last->address > state->row.address;
        if (last->address == state->row.address) {
            *last = state->row;
            state->row.discriminator = 0;
            return;
        }
    }
    struct line_row *row = new_row(state);
    if (row)
        *row = state->row;
    state->row.discriminator = 0;
}

static void end_sequence(struct line_state *state)
{
    struct line_table *table = state->table;
    size_t count = table->row_count - state->first_row;
    uint64_t end = state->row.address;
    bool is_kept = count > 0 && !state->is_damaged &&
                   table->rows[table->row_count - 1].address <= end &&
                   table->rows[state->first_row].address < end &&
                   state->filter(table->rows[state->first_row].address, state->context);
    if (is_kept)
        state->has_memory =
            BAT_GROW(table->sequences, table->sequence_count, state->sequence_capacity);
    if (is_kept && state->has_memory)
        table->sequences[table->sequence_count++] =
            (struct line_sequence){.start = table->rows[state->first_row].address,
                                   .end = end,
                                   .first_row = (uint32_t)state->first_row,
                                   .row_count = (uint32_t)count};
    else
        table->row_count = state->first_row;
    start_sequence(state);
}

/* The largest addresses are those of code that the linker dropped. */
static void set_address(struct line_state *state, struct line_reader *reader, size_t size)
{
    state->row.address = line_read_fixed(reader, size);
    state->is_damaged |= size > 0 && state->row.address >= (UINT64_MAX >> (64 - 8 * size)) - 1;
}

static void run_extended(struct line_state *state, struct line_reader *reader)
{
    uint64_t length = line_read_leb128(reader);
    if (reader->failed || length == 0 || length > (uint64_t)(reader->end - reader->at)) {
        reader->failed |= length != 0;
        return;
    }
    struct line_reader operands = *reader;
    operands.end = reader->at + length;
    reader->at = operands.end;
    switch (line_read_fixed(&operands, 1)) {
    case DW_LNE_end_sequence:
        end_sequence(state);
        break;
    case DW_LNE_set_address:
        set_address(state, &operands, length - 1 < 8 ? (size_t)length - 1 : 8);
        break;
    case DW_LNE_set_discriminator:
        state->row.discriminator = (uint32_t)line_read_leb128(&operands);
        break;
    default: /* obsolete (DW_LNE_define_file), or unknown and skipped by length */
        break;
    }
}

static void advance_address(struct line_state *state, uint64_t operations)
{
    state->row.address += operations * state->header->instruction_length;
}

static void run_standard(struct line_state *state, struct line_reader *reader, unsigned opcode)
{
    switch (opcode) {
    case DW_LNS_copy:
        add_row(state);
        break;
    case DW_LNS_advance_pc:
        advance_address(state, line_read_leb128(reader));
        break;
    case DW_LNS_advance_line:
        state->row.line += (uint32_t)line_read_signed_leb128(reader);
        break;
    case DW_LNS_set_file:
        state->row.file = (uint32_t)line_read_leb128(reader);
        break;
    case DW_LNS_set_column:
        state->row.column = (uint32_t)line_read_leb128(reader);
        break;
    case DW_LNS_const_add_pc:
        if (state->header->line_range != 0)
            advance_address(state, (255 - state->header->opcode_base) / state->header->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        state->row.address += line_read_fixed(reader, 2);
        break;
    case DW_LNS_set_isa:
        line_read_leb128(reader);
        break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    default:
        for (unsigned i = state->header->opcode_lengths[opcode - 1]; i > 0; i--)
            line_read_leb128(reader);
    }
}

static void run_special(struct line_state *state, unsigned opcode)
{
    if (state->header->line_range == 0)
        return;
    unsigned adjusted = opcode - state->header->opcode_base;
    advance_address(state, adjusted / state->header->line_range);
    state->row.line +=
        (uint32_t)(state->header->line_base + (int)(adjusted % state->header->line_range));
    add_row(state);
}

static void run_program(struct line_state *state, struct line_reader *reader)
{
    start_sequence(state);
    while (reader->at < reader->end && !reader->failed && state->has_memory) {
        unsigned opcode = *reader->at++;
        if (opcode >= state->header->opcode_base)
            run_special(state, opcode);
        else if (opcode != 0)
            run_standard(state, reader, opcode);
        else
            run_extended(state, reader);
    }
    /* Drop a sequence without an end. */
    state->table->row_count = state->first_row;
}

bool line_table_read(struct line_table *table, const struct line_sections *sections,
                     uint64_t offset, line_filter *filter, const void *context, uint64_t *budget)
{
    if (offset >= sections->line.size)
        return true;
    const uint8_t *start = sections->line.bytes + offset;
    size_t left = sections->line.size - offset;
    struct line_reader reader = {.at = start, .end = start + (left < *budget ? left : *budget)};
    struct line_header header = {0};
    bool has_memory = true;
    bool is_sound = line_header_read(&header, table, &reader, sections, &has_memory);
    *budget -= (uint64_t)(reader.end - start);
    if (!is_sound)
        return has_memory;
    struct line_state state = {.table = table,
                               .header = &header,
                               .filter = filter,
                               .context = context,
                               .has_memory = has_memory};
    run_program(&state, &reader);
    BAT_SHRINK(table->rows, table->row_count);
    BAT_SORT_BY_TWO(table->sequences, table->sequence_count, end, first_row);
    return state.has_memory;
}

void line_table_free(struct line_table *table)
{
    for (size_t i = 0; i < table->file_count; i++)
        free(table->files[i].path);
    BAT_FREE_ALL(table->folders, table->files, table->rows, table->sequences);
    *table = (struct line_table){0};
}

/* --- Look-ups ------------------------------------------------------------------------------- */

/* The first sequence that ends behind the address, or NULL if it does not have the address. */
static const struct line_sequence *find_sequence(struct line_table *table, uint64_t address)
{
    const struct line_sequence *sequences = table->sequences;
    size_t found = table->last_sequence;
    bool is_last = found < table->sequence_count && address < sequences[found].end &&
                   (found == 0 || sequences[found - 1].end <= address);
    if (!is_last)
        found = BAT_COUNT_UP_TO(sequences, table->sequence_count, end, address);
    if (found == table->sequence_count || sequences[found].start > address)
        return NULL;
    if (!is_last)
        table->last_row = 0;
    table->last_sequence = found;
    return &sequences[found];
}

const struct line_row *line_table_find(struct line_table *table, uint64_t address)
{
    const struct line_sequence *sequence = find_sequence(table, address);
    if (!sequence)
        return NULL;
    const struct line_row *rows = table->rows + sequence->first_row;
    size_t first = rows[table->last_row].address <= address ? table->last_row : 0;
    for (unsigned i = 0; i < DEBUG_NEAR; i++, first++)
        if (first + 1 == sequence->row_count || rows[first + 1].address > address) {
            table->last_row = first;
            return &rows[first];
        }
    size_t count = sequence->row_count - first;
    while (count > 1) {
        size_t half = count / 2;
        if (rows[first + half].address <= address)
            first += half;
        count -= half;
    }
    table->last_row = first;
    return &rows[first];
}

uint64_t line_table_last_end(const struct line_table *table)
{
    const struct line_sequence *sequence = &table->sequences[table->last_sequence];
    if (table->last_row + 1 == sequence->row_count)
        return sequence->end;
    return table->rows[sequence->first_row + table->last_row + 1].address;
}

/* False for a damaged name: no file can be opened by a longer path. */
static bool is_path(const char *name)
{
    return strnlen(name, PATH_MAX) < PATH_MAX;
}

/* Join folder, which may be NULL, and name. */
static char *join(struct line_table *table, const char *folder, const char *name)
{
    if (!folder || name[0] == '/')
        folder = "";
    if (!is_path(folder))
        return NULL;
    size_t length = strlen(folder);
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder, length == 0 || folder[length - 1] == '/' ? "" : "/",
                 name) >= 0)
        return path;
    table->lacks_memory = true;
    return NULL;
}

const char *line_table_path(struct line_table *table, uint32_t number)
{
    if (number >= table->file_count || !table->files[number].name)
        return NULL;
    struct line_file *file = &table->files[number];
    if (file->path)
        return file->path;
    const char *folder = file->folder < table->folder_count ? table->folders[file->folder] : NULL;
    char *inner = is_path(file->name) ? join(table, folder, file->name) : NULL;
    /* From version 5 on folder 0 is the compiler's own. */
    if (!inner || (table->version >= 5 && file->folder == 0)) {
        file->path = inner;
        return inner;
    }
    file->path = join(table, table->compile_folder, inner);
    free(inner);
    return file->path;
}
