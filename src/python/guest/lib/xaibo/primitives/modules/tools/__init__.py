"""Providers of tools."""

from .python_tool_provider import PythonToolProvider
from .tool_collector import ToolCollector

__all__ = ["PythonToolProvider", "ToolCollector"]
