"""Processes: the sandbox has no own ones. Commands go through the exec capability, where that is granted."""

import io
import shlex
import subprocess
import sys

from . import _host

# What the capability gives at most; a grant may give less.
_WALL_SECONDS = 600
_KILLED = -9
_NONE = "the sandbox has no processes; commands go through the exec capability (glovebox.host.exec.run). "


def refuse(*args, **kwargs):
    """Stands for what would start or end a process."""
    raise PermissionError(_NONE.rstrip("; .") + "; subprocess.run and os.system use it where it is granted")


class Command:
    """A command as a shell reads it, and how it ended."""

    def __init__(self, args, shell, cwd, env, stdout, stderr):
        is_text = isinstance(args, (str, bytes)) or hasattr(args, "__fspath__")
        if is_text:
            text = _text(args) if shell else shlex.quote(_text(args))
        else:
            words = [_text(one) for one in args]
            text = words[0] if shell else shlex.join(words)
        if stderr == subprocess.STDOUT:
            text = f"{{ {text}\n}} 2>&1"
        if env is not None:
            names = " ".join(shlex.quote(f"{_text(name)}={_text(value)}") for name, value in env.items())
            text = f"exec env -i {names} sh -c {shlex.quote(text)}"
        if cwd is not None:
            text = f"cd {shlex.quote(_text(cwd))} || exit 127\n{text}"
        self._text = text
        self.args = args
        self.targets = {"stdout": stdout, "stderr": stderr}
        self.input = b""
        self.outputs = None
        self.returncode = None

    def message(self, timeout):
        try:
            stdin = self.input.decode()
        except UnicodeDecodeError:
            raise ValueError("what a command reads must be text in UTF-8") from None
        seconds = _WALL_SECONDS if timeout is None else max(0.001, min(timeout, _WALL_SECONDS))
        return {"command": self._text, "stdin": stdin, "timeoutMs": seconds * 1000}

    def end(self, answer):
        self.outputs = {name: self._output(name, answer[name].encode()) for name in self.targets}
        code = answer["exitCode"]
        self.returncode = _KILLED if code is None else code
        if answer["timedOut"]:
            raise subprocess.TimeoutExpired(
                self.args, answer["timeoutMs"] / 1000, self.outputs["stdout"], self.outputs["stderr"]
            )

    def _output(self, name, content):
        """What goes into a pipe. Where none was asked for, it goes where that of the tool itself does."""
        target = self.targets[name]
        if target == subprocess.PIPE:
            return content
        if target is None:
            stream = sys.stdout if name == "stdout" else sys.stderr
            stream.write(content.decode("utf-8", "replace"))
        elif hasattr(target, "write"):
            target.write(content if "b" in getattr(target, "mode", "b") else content.decode("utf-8", "replace"))
        return None


def denied(error):
    kind = PermissionError if error.code == "capability_denied" else OSError
    return _host.carry(kind(f"{_NONE}{error}"), error)


class Popen:
    """Stands for `subprocess.Popen`: the command runs when it is waited for, or its output is read."""

    pid = 0

    def __init__(
        self,
        args,
        bufsize=-1,
        executable=None,
        stdin=None,
        stdout=None,
        stderr=None,
        preexec_fn=None,
        close_fds=True,
        shell=False,
        cwd=None,
        env=None,
        universal_newlines=None,
        *ignored,
        text=None,
        encoding=None,
        errors=None,
        **also_ignored,
    ):
        self.args = args
        self._command = Command(args, shell, cwd, env, stdout, stderr)
        self.text_mode = bool(text or universal_newlines or encoding or errors)
        self.encoding = encoding or "utf-8"
        self.errors = errors or "strict"
        self._is_killed = False
        self.stdin = None
        if stdin == subprocess.PIPE:
            self.stdin = self._wrapped(_Input(self._command))
        elif hasattr(stdin, "read"):
            self._command.input = _bytes(stdin.read())
        self.stdout = self._wrapped(_Output(self, "stdout")) if stdout == subprocess.PIPE else None
        self.stderr = self._wrapped(_Output(self, "stderr")) if stderr == subprocess.PIPE else None

    @classmethod
    def __class_getitem__(cls, item):
        return cls

    @property
    def returncode(self):
        return self._command.returncode

    @returncode.setter
    def returncode(self, code):
        self._command.returncode = code

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind is None:
            self.wait()

    def communicate(self, input=None, timeout=None):
        if input:
            self._command.input += _bytes(input, self.encoding)
        elif self.stdin is not None and not self.stdin.closed:
            self.stdin.flush()
        self.wait(timeout)
        outputs = self._command.outputs or {"stdout": None, "stderr": None}
        return self._read(outputs["stdout"]), self._read(outputs["stderr"])

    def wait(self, timeout=None):
        if self._command.outputs is None and self.returncode is None:
            try:
                answer = _host.ask("exec", "run", self._command.message(timeout))
            except _host.CapabilityError as error:
                self.returncode = _KILLED
                raise denied(error) from error
            self._command.end(answer)
        return self.returncode

    def poll(self):
        return self.wait()

    def send_signal(self, signal):
        if self.returncode is None:
            self.returncode = -signal

    def terminate(self):
        self.send_signal(15)

    def kill(self):
        self.send_signal(9)

    def _wrapped(self, raw):
        if isinstance(raw, _Input):
            return io.TextIOWrapper(raw, self.encoding, self.errors, write_through=True) if self.text_mode else raw
        buffered = io.BufferedReader(raw)
        return io.TextIOWrapper(buffered, self.encoding, self.errors) if self.text_mode else buffered

    def _read(self, content):
        if content is None or not self.text_mode:
            return content
        return content.decode(self.encoding, self.errors).replace("\r\n", "\n").replace("\r", "\n")


class _Input(io.BufferedIOBase):
    """What a command will read."""

    def __init__(self, command):
        self._command = command

    def writable(self):
        return True

    def write(self, data):
        self._command.input += bytes(data)
        return len(data)


class _Output(io.RawIOBase):
    """What a command wrote, once it has ended."""

    def __init__(self, process, name):
        self._process = process
        self._name = name
        self._at = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self._process.wait()
        outputs = self._process._command.outputs or {}
        piece = (outputs.get(self._name) or b"")[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def system(command):
    """Stands for `os.system`."""
    return Popen(command, shell=True).wait() << 8


def _text(value):
    value = value.__fspath__() if hasattr(value, "__fspath__") else value
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(value).__name__}")
    return value


def _bytes(value, encoding="utf-8"):
    return value.encode(encoding) if isinstance(value, str) else bytes(value)
