"""What modules of tools import of the Strands SDK. Agents, models and groups of agents have names here only: they run outside of tools."""

from . import agent, models, telemetry, types
from .agent import Agent
from .tools.decorator import tool
from .types.tools import ToolContext

__all__ = ["Agent", "ToolContext", "agent", "models", "telemetry", "tool", "types"]
