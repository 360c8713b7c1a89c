"""What providers tell of their tools, and answer with."""

from .tools import Tool, ToolParameter, ToolResult

__all__ = ["Tool", "ToolParameter", "ToolResult"]
