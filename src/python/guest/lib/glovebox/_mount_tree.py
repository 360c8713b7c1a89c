"""The functions of `os` for what is in a mount."""

import errno
import os
import stat
import zlib

from . import _mounts
from ._mount_file import MountFile

_MODES = {"file": stat.S_IFREG | 0o644, "folder": stat.S_IFDIR | 0o755, "link": stat.S_IFLNK | 0o777}
# Of all mounts together: that of the interpreter's own memory is another.
_DEVICE = 0x676C
_FIRST_DESCRIPTOR = 1 << 20

# Files that were opened by `os.open`, by their numbers.
_descriptors = {}


def status(path, follow_symlinks=True):
    facts = _mounts.ask("stat" if follow_symlinks else "lstat", path)
    mode = _MODES.get(facts["kind"], stat.S_IFCHR | 0o644)
    size, ms = facts["size"], facts["mtimeMs"]
    # There are no numbers of files: what has the same path is the same.
    number = zlib.crc32(path.rstrip("/").encode()) + 1
    seconds = ms / 1000
    whole = int(seconds)
    times = {f"st_{one}": seconds for one in ("atime", "mtime", "ctime")}
    nanoseconds = {f"st_{one}_ns": round(ms * 1_000_000) for one in ("atime", "mtime", "ctime")}
    return os.stat_result((mode, number, _DEVICE, 1, 0, 0, size, whole, whole, whole), {**times, **nanoseconds})


def names(path):
    return [name for name, _kind in _mounts.ask("readdir", path)]


class Entry:
    """Stands for an `os.DirEntry`."""

    def __init__(self, name, path, kind, place):
        self.name = name
        self.path = path
        self._kind = kind
        self._place = place

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"

    def is_dir(self, *, follow_symlinks=True):
        return self._is("folder", follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        return self._is("file", follow_symlinks)

    def is_symlink(self):
        return self._kind == "link"

    def is_junction(self):
        return False

    def stat(self, *, follow_symlinks=True):
        return status(self._place, follow_symlinks)

    def inode(self):
        return status(self._place, False).st_ino

    def _is(self, kind, follow_symlinks):
        if self._kind != "link" or not follow_symlinks:
            return self._kind == kind
        try:
            return _mounts.kind_of(self._place) == kind
        except FileNotFoundError:
            return False


class Entries:
    """Stands for what `os.scandir` gives."""

    def __init__(self, entries):
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def close(self):
        self._entries = iter(())


def entries(path, given):
    """`given`: the path as the tool wrote it, with which those of the entries begin."""
    shown = os.fspath(given)
    is_bytes = isinstance(shown, bytes)
    found = []
    for name, kind in _mounts.ask("readdir", path):
        own = name.encode() if is_bytes else name
        found.append(Entry(own, os.path.join(shown, own), kind, f"{path.rstrip('/')}/{name}"))
    return found


def may(path, mode):
    try:
        _mounts.ask("access", path, mode=mode)
        return True
    except OSError:
        return False


def leave(path):
    """Modes, owners and times are not the tool's to change: where it might write, nothing happens."""
    _mounts.ask("access", path, mode=os.W_OK)


def real(path, strict):
    """Where a path leads, without links."""
    rest = []
    here = path.rstrip("/")
    while True:
        try:
            return "/".join([_mounts.ask("realpath", here, missing=not strict), *reversed(rest)])
        except (OSError, RuntimeError) as error:
            if strict:
                raise
            # Of what is not there, as much as is; where nobody may look, or can, the path as it is written.
            if not isinstance(error, (FileNotFoundError, NotADirectoryError)) or here.count("/") < 2:
                return path.rstrip("/")
        here, _slash, name = here.rpartition("/")
        rest.append(name)


def link_of(path):
    """A link leads to what it leads to in the end: what is written in it is the host's."""
    if _mounts.kind_of(path, False) != "link":
        raise _mounts.failed("EINVAL", path)
    return _mounts.ask("realpath", path)


def enter(path):
    if _mounts.kind_of(path) != "folder":
        raise _mounts.failed("ENOTDIR", path)


def refuse_links(path, other=None):
    named = () if other is None else (None, other)
    raise OSError(errno.EPERM, "links cannot be made in a mount", path, *named)


def open_descriptor(path, flags, name):
    if flags & getattr(os, "O_DIRECTORY", 0):
        raise OSError(errno.ENOTSUP, "folders of a mount have no descriptors", path)
    return keep(MountFile(path, flags, name))


def keep(raw):
    number = max(_descriptors, default=_FIRST_DESCRIPTOR - 1) + 1
    _descriptors[number] = raw
    return number


def opened(number):
    """The open file of a mount with this descriptor, or `None`."""
    return _descriptors.get(number) if isinstance(number, int) and number >= _FIRST_DESCRIPTOR else None


def release(number):
    _descriptors.pop(number).close()


def give_away(number):
    """From now on it is a file's, and has no number."""
    return _descriptors.pop(number)


def read(raw, count):
    data = raw.read(count)
    return b"" if data is None else data


def reset():
    _descriptors.clear()
