"""What a tool has to have."""

from typing import Any, Protocol, runtime_checkable

from .models import ToolResult


@runtime_checkable
class Tool(Protocol):
    """Tools may have an `input_schema` as well: those that are older have none, and are tools all the same."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    async def execute(self, input: dict[str, Any]) -> ToolResult: ...
