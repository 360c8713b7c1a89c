"""
Has `open`, and what is built on `os`, reach the mounts that the tool was granted. All else is the interpreter's own memory, for which
`posix` has the functions that stood in `os` before.
"""

import _io
import builtins
import errno
import gc
import io
import os
import posix
import posixpath
import shutil
import stat as _stat
import sys
import types

from . import _built_in, _host, _mount_file, _mount_tree, _mounts, _streams
from ._mounts import place

_HOME = "/tmp"
_own_realpath = posixpath.realpath
_own_samefile = posixpath.samefile
_FUNCTION = (types.BuiltinFunctionType, types.FunctionType)
# Whether calls may have left something in memory.
_is_used = False


def renew(run):
    """A call begins that shall find nothing of those before it, unless one of them is still under way."""
    global _is_used
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        # Its names are made of randomness, which is each call's own.
        tempfile._name_sequence = None
    if not _is_used or not _host.is_alone(run):
        return
    _is_used = False
    _mounts.folders.clear()
    _mount_tree.reset()
    posix.chdir(_HOME)
    _empty(_HOME)


def completed(run, result):
    """What is to be written is written before a call has succeeded."""
    _mount_file.complete(run)
    return result


def end(run):
    _mount_file.end(run)


def _empty(folder):
    for name in posix.listdir(folder):
        path = f"{folder}/{name}"
        try:
            if _stat.S_ISDIR(posix.lstat(path).st_mode):
                posix.chmod(path, 0o700)
                _empty(path)
                posix.rmdir(path)
            else:
                posix.unlink(path)
        except OSError:
            pass


def _use():
    global _is_used
    _is_used = True


def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    mount, path = place(file)
    if mount is None and not isinstance(file, int) and opener is None:
        if mode not in ("r", "rb"):
            _use()
        return _io.open(path, mode, buffering, encoding, errors, newline, closefd)
    flags = _mount_file.flags_of(mode)
    if opener is not None:
        number = opener(file, flags | getattr(os, "O_CLOEXEC", 0))
        raw = _mount_tree.opened(number)
        if raw is None:
            return _io.open(file, mode, buffering, encoding, errors, newline, closefd, lambda *_: number)
        raw = _mount_tree.give_away(number)
    elif mount is None:
        if _mount_tree.opened(file) is None:
            return _io.open(file, mode, buffering, encoding, errors, newline, closefd)
        raw = _mount_tree.give_away(file)
    else:
        raw = _mount_file.MountFile(mount, flags, file)
    return _mount_file.layered(raw, mode, buffering, encoding, errors, newline)


def os_open(path, flags, mode=0o777, *, dir_fd=None):
    mount, path = place(path, dir_fd)
    if mount is not None:
        return _mount_tree.open_descriptor(mount, flags, path)
    _use()
    return posix.open(path, flags, mode, dir_fd=dir_fd)


def _of_descriptor(name, on_file):
    """A function that takes a descriptor: `on_file` is for those of a mount's files."""
    own = getattr(posix, name)

    def function(fd, *args):
        raw = _mount_tree.opened(fd)
        return own(fd, *args) if raw is None else on_file(raw, *args)

    return function


def write(fd, data, /):
    raw = _mount_tree.opened(fd) or _streams.numbered(fd)
    return posix.write(fd, data) if raw is None else raw.write(data)


def close(fd):
    return posix.close(fd) if _mount_tree.opened(fd) is None else _mount_tree.release(fd)


def stat(path, *, dir_fd=None, follow_symlinks=True):
    raw = _mount_tree.opened(path)
    if raw is not None:
        return _mount_tree.status(raw.path)
    mount, path = place(path, dir_fd)
    if mount is None:
        return posix.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    return _mount_tree.status(mount, follow_symlinks)


def lstat(path, *, dir_fd=None):
    mount, path = place(path, dir_fd)
    return posix.lstat(path, dir_fd=dir_fd) if mount is None else _mount_tree.status(mount, False)


