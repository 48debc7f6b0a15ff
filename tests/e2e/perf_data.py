# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A writer of perf.data files, for tests: any event, any record, in files and as streams.

    cycles = perf_data.Event("cycles:u", IP | TID | TIME | PERIOD | BRANCH_STACK, ids=[1, 2])
    session = perf_data.Session([cycles])
    session.comm(100, 100, "prog", exec=True)
    session.mmap2(100, 100, 0x400000, 0x1000, 0, "/bin/prog")
    session.sample(cycles, ip=0x400010, pid=100, tid=100, branches=[(from, to, PREDICTED), ...])
    data = session.file(build_ids=[("/bin/prog", bytes.fromhex("..."))])
    data = session.pipe()

Written from Linux's documentation: include/uapi/linux/perf_event.h for attributes and the kernel's
records, tools/perf/Documentation/perf.data-file-format.txt for perf's own parts of the file. A session
is a list of records as bytes, so that a test can put anything between them or damage them. All numbers
are little-endian. Everything that has a time gets the next one unless a time is given.
"""

import ctypes
import ctypes.util
import functools
import struct

# perf_event_attr.type, and configurations of it
HARDWARE, SOFTWARE, RAW_EVENT = 0, 1, 4
CPU_CYCLES, CPU_CLOCK, TASK_CLOCK, DUMMY = 0, 0, 1, 9

# perf_event_attr.sample_type
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU = (1 << i for i in range(8))
PERIOD, STREAM_ID, RAW, BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC = (
    1 << i for i in range(8, 16))
IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE_SIZE, CODE_PAGE_SIZE = (
    1 << i for i in range(16, 24))
WEIGHT_STRUCT = 1 << 24

# perf_event_attr's flags by bit
FLAG_BITS = {"inherit": 1, "exclude_kernel": 5, "exclude_hv": 6, "mmap": 8, "comm": 9, "freq": 10,
             "task": 13, "mmap_data": 17, "sample_id_all": 18, "mmap2": 23, "comm_exec": 24,
             "build_id": 34}
USUAL_FLAGS = ("inherit", "exclude_kernel", "exclude_hv", "mmap", "comm", "freq", "task",
               "sample_id_all", "mmap2", "comm_exec")

# perf_event_attr.read_format
TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING, READ_ID, READ_GROUP, READ_LOST = (1 << i for i in range(5))

# perf_event_attr.branch_sample_type
BRANCH_USER, BRANCH_KERNEL, BRANCH_ANY, BRANCH_HW_INDEX, BRANCH_COUNTERS = 1, 2, 8, 1 << 17, 1 << 19

# perf_event_header.misc
KERNEL, USER = 1, 2
BUILD_ID_SIZE = 1 << 15
MMAP_DATA = COMM_EXEC = FORK_EXEC = 1 << 13
MMAP_BUILD_ID = 1 << 14

# Flags of a branch entry
MISPREDICTED, PREDICTED = 1, 2

# perf_event_header.type: the kernel's, then perf's own
(R_MMAP, R_LOST, R_COMM, R_EXIT, R_THROTTLE, R_UNTHROTTLE, R_FORK, R_READ, R_SAMPLE, R_MMAP2, R_AUX,
 R_ITRACE_START, R_LOST_SAMPLES, R_SWITCH, R_SWITCH_CPU_WIDE, R_NAMESPACES, R_KSYMBOL, R_BPF_EVENT,
 R_CGROUP, R_TEXT_POKE) = range(1, 21)
R_HEADER_ATTR, R_HEADER_EVENT_TYPE, R_TRACING_DATA, R_BUILD_ID, R_FINISHED_ROUND = range(64, 69)
R_ID_INDEX, R_AUXTRACE_INFO, R_AUXTRACE, R_AUXTRACE_ERROR, R_THREAD_MAP, R_CPU_MAP = range(69, 75)
R_EVENT_UPDATE, R_TIME_CONV, R_FEATURE, R_COMPRESSED, R_FINISHED_INIT, R_COMPRESSED2 = range(78, 84)

# Features
F_BUILD_ID, F_HOSTNAME, F_OSRELEASE, F_VERSION, F_ARCH, F_NRCPUS = range(2, 8)
F_CMDLINE, F_EVENT_DESC = 11, 12
F_BRANCH_STACK, F_SAMPLE_TIME, F_COMPRESSED = 15, 21, 27

ATTRIBUTE_SIZES = (64, 72, 80, 96, 104, 112, 120, 128, 136)
MAGIC = b"PERFILE2"
FILE_HEADER_SIZE = 104


def padded(data, alignment=8):
    """The data, followed by zeros up to a multiple of alignment."""
    return data + bytes(-len(data) % alignment)


def c_string(text, alignment=8):
    return padded((text if isinstance(text, bytes) else text.encode()) + b"\0", alignment)


def feature_string(text):
    """A string of a feature: its length, then that many bytes."""
    data = c_string(text, 64)
    return struct.pack("<I", len(data)) + data


def record(kind, body, misc=0):
    """A record with its header. struct.error if it is too long for a record."""
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


class Event:
    """An event: its attributes, the ids of its counters, and its name.

    size is the size of perf_event_attr, one of ATTRIBUTE_SIZES; longer attributes end in zeros.
    """

    def __init__(self, name, sample_type, ids=(), *, kind=HARDWARE, config=CPU_CYCLES, period=4000,
                 read_format=0, branch_type=None, regs_user=0, stack_user=0, regs_intr=0,
                 flags=USUAL_FLAGS, size=128):
        if branch_type is None:
            branch_type = BRANCH_USER | BRANCH_ANY if sample_type & BRANCH_STACK else 0
        self.name, self.sample_type, self.ids = name, sample_type, list(ids)
        self.kind, self.config, self.period = kind, config, period
        self.read_format, self.branch_type = read_format, branch_type
        self.regs_user, self.stack_user, self.regs_intr = regs_user, stack_user, regs_intr
        self.flags, self.size = flags, size

    def attribute(self):
        """perf_event_attr."""
        flags = sum(1 << FLAG_BITS[f] for f in self.flags)
        fields = struct.pack(
            "<IIQQQQQIIQQQQIiQIHHIIQ", self.kind, self.size, self.config, self.period,
            self.sample_type, self.read_format, flags, 0, 0, 0, 0, self.branch_type,
            self.regs_user, self.stack_user, 0, self.regs_intr, 0, 0, 0, 0, 0, 0)
        return fields[:self.size].ljust(self.size, b"\0")

    def has(self, bit):
        """True if samples have that field."""
        return bool(self.sample_type & bit)

    def sample_id(self, values):
        """The fields at the end of a side record if sample_id_all is set."""
        if "sample_id_all" not in self.flags:
            return b""
        parts = [(TID, "<II", ("pid", "tid")), (TIME, "<Q", ("time",)), (ID, "<Q", ("id",)),
                 (STREAM_ID, "<Q", ("id",)), (CPU, "<II", ("cpu", "zero")),
                 (IDENTIFIER, "<Q", ("id",))]
        return b"".join(struct.pack(form, *(values[n] for n in names))
                        for bit, form, names in parts if self.has(bit))

    def sample(self, values):
        """A sample's body. values: see Session.sample()."""
        return b"".join([write(self, values) for write in sample_writers(self.sample_type)])


