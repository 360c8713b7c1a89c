"""Finds the modules that the sandbox brings along: their texts are in the interpreter's own memory."""

import importlib.abc
import importlib.machinery
import sys


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, sources):
        self._sources = sources
        # Once, before the snapshot is taken: to compile takes far longer than to evaluate.
        self._codes = {name: compile(text, f"<{name.removesuffix('.__init__')}>", "exec") for name, text in sources.items()}

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

    def get_code(self, fullname):
        return self._codes[self._key(fullname)]


def install(sources):
    """Goes before the standard library: some of its modules cannot work here, and have a stand-in."""
    sys.meta_path.insert(0, _Sources(sources))
