"""Finds the modules that the sandbox brings along: their texts are in the interpreter's own memory."""

import importlib.abc
import importlib.machinery
import sys


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, sources):
        self._sources = sources

    def _key(self, name):
        if name in self._sources:
            return name
        package = f"{name}.__init__"
        return package if package in self._sources else None

    def find_spec(self, fullname, path=None, target=None):
        key = self._key(fullname)
        if key is None:
            return None
        is_package = key.endswith(".__init__")
        return importlib.machinery.ModuleSpec(fullname, self, origin=f"<{fullname}>", is_package=is_package)

    def get_source(self, fullname):
        return self._sources[self._key(fullname)]

    def exec_module(self, module):
        name = module.__name__
        exec(compile(self.get_source(name), f"<{name}>", "exec"), module.__dict__)


def install(sources):
    """Goes before the standard library: some of its modules cannot work here, and have a stand-in."""
    sys.meta_path.insert(0, _Sources(sources))
