"""Groups of agents have names here only."""

from .._elsewhere import elsewhere

GraphBuilder = elsewhere("GraphBuilder")
Graph = elsewhere("Graph")
