"""Runs unittest modules and prints "MODULE/TEST<TAB>OUTCOME" for each test."""

import os
import sys
import unittest

REAL_STDOUT = os.fdopen(os.dup(1), "w", buffering=1)


class Tell(unittest.TestResult):
    """Notes one outcome a test; of several subtests the worst counts."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def note(self, test, outcome):
        name = getattr(test, "test_case", test).id().removeprefix("test.")
        worse = ["pass", "skip", "fail"]
        before = self.outcomes.get(name, "pass")
        self.outcomes[name] = max(before, outcome, key=worse.index)

    def addSuccess(self, test):
        self.note(test, "pass")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "fail")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "fail")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(subtest, "fail")

    def addSkip(self, test, reason):
        self.note(test, "skip")

    def addExpectedFailure(self, test, err):
        self.note(test, "pass")

    def addUnexpectedSuccess(self, test):
        self.note(test, "fail")


def main():
    for module in sys.argv[1:]:
        result = Tell()
        unittest.defaultTestLoader.loadTestsFromName("test." + module).run(result)
        for name, outcome in sorted(result.outcomes.items()):
            print(f"{name}\t{outcome}", file=REAL_STDOUT)
        for test, trace in result.failures + result.errors:
            print(f"{test}\n{trace}", file=sys.stderr)


main()
