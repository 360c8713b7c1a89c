"""`ProcessPoolExecutor`: there are no processes."""

from concurrent.futures import _base


class BrokenProcessPool(_base.BrokenExecutor):
    pass


class ProcessPoolExecutor(_base.Executor):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "the sandbox has no processes: ThreadPoolExecutor runs functions one by one, and asyncio side by side"
        )
