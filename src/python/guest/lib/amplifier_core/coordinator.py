"""What modules mount their tools on: a coordinator of one module, which lasts as long as the module."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .hooks import HookRegistry

_SINGLE = ("orchestrator", "context")
_NAMED = ("providers", "tools", "agents")


class ModuleCoordinator:
    """Attributes that a module sets are kept as long as the module."""

    def __init__(self, session=None, approval_system=None, display_system=None, *, config: dict[str, Any] | None = None):
        self.session = session or SimpleNamespace(session_id="", parent_id=None, config=config or {})
        self.session_id: str = getattr(self.session, "session_id", "")
        self.parent_id: str | None = getattr(self.session, "parent_id", None)
        self.config: dict[str, Any] = getattr(self.session, "config", {})
        self.approval_system = approval_system
        self.display_system = display_system
        self.loader = None
        self.hooks = HookRegistry()
        self.mount_points: dict[str, Any] = {**dict.fromkeys(_SINGLE), **{name: {} for name in _NAMED}, "hooks": self.hooks}
        self.channels: dict[str, list[dict[str, Any]]] = {}
        self.cleanups: list[Callable[[], Any]] = []
        self._capabilities: dict[str, Any] = {}

    async def mount(self, mount_point: str, module: Any, name: str | None = None) -> None:
        if mount_point in _SINGLE:
            self.mount_points[mount_point] = module
            return
        name = name if isinstance(name, str) else getattr(module, "name", "")
        place = self.mount_points.setdefault(mount_point, {})
        if not isinstance(place, dict):
            raise ValueError(f"mount point {mount_point!r} holds no modules: register with coordinator.{mount_point}")
        # The newest is the last.
        place.pop(name, None)
        place[name] = module

    async def unmount(self, mount_point: str, name: str | None = None) -> None:
        if mount_point in _SINGLE:
            self.mount_points[mount_point] = None
        elif isinstance(place := self.mount_points.get(mount_point), dict):
            place.clear() if name is None else place.pop(name, None)

    def get(self, mount_point: str, name: str | None = None) -> Any:
        """All that is mounted at a point is the point itself: what a module puts into it is mounted."""
        found = self.mount_points.get(mount_point)
        return found if name is None or not isinstance(found, dict) else found.get(name)

    def register_contributor(self, channel: str, name: str, callback: Callable[[], Any]) -> None:
        self.channels.setdefault(channel, []).append({"name": name, "callback": callback})

    async def collect_contributions(self, channel: str) -> list[Any]:
        """A contributor that fails has none, and is in nobody's way."""
        found = []
        for one in self.channels.get(channel, []):
            try:
                value = one["callback"]()
                value = await value if inspect.isawaitable(value) else value
            except Exception:
                continue
            if value is not None:
                found.append(value)
        return found

    def register_capability(self, name: str, value: Any) -> None:
        self._capabilities[name] = value

    def get_capability(self, name: str) -> Any:
        return self._capabilities.get(name)

    def register_cleanup(self, cleanup_fn: Callable[[], Any]) -> None:
        self.cleanups.append(cleanup_fn)

    async def cleanup(self) -> None:
        """The last that was registered is the first that is called."""
        while self.cleanups:
            result = self.cleanups.pop()()
            if inspect.isawaitable(result):
                await result

    def to_dict(self) -> dict[str, Any]:
        return {"session_id": self.session_id, "parent_id": self.parent_id, "tools": list(self.mount_points["tools"])}


__all__ = ["ModuleCoordinator"]
