"""Stands for the package of the same name, as far as tools use it. What they mount on is the sandbox's own."""

from .coordinator import ModuleCoordinator
from .interfaces import Tool
from .message_models import ToolCall
from .models import ToolResult

__all__ = ["ModuleCoordinator", "Tool", "ToolCall", "ToolResult"]
