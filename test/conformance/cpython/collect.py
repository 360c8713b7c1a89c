"""Runs a module of CPython's tests, and returns what came of each test."""

import os
import sys
import time
import unittest

_DETAIL_MAX = 600
# From good to bad: of a test with subtests the worst counts.
_RANKS = ("ok", "skipped", "failed", "error")


class Collected(unittest.TestResult):
    def __init__(self, tell):
        super().__init__()
        self._tell = tell
        self.tests = {}

    def startTest(self, test):
        super().startTest(test)
        self._tell(test.id())
        self._started = time.perf_counter()

    def stopTest(self, test):
        super().stopTest(test)
        found = self.tests.get(test.id())
        if found is not None:
            found["ms"] = round((time.perf_counter() - self._started) * 1000)

    def addSuccess(self, test):
        self._add(test, "ok")

    def addExpectedFailure(self, test, err):
        self._add(test, "ok")

    def addUnexpectedSuccess(self, test):
        self._add(test, "failed", "unexpected success")

    def addSkip(self, test, reason):
        self._add(test, "skipped", reason)

    def addFailure(self, test, err):
        self._add(test, "failed", self._text(err, test))

    def addError(self, test, err):
        self._add(test, "error", self._text(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._add(test, "failed", f"{subtest}: {self._text(err, subtest)}")

    def _text(self, err, test):
        try:
            return self._exc_info_to_string(err, test)[-_DETAIL_MAX:]
        except Exception as error:
            return f"{err[0].__name__}, which cannot be shown: {type(error).__name__}"

    def _add(self, test, status, detail=""):
        known = self.tests.get(test.id())
        if known is None or _RANKS.index(known["status"]) < _RANKS.index(status):
            self.tests[test.id()] = {"status": status, "detail": detail[:_DETAIL_MAX], "ms": 0}


def _without(suite, skipped):
    """The suite in its order, without the tests that have ended a run before."""
    kept = suite.__class__()
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            kept.addTest(_without(one, skipped))
        elif one.id() not in skipped:
            kept.addTest(one)
    return kept


def collect(module, skipped, tell):
    """`tell` is called with the name of each test before it runs."""
    os.chdir("/tmp")
    sys.argv = ["test"]
    from test import support

    # Most tests of modules for the network only need to be imported: they have sockets of their own.
    support.has_socket_support = True
    collected = Collected(tell)
    try:
        suite = unittest.TestLoader().loadTestsFromName(module)
    except Exception as error:
        # A module is skipped as a whole by an exception, too.
        return {module: {"status": "error", "detail": f"{type(error).__name__}: {error}", "ms": 0}}
    _without(suite, frozenset(skipped)).run(collected)
    return collected.tests
