#!/usr/bin/env python3
"""Runs traces on the package `agentfs-sdk` of PyPI (0.6.4), in the protocol of spec/PROTOCOL.md.

Only that package opens the database, with the engine that it brings. It works on whole files by path: it has no
descriptors, no callers, no modes, no links. What it cannot express is answered as unsupported; nothing that it does is
mended here, and no answer is the adapter's own opinion. Each operation, and what of the SDK it becomes:

  open        O_DIRECTORY: readdir. With O_CREAT or O_TRUNC, of a file: write_file of no bytes when there is none or when
              it is to be cut; of a directory, also for writing: write_file, which refuses it. Else: stat. The handle is
              the path, kept here, and the inode number that stat gave.
              Unsupported: O_EXCL, O_CREAT with O_DIRECTORY, and modes that are not what write_file makes (0644).
  close       The handle is forgotten.
  read pread  read_file, and a part of it. Offsets of handles are kept here.
  write       As pwrite, at the handle's offset or, with O_APPEND, at the size that stat gives.
  pwrite      write_file of the new content: what read_file gives with the bytes put in, zeros before them if need be (so
              that such a write moves the access time). One that replaces everything reads nothing first.
              Unsupported: no bytes, and more than 64 MiB.
  truncate    stat, then read_file, and write_file of the part that stays or of the content with zeros after it.
  copy_file_range   copy_file, where a whole file replaces at least as much as the other has. Else unsupported.
  stat        stat, by path or by the handle's path. It has no blocks and no device number: the size divided by 512 and
              0 are answered in their places.
  access      access, which asks only whether the path is there; unsupported with R_OK, W_OK or X_OK.
  mkdir       mkdir. Unsupported: modes that are not what it makes (0755).
  rmdir, unlink, rename    The same. Unsupported: flags of rename.
  readdir     readdir, which sorts by name: of that, what comes after the name that was returned last; and stat of each for
              its inode number.
  seekdir     The names returned after that place are forgotten.
  reopen      close and open. Unsupported: read-only.

Unsupported altogether: umask, seek, fallocate, fsync, fdatasync, sync, chmod, chown, utimens, mknod, symlink, link,
link_handle, readlink, the extended attributes, statfs, crash. Also: paths from an open directory, paths that are not
UTF-8, callers other than user 0 and group 0, handles that are not open or not open for that, and handles whose path leads to
another inode than it did (renamed, removed, replaced).

The root directory that a trace begins with is made by the statement of SQL that the SDK has no call for, on its own
connection; it is the only one here.

An error of the SDK is answered with its own `code`. An exception without one is EIO here, and is written to standard
error as it is.

The SDK takes its times from time.time(), in whole seconds. It is given a clock that moves on by one second with every
step, and these are the clock readings that are answered, so that every effect on a time can be seen.
"""

import argparse
import asyncio
import gc
import json
import os
import sys
import tempfile
import time
import traceback
import types

sys.path.pop(0)  # The folder of this file, which has the name of the package.

import agentfs_sdk  # noqa: E402
import agentfs_sdk.filesystem  # noqa: E402

LARGEST_FILE = 64 << 20
KINDS = {0o040000: "directory", 0o100000: "regular", 0o120000: "symlink", 0o010000: "fifo", 0o140000: "socket",
         0o020000: "char_device", 0o060000: "block_device"}


class Unsupported(Exception):
    """The SDK has no way to express this."""


class Clock:
    """The time that the SDK is given."""

    def __init__(self):
        self.now = int(time.time())

    def time(self):
        return self.now


class Handle:
    """What stands for an open file: a path, the inode that it led to, and how it was opened."""

    def __init__(self, path, inode, flags):
        self.path, self.inode, self.flags = path, inode, flags
        self.offset, self.returned = 0, []


def to_bytes(form):
    """A byte string of a trace."""
    if isinstance(form, str):
        return form.encode()
    if "hex" in form:
        return bytes.fromhex(form["hex"])
    return b"".join(bytes([byte]) * count for byte, count in form["runs"])


