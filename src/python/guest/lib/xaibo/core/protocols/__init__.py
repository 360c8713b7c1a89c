"""What providers have to have."""

from .tools import ToolProviderProtocol

__all__ = ["ToolProviderProtocol"]
