"""The agent that calls a tool, as far as the tool may know it."""

from glovebox import _host

from .state import AgentState


class _Tools:
    """`agent.tool.NAME(...)`: other tools, as far as they are granted. Failures are results."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(user_message_override=None, record_direct_tool_call=None, **arguments):
            answer = _host.ask("tools", "call", {"name": name, "arguments": arguments})
            said = answer.get("output") if answer["ok"] else answer["message"]
            block = {"text": said} if isinstance(said, str) else {"json": said}
            status = "success" if answer["ok"] else "error"
            return {"toolUseId": f"tooluse_{name}", "status": status, "content": [block]}

        return call


class CallingAgent:
    """Lasts as long as the tool's module: with isolation `shared` it remembers its state from call to call."""

    name = "Strands Agents"
    agent_id = "default"
    system_prompt = None
    description = None

    def __init__(self):
        self.state = AgentState()
        self.messages = []
        self.tool = _Tools()

    def __getattr__(self, name):
        raise AttributeError(f"a tool knows only the state, messages, name and tools of the agent that calls it, not its {name!r}")
