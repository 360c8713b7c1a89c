"""What the sandbox gives to the tools in it."""

from ._host import CapabilityError
from .context import Context, Host

host = Host()

__all__ = ["CapabilityError", "Context", "Host", "host"]
