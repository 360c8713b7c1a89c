"""Exceptions and warnings that tools name."""


class HTTPError(Exception):
    pass


class HTTPWarning(Warning):
    pass


class SecurityWarning(HTTPWarning):
    pass


class InsecureRequestWarning(SecurityWarning):
    pass


class MaxRetryError(HTTPError):
    pass


class NewConnectionError(HTTPError):
    pass


class ProtocolError(HTTPError):
    pass


class ReadTimeoutError(HTTPError):
    pass
