"""Agents have a name here only. What a tool sees of its own is `strands.agent.calling.CallingAgent`."""

from .._elsewhere import elsewhere
from .state import AgentState

Agent = elsewhere("Agent")
AgentResult = elsewhere("AgentResult")

__all__ = ["Agent", "AgentResult", "AgentState"]
