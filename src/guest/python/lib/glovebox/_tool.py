"""A tool's code: its files, and its module, which is evaluated anew for each call."""

import importlib.abc
import importlib.machinery
import base64
import json
import os
import sys
import types

ROOT = "/tool"
PACKAGES = "/tool-packages"


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
        if script["packages"]:
            sys.path.insert(0, PACKAGES)
        for path, content in script["files"].items():
            if path.endswith(".py"):
                self.sources[path] = content if isinstance(content, str) else base64.b64decode(content["base64"])
        self.finder = _Siblings(self)
        sys.meta_path.insert(0, self.finder)
        self.code_of(self.entry)

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

    def path_of(self, name):
        stem = name.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path in self.sources:
                return path
        return None

    def evaluate(self):
        """A fresh module, and fresh ones of all that it imports of its own."""
        for name in self.loaded:
            sys.modules.pop(name, None)
        self.loaded.clear()
        name = self.entry.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        module = types.ModuleType(name)
        module.__file__ = f"{ROOT}/{self.entry}"
        if self.entry.endswith("/__init__.py"):
            module.__path__ = [os.path.dirname(module.__file__)]
            module.__package__ = name
        else:
            module.__package__ = name.rpartition(".")[0]
        sys.modules[name] = module
        self.loaded.add(name)
        exec(self.code_of(self.entry), module.__dict__)
        return module


class _Siblings(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the tool's own modules, of which the code is compiled once."""

    def __init__(self, tool):
        self._tool = tool

    def find_spec(self, fullname, path=None, target=None):
        file = self._tool.path_of(fullname)
        if file is None:
            return None
        spec = importlib.machinery.ModuleSpec(
            fullname, self, origin=f"{ROOT}/{file}", is_package=file.endswith("/__init__.py")
        )
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(spec.origin))
        return spec

    def exec_module(self, module):
        self._tool.loaded.add(module.__name__)
        path = self._tool.path_of(module.__name__)
        exec(self._tool.code_of(path), module.__dict__)
