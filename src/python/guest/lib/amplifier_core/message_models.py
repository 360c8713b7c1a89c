"""What models ask for, and what they are told of tools."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def model_dump(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(kw_only=True)
class ToolSpec:
    name: str
    parameters: dict[str, Any]
    description: str | None = None

    def model_dump(self) -> dict[str, Any]:
        return asdict(self)
