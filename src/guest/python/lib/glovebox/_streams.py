"""`print` writes lines of the call's log."""

import io
import sys

from . import _host

_LINE_MAX = 16_384


class Lines(io.TextIOBase):
    """A stream of which each line becomes one of the log of the call that writes it."""

    def __init__(self, name, level):
        self.name = name
        self._level = level
        self._open = {}

    encoding = "utf-8"
    errors = "replace"

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if _host.host is None:
            return len(text)
        run = _host.host.run()
        *lines, rest = (self._open.pop(run, "") + text).split("\n")
        for line in lines:
            _host.host.log(self._level, line)
        while len(rest) > _LINE_MAX:
            _host.host.log(self._level, rest[:_LINE_MAX])
            rest = rest[_LINE_MAX:]
        if rest:
            self._open[run] = rest
        return len(text)

    def line(self, level, text):
        """A whole line, or several, of another level."""
        if _host.host is not None:
            for line in text.split("\n"):
                _host.host.log(level, line)

    def end(self, run):
        """The call has ended, and so has its last line."""
        rest = self._open.pop(run, "")
        if rest and _host.host is not None:
            _host.host.log(self._level, rest)


STDOUT = Lines("<stdout>", "log")
STDERR = Lines("<stderr>", "error")


def install():
    sys.stdout = sys.__stdout__ = STDOUT
    sys.stderr = sys.__stderr__ = STDERR
    sys.stdin = sys.__stdin__ = io.StringIO()


def end(run):
    STDOUT.end(run)
    STDERR.end(run)
