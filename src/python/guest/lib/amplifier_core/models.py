"""What tools and hooks answer with."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

_CONTROLS = {code: None for code in range(32) if chr(code) not in "\n\r\t"}


@dataclass
class ToolResult:
    success: bool = True
    output: Any = None
    error: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.success:
            return str(self.output) if self.output else "Success"
        return f"Error: {self.error.get('message', 'Unknown error')}" if self.error else "Failed"

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


@dataclass(kw_only=True)
class HookResult:
    """A hook's decision about an event. `data` belongs to `modify`, `context_*` to `inject_context`, `approval_*` to `ask_user`."""

    action: Literal["continue", "deny", "modify", "inject_context", "ask_user"] = "continue"
    data: dict[str, Any] | None = None
    reason: str | None = None
    context_injection: str | None = None
    context_injection_role: Literal["system", "user", "assistant"] = "system"
    ephemeral: bool = False
    approval_prompt: str | None = None
    approval_options: list[str] | None = None
    approval_timeout: float = 300.0
    approval_default: Literal["allow", "deny"] = "deny"
    suppress_output: bool = False
    user_message: str | None = None
    user_message_level: Literal["info", "warning", "error"] = "info"
    user_message_source: str | None = None
    append_to_last_tool_result: bool = False

    def model_dump(self) -> dict[str, Any]:
        return asdict(self)
