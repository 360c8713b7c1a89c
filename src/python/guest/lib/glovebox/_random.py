"""`random` is the call's own. It is seeded when it is first asked for something: to seed it takes longer than most calls."""

import random

from . import _built_in, _host

_ASKED = ("random", "getrandbits", "getstate")
_GIVEN = ("seed", "setstate")


class _Unseeded(random.Random):
    """What the functions of the module work on, until one of them does."""

    def random(self):
        return _seeded(self).random()

    def getrandbits(self, k):
        return _seeded(self).getrandbits(k)

    def getstate(self):
        return _seeded(self).getstate()

    def seed(self, *args, **named):
        self.__class__ = random.Random
        self.seed(*args, **named)

    def setstate(self, state):
        self.__class__ = random.Random
        self.setstate(state)


def _seeded(generator):
    # Who has one of the methods above in hand may call it again.
    if type(generator) is _Unseeded:
        generator.seed(_host.host.seed())
    return generator


def _passed_on(name):
    def function(*args, **named):
        return getattr(random._inst, name)(*args, **named)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "random"
    return _built_in.like(getattr(random, name), function)


def install():
    for name in (*_ASKED, *_GIVEN):
        setattr(random, name, _passed_on(name))


def forget():
    """The next call has nothing of the last one's."""
    random._inst.gauss_next = None
    random._inst.__class__ = _Unseeded
