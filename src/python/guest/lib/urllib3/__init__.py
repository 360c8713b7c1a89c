"""The names of urllib3 that tools which use `requests` import."""

from . import exceptions
from .util.retry import Retry

__version__ = "2.0"


def disable_warnings(category=None):
    """No operation: no warnings exist here."""


def __getattr__(name):
    raise AttributeError(f"the sandbox has no urllib3.{name}: use requests, httpx or urllib.request, which go through the fetch capability")


__all__ = ["Retry", "disable_warnings", "exceptions"]
