"""Stands for the package of the same name, as far as tools use it."""

from . import events
from .coordinator import ModuleCoordinator
from .hooks import HookRegistry
from .interfaces import Tool
from .message_models import ToolCall, ToolSpec
from .models import HookResult, ToolResult

__all__ = ["HookRegistry", "HookResult", "ModuleCoordinator", "Tool", "ToolCall", "ToolResult", "ToolSpec", "events"]


def __getattr__(name):
    if name[:1].isupper():
        raise ImportError(f"amplifier_core.{name} is not available to tools; available are {', '.join(__all__)}", name=__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
