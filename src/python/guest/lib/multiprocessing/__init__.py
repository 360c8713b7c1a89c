"""There are no other processes: all that would make one says so."""


class ProcessError(Exception):
    pass


class TimeoutError(ProcessError):
    pass


class AuthenticationError(ProcessError):
    pass


class BufferTooShort(ProcessError):
    pass


class _None:
    def __init__(self, *args, **kwargs):
        _refuse()


class Process(_None):
    pass


class _Current:
    name = "MainProcess"
    pid = 1
    daemon = False
    exitcode = None

    def is_alive(self):
        return True


def cpu_count():
    return 1


def current_process():
    return _Current()


def parent_process():
    return None


def active_children():
    return []


def freeze_support():
    pass


def get_start_method(allow_none=False):
    return "spawn"


def set_start_method(method, force=False):
    pass


def _refuse(*args, **kwargs):
    raise NotImplementedError(
        "the sandbox has no processes: use asyncio, or concurrent.futures.ThreadPoolExecutor, which runs functions one by one"
    )


Array = Barrier = BoundedSemaphore = Condition = Event = JoinableQueue = Lock = Manager = Pipe = Pool = Queue = _refuse
RawArray = RawValue = RLock = Semaphore = SimpleQueue = Value = get_context = _refuse
