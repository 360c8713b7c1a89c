"""Runs Python code with few built-in functions. What it prints is the result."""

import asyncio
import io
import sys
from contextlib import redirect_stdout

TOOL_SPEC = {
    "name": "python_exec",
    "description": "Execute Python code (with restricted builtins). What it prints is the result",
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "Python code to execute"},
                "timeout": {
                    "type": "integer",
                    "default": 5,
                    "minimum": 1,
                    "maximum": 60,
                    "description": "Timeout in seconds",
                },
            },
            "required": ["code"],
        }
    },
}

# An interpreter for each call, which the code may spoil as it likes: it is thrown away afterwards.
spec = {
    "tags": ["code"],
    "isolation": "isolate",
    "limits": {"cpuMs": 60_000, "wallMs": 60_250, "memoryMb": 64},
    "timeoutArgument": "timeout",
}

# What code may use by name. It is no wall, as every object leads to its class: the wall is around the interpreter.
_NAMES = (
    *(int, float, str, bool, list, dict, tuple, set),
    *(len, range, enumerate, zip, sum, min, max, abs, round, sorted, reversed),
    *(print, isinstance, type),
)


class _Output(io.StringIO):
    """Also writes to the log, which is kept where the code is ended from outside."""

    def write(self, text):
        sys.__stdout__.write(text)
        return super().write(text)


def python_exec(tool, **kwargs):
    code = tool.get("input", {}).get("code", "")
    if not code:
        return _answer(tool, "error", "No code provided")
    output = _Output()
    try:
        with redirect_stdout(output):
            exec(code, {"__builtins__": {one.__name__: one for one in _NAMES}})
    except (MemoryError, asyncio.CancelledError):
        # These end the call, whatever the code has printed.
        raise
    except BaseException as error:
        partial = output.getvalue()
        message = f"Execution failed: {type(error).__name__}: {error!s}"
        return _answer(tool, "error", message, *([partial] if partial else []))
    return _answer(tool, "success", output.getvalue() or "Code executed successfully (no output)")


def _answer(tool, status, *texts):
    content = [{"text": text} for text in texts]
    return {"toolUseId": tool.get("toolUseId", ""), "status": status, "content": content}
