"""What authors of tools test with."""

from typing import Any

from .coordinator import ModuleCoordinator
from .models import ToolResult


class TestCoordinator(ModuleCoordinator):
    """Remembers what was mounted, and what was taken away again."""

    __test__ = False

    def __init__(self, config: dict[str, Any] | None = None):
        super().__init__(config=config)
        self.mount_history: list[dict[str, Any]] = []
        self.unmount_history: list[dict[str, Any]] = []

    async def mount(self, mount_point, module, name=None):
        await super().mount(mount_point, module, name)
        self.mount_history.append({"mount_point": mount_point, "name": name, "module": module})

    async def unmount(self, mount_point, name=None):
        await super().unmount(mount_point, name)
        self.unmount_history.append({"mount_point": mount_point, "name": name})


class MockTool:
    """A tool that answers with what it was given."""

    def __init__(self, name="mock_tool", description="Mock tool", return_value: Any = "mock result"):
        self.name = name
        self.description = description
        self.input_schema: dict[str, Any] = {}
        self.return_value = return_value
        self.call_count = 0
        self.last_input: dict[str, Any] | None = None

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        self.call_count += 1
        self.last_input = input
        return ToolResult(success=True, output=self.return_value)