def _mounts_beside(own, path, listed):
    """In `/` the mounts are beside what is the interpreter's own, where there are any."""
    if isinstance(path, int) or os.fsdecode(path) != "/":
        return own
    try:
        found = listed("/", path)
    except (OSError, RuntimeError):
        # No mounts, or capability calls are refused while a module is loaded.
        return own
    return [*own, *found]


def listdir(path="."):
    given = "." if path is None else path
    mount, own = place(given)
    if mount is None:
        return _mounts_beside(posix.listdir(own), own, _names)
    return _names(mount, given)


def _names(mount, given):
    names = _mount_tree.names(mount)
    return [name.encode() for name in names] if isinstance(os.fspath(given), bytes) else names


def scandir(path="."):
    given = "." if path is None else path
    mount, own = place(given)
    if mount is not None:
        return _mount_tree.Entries(_mount_tree.entries(mount, given))
    if isinstance(own, int) or os.fsdecode(own) != "/":
        return posix.scandir(own)
    with posix.scandir(own) as found:
        return _mount_tree.Entries(_mounts_beside(list(found), own, _mount_tree.entries))


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    mount, path = place(path, dir_fd)
    if mount is not None:
        return _mount_tree.may(mount, mode)
    return posix.access(path, mode, dir_fd=dir_fd, effective_ids=effective_ids, follow_symlinks=follow_symlinks)


def mkdir(path, mode=0o777, *, dir_fd=None):
    mount, path = place(path, dir_fd)
    if mount is not None:
        return _mounts.ask("mkdir", mount.rstrip("/"))
    _use()
    return posix.mkdir(path, mode, dir_fd=dir_fd)


def rmdir(path, *, dir_fd=None):
    mount, path = place(path, dir_fd)
    return posix.rmdir(path, dir_fd=dir_fd) if mount is None else _mounts.ask("rmdir", mount)


def unlink(path, *, dir_fd=None):
    mount, path = place(path, dir_fd)
    return posix.unlink(path, dir_fd=dir_fd) if mount is None else _mounts.ask("unlink", mount)


def remove(path, *, dir_fd=None):
    return unlink(path, dir_fd=dir_fd)


def rename(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    mount, src = place(src, src_dir_fd)
    other, dst = place(dst, dst_dir_fd)
    if mount is None and other is None:
        return posix.rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    if mount is None or other is None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), src, None, dst)
    return _mounts.ask("rename", mount, to=other)


