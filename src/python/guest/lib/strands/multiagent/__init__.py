"""Groups of agents have names here only."""

from .._elsewhere import elsewhere
from .graph import GraphBuilder

Swarm = elsewhere("Swarm")

__all__ = ["GraphBuilder", "Swarm"]