def u64(name):
    """The writer of a field that is one number."""
    return lambda _event, values: struct.pack("<Q", values[name])


def _two_words(first, second):
    return lambda _event, values: struct.pack("<II", values[first], values[second])


def _read(event, values):
    count = 1
    form = event.read_format
    value = [values["value"]] + ([values["id"]] if form & READ_ID else [])
    value += [0] if form & READ_LOST else []
    times = [1000] * bool(form & TOTAL_TIME_ENABLED) + [900] * bool(form & TOTAL_TIME_RUNNING)
    if form & READ_GROUP:
        words = [count, *times, *value]
    else:
        words = [value[0], *times, *value[1:]]
    return struct.pack(f"<{len(words)}Q", *words)


def _callchain(_event, values):
    chain = values["callchain"]
    return struct.pack(f"<{len(chain) + 1}Q", len(chain), *chain)


def _raw(_event, values):
    # The length of the data makes its own 4 bytes and the data a multiple of 8.
    data = values["raw"] + bytes(-(len(values["raw"]) + 4) % 8)
    return struct.pack("<I", len(data)) + data


def _branch_stack(event, values):
    entries = values["branches"]
    index = [values["hw_index"]] if event.branch_type & BRANCH_HW_INDEX else []
    words = [len(entries), *index]
    for branch, target, flags in entries:
        words += (branch, target, flags)
    words += range(1000, 1000 + len(entries)) if event.branch_type & BRANCH_COUNTERS else ()
    return struct.pack(f"<{len(words)}Q", *words)


def _registers(mask):
    def write(event, _values):
        count = bin(getattr(event, mask)).count("1")
        return struct.pack(f"<{count + 1}Q", 2, *range(count))   # of a 64-bit program
    return write


def _stack(event, values):
    size = event.stack_user if values["stack"] is None else len(values["stack"])
    if size == 0:
        return struct.pack("<Q", 0)
    data = (values["stack"] or b"").ljust(size, b"\0")
    return struct.pack("<Q", size) + data + struct.pack("<Q", min(16, size))


