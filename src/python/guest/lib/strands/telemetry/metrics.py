"""Metrics of agents, which a tool has none of."""

from .._elsewhere import elsewhere

EventLoopMetrics = elsewhere("EventLoopMetrics")


def metrics_to_string(event_loop_metrics, allowed_names=None):
    return ""
