"""The standard library's module, except that there are no libraries of the system's to be loaded."""

import functools

from glovebox import _standard

_standard.evaluate(__name__, globals())
_init = CDLL.__init__  # noqa: F821


@functools.wraps(_init)
def __init__(self, name, *args, **named):
    # Without a name it is the interpreter itself, as `pythonapi` is.
    if name is not None:
        raise OSError("the sandbox has no libraries of the system's that could be loaded")
    _init(self, name, *args, **named)


CDLL.__init__ = __init__  # noqa: F821
del __init__
