"""Messages, as far as tools name them."""

from typing import Any, Literal, TypedDict

from .media import DocumentContent, ImageContent, VideoContent

Role = Literal["user", "assistant"]


class ContentBlock(TypedDict, total=False):
    document: DocumentContent
    image: ImageContent
    text: str
    toolResult: Any
    toolUse: Any
    video: VideoContent


class Message(TypedDict):
    content: list[ContentBlock]
    role: Role


Messages = list[Message]
SystemContentBlock = ContentBlock
