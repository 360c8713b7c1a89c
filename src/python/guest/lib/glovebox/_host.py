"""What the sandbox asks of its host. Everything is for the call whose turn it is."""

import asyncio
import contextlib
import contextvars
import json
import posix
import sys

from pyodide import ffi, webloop
from pyodide.ffi import can_run_sync, run_sync

from . import _garbage

# Timers hold no more.
_TIMER_MAX_MS = 2_147_483_647

host = None
_calls = {}
# The number of the call whose streams and folder Python has at the moment.
_current = None
# Those that calls begin with.
_streams = None
_folder = None
# Tasks have the number of the call in which they were made, whoever makes them.
_RUN = contextvars.ContextVar("run", default=None)


class CapabilityError(Exception):
    """A capability call that was denied or failed. `code` says why, and `details`, a dict or None, what it does not say."""

    def __init__(self, message, code="capability_failed", number=None, details=None):
        super().__init__(message)
        self.code = code
        self.details = details
        self._number = number


def connect(connected):
    global host, _streams
    host = connected
    _streams = sys.stdout, sys.stderr


class Call:
    """A call that runs, and what it made of that of which Python has one only, while others run."""

    def __init__(self, run):
        self.run = run
        self.task = None
        self.streams = None
        self.folder = None


def begin(run):
    global _current, _folder
    if _calls:
        _leave()
    else:
        _folder = posix.getcwd()
    call = _calls[run] = Call(run)
    _current = run
    _RUN.set(run)
    return call


def end(run):
    """What it left running ends as well, as where `asyncio.run` ends: nobody's turn would be its own."""
    global _current
    for task in _tasks(run):
        task.get_loop().call_soon(task.cancel)
    _calls.pop(run, None)
    if _current == run:
        _current = None
        sys.stdout, sys.stderr = _streams
        if _calls:
            posix.chdir(_folder)


def turn():
    """Python goes on, perhaps for another call than before."""
    global _current
    if not _calls or (_current in _calls and len(_calls) == 1):
        return
    run = host.run()
    if run == _current:
        return
    _leave()
    _current = run
    call = _calls.get(run)
    if call is not None and call.streams is not None:
        sys.stdout, sys.stderr = call.streams
        with contextlib.suppress(OSError):
            posix.chdir(call.folder)


def _leave():
    call = _calls.get(_current)
    if call is not None:
        call.streams = sys.stdout, sys.stderr
        call.folder = posix.getcwd()
    sys.stdout, sys.stderr = _streams
    posix.chdir(_folder)


def is_alone(run):
    """Whether no other call is under way."""
    return all(other == run for other in _calls)


def cancel(run):
    for task in _tasks(run):
        task.cancel()


def _tasks(run):
    return [task for task in asyncio.all_tasks(asyncio.get_event_loop()) if task.get_context().get(_RUN) == run]


def wait(promise):
    """Waits for a promise, and lets other calls go on meanwhile."""
    if not can_run_sync():
        raise RuntimeError("nothing can be waited for while a module is loaded: do it in the call")
    _garbage.wait_begins()
    try:
        return run_sync(promise)
    finally:
        _garbage.wait_ends()
        turn()


def answered(text):
    answer = json.loads(text)
    if answer["ok"]:
        return answer["value"]
    if answer["type"] == "CancelledError":
        raise asyncio.CancelledError(answer["message"])
    if answer["type"] == "TimeoutError":
        raise TimeoutError(answer["message"])
    raise CapabilityError(answer["message"], answer["code"], answer["error"], answer["details"])


def ask(capability, method, args=None, timeout=None):
    """Asks the host, and waits for its answer. Raises a `CapabilityError`, or a `TimeoutError` after so many seconds."""
    return answered(wait(host.ask(capability, method, json.dumps(args), _milliseconds(timeout))))


async def ask_async(capability, method, args=None, timeout=None):
    return answered(await host.ask(capability, method, json.dumps(args), _milliseconds(timeout)))


# Clients that, where they are there themselves, raise an error of theirs for one of a connection.
_WRAPPERS = ("requests", "urllib3")
_WRAPPED_MAX = 10


def carry(error, cause):
    """Has an error of a stand-in's end its call as its cause would. Where the request itself failed, it is its own."""
    if isinstance(cause, CapabilityError) and cause.code != "capability_failed":
        error._number = cause._number
    return error


def number_of(error):
    """The number of what the host said, of an error or of one that a client wrapped it in."""
    for _ in range(_WRAPPED_MAX):
        number = getattr(error, "_number", None)
        if isinstance(number, int):
            return number
        if not _is_wrapper(error):
            return None
        inner = [one for one in error.args if isinstance(one, BaseException)]
        error = error.__cause__ or next(iter(inner), None) or error.__context__
    return None


def _is_wrapper(error):
    module = getattr(type(error), "__module__", None)
    return isinstance(error, BaseException) and isinstance(module, str) and module.partition(".")[0] in _WRAPPERS


def _milliseconds(seconds):
    return None if seconds is None else min(max(1, seconds * 1000), _TIMER_MAX_MS)


def sleep(seconds):
    """Stands for `time.sleep`."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    answered(wait(host.sleep(seconds * 1000)))


def tell(capability, method, args):
    """Asks the host, and does not wait: nobody needs the answer."""
    with contextlib.suppress(Exception):
        host.ask(capability, method, json.dumps(args), None)


def install():
    """Whatever has Python wait or go on says so."""
    ffi.run_sync = webloop.run_sync = wait
    _garbage.install()
    begin_handle = webloop.WebLoop._install_running_loop

    def begin_turn(loop):
        begin_handle(loop)
        _garbage.tidy()
        turn()

    webloop.WebLoop._install_running_loop = begin_turn
