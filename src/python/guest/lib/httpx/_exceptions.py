"""The exceptions of `httpx`."""


class HTTPError(Exception):
    def __init__(self, message):
        super().__init__(message)
        self._request = None

    @property
    def request(self):
        if self._request is None:
            raise RuntimeError("The .request property has not been set.")
        return self._request

    @request.setter
    def request(self, request):
        self._request = request


class RequestError(HTTPError):
    def __init__(self, message, *, request=None):
        super().__init__(message)
        self._request = request


class TransportError(RequestError):
    pass


class TimeoutException(TransportError):
    pass


class ConnectTimeout(TimeoutException):
    pass


class ReadTimeout(TimeoutException):
    pass


class WriteTimeout(TimeoutException):
    pass


class PoolTimeout(TimeoutException):
    pass


class NetworkError(TransportError):
    pass


class ConnectError(NetworkError):
    pass


class ReadError(NetworkError):
    pass


class WriteError(NetworkError):
    pass


class CloseError(NetworkError):
    pass


class ProxyError(TransportError):
    pass


class UnsupportedProtocol(TransportError):
    pass


class ProtocolError(TransportError):
    pass


class LocalProtocolError(ProtocolError):
    pass


class RemoteProtocolError(ProtocolError):
    pass


class DecodingError(RequestError):
    pass


class TooManyRedirects(RequestError):
    pass


class HTTPStatusError(HTTPError):
    def __init__(self, message, *, request, response):
        super().__init__(message)
        self.request = request
        self.response = response


class InvalidURL(Exception):
    pass


class CookieConflict(Exception):
    pass


class StreamError(RuntimeError):
    pass


class StreamConsumed(StreamError):
    def __init__(self):
        super().__init__("Attempted to read or stream some content, but the content has already been streamed.")


class StreamClosed(StreamError):
    def __init__(self):
        super().__init__("Attempted to read or stream content, but the stream has been closed.")


class ResponseNotRead(StreamError):
    def __init__(self):
        super().__init__("Attempted to access streaming response content, without having called `read()`.")


class RequestNotRead(StreamError):
    pass


_KINDS = {
    "connect": ConnectTimeout,
    "read": ReadTimeout,
    "redirects": TooManyRedirects,
    "encoding": DecodingError,
    "body": ReadError,
}


def of_failure(failure, request):
    """The exception that says so."""
    if failure.kind == "url":
        return failure.as_error(InvalidURL(str(failure)))
    return failure.as_error(_KINDS.get(failure.kind, ConnectError)(str(failure), request=request))
