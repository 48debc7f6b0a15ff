# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of input that can grow, in one table: a row names the kind, the function that makes n of it,
and a tool's command for what was made."""

import collections

import made_binaries as binaries
import made_builds as builds
import made_profiles as profiles

# make(folder, n) writes the input; command(folder) is the tool's; count: n for the first size. stdin: the
# file that is its standard input. limit: what a tool says that ends with 1 or 2 at the sizes that are too
# large for it; it must be small work to find that out. status: what the tool ends with if it does its work.
Kind = collections.namedtuple("Kind", "name make command count stdin limit status", defaults=(None, None, 0))


def tool(*words):
    """A command; a word of the form {NAME} is the file NAME of the folder."""
    return lambda folder: [str(word).replace("{", f"{folder}/").replace("}", "") for word in words]


ONE = "--threads=1"
TO_FDATA = tool("battranslate", "{binary}", "-p", "{profile}", "-o", "{out}", "-q", ONE)
PARITY = tool("battranslate", "{binary}", "-p", "{profile}", "-o", "{out}", "-q", "--parity", ONE)
TO_YAML = tool("battranslate", "{binary}", "-p", "{profile}", "--format=yaml", "-o", "{out}", "-q", ONE)
CHECK = tool("battranslate", "{binary}", "-p", "{profile}", "-o", "{out}", "--check", ONE)
PREAGG = tool("battranslate", "{binary}", "-p", "{profile}", "--format=preagg", "-o", "{out}", "-q", ONE)
ONCE = tool("battranslate", "{binary}", "-p", "{profile}", "--format=preagg", "--once", "-o", "{out}", "-q", ONE)
FIRST_PROCESSES = tool("battranslate", "{binary}", "-p", "{profile}", "-o", "{out}", "-q", ONE,
                       "--pid=" + ",".join(str(i + 1) for i in range(1000)))
ORIGINAL = tool("battranslate", "{binary}", "--original={input}", "-p", "{profile}", "-o", "{out}", "-q", ONE)
FOR_NEXT = tool("battranslate", "{old}", "-p", "{profile}", "--for={next}", "-o", "{out}", "-q", ONE)
FOLDED = tool("battranslate", "{binary}", "-p", "{profile}", "-ba", "--format=folded", "-o", "{out}", "-q", ONE)
ALL = tool("battranslate", "--all", "-p", "{profile}", "--output-dir={out}", "-q", ONE)
REPORT = tool("batreport", "{binary}", "-p", "{profile}", "-o", "{page}")
STACKS_REPORT = tool("batreport", "{binary}", "--stacks={stacks}", "-o", "{page}")
DUMP = tool("batdump", "--dump-all", "{binary}")
DUMP_JSON = tool("batdump", "--json", "{binary}")
COMPARE_NOTES = tool("batdump", "--compare", "{old}", "{binary}")
REPORT_BOTH = tool("batreport", "{old}", "{binary}", "-p", "{profile}", "-o", "{page}")
HEAT_MAP = tool("battranslate", "{binary}", "-p", "{profile}", "--heatmap={map}", "-q", ONE)
AUTOFDO = tool("battranslate", "{binary}", "-p", "{profile}", "--format=autofdo", "-o", "{out}", "-q", ONE)
SUPPRESS = tool("battranslate", "{binary}", "-p", "{profile}", "-o", "{out}", "--check",
                "--check-suppress={suppressed}", "--check-limit=stale=100%", ONE)
JUDGE = tool("batvalidate", "{binary}", "--original={input}")
VALIDATE = tool("batvalidate", "{binary}")
STORE = tool("batinject", "{binary}", "--store={store}", "-o", "{out}")
JSON = tool("batinject", "{binary}", "--json={json}", "-o", "{out}")
ADDRESS = tool("batsymbolize", "-e", "{binary}", "--lenient", f"{binaries.TEXT:#x}")
SYMBOLIZE = tool("batsymbolize", "-e", "{binary}", "--lenient", ONE)
QUERIES = tool("batsymbolize", "--lenient", ONE)
FOLD = tool("batsymbolize", "-e", "{binary}", "--folded", "--lenient", ONE)
VIEW = tool("batsymbolize", "-e", "{binary}", "--format=firefox", "--lenient", ONE)
COMPARE = tool("battranslate", "--compare", "{a}", "{b}")


def compare_files(folder):
    return ["battranslate", "--compare", *map(str, profiles.files(folder, ".fdata"))]


def common_files(folder):
    return ["battranslate", "--common", *map(str, profiles.files(folder, ".fdata")), "-o", str(folder / "out")]


def merge(*names):
    return lambda folder: ["merge-fdata", *(str(folder / name) for name in names), "-o", str(folder / "out")]