def from_bytes(data):
    """A byte string for a trace."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def to_flags(text):
    return {flag.strip() for flag in text.split("|")}


class Adapter:
    """The SDK, as what the protocol drives."""

    OPERATIONS = ("open close read pread write pwrite truncate copy_file_range stat access mkdir rmdir unlink rename "
                  "readdir seekdir reopen").split()

    def __init__(self, database, existing, plain):
        self.database, self.existing, self.plain = database, existing, plain
        self.clock = Clock()
        agentfs_sdk.filesystem.time = types.SimpleNamespace(time=self.clock.time)
        self.agent, self.fs = None, None
        self.processes, self.handles = [], {}

    # The life of a trace.

    async def begin(self, setting):
        await self.end()
        if not self.existing:
            for ending in ("", "-wal", "-shm"):
                if os.path.exists(self.database + ending):
                    os.remove(self.database + ending)
        self.processes = setting["processes"]
        await self.open_database()
        if not self.existing:
            root = setting["root"]
            database = self.agent.get_database()
            await database.execute("UPDATE fs_inode SET mode = ?, uid = ?, gid = ? WHERE ino = 1",
                                   (0o040000 | root["permissions"], root["uid"], root["gid"]))
            await database.commit()
        return "done"

    async def end(self):
        self.handles.clear()
        if self.agent is not None:
            await self.agent.close()
            self.agent = self.fs = None
            # The engine keeps what it knows of a path, also when the file is gone, until the last object is.
            gc.collect()
        return "done"

    async def open_database(self):
        self.agent = await agentfs_sdk.AgentFS.open(agentfs_sdk.AgentFSOptions(path=self.database))
        self.fs = self.agent.fs

    async def call(self, step):
        process = self.processes[step.get("by", 0)]
        if (process["uid"], process["gid"]) != (0, 0):
            raise Unsupported("no callers: everything is done as user 0")
        return await getattr(self, step["op"])(step)

    # Paths and handles.

    def text(self, place):
        """The SDK's path: text, from the root."""
        if isinstance(place, dict) and "at" in place:
            raise Unsupported("no paths from an open directory")
        try:
            path = to_bytes(place).decode()
        except UnicodeDecodeError:
            raise Unsupported("a path is a str: it must be UTF-8") from None
        names = path.removeprefix("/").split("/")
        if self.plain and path != "/" and any(name in ("", ".", "..") or len(name) > 255 for name in names):
            raise Unsupported("not a plain path (--plain)")
        return path

    def key(self, step, name="handle"):
        return step.get("by", 0), step[name]

    async def of(self, step, needs, name="handle"):
        """The handle, if it still stands for what it stood for."""
        handle = self.handles.get(self.key(step, name))
        if handle is None or (needs and needs not in handle.flags):
            raise Unsupported("no descriptors: the handle is not open, or not open for that")
        try:
            stats = await self.fs.stat(handle.path)
        except agentfs_sdk.ErrnoException:
            stats = None
        if stats is None or stats.ino != handle.inode:
            raise Unsupported("no descriptors: the path leads to another inode now")
        return handle

    async def open(self, step):
        path, flags, key = self.text(step["path"]), to_flags(step["flags"]), self.key(step)
        if "EXCLUSIVE" in flags:
            raise Unsupported("no exclusive creation")
        if {"CREATE", "DIRECTORY"} <= flags:
            raise Unsupported("write_file makes no directory")
        if "DIRECTORY" in flags:
            await self.fs.readdir(path)
        try:
            stats = await self.fs.stat(path)
        except agentfs_sdk.ErrnoException:
            if "CREATE" not in flags:
                raise
            if step.get("mode", 0) & ~0o022 != 0o644:
                raise Unsupported("write_file takes no mode") from None
            stats = None
        cuts = "TRUNCATE" in flags or (stats and stats.is_directory() and flags & {"WRITE", "CREATE"})
        if stats is None or cuts:
            await self.fs.write_file(path, b"")
            stats = await self.fs.stat(path)
        self.handles[key] = Handle(path, stats.ino, flags)
        return "done"

    async def close(self, step):
        if self.handles.pop(self.key(step), None) is None:
            raise Unsupported("no descriptors: the handle is not open")
        return "done"

    # Content.

    async def read(self, step):
        handle = await self.of(step, "READ")
        content = await self.fs.read_file(handle.path, encoding=None)
        data = content[handle.offset : handle.offset + step["length"]]
        handle.offset += len(data)
        return {"data": from_bytes(data)}

    async def pread(self, step):
        if step["offset"] >= 1 << 63:
            raise Unsupported("no descriptors: the offset is the kernel's to refuse")
        handle = await self.of(step, "READ")
        content = await self.fs.read_file(handle.path, encoding=None)
        return {"data": from_bytes(content[step["offset"] : step["offset"] + step["length"]])}

    async def write(self, step):
        handle = await self.of(step, "WRITE")
        return await self.put(handle, None, to_bytes(step["data"]))

    async def pwrite(self, step):
        handle = await self.of(step, "WRITE")
        return await self.put(handle, step["offset"], to_bytes(step["data"]))

    async def put(self, handle, given, data):
        size = (await self.fs.stat(handle.path)).size
        offset = handle.offset if given is None else given
        if "APPEND" in handle.flags:
            offset = size
        if not data:
            raise Unsupported("no write of no bytes")
        if offset + len(data) > LARGEST_FILE:
            raise Unsupported("write_file takes the whole content")
        content = data
        if offset > 0 or len(data) < size:
            content = await self.fs.read_file(handle.path, encoding=None)
            content = content[:offset].ljust(offset, b"\0") + data + content[offset + len(data) :]
        await self.fs.write_file(handle.path, content)
        if given is None:
            handle.offset = offset + len(data)
        return {"count": len(data)}

    async def truncate(self, step):
        size = step["size"]
        if size > LARGEST_FILE:
            raise Unsupported("write_file takes the whole content")
        path = await self.path(step, "WRITE")
        await self.fs.stat(path)
        content = b"" if size == 0 else await self.fs.read_file(path, encoding=None)
        await self.fs.write_file(path, content[:size].ljust(size, b"\0"))
        return "done"

    async def copy_file_range(self, step):
        source, target = await self.of(step, "READ", "from"), await self.of(step, "WRITE", "to")
        stats = await self.fs.stat(source.path)
        whole = step["from_offset"] == step["to_offset"] == 0 and step["length"] >= stats.size
        if not whole or (await self.fs.stat(target.path)).size > stats.size:
            raise Unsupported("copy_file copies whole files")
        await self.fs.copy_file(source.path, target.path)
        return {"count": stats.size}

    # Attributes.

    async def path(self, step, needs=None):
        """The path of what is given by path or by handle."""
        return self.text(step["path"]) if "path" in step else (await self.of(step, needs)).path

    async def stat(self, step):
        stats = await self.fs.stat(await self.path(step))
        return {"status": {
            "inode": stats.ino, "kind": KINDS[stats.mode & 0o170000], "permissions": stats.mode & 0o7777,
            "links": stats.nlink, "uid": stats.uid, "gid": stats.gid, "size": stats.size,
            "blocks": (stats.size + 511) // 512, "rdev": 0,
            "atime": [stats.atime, 0], "mtime": [stats.mtime, 0], "ctime": [stats.ctime, 0],
        }}

    async def access(self, step):
        if step["mode"]:
            raise Unsupported("access asks only whether the path is there")
        await self.fs.access(self.text(step["path"]))
        return "done"

    # Names.

    async def mkdir(self, step):
        if step["mode"] & ~0o022 != 0o755:
            raise Unsupported("mkdir takes no mode")
        await self.fs.mkdir(self.text(step["path"]))
        return "done"

    async def rmdir(self, step):
        await self.fs.rmdir(self.text(step["path"]))
        return "done"

    async def unlink(self, step):
        await self.fs.unlink(self.text(step["path"]))
        return "done"

    async def rename(self, step):
        if step.get("flags"):
            raise Unsupported("rename takes no flags")
        await self.fs.rename(self.text(step["from"]), self.text(step["to"]))
        return "done"

    async def readdir(self, step):
        handle = await self.of(step, None)
        names = await self.fs.readdir(handle.path)
        if handle.returned:
            names = [name for name in names if name > handle.returned[-1]]
        entries = []
        for name in names[: step["count"]]:
            stats = await self.fs.stat(handle.path.rstrip("/") + "/" + name)
            entries.append({"name": from_bytes(name.encode()), "inode": stats.ino, "kind": None})
            handle.returned.append(name)
        return {"entries": entries}

    async def seekdir(self, step):
        handle = await self.of(step, None)
        if not (await self.fs.stat(handle.path)).is_directory():
            raise Unsupported("no descriptors: there is no listing of this")
        del handle.returned[step["after"] :]
        return "done"

    async def reopen(self, step):
        if step.get("read_only"):
            raise Unsupported("a database is always opened for writing")
        await self.end()
        await self.open_database()
        return "done"


