"""What tools answer with."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

_CONTROLS = {code: None for code in range(32) if chr(code) not in "\n\r\t"}


@dataclass
class ToolResult:
    success: bool = True
    output: Any = None
    error: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def get_serialized_output(self) -> str:
        """What a model is told."""
        if self.error:
            return f"Error: {self.error.get('message', 'Unknown error')}"
        if self.output is None:
            return ""
        text = self.output if isinstance(self.output, str) else json.dumps(self.output, ensure_ascii=False)
        return text.translate(_CONTROLS)

    def model_dump(self) -> dict[str, Any]:
        return asdict(self)
