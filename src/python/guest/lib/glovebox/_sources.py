"""Finds the modules that the sandbox brings along: their texts are in the interpreter's own memory."""

import importlib.abc
import importlib.machinery
import sys


# What a package itself asks for where it is there in place of its stand-in.
_SEAMS = frozenset(("httpx._transports.default", "urllib3.contrib.emscripten"))
# Packages that have a seam, or are made of one that has.
_REAL = ("httpx", "requests", "urllib3")


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, sources):
        self._sources = sources
        # Once, before the snapshot is taken: to compile takes far longer than to evaluate.
        self._codes = {name: compile(text, f"<{name.removesuffix('.__init__')}>", "exec") for name, text in sources.items()}

    def give_way(self, package):
        """Finds nothing of a package any more but its seam."""
        for name in [name for name in self._sources if _is_of(name, package) and name not in _SEAMS]:
            del self._sources[name], self._codes[name]
        for name in [name for name in sys.modules if _is_of(name, package)]:
            del sys.modules[name]

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


def _is_of(name, package):
    return name == package or name.startswith(f"{package}.")


# What newer Pythons have themselves: a wheel of the package has more.
_YIELD = ("typing_extensions",)


def install(sources):
    """Goes before the standard library: some of its modules cannot work here, and have a stand-in."""
    yielding = {name: sources[name] for name in _YIELD if name in sources}
    sys.meta_path.insert(0, _Sources({name: text for name, text in sources.items() if name not in yielding}))
    sys.meta_path.append(_Sources(yielding))


def give_way(files):
    """A package among files of wheels is used in place of its stand-in, where it can be."""
    finder = next(one for one in sys.meta_path if isinstance(one, _Sources))
    for package in _REAL:
        if f"{package}/__init__.py" in files:
            finder.give_way(package)