def merge_files(suffix):
    """merge-fdata of all files with the suffix."""
    return lambda folder: ["merge-fdata", *map(str, profiles.files(folder, suffix)), "-o", str(folder / "out")]


def add_files(folder):
    """One translation of all profiles."""
    return ["battranslate", str(folder / "binary"), *(f"--perfdata={p}" for p in profiles.files(folder, ".preagg")),
            "-o", str(folder / "out"), "-q", ONE]


def add_perf_files(folder):
    """The same of recordings."""
    return ["battranslate", str(folder / "binary"), *(f"--perfdata={p}" for p in profiles.files(folder, ".data")),
            "-o", str(folder / "out"), "-q", ONE]


def translate_files(folder):
    """All binaries of a recording, by their names."""
    return ["battranslate", *map(str, profiles.files(folder, "binary*")), "-p", str(folder / "profile"),
            f"--output-dir={folder}/out", "-q", ONE]


KINDS = [
    # Parts of the file
    Kind("sections of a shipped file", binaries.sections, STORE, 1000),
    Kind("notes", binaries.notes, ADDRESS, 4000),
    Kind("symbols", binaries.symbols, TO_FDATA, 4000),
    Kind("long name", binaries.long_name, ADDRESS, 100000),
    Kind("long name of all functions", binaries.shared_long_name, TO_FDATA, 1000,
         limit="the names of the symbols overlap"),
    # Parts of the note
    Kind("tables", binaries.tables, TO_YAML, 2000),
    Kind("cold fragments of a function", binaries.cold_fragments, TO_YAML, 2000),
    Kind("blocks of a function", binaries.blocks, TO_YAML, 2000),
    Kind("entries at one output offset", binaries.same_output_offset, TO_FDATA, 2000),
    Kind("secondary entries", binaries.secondary_entries, TO_YAML, 2000),
    # Debug information
    Kind("names that grow", binaries.names_that_grow, SYMBOLIZE, 4000, "addresses"),
    Kind("line rows", binaries.line_rows, SYMBOLIZE, 4000, "addresses"),
    Kind("DIEs", binaries.dies, SYMBOLIZE, 2000, "addresses"),
    # Code
    Kind("FDEs", binaries.fdes, TO_FDATA, 2000),
    Kind("LSDA call sites", binaries.call_sites, TO_FDATA, 2000),
    Kind("jump tables", binaries.jump_tables, TO_FDATA, 1000),
    Kind("joins of a trace", binaries.joins_reversed, ORIGINAL, 500),
    Kind("copies of a block", binaries.copies_of_a_block, ORIGINAL, 500),
    Kind("long runs", binaries.long_runs, ORIGINAL, 250),
    Kind("starts of runs", binaries.starts_of_runs, ORIGINAL, 500),
    # The next build
    Kind("changed and renamed functions", builds.functions, FOR_NEXT, 500),
    Kind("changed functions with lines", builds.lines, FOR_NEXT, 250),
    Kind("changed functions of one name", builds.statics, FOR_NEXT, 250),
    Kind("cold parts of a function", builds.fragments, FOR_NEXT, 500),
    Kind("blocks of a changed function", builds.blocks, FOR_NEXT, 500),
    Kind("equal blocks of a changed function", builds.equal_blocks, FOR_NEXT, 500),
    Kind("one end that is divided", builds.ends, FOR_NEXT, 4000),
    Kind("calls that are inlined", builds.inlined, FOR_NEXT, 200),
    Kind("calls of renamed functions", builds.renamed_callees, FOR_NEXT, 250),
    Kind("calls of one renamed function", builds.callers_of_renamed, FOR_NEXT, 150),
    Kind("calls of one new function", builds.callers_of_new, FOR_NEXT, 150),
    Kind("loops in loops", builds.loops, FOR_NEXT, 250),
    Kind("functions that call each other", builds.callers, FOR_NEXT, 500),
    Kind("changed cases of a jump table", builds.cases, FOR_NEXT, 500),
    Kind("long runs by the note", binaries.long_runs, TO_FDATA, 500),
    Kind("long runs by the note, parity", binaries.long_runs, PARITY, 500),
    Kind("long runs of one block", binaries.long_runs_of_a_block, TO_FDATA, 500),
    Kind("runs through blocks at one output offset", binaries.passed_blocks, TO_FDATA, 1000),
    Kind("runs through blocks at one output offset, parity", binaries.passed_blocks, PARITY, 1000),
    # Recordings
    Kind("mappings", profiles.mappings, TO_FDATA, 1000),
    Kind("forks", profiles.forks, TO_FDATA, 2000),
    Kind("equal forks, compressed", profiles.equal_forks, TO_FDATA, 100000),
    Kind("alternating forks, compressed", profiles.alternating_forks, TO_FDATA, 50000,
         limit="events of processes"),
    Kind("processes", profiles.processes, TO_FDATA, 1000),
    # Less is a fraction of what the tool does to start.
    Kind("build-ids in the list", profiles.listed_build_ids, TO_FDATA, 4000),
    Kind("samples", profiles.samples, TO_FDATA, 2000),
    Kind("binaries of a recording", profiles.several_binaries, ALL, 60),
    Kind("call chains", profiles.call_chains, FOLDED, 500),
    # Texts
    Kind("samples of perf script", profiles.script_samples, TO_FDATA, 2000),
    Kind("traces", profiles.traces, TO_FDATA, 2000),
    Kind("fdata records of a function", profiles.fdata_records, TO_FDATA, 2000),
    Kind("files of traces", profiles.trace_files, add_files, 100),
    Kind("merged lines", profiles.fdata_pair, merge("a", "b"), 2000),
    Kind("merged files", profiles.fdata_files, merge_files(".fdata"), 100),
    Kind("compared records of a function", profiles.fdata_pair_of_one, COMPARE, 2000),
    Kind("compared profiles", profiles.fdata_files, compare_files, 300,
         limit="at most 1000 profiles"),
    Kind("depth of a stack", profiles.stack_text, FOLD, 2000, "text"),
    Kind("long names in stacks", binaries.long_names_in_stacks, VIEW, 1000, "text"),
    Kind("long name in equal stacks", binaries.long_names_in_one_stack, FOLD, 2000, "text"),
    Kind("files in one query", profiles.queried_files, QUERIES, 10, "text"),
    # Pages
    Kind("functions of a page", binaries.tables, REPORT, 1000),
]