def replace(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    return rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


def truncate(path, length):
    raw = _mount_tree.opened(path)
    if raw is not None:
        raw.truncate(length)
        return None
    mount, path = place(path)
    return posix.truncate(path, length) if mount is None else _mounts.ask("truncate", mount, length=length)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    mount, path = place(path, dir_fd)
    if mount is not None:
        return _mount_tree.leave(mount)
    return posix.chmod(path, mode, dir_fd=dir_fd, follow_symlinks=follow_symlinks)


def utime(path, times=None, **named):
    mount, path = place(path, named.get("dir_fd"))
    return posix.utime(path, times, **named) if mount is None else _mount_tree.leave(mount)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    mount, path = place(path, dir_fd)
    if mount is not None:
        return _mount_tree.leave(mount)
    return posix.chown(path, uid, gid, dir_fd=dir_fd, follow_symlinks=follow_symlinks)


def symlink(src, dst, target_is_directory=False, *, dir_fd=None):
    mount, dst = place(dst, dir_fd)
    if mount is not None:
        return _mount_tree.refuse_links(os.fspath(src), dst)
    _use()
    return posix.symlink(src, dst, target_is_directory, dir_fd=dir_fd)


def link(src, dst, **named):
    mount, src = place(src, named.get("src_dir_fd"))
    other, dst = place(dst, named.get("dst_dir_fd"))
    if mount is not None or other is not None:
        return _mount_tree.refuse_links(src, dst)
    _use()
    return posix.link(src, dst, **named)


def readlink(path, *, dir_fd=None):
    mount, path = place(path, dir_fd)
    return posix.readlink(path, dir_fd=dir_fd) if mount is None else _mount_tree.link_of(mount)


def getcwd():
    folder = _mounts.folders.get(_host.host.run()) if _mounts.folders else None
    return posix.getcwd() if folder is None else folder


def getcwdb():
    return os.fsencode(getcwd())


def chdir(path):
    mount, path = place(path)
    _use()
    run = _host.host.run()
    if mount is None:
        posix.chdir(path)
        _mounts.folders.pop(run, None)
    else:
        _mount_tree.enter(mount)
        _mounts.folders[run] = mount.rstrip("/")


def realpath(filename, *, strict=False):
    mount, own = place(filename)
    if mount is None:
        return _own_realpath(own, strict=strict)
    found = _mount_tree.real(mount, strict is not False)
    return found.encode() if isinstance(os.fspath(filename), bytes) else found


def samefile(f1, f2):
    if place(f1)[0] is None or place(f2)[0] is None:
        return _own_samefile(f1, f2)
    return realpath(f1, strict=True) == realpath(f2, strict=True)


_DESCRIPTORS = {
    "read": _mount_tree.read,
    "lseek": lambda raw, position, whence: raw.seek(position, whence),
    "fstat": lambda raw: _mount_tree.status(raw.path),
    "ftruncate": lambda raw, length: raw.truncate(length) and None,
    "fsync": lambda raw: None,
}
_PATHS = (
    (stat, lstat, listdir, scandir, access, mkdir, rmdir, unlink, remove, rename, replace)
    + (truncate, chmod, utime, chown, symlink, link, readlink, getcwd, getcwdb, chdir, write, close)
)


def install():
    """Done once, before the interpreter's memory is kept."""
    instead = {}

    def put(module, name, function):
        own = getattr(module, name)
        function.__name__ = function.__qualname__ = name
        function.__module__ = module.__name__
        if isinstance(own, types.BuiltinFunctionType):
            function = _built_in.like(own, function)
        instead[own] = function
        setattr(module, name, function)

    put(os, "open", os_open)
    for function in _PATHS:
        if hasattr(os, function.__name__):
            put(os, function.__name__, function)
    for name, on_file in _DESCRIPTORS.items():
        if hasattr(posix, name):
            put(os, name, _of_descriptor(name, on_file))
    put(posixpath, "realpath", realpath)
    put(posixpath, "samefile", samefile)
    put(io, "open", open)
    builtins.open = io.open
    _put_in_modules(instead)
    # What holds on to folders by their descriptors cannot do so in a mount; Python has another way for all of it.
    os.supports_dir_fd.clear()
    os.supports_fd.clear()
    for names in (os.supports_follow_symlinks, os.supports_effective_ids):
        names.update([instead[one] for one in names if one in instead])
    shutil._use_fd_functions = shutil.rmtree.avoids_symlink_attacks = False
    shutil._rmtree_impl = shutil._rmtree_unsafe


def _put_in_modules(instead):
    """Modules that are loaded already may have taken the functions that were there before."""
    for name, module in list(sys.modules.items()):
        if name in ("posix", "_io", __name__) or not isinstance(module, types.ModuleType):
            continue
        for member, value in list(vars(module).items()):
            if isinstance(value, _FUNCTION) and value in instead:
                setattr(module, member, instead[value])
    for function in gc.get_objects():
        if not isinstance(function, types.FunctionType) or function.__module__ == __name__:
            continue
        defaults = function.__defaults__ or ()
        if any(isinstance(value, _FUNCTION) and value in instead for value in defaults):
            function.__defaults__ = tuple(
                instead.get(value, value) if isinstance(value, _FUNCTION) else value for value in defaults
            )
