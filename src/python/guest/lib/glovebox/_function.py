"""A module with one public function: the tool that its name, its hints and its docstring describe."""

import inspect
import typing

from . import _strands
from .context import Context

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class FunctionTool:
    def __init__(self, function):
        # Other tools do without it.
        from strands.tools.decorator import FunctionToolMetadata

        hints = typing.get_type_hints(function)
        self._function = function
        self._context = next((name for name, hint in hints.items() if hint is Context), None)
        self._metadata = FunctionToolMetadata(function, self._context)

    def spec(self):
        spec = _strands.accepting(self._metadata.extract_metadata())
        return {**spec, "inputSchema": spec["inputSchema"]["json"]}

    def __call__(self, given):
        given = self._metadata.validate_input(given)
        if self._context is not None:
            given[self._context] = Context()
        return self._function(**given)


def only_in(module):
    """The tool of a module's one public function that has a hint for each parameter, and a docstring."""
    names = vars(module)
    functions = [one for name, one in names.items() if not name.startswith("_") and _is_made_in(one, module)]
    if len(functions) != 1 or not inspect.getdoc(functions[0]):
        return None
    parameters = inspect.signature(functions[0]).parameters.values()
    is_hinted = all(one.kind in _NAMED and one.annotation is not one.empty for one in parameters)
    return FunctionTool(functions[0]) if is_hinted else None


def _is_made_in(value, module):
    return inspect.isfunction(value) and value.__module__ == module.__name__