# More kinds, and the same for other tools and steps.
MORE_KINDS = [
    Kind("program headers", binaries.program_headers, DUMP, 140),
    Kind("line files", binaries.line_files, SYMBOLIZE, 4000, "addresses"),
    Kind("DIEs with an implicit address", binaries.dies_with_constant_address, SYMBOLIZE, 20000, "addresses"),
    Kind("units", binaries.small_units, SYMBOLIZE, 2000, "addresses"),
    Kind("DIEs without a range", binaries.dies_without_range, SYMBOLIZE, 20000, "addresses"),
    Kind("note as JSON", profiles.note_json, JSON, 1000),
    Kind("entries of a jump table", binaries.jump_table_entries, TO_FDATA, 1000),
    Kind("forks of one process", profiles.forks_of_one, TO_FDATA, 1000),
    Kind("events", profiles.events, TO_FDATA, 250),
    Kind("merged YAML blocks", profiles.yaml_blocks, merge("a", "b"), 1000),
    Kind("compared lines of a sample profile", profiles.sample_profile_body, COMPARE, 2000),
    Kind("blocks of a page", binaries.blocks, REPORT, 1000),
    # What samples do for each binary of their process is nothing beside what each binary costs, if it has few samples.
    Kind("binaries mapped one over the other", profiles.replaced_binaries, ALL, 240),
    Kind("loads of binaries", profiles.loads_of_binaries, ALL, 240),
    Kind("files of perf record --threads", profiles.threads_folder, TO_FDATA, 400),
    Kind("files of perf.data", profiles.perf_files, add_perf_files, 50),
    Kind("named binaries of a recording", profiles.several_binaries, translate_files, 60),
    Kind("processes that are asked for", profiles.processes, FIRST_PROCESSES, 1000),
    Kind("loads", profiles.loads, TO_FDATA, 2000),
    Kind("processes of perf script", profiles.script_execs, TO_FDATA, 1000),
    Kind("depth of call chains", profiles.call_chain, REPORT, 8),
    Kind("stacks", profiles.stack_texts, FOLD, 200, "text"),
    Kind("merged YAML functions", profiles.yaml_functions, merge("a", "b"), 500),
    Kind("linkage table", binaries.linkage_table, TO_FDATA, 2000),
    Kind("branch entries", binaries.branch_entries, TO_FDATA, 2000),
    Kind("threads", profiles.threads, TO_FDATA, 1000),
    Kind("build-ids of traces", profiles.trace_build_ids, TO_FDATA, 2000),
    Kind("sections", binaries.sections, DUMP, 1000),
    Kind("note sections", binaries.note_sections, ADDRESS, 1000),
    Kind("symbols of a shipped file", binaries.symbols, STORE, 4000),
    Kind("notes of a shipped file", binaries.note_sections, STORE, 1000),
    Kind("loaded notes of a shipped file", binaries.loaded_note_sections, STORE, 1000),
    Kind("local symbols", binaries.local_symbols, TO_FDATA, 2000),
    Kind("names at one address", binaries.names_at_one_address, TO_FDATA, 4000),
    Kind("tables, dumped", binaries.tables, DUMP, 2000),
    Kind("tables as JSON", binaries.tables, DUMP_JSON, 1000),
    Kind("tables of two builds", binaries.two_builds, COMPARE_NOTES, 1000, status=1),
    Kind("functions of a page of two builds", binaries.two_builds, REPORT_BOTH, 1000),
    Kind("blocks of a page of two builds", binaries.two_builds_of_one, REPORT_BOTH, 1000),
    Kind("functions of a heat map", binaries.tables, HEAT_MAP, 2000),
    Kind("functions of a sample profile", binaries.sampled_dies, AUTOFDO, 1000),
    Kind("inlined calls", binaries.inlined_calls, SYMBOLIZE, 2000, "addresses"),
    Kind("suppressions", binaries.suppressions, SUPPRESS, 1000),
    Kind("judged blocks", binaries.judged_blocks, JUDGE, 1000),
    Kind("tables, validated", binaries.tables, VALIDATE, 2000),
    Kind("blocks at one output offset", binaries.same_output_blocks, TO_FDATA, 2000),
    Kind("starts", binaries.starts, TO_FDATA, 1000),
    Kind("equal long runs", binaries.equal_long_runs, ORIGINAL, 500),
    Kind("equal long runs by the note", binaries.equal_long_runs, TO_FDATA, 500),
    Kind("starts of runs by the note", binaries.starts_of_runs, TO_FDATA, 500),
    Kind("starts of runs by the note, parity", binaries.starts_of_runs, PARITY, 500),
    Kind("different names that grow", binaries.different_names_that_grow, SYMBOLIZE, 4000, "addresses"),
    Kind("different names that grow, for a viewer", binaries.different_names_that_grow, FOLDED, 4000),
    Kind("different names that grow, in stacks", binaries.different_names_that_grow, FOLD, 4000, "text"),
    Kind("different names that grow, on a page", binaries.bolted_names_that_grow, REPORT, 4000),
    # Less of it is not judged, which costs about as much as moving it.
    Kind("run cache stride", binaries.run_cache_stride, ORIGINAL, 40),
    Kind("build-ids of mappings", profiles.mapped_build_ids, TO_FDATA, 1000),
    Kind("mapped files", profiles.mapped_files, TO_FDATA, 1000),
    Kind("equal mappings, compressed", profiles.equal_mappings, TO_FDATA, 50000),
    Kind("equal execs, compressed", profiles.equal_execs, TO_FDATA, 100000),
    Kind("execs", profiles.execs, TO_FDATA, 1000),
    Kind("build-ids of a file in the list", profiles.listed_build_ids_of_one, TO_FDATA, 500),
    Kind("compressed samples", profiles.compressed_samples, TO_FDATA, 4000),
    Kind("call chains of a page", profiles.call_chains, REPORT, 500),
    Kind("mappings of perf script", profiles.script_mappings, TO_FDATA, 1000),
    Kind("traces, added up", profiles.traces, PREAGG, 2000),
    Kind("traces, checked", binaries.tables, CHECK, 2000),
    Kind("events of traces", profiles.trace_events, TO_FDATA, 2000),
    Kind("parts of traces", profiles.trace_parts, ONCE, 2000),
    Kind("fdata functions", profiles.fdata_functions, TO_FDATA, 2000),
    Kind("merged YAML calls", profiles.yaml_calls, merge("a", "b"), 1000),
    Kind("merged YAML files", profiles.yaml_files, merge_files(".yaml"), 50),
    Kind("compared records", profiles.fdata_pair, COMPARE, 2000),
    Kind("compared YAML functions", profiles.yaml_functions, COMPARE, 500),
    Kind("compared YAML blocks", profiles.yaml_blocks, COMPARE, 1000),
    Kind("compared YAML calls", profiles.yaml_calls, COMPARE, 1000),
    Kind("compared functions of sample profiles", profiles.sample_profile, COMPARE, 1000),
    Kind("compared inlined calls", profiles.sample_profile_inlined, COMPARE, 200),
    Kind("common records of profiles", profiles.fdata_files, common_files, 300),
    Kind("lines of text", profiles.plain_lines, SYMBOLIZE, 2000, "text"),
    Kind("long line", profiles.long_line, SYMBOLIZE, 50000, "text"),
    Kind("memory map", profiles.memory_map, QUERIES, 500, "text"),
    Kind("fragments of a page", binaries.cold_fragments, REPORT, 1000),
    Kind("stacks of a page", profiles.folded_stacks, STACKS_REPORT, 1000),
    Kind("depth of a page's stack", profiles.folded_deep_stack, STACKS_REPORT, 1000,
         limit="at most 4096 frames"),
]
