"""`httpx`, as far as tools use it, over the fetch capability of the sandbox."""

from http import HTTPStatus as codes

from . import _exceptions
from ._api import delete, get, head, options, patch, post, put, request, stream
from ._client import AsyncClient, AsyncHTTPTransport, Client, HTTPTransport, Limits, Timeout
from ._exceptions import *  # noqa: F403
from ._models import Auth, BasicAuth, Cookies, DigestAuth, Headers, Request, Response
from ._urls import URL, QueryParams

__version__ = "0.28.1"

__all__ = [
    "URL",
    "AsyncClient",
    "AsyncHTTPTransport",
    "Auth",
    "BasicAuth",
    "Client",
    "Cookies",
    "DigestAuth",
    "HTTPTransport",
    "Headers",
    "Limits",
    "QueryParams",
    "Request",
    "Response",
    "Timeout",
    "codes",
    "delete",
    "get",
    "head",
    "options",
    "patch",
    "post",
    "put",
    "request",
    "stream",
    *(name for name in vars(_exceptions) if name[:1].isupper()),
]
