"""What a tool's stream yields."""


class TypedEvent(dict):
    pass


class ToolResultEvent(TypedEvent):
    """The last of a stream."""

    def __init__(self, tool_result, exception=None):
        super().__init__({"type": "tool_result", "tool_result": tool_result})
        self.exception = exception

    @property
    def tool_use_id(self):
        return self["tool_result"]["toolUseId"]

    @property
    def tool_result(self):
        return self["tool_result"]


class ToolStreamEvent(TypedEvent):
    """One that an asynchronous generator yields on its way."""

    def __init__(self, tool_use, tool_stream_data):
        super().__init__({"type": "tool_stream", "tool_stream_event": {"tool_use": tool_use, "data": tool_stream_data}})

    @property
    def tool_use_id(self):
        return self["tool_stream_event"]["tool_use"]["toolUseId"]


class ToolInterruptEvent(TypedEvent):
    def __init__(self, tool_use, interrupts):
        super().__init__({"tool_interrupt_event": {"tool_use": tool_use, "interrupts": interrupts}})

    @property
    def tool_use_id(self):
        return self["tool_interrupt_event"]["tool_use"]["toolUseId"]

    @property
    def interrupts(self):
        return self["tool_interrupt_event"]["interrupts"]
