"""Modules of the standard library that work here but for a few of their parts."""

import importlib.machinery
import sys


def evaluate(name, namespace):
    """Evaluates the standard library's module in the namespace of the one that stands for it."""
    package = name.rpartition(".")[0]
    spec = importlib.machinery.PathFinder.find_spec(name, sys.modules[package].__path__ if package else sys.path)
    if spec.submodule_search_locations is not None:
        namespace["__path__"] = spec.submodule_search_locations
    exec(spec.loader.get_code(name), namespace)
