"""Several providers as one."""

from ....core.models.tools import ToolResult
from ....core.protocols.tools import ToolProviderProtocol


class ToolCollector(ToolProviderProtocol):
    def __init__(self, tool_providers, config=None):
        self.tool_providers = tool_providers
        self._owners = None

    async def list_tools(self):
        lists = [(provider, await provider.list_tools()) for provider in self.tool_providers]
        # Of two tools with one name the last is called.
        self._owners = {tool.name: provider for provider, tools in lists for tool in tools}
        return [tool for _, tools in lists for tool in tools]

    async def execute_tool(self, tool_name, parameters):
        if self._owners is None:
            await self.list_tools()
        owner = self._owners.get(tool_name)
        if owner is None:
            return ToolResult(success=False, error=f"Could not find {tool_name}")
        return await owner.execute_tool(tool_name, parameters)
