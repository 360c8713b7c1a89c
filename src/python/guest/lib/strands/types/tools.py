"""Types of tools, of their calls and of their results."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from ..interrupt import Interrupt, InterruptException
from .media import DocumentContent, ImageContent, VideoContent

JSONSchema = dict


class ToolSpec(TypedDict):
    description: str
    inputSchema: JSONSchema
    name: str
    outputSchema: NotRequired[JSONSchema]


class Tool(TypedDict):
    toolSpec: ToolSpec


class ToolUse(TypedDict):
    input: Any
    name: str
    toolUseId: str
    reasoningSignature: NotRequired[str]


class ToolResultContent(TypedDict, total=False):
    document: DocumentContent
    image: ImageContent
    json: Any
    text: str
    video: VideoContent


ToolResultStatus = Literal["success", "error"]


class ToolResult(TypedDict):
    content: list[ToolResultContent]
    status: ToolResultStatus
    toolUseId: str


class ToolChoiceAuto(TypedDict):
    pass


class ToolChoiceAny(TypedDict):
    pass


class ToolChoiceTool(TypedDict):
    name: str


ToolChoiceAutoDict = dict[Literal["auto"], ToolChoiceAuto]
ToolChoiceAnyDict = dict[Literal["any"], ToolChoiceAny]
ToolChoiceToolDict = dict[Literal["tool"], ToolChoiceTool]
ToolChoice = ToolChoiceAutoDict | ToolChoiceAnyDict | ToolChoiceToolDict
RunToolHandler = Callable[[ToolUse], AsyncGenerator[dict[str, Any], None]]
ToolGenerator = AsyncGenerator[Any, None]


class ToolConfig(TypedDict):
    tools: list[Tool]
    toolChoice: ToolChoice


class ToolFunc(Protocol):
    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> ToolResult | Awaitable[ToolResult]: ...


@dataclass
class ToolContext:
    """What a tool is told of its call."""

    tool_use: ToolUse
    agent: Any
    invocation_state: dict[str, Any]

    def interrupt(self, name, reason=None, response=None):
        """The answer that the tool has already; nobody can be asked for another."""
        if response is not None:
            return response
        number = uuid.uuid5(uuid.NAMESPACE_OID, name)
        raise InterruptException(Interrupt(f"v1:tool_call:{self.tool_use['toolUseId']}:{number}", name, reason))


class AgentTool(ABC):
    """A tool: its specification, and a stream whose last event is its result."""

    _is_dynamic = False

    def __init__(self):
        self._is_dynamic = False

    @property
    @abstractmethod
    def tool_name(self) -> str: ...

    @property
    @abstractmethod
    def tool_spec(self) -> ToolSpec: ...

    @property
    @abstractmethod
    def tool_type(self) -> str: ...

    @abstractmethod
    def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator: ...

    @property
    def supports_hot_reload(self) -> bool:
        return False

    @property
    def is_dynamic(self) -> bool:
        return self._is_dynamic

    def mark_dynamic(self) -> None:
        self._is_dynamic = True

    def get_display_properties(self) -> dict[str, str]:
        return {"Name": self.tool_name, "Type": self.tool_type}
