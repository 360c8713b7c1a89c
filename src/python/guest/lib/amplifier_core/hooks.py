"""Hooks that a module registers on the events of its own coordinator."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .models import HookResult

_logger = logging.getLogger(__name__)


class HookRegistry:
    """Handlers of events, called in the order of their priorities: `await handler(event, data)` gives a `HookResult`."""

    def __init__(self):
        self._handlers: dict[str, list[tuple[int, str, Callable[..., Any]]]] = {}
        self._defaults: dict[str, Any] = {}

    def register(self, event: str, handler, priority: int = 0, name: str | None = None):
        """Returns a function that takes the handler away again."""
        entry = (priority, name or getattr(handler, "__name__", "unknown"), handler)
        self._handlers[event] = sorted([*self._handlers.get(event, []), entry], key=lambda one: one[0])

        def unregister():
            self._handlers[event] = [one for one in self._handlers.get(event, []) if one is not entry]

        return unregister

    on = register

    def unregister(self, name: str) -> None:
        for event, entries in self._handlers.items():
            self._handlers[event] = [one for one in entries if one[1] != name]

    def set_default_fields(self, **fields: Any) -> None:
        self._defaults = fields

    def list_handlers(self, event: str | None = None) -> dict[str, list[str]]:
        events = self._handlers if event is None else [event]
        return {one: [name for _, name, _ in self._handlers.get(one, [])] for one in events}

    async def emit(self, event: str, data: dict[str, Any]) -> HookResult:
        """`deny` ends the handlers' turn; `modify` changes the data for the next; `ask_user` goes before injections."""
        entries = self._handlers.get(event, [])
        if not entries:
            return HookResult(data=data)
        data = {**self._defaults, **data, "timestamp": datetime.now(UTC).isoformat()}
        asks: HookResult | None = None
        injections: list[HookResult] = []
        for _, name, handler in entries:
            result = await _call(event, data, name, handler)
            if result is None:
                continue
            if result.action == "deny":
                return result
            if result.action == "modify" and result.data is not None:
                data = result.data
            elif result.action == "inject_context" and result.context_injection is not None:
                injections.append(result)
            elif result.action == "ask_user" and asks is None:
                asks = result
        if asks is not None:
            return asks
        return _merged(injections) if injections else HookResult(data=data)

    async def emit_and_collect(self, event: str, data: dict[str, Any], timeout: float | None = None) -> list[Any]:
        """The `data` of all handlers that give some in time."""
        found = []
        for _, name, handler in self._handlers.get(event, []):
            try:
                result = await asyncio.wait_for(_call(event, data, name, handler), timeout or 1.0)
            except TimeoutError:
                _logger.warning("hook %s of %s did not answer in time", name, event)
                continue
            if result is not None and result.data is not None:
                found.append(result.data)
        return found


async def _call(event, data, name, handler):
    """A handler that fails stops no other."""
    try:
        result = handler(event, dict(data))
        if inspect.isawaitable(result):
            result = await result
    except Exception:
        _logger.exception("hook %s of %s failed", name, event)
        return None
    return result if isinstance(result, HookResult) else None


def _merged(injections: list[HookResult]) -> HookResult:
    first = injections[0]
    if len(injections) == 1:
        return first
    return HookResult(
        action="inject_context",
        context_injection="\n\n".join(one.context_injection or "" for one in injections),
        context_injection_role=first.context_injection_role,
        suppress_output=first.suppress_output,
    )