async def answer(adapter, request, operations):
    """The outcome of a request, whatever the SDK does."""
    adapter.clock.now += 1
    try:
        if "begin" in request:
            return await adapter.begin(request["begin"])
        if "end" in request:
            return await adapter.end()
        if request["op"] not in operations:
            raise Unsupported("the SDK has no such operation")
        return await adapter.call(request)
    except Unsupported as why:
        return {"unsupported": str(why)}
    except agentfs_sdk.ErrnoException as error:
        return {"error": error.code}
    except Exception:  # Whatever the SDK raises is its answer.
        traceback.print_exc()
        return {"error": "EIO"}


def say(reply):
    sys.stdout.write(json.dumps(reply, separators=(",", ":")) + "\n")
    sys.stdout.flush()


async def serve(adapter, operations):
    name = f"agentfs-sdk {agentfs_sdk.__version__}"
    say({"hello": {"protocol": 1, "name": name, "operations": operations}})
    for line in sys.stdin:
        outcome = await answer(adapter, json.loads(line), operations)
        now = [adapter.clock.now, 0]
        say({"outcome": outcome, "between": [now, now]})
    await adapter.end()


def main():
    parser = argparse.ArgumentParser(description="Runs traces on agentfs-sdk.")
    parser.add_argument("--database", metavar="FILE", help="where the database of the last trace is left; made anew with "
                        "each trace")
    parser.add_argument("--existing", action="store_true", help="take the database as it is; the SDK writes to it")
    parser.add_argument("--without", metavar="OPERATION", action="append", default=[], help="do as if the SDK did not have "
                        "it, so that what it does there hides nothing else; may be repeated")
    parser.add_argument("--plain", action="store_true", help="do as if the SDK took only paths without empty names, dots and "
                        "names that are too long, for the same reason")
    arguments = parser.parse_args()
    if arguments.existing and not arguments.database:
        parser.error("--existing needs --database")
    operations = [name for name in Adapter.OPERATIONS if name not in arguments.without]
    with tempfile.TemporaryDirectory(prefix="agentfs-sdk-") as scratch:
        database = arguments.database or os.path.join(scratch, "trace.db")
        asyncio.run(serve(Adapter(database, arguments.existing, arguments.plain), operations))


if __name__ == "__main__":
    main()
