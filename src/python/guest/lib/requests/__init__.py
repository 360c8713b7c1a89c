"""`requests`, as far as tools use it, over the fetch capability of the sandbox."""

__version__ = "2.32.5"
__title__ = "requests"

from . import packages, adapters, auth, cookies, exceptions, models, sessions, structures, utils
from .api import delete, get, head, options, patch, post, put, request
from .exceptions import (
    ConnectionError,
    ConnectTimeout,
    FileModeWarning,
    HTTPError,
    JSONDecodeError,
    ReadTimeout,
    RequestException,
    Timeout,
    TooManyRedirects,
    URLRequired,
)
from .models import PreparedRequest, Request, Response
from .sessions import Session, session
from .status_codes import codes

__all__ = [
    "ConnectTimeout",
    "ConnectionError",
    "FileModeWarning",
    "HTTPError",
    "JSONDecodeError",
    "PreparedRequest",
    "ReadTimeout",
    "Request",
    "RequestException",
    "Response",
    "Session",
    "Timeout",
    "TooManyRedirects",
    "URLRequired",
    "adapters",
    "auth",
    "codes",
    "cookies",
    "delete",
    "exceptions",
    "get",
    "head",
    "models",
    "options",
    "patch",
    "post",
    "put",
    "request",
    "session",
    "sessions",
    "structures",
    "utils",
]
