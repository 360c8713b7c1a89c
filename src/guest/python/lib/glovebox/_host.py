"""What the sandbox asks of its host. Everything is for the call whose turn it is."""

import asyncio
import contextlib
import json
import sys

from pyodide.ffi import can_run_sync, run_sync

# Timers hold no more.
_TIMER_MAX_MS = 2_147_483_647

host = None
_calls = {}


class CapabilityError(Exception):
    """A capability call that was denied or failed. `code` says why."""

    def __init__(self, message, code="capability_failed", number=None):
        super().__init__(message)
        self.code = code
        self._number = number


def connect(connected):
    global host
    host = connected


class Call:
    """A call that runs: what has to be ended with it."""

    def __init__(self, run):
        self.run = run
        self.task = None


def begin(run):
    call = _calls[run] = Call(run)
    return call


def end(run):
    _calls.pop(run, None)


def is_alone(run):
    """Whether no other call is under way."""
    return all(other == run for other in _calls)


def cancel(run):
    call = _calls.get(run)
    if call is not None and call.task is not None:
        call.task.cancel()


def wait(promise):
    """Waits for a promise, and lets other calls go on meanwhile."""
    if not can_run_sync():
        raise RuntimeError("nothing can be waited for while a module is loaded: do it in the call")
    streams = sys.stdout, sys.stderr
    try:
        return run_sync(promise)
    finally:
        # What other calls did with them is theirs.
        sys.stdout, sys.stderr = streams


def answered(text):
    answer = json.loads(text)
    if answer["ok"]:
        return answer["value"]
    if answer["type"] == "CancelledError":
        raise asyncio.CancelledError(answer["message"])
    if answer["type"] == "TimeoutError":
        raise TimeoutError(answer["message"])
    raise CapabilityError(answer["message"], answer["code"], answer["error"])


def ask(capability, method, args=None, timeout=None):
    """Asks the host, and waits for its answer. Raises a `CapabilityError`, or a `TimeoutError` after so many seconds."""
    return answered(wait(host.ask(capability, method, json.dumps(args), _milliseconds(timeout))))


async def ask_async(capability, method, args=None, timeout=None):
    return answered(await host.ask(capability, method, json.dumps(args), _milliseconds(timeout)))


def carry(error, cause):
    """Has an error of a stand-in's end its call as its cause would. Where the request itself failed, it is its own."""
    if isinstance(cause, CapabilityError) and cause.code != "capability_failed":
        error._number = cause._number
    return error


def number_of(error):
    number = getattr(error, "_number", None)
    return number if isinstance(number, int) else None


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
