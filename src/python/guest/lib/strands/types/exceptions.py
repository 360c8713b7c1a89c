"""Exceptions that tools may catch."""


class EventLoopException(Exception):
    def __init__(self, original_exception, request_state=None):
        super().__init__(str(original_exception))
        self.original_exception = original_exception
        self.request_state = {} if request_state is None else request_state


class MaxTokensReachedException(Exception):
    pass


class ContextWindowOverflowException(Exception):
    pass


class ModelThrottledException(Exception):
    def __init__(self, message):
        super().__init__(message)
        self.message = message


class SessionException(Exception):
    pass


class ToolProviderException(Exception):
    pass


class MCPClientInitializationError(Exception):
    pass
