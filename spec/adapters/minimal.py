#!/usr/bin/env python3
"""A minimal implementation of the protocol in ../PROTOCOL.md: a tiny file system in memory.

It has mkdir, open, close, read, write, stat and unlink for one process that is user 0, paths without symlinks or
"..", and no permissions. Everything else is answered "unsupported". Begin with a copy of this file.
"""

import json
import sys
import time

OPERATIONS = ["mkdir", "open", "close", "read", "write", "stat", "unlink"]


class Refused(Exception):
    """An error of the file system, by its symbol."""


class Unsupported(Exception):
    """Something that this file system does not have; says what."""


def clock():
    return list(divmod(time.time_ns(), 10**9))


class Inode:
    def __init__(self, number, kind, permissions):
        self.number, self.kind, self.permissions = number, kind, permissions
        self.entries, self.data = {}, bytearray()
        self.links = 2 if kind == "directory" else 1
        self.atime = self.mtime = self.ctime = clock()

    def changed(self):
        self.mtime = self.ctime = clock()


class FileSystem:
    def __init__(self, setting):
        if setting["processes"] != [{"uid": 0, "gid": 0}] or setting["root"]["uid"] != 0:
            raise Unsupported("one process that is user 0, and nobody else")
        self.root = Inode(1, "directory", setting["root"]["permissions"])
        self.last, self.handles = 1, {}

    # Paths

    def walk(self, components):
        inode = self.root
        for name in components:
            if inode.kind != "directory":
                raise Refused("ENOTDIR")
            if name not in inode.entries:
                raise Refused("ENOENT")
            inode = inode.entries[name]
        return inode

    def locate(self, place):
        """The components of a path, and whether it must be a directory."""
        if not isinstance(place, str) or "\0" in place or ".." in place.split("/"):
            raise Unsupported("a path that is not plain text from the root")
        if not place:
            raise Refused("ENOENT")
        if len(place.encode()) > 4095:
            raise Refused("ENAMETOOLONG")
        components = [name for name in place.split("/") if name not in ("", ".")]
        if any(len(name.encode()) > 255 for name in components):
            raise Unsupported("which error a long name is depends on what is before it")
        return components, place.endswith(("/", "/."))

    def parent(self, place):
        """The directory that a new or old name is in, the name, and what has it now."""
        components, _ = self.locate(place)
        if not components or place.endswith(("/", "/.")):
            raise Unsupported("a path that does not end in a name")
        directory = self.walk(components[:-1])
        if directory.kind != "directory":
            raise Refused("ENOTDIR")
        return directory, components[-1], directory.entries.get(components[-1])

    def add(self, directory, name, kind, mode):
        # The umask is 022.
        self.last += 1
        permissions = mode & ~0o022 & (0o1777 if kind == "directory" else 0o7777)
        if kind == "directory":
            # Set-group-id goes from a directory to those made in it.
            permissions |= directory.permissions & 0o2000
        inode = Inode(self.last, kind, permissions)
        directory.entries[name] = inode
        directory.links += kind == "directory"
        directory.changed()
        return inode

    def opened(self, handle, access):
        if handle not in self.handles or access not in self.handles[handle][1]:
            raise Refused("EBADF")
        return self.handles[handle]

    # Operations

    def mkdir(self, path, mode):
        directory, name, found = self.parent(path)
        if found:
            raise Refused("EEXIST")
        self.add(directory, name, "directory", mode)
        return "done"

    def open(self, path, flags, handle, mode=0):
        flags = flags.split(" | ")
        if not set(flags) <= {"READ", "WRITE", "CREATE", "EXCLUSIVE"}:
            raise Unsupported("flags of open: " + " | ".join(flags))
        if "CREATE" in flags:
            directory, name, inode = self.parent(path)
            if inode and "EXCLUSIVE" in flags:
                raise Refused("EEXIST")
            if inode and inode.kind == "directory":
                raise Refused("EISDIR")
            inode = inode or self.add(directory, name, "regular", mode)
        else:
            components, directory = self.locate(path)
            inode = self.walk(components)
            if directory and inode.kind != "directory":
                raise Refused("ENOTDIR")
            if inode.kind == "directory" and "WRITE" in flags:
                raise Refused("EISDIR")
        self.handles[handle] = [inode, flags, 0]
        return "done"

    def close(self, handle):
        self.opened(handle, self.handles.get(handle, [None, [None]])[1][0])
        del self.handles[handle]
        return "done"

    def read(self, handle, length):
        opened = self.opened(handle, "READ")
        inode, _, offset = opened
        if inode.kind == "directory":
            raise Refused("EISDIR")
        data = bytes(inode.data[offset : offset + length])
        opened[2] += len(data)
        if length:
            inode.atime = clock()
        return {"data": {"hex": data.hex()}}

    def write(self, handle, data):
        opened = self.opened(handle, "WRITE")
        inode, _, offset = opened
        data = to_bytes(data)
        if data:
            inode.data[offset : offset + len(data)] = data
            opened[2] += len(data)
            inode.changed()
        return {"count": len(data)}

    def stat(self, path=None, handle=None, follow=True):
        if path is None:
            if handle not in self.handles:
                raise Refused("EBADF")
            inode = self.handles[handle][0]
        else:
            components, directory = self.locate(path)
            inode = self.walk(components)
            if directory and inode.kind != "directory":
                raise Refused("ENOTDIR")
        size = 4096 if inode.kind == "directory" else len(inode.data)
        return {
            "status": {
                "inode": inode.number,
                "kind": inode.kind,
                "permissions": inode.permissions,
                "links": inode.links,
                "uid": 0,
                "gid": 0,
                "size": size,
                "blocks": (size + 511) // 512,
                "rdev": 0,
                "atime": inode.atime,
                "mtime": inode.mtime,
                "ctime": inode.ctime,
            }
        }

    def unlink(self, path):
        directory, name, inode = self.parent(path)
        if not inode:
            raise Refused("ENOENT")
        if inode.kind == "directory":
            raise Refused("EISDIR")
        del directory.entries[name]
        directory.changed()
        inode.links -= 1
        inode.ctime = clock()
        return "done"


def to_bytes(value):
    """A byte string in any of its three forms."""
    if isinstance(value, str):
        return value.encode()
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    return b"".join(bytes([byte]) * count for byte, count in value["runs"])


def answer(file_system, request):
    name = request.pop("op")
    if name not in OPERATIONS:
        raise Unsupported(f"no operation {name}")
    if request.pop("by", 0) != 0:
        raise Unsupported("one process only")
    request.pop("now", None)  # this file system has its own clock
    return getattr(file_system, name)(**request)


def main():
    def say(line):
        print(json.dumps(line), flush=True)

    say({"hello": {"protocol": 1, "name": "minimal.py", "operations": OPERATIONS}})
    file_system = None
    for line in sys.stdin:
        request = json.loads(line)
        before = clock()
        try:
            if "begin" in request:
                file_system = FileSystem(request["begin"])
                outcome = "done"
            elif "end" in request:
                file_system = None
                outcome = "done"
            else:
                outcome = answer(file_system, request)
        except Refused as refused:
            outcome = {"error": str(refused)}
        except Unsupported as what:
            outcome = {"unsupported": str(what)}
        say({"outcome": outcome, "between": [before, clock()]})


if __name__ == "__main__":
    main()
