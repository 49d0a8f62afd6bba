# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing of several libraries, and the limits of a run.

A machine's speed drifts, so two long measurements one after the other do not
compare. Each round times a batch of calls of every library, in random order:

    round 1:  crosslane  graph  loop
    round 2:  loop  crosslane  graph        time: wall clock of a batch,
    ...                                     until the device is idle

A round gives one ratio, peer's time / crosslane's time; the result is the
median of the ratios."""
import math
import os
import random
import statistics
import threading
import time

BATCH_S = 0.03
MOST_CALLS = 100000  # in a batch
FEWEST_ROUNDS = 3


class TimedCalls:
    """One library's calls: run(n) enqueues n calls of `products` products (or
    other results) each, finish() waits until all are computed."""

    def __init__(self, run, finish, products=1):
        self.run, self.finish, self.products = run, finish, products

    @classmethod
    def of_function(cls, function, finish):
        """Calls of a Python function; it is kept as `.function`."""
        def run(n):
            for _ in range(n):
                function()
        calls = cls(run, finish)
        calls.function = function
        return calls

    def seconds(self, n):
        """Wall-clock time of n calls, from an idle device to an idle one."""
        self.finish()
        start = time.perf_counter()
        self.run(n)
        self.finish()
        return time.perf_counter() - start


def calls_per_batch(calls, least_s=BATCH_S):
    """How many calls take least_s together, so that the wait at the end is a
    small share of a batch. The calls made to find out also warm up."""
    calls.seconds(1)
    n = 1
    while True:
        elapsed_s = calls.seconds(n)
        if elapsed_s > least_s / 4 or n >= MOST_CALLS:
            return max(1, min(MOST_CALLS,
                              math.ceil(n * least_s / elapsed_s)))
        n *= 4


def measure_rounds(libraries, n_rounds, until=math.inf, seed=1,
                   least_s=BATCH_S):
    """Time `libraries`, a dictionary of TimedCalls by name. Returns the
    nanoseconds of one product, a list by round for each name. When
    time.monotonic() is past `until`, no further round starts, except that
    FEWEST_ROUNDS are always measured."""
    rng, order = random.Random(seed), list(libraries)
    batch = {name: calls_per_batch(calls, least_s)
             for name, calls in libraries.items()}
    times = {name: [] for name in libraries}
    for i_round in range(n_rounds):
        if i_round >= FEWEST_ROUNDS and time.monotonic() > until:
            break
        rng.shuffle(order)
        for name in order:
            n, calls = batch[name], libraries[name]
            times[name].append(calls.seconds(n) * 1e9 / (n * calls.products))
    return times


def round_ratios(times, library, peer):
    """The peer's time over the library's, by round."""
    return [b / a for a, b in zip(times[library], times[peer])]


def median_interval(ratios):
    """(median, low, high): the median with its 95 % interval, by bootstrap
    with a fixed seed."""
    rng = random.Random(1993)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios)))
                     for _ in range(2000))
    return statistics.median(ratios), medians[50], medians[1949]


class TimeBudget:
    """A number of seconds for a number of cases. Each case may use an equal
    share of what is left, so the time that a case does not use goes to the
    following ones."""

    def __init__(self, seconds, n_cases, clock=time.monotonic):
        self.clock, self.n_left = clock, n_cases
        self.end = clock() + seconds

    def is_spent(self):
        return self.clock() >= self.end

    def next_deadline(self):
        """When the next case should end."""
        now, n = self.clock(), max(1, self.n_left)
        self.n_left -= 1
        return now + max(0.0, self.end - now) / n


class HangGuard:
    """Ends the process when a device stops responding: `with guard(label):`.
    A thread that waits for a hung kernel cannot be interrupted. Before it
    ends the process, `save` is called to write the results so far."""

    EXIT_CODE = 3

    def __init__(self, limit_s, save, leave=os._exit):
        self.limit_s, self.save, self.leave = limit_s, save, leave

    def __call__(self, label):
        self.label = label
        return self

    def __enter__(self):
        self.timer = threading.Timer(self.limit_s, self.expire)
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()

    def expire(self):
        try:
            print("the device did not respond within %.0f s: %s" %
                  (self.limit_s, self.label), flush=True)
            self.save()
        finally:
            self.leave(self.EXIT_CODE)