def _aux(_event, values):
    return struct.pack("<Q", len(values["aux"])) + values["aux"]


# In the order of a sample's fields.
SAMPLE_FIELDS = [
    (IDENTIFIER, u64("id")), (IP, u64("ip")), (TID, _two_words("pid", "tid")), (TIME, u64("time")),
    (ADDR, u64("addr")), (ID, u64("id")), (STREAM_ID, u64("id")), (CPU, _two_words("cpu", "zero")),
    (PERIOD, u64("period")), (READ, _read), (CALLCHAIN, _callchain), (RAW, _raw),
    (BRANCH_STACK, _branch_stack), (REGS_USER, _registers("regs_user")), (STACK_USER, _stack),
    (WEIGHT, u64("weight")), (WEIGHT_STRUCT, u64("weight")), (DATA_SRC, u64("data_src")),
    (TRANSACTION, u64("transaction")), (REGS_INTR, _registers("regs_intr")),
    (PHYS_ADDR, u64("phys_addr")), (CGROUP, u64("cgroup")), (DATA_PAGE_SIZE, u64("page_size")),
    (CODE_PAGE_SIZE, u64("page_size")), (AUX, _aux)]


@functools.lru_cache(maxsize=None)
def sample_writers(sample_type):
    """The writers of a sample's fields, in order."""
    return [write for bit, write in SAMPLE_FIELDS if sample_type & bit]


SAMPLE_DEFAULTS = {
    "ip": 0, "pid": 0, "tid": 0, "time": 0, "addr": 0, "id": 0, "cpu": 0, "zero": 0, "period": 1,
    "value": 0, "callchain": (), "raw": b"", "branches": (), "hw_index": 0, "stack": None,
    "weight": 7, "data_src": 0, "transaction": 0, "phys_addr": 0, "cgroup": 0, "page_size": 4096, "aux": b"",
}


