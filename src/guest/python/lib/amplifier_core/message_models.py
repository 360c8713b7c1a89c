"""What models ask for."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def model_dump(self) -> dict[str, Any]:
        return asdict(self)
