"""
Python collects garbage in steps, for which it walks the frames of every call that waits: part of those lies on stacks that were moved out
of the way meanwhile, and what is there instead leads anywhere. So it takes such steps only while nothing waits. All at once it collects
without frames.
"""

import gc

from . import _built_in

# Objects that are new since the last time: to look through all that there are takes some milliseconds.
_NEW_MAX = 50_000
_collect, _enable, _disable = gc.collect, gc.enable, gc.disable
_is_wanted = True
_waiting = 0


def wait_begins():
    global _waiting
    tidy()
    _waiting += 1
    _disable()


def wait_ends():
    global _waiting
    _waiting -= 1
    if _waiting == 0 and _is_wanted:
        _enable()


def tidy():
    """While something waits nothing is collected but here."""
    if _waiting and _is_wanted and gc.get_count()[0] > _NEW_MAX:
        _collect()


def collect(generation=2):
    return _collect()


def enable():
    global _is_wanted
    _is_wanted = True
    if _waiting == 0:
        _enable()


def disable():
    global _is_wanted
    _is_wanted = False
    _disable()


def isenabled():
    return _is_wanted


def install():
    for function in (collect, enable, disable, isenabled):
        _built_in.put(gc, function.__name__, function)
