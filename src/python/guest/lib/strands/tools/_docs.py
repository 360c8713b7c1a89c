"""What a docstring says of a tool and of its parameters, in the styles of Google, NumPy and reStructuredText."""

import inspect
import re

_ARGUMENTS = ("args:", "arguments:", "parameters:", "param:", "params:")
_OTHERS = (
    *("returns:", "return:", "yields:", "yield:", "raises:", "raise:", "except:", "exceptions:"),
    *("examples:", "example:", "note:", "notes:", "see also:", "seealso:", "references:", "ref:"),
)
_GOOGLE = re.compile(r"(?:Args|Arguments|Parameters|Params|Attributes):[ \t]*")
_SECTION = re.compile(r"[A-Z]\w*(?: \w+)*:[ \t]*")
_ENTRY = re.compile(r"\*{0,2}(\w+)[ \t]*(?:\([^)]*\))?[ \t]*:[ \t]*(.*)")
_FIELD = re.compile(r"[:@]param(?:[ \t]+[^:]*?)?[ \t]+(\w+)[ \t]*:[ \t]*(.*)")
_NUMPY = re.compile(r"\*{0,2}(\w+)[ \t]*(?::.*)?")


def description_of(function):
    """All of the docstring but its arguments; the function's name where it has none."""
    kept = []
    skips = False
    for line in (inspect.getdoc(function) or "").strip().split("\n"):
        text = line.strip().lower()
        if text.startswith(_ARGUMENTS):
            skips = True
            continue
        if text.startswith(_OTHERS):
            skips = False
        if not skips:
            kept.append(line)
    return "\n".join(kept).strip() or function.__name__


def parameters_of(function):
    """Descriptions by the names of parameters, in the style that has the most of them."""
    lines = (inspect.getdoc(function) or "").split("\n")
    return max((_google(lines), _fields(lines), _numpy(lines)), key=len)


def _google(lines):
    found = {}
    at = 0
    while at < len(lines):
        if not _GOOGLE.fullmatch(lines[at]):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not _SECTION.fullmatch(lines[end]):
            end += 1
        found |= _entries([line for line in lines[at + 1 : end]], _ENTRY, False)
        at = end
    return found


def _numpy(lines):
    for at in range(len(lines) - 1):
        if lines[at].strip() in ("Parameters", "Other Parameters") and re.fullmatch(r"-{3,}", lines[at + 1].strip()):
            body = lines[at + 2 :]
            end = next((n for n, line in enumerate(body[1:]) if re.fullmatch(r"-{3,}", line.strip())), len(body))
            return _entries(body[:end], _NUMPY, True)
    return {}


def _fields(lines):
    return _entries(lines, _FIELD, False)


def _entries(lines, pattern, is_below):
    """Entries at the indentation of the first one; what is indented further belongs to the one before."""
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip())
    found = {}
    name = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        entry = pattern.fullmatch(line.strip()) if line.strip() and depth <= indent else None
        if entry is not None:
            name = entry[1]
            found[name] = [] if is_below else [entry[2]]
        elif name is not None and (depth > indent or not line.strip()):
            found[name].append(line)
        else:
            name = None
    told = {name: _joined(said, is_below) for name, said in found.items()}
    return {name: said for name, said in told.items() if said}


def _joined(said, is_below):
    first, rest = ("", said) if is_below else (said[0], said[1:])
    more = inspect.cleandoc("\n".join(["", *rest]))
    return "\n".join(part for part in (first.strip(), more) if part)
