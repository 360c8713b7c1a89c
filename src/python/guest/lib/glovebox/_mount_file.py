"""Files of a mount, as `open` gives them."""

import base64
import errno
import io
import os
import weakref

from . import _host, _mounts

# What is read at once: a file that is no longer takes one question to the host.
_WINDOW_BYTES = 512 * 1024
_PIECE_BYTES = 4 * 1024 * 1024
_BUFFER_BYTES = 256 * 1024
# Files that were opened to be written, by the number of their run.
_written = {}


class MountFile(io.RawIOBase):
    """A file of a mount: each read of what is not known yet, and each write, is a question to the host."""

    def __init__(self, path, flags, name):
        access = flags & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
        self.name = name
        # As the capability takes it.
        self.path = path
        self._reads = access != os.O_WRONLY
        self._writes = access != os.O_RDONLY
        self._appends = bool(flags & os.O_APPEND)
        self._is_abandoned = False
        self._at = 0
        # Bytes that are known, from where on, and whether the file ends with them.
        self._window = b""
        self._from = 0
        self._is_end = False
        # `None` as long as nobody had to know.
        self._size = None
        self._begin(flags)

    def _begin(self, flags):
        """Whatever cannot be is told when the file is opened."""
        if flags & os.O_CREAT and flags & os.O_EXCL:
            self._store(b"", "wx")
            self._size = 0
        elif self._writes and flags & os.O_CREAT:
            self._store(b"", "w" if flags & os.O_TRUNC else "a")
            self._size = 0 if flags & os.O_TRUNC else None
        elif self._writes:
            _mounts.ask("access", self.path, mode=os.W_OK)
            if _mounts.kind_of(self.path) == "folder":
                raise _mounts.failed("EISDIR", self.path)
            if flags & os.O_TRUNC:
                self.truncate(0)
        else:
            self._look(0, _WINDOW_BYTES)
        if self._appends:
            self._at = self.size()

    @property
    def mode(self):
        if self._appends:
            return "ab+" if self._reads else "ab"
        if self._writes:
            return "rb+" if self._reads else "wb"
        return "rb"

    def readable(self):
        self._checkClosed()
        return self._reads

    def writable(self):
        self._checkClosed()
        return self._writes

    def seekable(self):
        self._checkClosed()
        return True

    def size(self):
        if self._size is None:
            self._size = _mounts.ask("stat", self.path)["size"]
        return self._size

    def tell(self):
        self._checkClosed()
        return self._at

    def seek(self, offset, whence=os.SEEK_SET):
        self._checkClosed()
        start = {os.SEEK_SET: lambda: 0, os.SEEK_CUR: lambda: self._at, os.SEEK_END: self.size}.get(whence)
        if start is None:
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        at = start() + offset
        if at < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = at
        return at

    def readinto(self, buffer):
        self._checkClosed()
        if not self._reads:
            raise io.UnsupportedOperation("not readable")
        view = memoryview(buffer).cast("B")
        data = self._known(len(view)) if len(view) else b""
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self):
        self._checkClosed()
        if not self._reads:
            raise io.UnsupportedOperation("not readable")
        parts = []
        while data := self._known(_PIECE_BYTES):
            self._at += len(data)
            parts.append(data)
        return b"".join(parts)

    def _known(self, count):
        """At most so many bytes from here on; none at the end."""
        start = self._at - self._from
        if not 0 <= start < len(self._window):
            if self._is_end and start >= len(self._window):
                return b""
            self._look(self._at, max(_WINDOW_BYTES, min(count, _PIECE_BYTES)))
            start = 0
        return self._window[start : start + count]

    def _look(self, position, length):
        content = _mounts.ask("readFile", self.path, position=position, length=length)
        text = content.get("text")
        self._window = base64.b64decode(content["base64"]) if text is None else text.encode()
        self._from = position
        self._is_end = len(self._window) < length
        if self._is_end and (self._window or position == 0):
            self._size = position + len(self._window)

    def write(self, data):
        self._checkClosed()
        if not self._writes:
            raise io.UnsupportedOperation("not writable")
        data = bytes(data)
        if not data or self._is_abandoned:
            return len(data)
        if self._appends:
            self._at = self.size()
        end = self._at + len(data)
        # The host writes at the end only: what comes after is taken off, and written again.
        after = self._part(end, self.size()) if end < self.size() else b""
        if self._at != self.size():
            self.truncate(self._at)
        self._forget()
        # Where it fails midway, nobody knows how far it has come.
        self._size = None
        rest = data + after
        for start in range(0, len(rest), _PIECE_BYTES):
            self._store(rest[start : start + _PIECE_BYTES], "a")
        self._at = end
        self._size = end + len(after) if not self._appends else None
        return len(data)

    def _part(self, start, end):
        parts = []
        while start < end:
            self._look(start, min(end - start, _PIECE_BYTES))
            if not self._window:
                break
            parts.append(self._window)
            start += len(self._window)
        return b"".join(parts)

    def truncate(self, size=None):
        self._checkClosed()
        if not self._writes:
            raise io.UnsupportedOperation("truncate")
        size = self._at if size is None else size
        if size < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        _mounts.ask("truncate", self.path, length=size)
        self._forget()
        self._size = size
        return size

    def abandon(self):
        """What its buffer still holds goes nowhere: when it is collected, the turn may be another call's."""
        self._is_abandoned = True

    def _store(self, data, flag):
        _mounts.ask("writeFile", self.path, data=_content(data), flag=flag)

    def _forget(self):
        self._window = b""
        self._from = 0
        self._is_end = False


