"""A tool's code: its files, and its module, which is evaluated anew for each call."""

import base64
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys

from . import _sources

ROOT = "/tool"
PACKAGES = "/tool-packages"
# Where the linker finds libraries by their names alone.
_LIBRARIES = f"{PACKAGES}/.libraries"
_PACKAGE = "/__init__.py"


class Tool:
    def __init__(self, text):
        script = json.loads(text)
        self.entry = script["entry"]
        self.codes = {}
        self.sources = {}
        # The names of its modules that were imported: to look for them among all that there are takes longer than most calls.
        self.loaded = set()
        self._write(ROOT, script["files"])
        self._write(PACKAGES, script["packages"])
        # Python looks for a file there; what is in it is not in this memory, but compiled already.
        libraries = dict.fromkeys(script.get("libraries", ()), "")
        self._write(PACKAGES, libraries)
        self.libraries = [f"{PACKAGES}/{path}" for path in libraries]
        if libraries:
            os.environ["LD_LIBRARY_PATH"] = _LIBRARIES
        if script["packages"]:
            _sources.give_way(script["packages"])
            # Behind the standard library, where installers put them.
            sys.path.append(PACKAGES)
        for path, content in script["files"].items():
            if path.endswith(".py"):
                self.sources[path] = content if isinstance(content, str) else base64.b64decode(content["base64"])
        self.name = _entry_name(self.entry)
        # Its modules by their names. Of two with one name the package is meant.
        self.modules = {_module_name(path): path for path in sorted(self.sources, key=_is_package) if path != self.entry}
        self.modules[self.name] = self.entry
        self.folders = {folder for path in script["files"] for folder in _folders_above(path)}
        self.code_of(self.entry)
        self.spec = _Siblings(self).find_spec(self.name)
        sys.meta_path.insert(0, _Siblings(self))
        # A folder without `__init__.py` is what is imported only where nothing else has its name.
        sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder) + 1, _Folders(self))

    def _write(self, root, files):
        for path, content in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            data = content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
            with open(full, "wb") as file:
                file.write(data)

    def code_of(self, path):
        code = self.codes.get(path)
        if code is None:
            code = self.codes[path] = compile(self.sources[path], f"{ROOT}/{path}", "exec", dont_inherit=True)
        return code

    def evaluate(self):
        """A fresh module, and fresh ones of all that it imports of its own."""
        for name in self.loaded:
            sys.modules.pop(name, None)
        self.loaded.clear()
        module = sys.modules[self.name] = importlib.util.module_from_spec(self.spec)
        self.loaded.add(self.name)
        exec(self.code_of(self.entry), module.__dict__)
        return module


def _is_package(path):
    return path.endswith(_PACKAGE)


def _module_name(path):
    return path.removesuffix(_PACKAGE).removesuffix(".py").replace("/", ".")


def _entry_name(path):
    """A tool that is called as a module is that it may import, such as `random`, must not stand in the way of that one."""
    if "/" in path:
        return _module_name(path)
    # A dot would make it a part of a package.
    name = path.removesuffix(".py").replace(".", "_")
    return f"tool_{name}" if name in sys.modules or _is_known(name) else name


def _is_known(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        # Whoever looks for modules knows it, and that it cannot be had.
        return True


def _folders_above(path):
    while path := path.rpartition("/")[0]:
        yield path


class _Siblings(importlib.abc.MetaPathFinder):
    """Finds the tool's own modules."""

    def __init__(self, tool):
        self._tool = tool

    def find_spec(self, fullname, path=None, target=None):
        file = self._tool.modules.get(fullname)
        if file is None:
            return None
        full = f"{ROOT}/{file}"
        folders = [os.path.dirname(full)] if _is_package(file) else None
        loader = _Loader(self._tool, fullname, full)
        return importlib.util.spec_from_file_location(fullname, full, loader=loader, submodule_search_locations=folders)


class _Loader(importlib.machinery.SourceFileLoader):
    """A module of the tool's, of which the code is compiled once."""

    def __init__(self, tool, name, path):
        super().__init__(name, path)
        self._tool = tool

    def get_code(self, fullname):
        # To execute the code is left to Python, which knows its own frames: warnings for whoever imports a module look past them.
        self._tool.loaded.add(fullname)
        return self._tool.code_of(self.path.removeprefix(f"{ROOT}/"))


class _Folders(importlib.abc.MetaPathFinder):
    """Finds the tool's folders that hold no `__init__.py`: what is in them can be imported all the same."""

    def __init__(self, tool):
        self._tool = tool

    def find_spec(self, fullname, path=None, target=None):
        folder = fullname.replace(".", "/")
        if folder not in self._tool.folders:
            return None
        self._tool.loaded.add(fullname)
        return importlib.machinery.PathFinder.find_spec(fullname, [os.path.dirname(f"{ROOT}/{folder}")])
