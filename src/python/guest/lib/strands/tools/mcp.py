"""Clients of MCP servers have a name here only."""

from .._elsewhere import elsewhere

MCPClient = elsewhere("MCPClient")
