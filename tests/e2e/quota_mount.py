#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file system whose quota is only noticed when a file is closed, or synchronised as well.

    quota_mount.py FOLDER MOUNT BYTES close|sync

It shows FOLDER at MOUNT, in the foreground, until it is unmounted. Like NFS it takes every write, and keeps no
more than the first BYTES bytes of each file. That the rest is lost is an error (EDQUOT) of the file's close; with
"sync" of its fsync, too. As on many such file systems there are no links, names cannot be exchanged, and each
file has a name from the beginning.
"""

import errno
import os
import sys

sys.path.insert(0, "/usr/lib/python3/dist-packages")
from fusepy import FUSE, FuseOSError, Operations  # pylint: disable=wrong-import-position

SHOWN = ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_mtime", "st_ctime", "st_atime")


class Quota(Operations):
    """The folder, with a limit of bytes for each file."""

    def __init__(self, folder, limit, in_fsync):
        self.folder, self.limit, self.in_fsync = folder, limit, in_fsync
        self.cut = set()  # descriptors with lost bytes

    def __call__(self, operation, path, *arguments):
        if not hasattr(self, operation):
            raise FuseOSError(errno.ENOSYS)
        try:
            return getattr(self, operation)(self.folder + path, *arguments)
        except OSError as error:
            raise FuseOSError(error.errno) from error

    def getattr(self, path, _=None):
        status = os.lstat(path)
        return {name: getattr(status, name) for name in SHOWN}

    def readdir(self, path, _):
        return [".", "..", *os.listdir(path)]

    def create(self, path, mode, _=None):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(path, flags & ~os.O_DIRECT)

    def read(self, _, size, offset, file):
        return os.pread(file, size, offset)

    def write(self, _, data, offset, file):
        kept = data[:max(0, self.limit - offset)]
        if len(kept) < len(data):
            self.cut.add(file)
        os.pwrite(file, kept, offset)
        return len(data)

    def truncate(self, path, size, _=None):
        os.truncate(path, size)

    def flush(self, _, file):
        if file in self.cut:
            raise FuseOSError(errno.EDQUOT)
        return 0

    def fsync(self, path, _, file):
        return self.flush(path, file) if self.in_fsync else 0

    def release(self, _, file):
        self.cut.discard(file)
        os.close(file)
        return 0

    def unlink(self, path):
        os.unlink(path)

    def rename(self, path, other):
        os.rename(path, self.folder + other)

    def chmod(self, path, mode):
        os.chmod(path, mode)

    def chown(self, path, user, group):
        os.chown(path, user, group)

    def mkdir(self, path, mode):
        os.mkdir(path, mode)


if __name__ == "__main__":
    FUSE(Quota(sys.argv[1], int(sys.argv[3]), sys.argv[4] == "sync"), sys.argv[2], foreground=True,
         nothreads=True)
