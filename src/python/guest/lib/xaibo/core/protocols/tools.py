"""What a provider of tools has to have."""

from typing import Any, Protocol, runtime_checkable

from ..models.tools import Tool, ToolResult


@runtime_checkable
class ToolProviderProtocol(Protocol):
    async def list_tools(self) -> list[Tool]: ...

    async def execute_tool(self, tool_name: str, parameters: dict[str, Any]) -> ToolResult: ...