class Session:
    """Records in order, and the events that they belong to."""

    def __init__(self, events, start=1000000000, step=1000):
        self.events = list(events)
        self.records = []
        self.time = start
        self.step = step

    def _next_time(self, time):
        if time is not None:
            return time
        self.time += self.step
        return self.time

    def add(self, *records):
        """Append records that are given as bytes."""
        self.records += records

    def side(self, kind, body, *, pid=0, tid=0, time=None, misc=USER, event=None, id=None, cpu=0):
        """A record that is not a sample: body, then the fields of sample_id_all."""
        event = event or self.events[0]
        if id is None:
            id = event.ids[0] if event.ids else 0
        values = {"pid": pid, "tid": tid, "time": self._next_time(time), "id": id, "cpu": cpu,
                  "zero": 0}
        self.add(record(kind, body + event.sample_id(values), misc))

    def comm(self, pid, tid, name, exec=False, **where):
        """A thread's name; exec if it has just become another program."""
        where.setdefault("misc", COMM_EXEC if exec else 0)
        self.side(R_COMM, struct.pack("<II", pid, tid) + c_string(name), pid=pid, tid=tid, **where)

    def mmap(self, pid, tid, address, length, offset, name, **where):
        """The old record of a mapping."""
        body = struct.pack("<IIQQQ", pid, tid, address, length, offset) + c_string(name)
        self.side(R_MMAP, body, pid=pid, tid=tid, **where)

    def mmap2(self, pid, tid, address, length, offset, name, *, inode=(8, 1, 4711, 1),
              build_id=None, protection=5, flags=2, **where):
        """A mapping, with major, minor, inode and generation, or with the file's build-id."""
        body = struct.pack("<IIQQQ", pid, tid, address, length, offset)
        if build_id is None:
            body += struct.pack("<IIQQ", *inode)
        else:
            body += struct.pack("<BBH20s", len(build_id), 0, 0, build_id)
            where.setdefault("misc", USER | MMAP_BUILD_ID)
        body += struct.pack("<II", protection, flags) + c_string(name)
        self.side(R_MMAP2, body, pid=pid, tid=tid, **where)

    def _task(self, kind, pid, parent, tid, parent_tid, where):
        where["time"] = self._next_time(where.get("time"))
        body = struct.pack("<IIIIQ", pid, parent, tid, parent_tid, where["time"])
        where.setdefault("misc", 0)
        self.side(kind, body, pid=parent, tid=parent_tid, **where)

    def fork(self, pid, parent, tid=None, parent_tid=None, **where):
        """A process, or with tid a thread, was created by another."""
        self._task(R_FORK, pid, parent, pid if tid is None else tid,
                   parent if parent_tid is None else parent_tid, where)

    def exit(self, pid, parent, tid=None, parent_tid=None, **where):
        """A process or thread has ended."""
        self._task(R_EXIT, pid, parent, pid if tid is None else tid,
                   parent if parent_tid is None else parent_tid, where)

    def lost(self, count, **where):
        """Records that the kernel had no room for."""
        event = where.get("event") or self.events[0]
        body = struct.pack("<QQ", event.ids[0] if event.ids else 0, count)
        self.side(R_LOST, body, misc=0, **where)

    def lost_samples(self, count, **where):
        self.side(R_LOST_SAMPLES, struct.pack("<Q", count), misc=0, **where)

    def finished_round(self):
        """All records up to here can be sorted by time."""
        self.add(record(R_FINISHED_ROUND, b""))

    def sample(self, event=None, misc=USER, **values):
        """A sample. values: fields by their names in SAMPLE_DEFAULTS.

        branches are (from, to, flags), newest first. The id is the event's first unless given.
        """
        event = event or self.events[0]
        values["time"] = self._next_time(values.get("time"))
        values.setdefault("id", event.ids[0] if event.ids else 0)
        values.setdefault("tid", values.get("pid", 0))
        values.setdefault("value", values["time"])
        self.add(record(R_SAMPLE, event.sample({**SAMPLE_DEFAULTS, **values}), misc))

    def compress(self, first=0, last=None, *, slice_size=30000, two=False, level=1):
        """Replace records[first:last] by COMPRESSED records (COMPRESSED2 if two).

        level: 1 to 22, as in perf record -z22. They hold one zstd stream, flushed after each slice_size bytes wherever that falls.
        """
        data = b"".join(self.records[first:last])
        stream = ZstdStream(level)
        slices = [stream.compress(data[i:i + slice_size]) for i in range(0, len(data), slice_size)]
        if two:
            self.records[first:last] = [
                record(R_COMPRESSED2, padded(struct.pack("<Q", len(s)) + s)) for s in slices]
        else:
            self.records[first:last] = [record(R_COMPRESSED, s) for s in slices]

    # --- Files ------------------------------------------------------------------------------------

    def features(self, build_ids=(), hostname="host-1", command=("perf", "record"),
                 architecture="x86_64", compressed=False, descriptions=True):
        """The usual features: {number: bytes}. build_ids: [(file name, build-id)]."""
        result = {F_HOSTNAME: feature_string(hostname), F_OSRELEASE: feature_string("6.1.0"),
                  F_VERSION: feature_string("6.1.0"), F_ARCH: feature_string(architecture),
                  F_NRCPUS: struct.pack("<II", 4, 4),
                  F_CMDLINE: struct.pack("<I", len(command))
                             + b"".join(feature_string(c) for c in command)}
        if build_ids:
            result[F_BUILD_ID] = b"".join(build_id_record(n, b) for n, b in build_ids)
        if descriptions:
            result[F_EVENT_DESC] = self.event_descriptions()
        if any(e.has(BRANCH_STACK) for e in self.events):
            result[F_BRANCH_STACK] = b""
        if compressed:
            result[F_COMPRESSED] = struct.pack("<5I", 1, 1, 1, 4, 528384)
        return result

    def event_descriptions(self):
        """The feature with the events' attributes, names and ids."""
        size = max(e.size for e in self.events)
        parts = [struct.pack("<II", len(self.events), size)]
        for event in self.events:
            parts += [event.attribute().ljust(size, b"\0"), struct.pack("<I", len(event.ids)),
                      feature_string(event.name), struct.pack(f"<{len(event.ids)}Q", *event.ids)]
        return b"".join(parts)

    def file(self, features=None, **options):
        """A file's bytes. features: {number: bytes}; if None, what features(**options) gives."""
        if features is None:
            features = self.features(**options)
        data = b"".join(self.records)
        head = self.file_head(len(data), features)
        return head + data + feature_section(features, len(head) + len(data))

    def file_head(self, data_size, features):
        """The part before the data: header, ids, attributes."""
        attributes = [(e.attribute(), struct.pack(f"<{len(e.ids)}Q", *e.ids)) for e in self.events]
        return file_head(attributes, data_size, features)

    def pipe(self, build_ids=(), features=None, names=True):
        """A stream's bytes, as perf record writes them to a pipe."""
        parts = [MAGIC + struct.pack("<Q", 16)]
        for event in self.events:
            body = event.attribute() + struct.pack(f"<{len(event.ids)}Q", *event.ids)
            parts.append(record(R_HEADER_ATTR, body))
        for number, data in sorted((features or {}).items()):
            parts.append(record(R_FEATURE, padded(struct.pack("<Q", number) + data)))
        for event in self.events if names else ():
            body = struct.pack("<QQ", 2, event.ids[0] if event.ids else 0) + c_string(event.name)
            parts.append(record(R_EVENT_UPDATE, body))
        parts += [build_id_record(name, build_id) for name, build_id in build_ids]
        return b"".join(parts + self.records)


