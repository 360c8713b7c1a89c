"""`ThreadPoolExecutor` without threads: each function runs when it is submitted, one after the other."""

from concurrent.futures import _base


class BrokenThreadPool(_base.BrokenExecutor):
    pass


class ThreadPoolExecutor(_base.Executor):
    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=(), **ctxkwargs):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._max_workers = max_workers or 1
        self._initializer = initializer
        self._initargs = initargs
        self._is_shut_down = False

    def submit(self, fn, /, *args, **kwargs):
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._initializer is not None:
            initializer, self._initializer = self._initializer, None
            initializer(*self._initargs)
        future = _base.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._is_shut_down = True
