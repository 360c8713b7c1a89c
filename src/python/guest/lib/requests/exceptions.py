"""The exceptions of `requests`."""

import json


class RequestException(IOError):
    """There was an ambiguous exception that occurred while handling your request."""

    def __init__(self, *args, **kwargs):
        self.response = kwargs.pop("response", None)
        self.request = kwargs.pop("request", None)
        if self.request is None:
            self.request = getattr(self.response, "request", None)
        super().__init__(*args, **kwargs)


class InvalidJSONError(RequestException):
    pass


class JSONDecodeError(InvalidJSONError, json.JSONDecodeError):
    def __init__(self, *args, **kwargs):
        json.JSONDecodeError.__init__(self, *args)
        InvalidJSONError.__init__(self, *self.args, **kwargs)


class HTTPError(RequestException):
    pass


class ConnectionError(RequestException):
    pass


class ProxyError(ConnectionError):
    pass


class SSLError(ConnectionError):
    pass


class Timeout(RequestException):
    pass


class ConnectTimeout(ConnectionError, Timeout):
    pass


class ReadTimeout(Timeout):
    pass


class URLRequired(RequestException):
    pass


class TooManyRedirects(RequestException):
    pass


class MissingSchema(RequestException, ValueError):
    pass


class InvalidSchema(RequestException, ValueError):
    pass


class InvalidURL(RequestException, ValueError):
    pass


class InvalidHeader(RequestException, ValueError):
    pass


class InvalidProxyURL(InvalidURL):
    pass


class ChunkedEncodingError(RequestException):
    pass


class ContentDecodingError(RequestException):
    pass


class StreamConsumedError(RequestException, TypeError):
    pass


class RetryError(RequestException):
    pass


class UnrewindableBodyError(RequestException):
    pass


class RequestsWarning(Warning):
    pass


class FileModeWarning(RequestsWarning, DeprecationWarning):
    pass


class RequestsDependencyWarning(RequestsWarning):
    pass


_KINDS = {
    "url": InvalidURL,
    "connect": ConnectTimeout,
    "read": ReadTimeout,
    "redirects": TooManyRedirects,
    "encoding": ContentDecodingError,
    "body": ChunkedEncodingError,
}


def of_failure(failure, request=None):
    """The exception that says so."""
    return failure.as_error(_KINDS.get(failure.kind, ConnectionError)(str(failure), request=request))
