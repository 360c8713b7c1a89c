"""What providers tell of their tools, and answer with. What they leave out is not told."""

from dataclasses import dataclass, field, fields
from typing import Any


class _Model:
    def model_dump(self) -> dict[str, Any]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(kw_only=True)
class ToolParameter(_Model):
    type: str
    description: str | None = None
    required: bool = False
    default: Any = None
    enum: list[str] | None = None


@dataclass(kw_only=True)
class Tool(_Model):
    name: str
    description: str
    parameters: dict[str, ToolParameter] = field(default_factory=dict)


@dataclass(kw_only=True)
class ToolResult(_Model):
    success: bool
    result: Any = None
    error: str | None = None
