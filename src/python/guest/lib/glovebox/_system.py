"""What an operating system would give, and the sandbox does not: it says so, and what to use instead."""

import asyncio
import asyncio.subprocess
import functools
import logging
import os
import queue
import signal
import socket
import subprocess
import threading
import _thread

# Of what many tools import, this is there from the beginning, and costs no call its time.
import base64  # noqa: F401
import concurrent.futures.thread  # noqa: F401
import datetime  # noqa: F401
import http  # noqa: F401
import urllib.error  # noqa: F401
import urllib.parse  # noqa: F401
import urllib.request  # noqa: F401

from . import _async_processes, _built_in, _host, _processes, _streams

_PROCESSES = ("fork", "forkpty", "kill", "killpg", "posix_spawn", "posix_spawnp", "startfile")
_SOCKETS = (
    "create_connection",
    "create_server",
    "fromfd",
    "getaddrinfo",
    "gethostbyaddr",
    "getnameinfo",
    "socketpair",
)
_NAMES = ("gethostbyname", "gethostbyname_ex")
_CONNECTIONS = (
    "create_connection",
    "create_datagram_endpoint",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "getaddrinfo",
    "getnameinfo",
)
_LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"), (logging.NOTSET, "debug"))


def install():
    _processes_of()
    _sockets()
    _threads()
    _logs()
    loop = asyncio.get_event_loop()
    # `sys.exit` ends the call, which hears of it from its task: it is nothing that the loop has to report.
    loop._system_exit_handler = lambda code: None
    loop._keyboard_interrupt_handler = lambda: None


def _processes_of():
    subprocess.Popen = _processes.Popen
    for module in (asyncio, asyncio.subprocess):
        module.create_subprocess_shell = _async_processes.create_subprocess_shell
        module.create_subprocess_exec = _async_processes.create_subprocess_exec
    _built_in.put(os, "system", _processes.system)
    names = [name for name in dir(os) if name.startswith(("exec", "spawn")) or name in _PROCESSES]
    for name in {"fork", *names}:
        _built_in.put(os, name, _processes.refuse)


class _NoSocket(socket.socket):
    def __init__(self, *args, **kwargs):
        _no_sockets()


def _no_sockets(*args, **kwargs):
    raise PermissionError(
        "the sandbox has no sockets: requests, httpx, aiohttp and urllib.request go through the fetch capability"
    )


async def _no_connections(*args, **kwargs):
    _no_sockets()


def _of_this_place(name):
    """A function that looks up names of hosts: the sandbox's own, and addresses, need no network."""
    own = getattr(socket, name)

    @functools.wraps(own)
    def function(hostname):
        return own(hostname) if hostname in ("localhost", socket.gethostname()) or _is_address(hostname) else _no_sockets()

    return function


def _is_address(hostname):
    try:
        return bool(socket.inet_aton(hostname))
    except (OSError, TypeError):
        return False


def _sockets():
    socket.socket = socket.SocketType = _NoSocket
    for name in _SOCKETS:
        setattr(socket, name, _no_sockets)
    for name in _NAMES:
        _built_in.put(socket, name, _of_this_place(name))
    for name in _CONNECTIONS:
        setattr(type(asyncio.get_event_loop()), name, _no_connections)


def _start(thread):
    raise RuntimeError(
        "the sandbox has no threads: use asyncio, or concurrent.futures.ThreadPoolExecutor, which runs functions one by one"
    )


def _no_alarm(*args):
    raise NotImplementedError("the sandbox has no alarms: use asyncio.wait_for, or the limits of the tool")


class _Lock:
    """Stands for a lock, whose own waiting would take processor time until its end."""

    __slots__ = ("__weakref__", "_own", "locked", "release")

    def __init__(self):
        self._own = _OWN_LOCK()
        self.locked, self.release = self._own.locked, self._own.release

    def acquire(self, blocking=True, timeout=-1):
        if blocking and 0 < timeout <= threading.TIMEOUT_MAX and self._own.locked():
            # Nothing of this call can release it meanwhile; another call may.
            _host.sleep(timeout)
            return self._own.acquire(False)
        return self._own.acquire(blocking, timeout)

    def __enter__(self):
        return self._own.acquire()

    def __exit__(self, *raised):
        self._own.release()

    def __repr__(self):
        return repr(self._own)

    def _at_fork_reinit(self):
        self._own._at_fork_reinit()


_OWN_LOCK = _thread.allocate_lock


def _threads():
    threading.Thread.start = _start
    # All that waits with a timeout in `threading` and `queue` waits for such a lock. One that is reentrant is never another's.
    _thread.allocate_lock = _thread.lock = _thread.LockType = threading.Lock = threading._allocate_lock = _Lock
    queue.SimpleQueue = queue._PySimpleQueue
    for name in ("alarm", "setitimer"):
        _built_in.put(signal, name, _no_alarm)


def _logs():
    """Lines of `logging` have their level in the call's log."""
    emit = logging.StreamHandler.emit

    @functools.wraps(emit)
    def emit_line(handler, record):
        if handler.stream is not _streams.STDERR:
            emit(handler, record)
            return
        try:
            level = next(name for least, name in _LEVELS if record.levelno >= least)
            _streams.STDERR.line(level, handler.format(record))
        except Exception:
            handler.handleError(record)

    logging.StreamHandler.emit = emit_line