def file_head(events, data_size, features):
    """A file up to its data. events: [(perf_event_attr, ids)] as bytes; features: their numbers."""
    size = max(len(attribute) for attribute, _ in events)
    ids = b"".join(i for _, i in events)
    table, at = b"", FILE_HEADER_SIZE
    for attribute, event_ids in events:
        table += attribute.ljust(size, b"\0") + struct.pack("<QQ", at, len(event_ids))
        at += len(event_ids)
    bits = sum(1 << f for f in features)
    header = MAGIC + struct.pack("<8Q", FILE_HEADER_SIZE, size + 16, at, len(table),
                                 at + len(table), data_size, 0, 0)
    return header + bits.to_bytes(32, "little") + ids + table


def build_id_record(name, build_id, pid=-1):
    """A record with a file's build-id; the feature consists of such records."""
    body = struct.pack("<i20sB3x", pid, build_id, len(build_id)) + c_string(name, 64)
    return record(R_BUILD_ID, body, USER | BUILD_ID_SIZE)


def feature_section(features, offset):
    """The table of the features and their contents, for a file where they start at offset."""
    at = offset + 16 * len(features)
    table, contents = b"", b""
    for _, data in sorted(features.items()):
        table += struct.pack("<QQ", at + len(contents), len(data))
        contents += data
    return table + contents


def records_of(data):
    """[(type, misc, body)] of records that follow each other."""
    result, at = [], 0
    while at < len(data):
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        result.append((kind, misc, data[at + 8:at + size]))
        at += size
    return result


def file_of_stream(data):
    """The same session as a file: some records of a stream become the file's header and features.

    (perf 6.1's `perf inject` should do that, but it writes files that perf cannot read.)
    """
    attributes, features, build_ids, rest = [], {}, b"", []
    for kind, misc, body in records_of(data[16:]):
        if kind == R_HEADER_ATTR:
            size = struct.unpack_from("<I", body, 4)[0]
            attributes.append((body[:size], body[size:]))
        elif kind == R_FEATURE:
            features[struct.unpack_from("<Q", body)[0]] = body[8:]
        elif kind == R_BUILD_ID:
            build_ids += record(kind, body, misc)
        elif kind not in (R_EVENT_UPDATE, R_HEADER_EVENT_TYPE):
            rest.append(record(kind, body, misc))
    if build_ids:
        features[F_BUILD_ID] = build_ids
    content = b"".join(rest)
    head = file_head(attributes, len(content), features)
    return head + content + feature_section(features, len(head) + len(content))


# --- zstd -----------------------------------------------------------------------------------------


class _Buffer(ctypes.Structure):
    """ZSTD_inBuffer; ZSTD_outBuffer differs only in the kind of pointer."""
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


class ZstdStream:
    """One zstd stream, compressed piece by piece as perf record does it."""

    FLUSH = 1

    def __init__(self, level=1):
        self.library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        self.library.ZSTD_createCCtx.restype = ctypes.c_void_p
        self.library.ZSTD_compressStream2.restype = ctypes.c_size_t
        self.library.ZSTD_compressStream2.argtypes = [
            ctypes.c_void_p, ctypes.POINTER(_Buffer), ctypes.POINTER(_Buffer), ctypes.c_int]
        self.library.ZSTD_freeCCtx.argtypes = [ctypes.c_void_p]
        self.library.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        self.context = self.library.ZSTD_createCCtx()
        self.library.ZSTD_CCtx_setParameter(self.context, 100, level)

    def compress(self, data):
        """The stream's next bytes, flushed so that all of data can be decompressed."""
        room = ctypes.create_string_buffer(len(data) + 4096)
        source = ctypes.create_string_buffer(data, len(data))
        output = _Buffer(ctypes.addressof(room), len(room), 0)
        left = self.library.ZSTD_compressStream2(
            self.context, ctypes.byref(output),
            ctypes.byref(_Buffer(ctypes.addressof(source), len(data), 0)), self.FLUSH)
        if left != 0:
            raise ValueError(f"zstd did not take everything: {ctypes.c_ssize_t(left).value}")
        return room.raw[:output.at]

    def __del__(self):
        self.library.ZSTD_freeCCtx(self.context)
