"""`print` writes lines of the call's log."""

import io
import sys

from . import _host

_LINE_MAX = 16_384


class _Bytes(io.BufferedIOBase):
    """What is below a stream of text. Each line that a call writes becomes one of its log."""

    mode = "wb"

    def __init__(self, name, level, number):
        self.name = name
        self._level = level
        self._number = number
        self._open = {}

    def fileno(self):
        return self._number

    def writable(self):
        return True

    def write(self, data):
        if isinstance(data, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        data = bytes(memoryview(data))
        if _host.host is None:
            return len(data)
        run = _host.host.run()
        *lines, rest = (self._open.pop(run, b"") + data).split(b"\n")
        for line in lines:
            self._log(line)
        while len(rest) > _LINE_MAX:
            end = _end_of_character(rest, _LINE_MAX)
            self._log(rest[:end])
            rest = rest[end:]
        if rest:
            self._open[run] = rest
        return len(data)

    def close(self):
        """All calls have the same."""

    def end(self, run):
        """The call has ended, and so has its last line."""
        rest = self._open.pop(run, b"")
        if rest and _host.host is not None:
            self._log(rest)

    def _log(self, line):
        _host.host.log(self._level, line.decode(errors="replace"))


def _end_of_character(data, most):
    """Where to cut UTF-8 so that no character is torn."""
    return next((end for end in range(most, most - 4, -1) if data[end] & 0xC0 != 0x80), most)


class Lines(io.TextIOWrapper):
    """A stream of text that holds nothing back, so that bytes that are written below it keep their place."""

    def __init__(self, name, level, number):
        super().__init__(_Bytes(name, level, number), "utf-8", "backslashreplace", "\n", write_through=True)
        self.mode = "w"

    def line(self, level, text):
        """A whole line, or several, of another level."""
        if _host.host is not None:
            for line in text.split("\n"):
                _host.host.log(level, line)

    def end(self, run):
        self.buffer.end(run)

    # Later calls have the same stream.

    def close(self):
        self.flush()

    def detach(self):
        raise io.UnsupportedOperation("the sandbox writes lines of a log, and has no other stream below")

    def reconfigure(self, *, encoding=None, errors=None, newline=None, line_buffering=None, write_through=None):
        self.flush()


STDOUT = Lines("<stdout>", "log", 1)
STDERR = Lines("<stderr>", "error", 2)
_BY_NUMBER = {stream.fileno(): stream.buffer for stream in (STDOUT, STDERR)}


def install():
    sys.stdout = sys.__stdout__ = STDOUT
    sys.stderr = sys.__stderr__ = STDERR
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BytesIO(), "utf-8")


def numbered(number):
    """What `os.write` writes to, if that is one of these streams."""
    return _BY_NUMBER.get(number) if isinstance(number, int) else None


def end(run):
    STDOUT.end(run)
    STDERR.end(run)
