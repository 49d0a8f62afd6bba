# SPDX-License-Identifier: Apache-2.0
"""Taking turns: each round times a batch of every side, in an order drawn
anew, by the wall clock, until the device has answered. A round gives one
ratio; medians of ratios are what is quoted."""
import math
import os
import random
import statistics
import threading
import time

BATCH_S = 0.03
MOST_PIECES = 100000
FEWEST_ROUNDS = 3


class Side:
    """Something to time: run(n) enqueues n pieces of `unit` products each,
    finish() waits for them."""

    def __init__(self, run, finish, unit=1):
        self.run, self.finish, self.unit = run, finish, unit

    @classmethod
    def of_call(cls, call, finish):
        def run(n):
            for _ in range(n):
                call()
        side = cls(run, finish)
        side.call = call
        return side

    def seconds(self, n):
        self.finish()
        start = time.perf_counter()
        self.run(n)
        self.finish()
        return time.perf_counter() - start


def pieces_of(side, least_s=BATCH_S):
    """Pieces that fill a batch, after some that are not counted: enough of
    them that the wait at the end says little."""
    side.seconds(1)
    n = 1
    while True:
        took = side.seconds(n)
        if took > least_s / 4 or n >= MOST_PIECES:
            return max(1, min(MOST_PIECES, math.ceil(n * least_s / took)))
        n *= 4


def take_turns(sides, rounds, until=math.inf, seed=1, least_s=BATCH_S):
    """Nanoseconds of a product of each side, by round. Past `until` (of
    time.monotonic) no round is begun, when there are a few."""
    rng, order = random.Random(seed), list(sides)
    pieces = {name: pieces_of(side, least_s) for name, side in sides.items()}
    times = {name: [] for name in sides}
    for i in range(rounds):
        if i >= FEWEST_ROUNDS and time.monotonic() > until:
            break
        rng.shuffle(order)
        for name in order:
            n = pieces[name]
            times[name].append(sides[name].seconds(n) * 1e9 /
                               (n * sides[name].unit))
    return times


def ratios_of(times, ours, theirs):
    return [b / a for a, b in zip(times[ours], times[theirs])]


def interval(ratios):
    """Median with its 95 % interval, by resampling with a fixed seed."""
    rng = random.Random(1993)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios)))
                     for _ in range(2000))
    return statistics.median(ratios), medians[50], medians[1949]


class Budget:
    """Seconds for so many cases: each may use an even share of what is
    left, so that what one does not need is the others'."""

    def __init__(self, seconds, n_cases, clock=time.monotonic):
        self.clock, self.left = clock, n_cases
        self.end = clock() + seconds

    def is_spent(self):
        return self.clock() >= self.end

    def until(self):
        """When the next case should end."""
        now, n = self.clock(), max(1, self.left)
        self.left -= 1
        return now + max(0.0, self.end - now) / n


class Watch:
    """Ends the process when a device does not answer: `with watch(what):`.
    A hung kernel would keep it for minutes, and cannot be ended otherwise.
    `late` tells what was found until then."""

    def __init__(self, limit_s, late, leave=os._exit):
        self.limit_s, self.late, self.leave = limit_s, late, leave

    def __call__(self, what):
        self.what = what
        return self

    def __enter__(self):
        self.timer = threading.Timer(self.limit_s, self.expire)
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()

    def expire(self):
        try:
            print("no answer within %.0f s: %s" % (self.limit_s, self.what),
                  flush=True)
            self.late()
        finally:
            self.leave(3)
