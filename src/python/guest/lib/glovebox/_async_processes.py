"""Processes as asyncio has them: other tasks go on while a command runs."""

import asyncio
import io
import subprocess

from . import _host
from ._processes import Command, denied


class Process:
    """Stands for `asyncio.subprocess.Process`: other tasks go on while the command runs."""

    pid = 0

    def __init__(self, command, stdin):
        self._command = command
        self._running = None
        self.stdin = _Writer(command) if stdin == subprocess.PIPE else None
        self.stdout = _Reader(self, "stdout") if command.targets["stdout"] == subprocess.PIPE else None
        self.stderr = _Reader(self, "stderr") if command.targets["stderr"] == subprocess.PIPE else None

    @property
    def returncode(self):
        return self._command.returncode

    async def wait(self):
        if self.returncode is None:
            # Several may wait for it, and none of them ends it by giving up.
            self._running = self._running or asyncio.ensure_future(self._run())
            await asyncio.shield(self._running)
        return self.returncode

    async def communicate(self, input=None):
        if input:
            self._command.input += bytes(input)
        await self.wait()
        outputs = self._command.outputs or {"stdout": None, "stderr": None}
        return outputs["stdout"], outputs["stderr"]

    def send_signal(self, signal):
        if self.returncode is None:
            self._command.returncode = -signal
            if self._running is not None:
                self._running.cancel()

    def terminate(self):
        self.send_signal(15)

    def kill(self):
        self.send_signal(9)

    async def _run(self):
        try:
            answer = await _host.ask_async("exec", "run", self._command.message(None))
        except _host.CapabilityError as error:
            raise denied(error) from error
        try:
            self._command.end(answer)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(str(error)) from None


class _Writer:
    def __init__(self, command):
        self._command = command

    def write(self, data):
        self._command.input += bytes(data)

    def writelines(self, lines):
        self.write(b"".join(lines))

    async def drain(self):
        pass

    def write_eof(self):
        pass

    def close(self):
        pass

    async def wait_closed(self):
        pass

    def is_closing(self):
        return False


class _Reader:
    def __init__(self, process, name):
        self._process = process
        self._name = name
        self._file = None

    async def _opened(self):
        await self._process.wait()
        if self._file is None:
            self._file = io.BytesIO((self._process._command.outputs or {}).get(self._name) or b"")
        return self._file

    async def read(self, n=-1):
        return (await self._opened()).read(n)

    async def readline(self):
        return (await self._opened()).readline()

    async def readexactly(self, n):
        data = await self.read(n)
        if len(data) < n:
            raise asyncio.IncompleteReadError(data, n)
        return data

    async def __aiter__(self):
        while line := await self.readline():
            yield line


async def create_subprocess_shell(cmd, stdin=None, stdout=None, stderr=None, limit=None, cwd=None, env=None, **ignored):
    return Process(Command(cmd, True, cwd, env, stdout, stderr), stdin)


async def create_subprocess_exec(
    program, *args, stdin=None, stdout=None, stderr=None, limit=None, cwd=None, env=None, **ignored
):
    return Process(Command([program, *args], False, cwd, env, stdout, stderr), stdin)
