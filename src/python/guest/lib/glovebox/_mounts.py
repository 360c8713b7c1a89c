"""Where a path leads: to a mount of the capability `fs`, which is the host's, or to the interpreter's own memory."""

import errno
import os
import posixpath

from . import _host

# What lies in the interpreter's own memory, or nowhere: there Python's own modules look for what systems have.
_OWN = frozenset("bin dev etc home lib lib64 proc root sbin sys tmp tool tool-packages usr var".split())
_WRITING = frozenset("writeFile copyFile truncate mkdir rm rmdir unlink rename".split())
# Of calls whose folder is in a mount, by the number of their run.
folders = {}


def place(path, dir_fd=None):
    """
    What of a path is the mounts', as the capability takes it, else `None`; and the path for the interpreter's own functions. A folder below
    one that is not the interpreter's own is a mount's: whether there is such a mount, and whose, is the host's to say.
    """
    if isinstance(path, int):
        return None, path
    try:
        text = os.fspath(path)
    except TypeError:
        return None, path
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    if not text.startswith("/"):
        folder = folders.get(_host.host.run()) if folders and text and dir_fd is None else None
        if folder is None:
            return None, path
        text = path = f"{folder}/{text}"
    normal = "/" + posixpath.normpath(text).lstrip("/")
    top = normal.split("/", 2)[1]
    if top in _OWN or top == "":
        return None, path
    if "\0" in text:
        raise ValueError("embedded null byte")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "the names of files in a mount are Unicode", text) from None
    # Only a folder will do.
    return (normal + "/" if text.endswith(("/", "/.", "/..")) and normal != "/" else normal), path


def ask(method, path, **args):
    """Asks the capability for something in a mount. Raises an `OSError`, as a system would."""
    try:
        answer = _host.ask("fs", method, {"path": path, **args})
    except _host.CapabilityError as refusal:
        raise _refused(refusal, method, path) from refusal
    failure = answer.get("failure")
    if failure is None:
        return answer.get("value")
    raise failed(failure["code"], path, args.get("to"))


def failed(code, path, other=None):
    number = getattr(errno, code, errno.EIO)
    named = () if other is None else (None, other)
    return OSError(number, os.strerror(number), path, *named)


def _refused(refusal, method, path):
    """What Python's code expects. Where nobody catches it, the call ends as with the refusal itself."""
    match refusal.code:
        case "capability_denied":
            number = errno.EACCES
        case "capability_limit":
            number = errno.ENOSPC if method in _WRITING else errno.EFBIG
        case _:
            number = errno.EIO
    return _host.carry(OSError(number, str(refusal), path), refusal)


def kind_of(path, follow=True):
    return ask("stat" if follow else "lstat", path)["kind"]
