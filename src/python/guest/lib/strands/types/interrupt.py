"""What a person would answer with."""

from typing import Any, TypedDict


class InterruptResponse(TypedDict):
    interruptId: str
    response: Any


class InterruptResponseContent(TypedDict):
    interruptResponse: InterruptResponse
