"""What a docstring says: of the function, and of its parameters. Four ways to write one are read."""

import inspect
import re

_FIELD = re.compile(r"[:@]\w[^:\n]*:")
_PARAMETER = re.compile(r"[:@](?:param|parameter|arg|argument|key|keyword)\s+(?:[^:\n]*\s)?\*{0,2}(\w+)\s*:(.*)", re.S)
_SECTIONS = (
    "Args|Arguments|Parameters|Params|Attributes|Example|Examples|Raises|Exceptions|Except|Returns|Return|Yields|Yield"
)
_HEADING = re.compile(rf"({_SECTIONS}):\s*$")
_UNDERLINED = re.compile(r"-{3,}\s*$")
_OF_PARAMETERS = ("Args", "Arguments", "Parameters", "Params")
_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)\n]*\))?\s*:(.*)", re.S)
_NUMPY_ITEM = re.compile(r"\*{0,2}(\w+)[^\n]*(.*)", re.S)
_LENGTH_MAX = 20_000


def described(text):
    """The description, and those of the parameters by their names. The way is taken that finds most."""
    lines = text[:_LENGTH_MAX].split("\n")
    ways = [_fields(lines), _sections(lines, _headings(lines), _ITEM), _sections(lines, _underlined(lines), _NUMPY_ITEM)]
    _, description, parameters = max(ways, key=lambda way: way[0])
    return description, parameters


def _fields(lines):
    """`:param name: …`, and `@param name: …`."""
    starts = [at for at, line in enumerate(lines) if _FIELD.match(line)]
    found = [_PARAMETER.match(one) for one in _pieces(lines, starts)]
    parameters = {one[1]: _text(one[2]) for one in found if one}
    return len(starts), _before(lines, starts), parameters


def _sections(lines, headings, item):
    """`Args:` over lines that are indented, and `Parameters` over a line of dashes: each heading with the lines below it."""
    parameters, count = {}, 0
    for name, below in headings.values():
        count += 1
        if name not in _OF_PARAMETERS:
            continue
        body = inspect.cleandoc("\n".join(["", *below])).split("\n")
        starts = [at for at, line in enumerate(body) if line[:1].strip()]
        for one in map(item.match, _pieces(body, starts)):
            if one:
                parameters[one[1]] = _text(one[2])
                count += 1
    return count, _before(lines, list(headings)), parameters


def _headings(lines):
    starts = {at: one[1] for at, line in enumerate(lines) if (one := _HEADING.match(line))}
    return _bodies(lines, starts, 1)


def _underlined(lines):
    pairs = enumerate(zip(lines, lines[1:]))
    return _bodies(lines, {at: one.strip() for at, (one, below) in pairs if one.strip() and _UNDERLINED.match(below)}, 2)


def _bodies(lines, starts, skipped):
    ends = [*list(starts)[1:], len(lines)]
    return {at: (name, lines[at + skipped : end]) for (at, name), end in zip(starts.items(), ends)}


def _pieces(lines, starts):
    return ["\n".join(lines[at:end]) for at, end in zip(starts, [*starts[1:], len(lines)])]


def _before(lines, starts):
    return "\n".join(lines[: starts[0]] if starts else lines).strip()


def _text(written):
    return inspect.cleandoc(written)
