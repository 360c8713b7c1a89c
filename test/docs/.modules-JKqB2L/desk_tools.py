from typing import Literal
from xaibo.primitives.modules.tools.python_tool_provider import tool

@tool
def count(text: str, unit: Literal["words", "letters"] = "words") -> int:
    """Counts the words of a text.

    Args:
        text: The text
        unit: What is counted
    """
    return len(text.split() if unit == "words" else text)
