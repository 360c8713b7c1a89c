"""The standard library's module, except for the loaders of system libraries, which do not exist here."""

import importlib.machinery as _machinery
import sys as _sys

_spec = _machinery.PathFinder.find_spec(__name__, _sys.path)
__path__ = _spec.submodule_search_locations
exec(_spec.loader.get_code(__name__), globals())


def _refuse(self, *args, **kwargs):
    raise OSError("the sandbox has no libraries of the system's that could be loaded")


CDLL.__init__ = _refuse  # noqa: F821
