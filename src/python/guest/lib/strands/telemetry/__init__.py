"""Metrics of agents, which a tool has none of."""