def _content(data):
    try:
        if b"\0" not in data:
            return {"text": data.decode()}
    except UnicodeDecodeError:
        pass
    return {"base64": base64.b64encode(data).decode()}


_FLAGS = {
    "r": 0,
    "w": os.O_CREAT | os.O_TRUNC,
    "x": os.O_CREAT | os.O_EXCL,
    "a": os.O_CREAT | os.O_APPEND,
}


def flags_of(mode):
    """Those of `os.open` for a mode of `open`."""
    kinds = [letter for letter in mode if letter in _FLAGS]
    if set(mode) - set("rwxab+t") or len(set(mode)) < len(mode):
        raise ValueError(f"invalid mode: {mode!r}")
    if "t" in mode and "b" in mode:
        raise ValueError("can't have text and binary mode at once")
    if len(kinds) != 1:
        raise ValueError("must have exactly one of create/read/write/append mode")
    access = os.O_RDWR if "+" in mode else os.O_RDONLY if kinds == ["r"] else os.O_WRONLY
    return access | _FLAGS[kinds[0]]


def layered(raw, mode, buffering, encoding, errors, newline):
    """The file that `open` gives: with a buffer, and for texts with a coding."""
    is_binary = "b" in mode
    if is_binary and encoding is not None:
        raise ValueError("binary mode doesn't take an encoding argument")
    if is_binary and errors is not None:
        raise ValueError("binary mode doesn't take an errors argument")
    if is_binary and newline is not None:
        raise ValueError("binary mode doesn't take a newline argument")
    if buffering == 0:
        if is_binary:
            return raw
        raise ValueError("can't have unbuffered text I/O")
    size = max(buffering, _BUFFER_BYTES)
    if not raw.writable():
        buffer = io.BufferedReader(raw, size)
    elif raw.readable():
        buffer = io.BufferedRandom(raw, size)
    else:
        buffer = io.BufferedWriter(raw, size)
    file = buffer
    if not is_binary:
        file = io.TextIOWrapper(buffer, io.text_encoding(encoding), errors, newline, line_buffering=buffering == 1)
        file.mode = mode
    if raw.writable():
        _written.setdefault(_host.host.run(), weakref.WeakSet()).add(file)
    return file


def complete(run):
    """Writes what was not written yet: a call that loses something fails."""
    files = _written.get(run)
    while files:
        file = files.pop()
        if not file.closed:
            file.flush()
    _written.pop(run, None)


def end(run):
    """The call has failed: what can still be written is written, and what cannot be is nobody's any more."""
    for file in list(_written.pop(run, ())):
        try:
            if not file.closed:
                file.flush()
        except BaseException:
            getattr(file, "buffer", file).raw.abandon()
