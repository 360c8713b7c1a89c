"""What would go to other processes. The sandbox has no others."""

from pickle import Pickler as ForkingPickler

from . import _refuse

_reduce_socket = reduce_connection = send_handle = recv_handle = DupFd = _refuse

__all__ = ["DupFd", "ForkingPickler", "recv_handle", "reduce_connection", "send_handle"]
