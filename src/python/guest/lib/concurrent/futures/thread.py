"""The standard library's module, except that each function runs when it is submitted, one after the other: there are no threads."""

import functools

from glovebox import _standard

_standard.evaluate(__name__, globals())


@functools.wraps(ThreadPoolExecutor.submit)  # noqa: F821
def submit(self, fn, /, *args, **kwargs):
    if self._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    context = getattr(self, "_context", None)
    if context is None:
        context = self._context = self._create_worker_context()
        context.initialize()
    future = _base.Future()  # noqa: F821
    future.set_running_or_notify_cancel()
    try:
        future.set_result(context.run(self._resolve_work_item_task(fn, args, kwargs)))
    except Exception as error:
        future.set_exception(error)
    return future


ThreadPoolExecutor.submit = submit  # noqa: F821
del submit
