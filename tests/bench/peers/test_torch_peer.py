# SPDX-License-Identifier: Apache-2.0
"""What bench/peers/torch_peer.py does besides calling libraries: turns, times,
budgets, summaries, files. No device, no PyTorch: sides that sleep by a clock
of ours, which no other program can disturb, and a module in PyTorch's place
where graphs are recorded."""
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "..", "bench", "peers"))

import torch_peer_cases as cases  # noqa: E402
import torch_peer_file as file  # noqa: E402
import torch_peer_rounds as rounds  # noqa: E402
import torch_peer_sets as sets  # noqa: E402
import torch_peer_sides as sides  # noqa: E402


class Clock:
    """In place of the module `time`: goes on in sleeps alone."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    perf_counter = monotonic

    def sleep(self, seconds):
        self.now += seconds


class Timed(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        patch = mock.patch.object(rounds, "time", self.clock)
        patch.start()
        self.addCleanup(patch.stop)


class Sleeper(rounds.Side):
    """Pieces are begun by run() and take their time in finish()."""

    def __init__(self, clock, name, each_s, log, unit=1):
        super().__init__(self.begin, self.wait, unit)
        self.clock, self.name, self.each_s = clock, name, each_s
        self.log, self.begun = log, 0

    def begin(self, n):
        self.begun += n
        self.log.append((self.name, n))

    def wait(self):
        self.clock.sleep(self.begun * self.each_s)
        self.begun = 0


class Turns(Timed):
    def test_batches_are_long_enough(self):
        log = []
        a = Sleeper(self.clock, "a", 1e-4, log)
        self.assertIn(rounds.pieces_of(a, least_s=0.02), (200, 201))

    def test_times_are_of_one_product(self):
        log = []
        times = rounds.take_turns(
            {"a": Sleeper(self.clock, "a", 2e-3, log),
             "b": Sleeper(self.clock, "b", 4e-3, log, unit=2)}, 5,
            least_s=0.01)
        self.assertEqual([len(t) for t in times.values()], [5, 5])
        for t in times.values():  # b's pieces are two products
            for ns in t:
                self.assertAlmostEqual(ns, 2e6, delta=1)

    def test_the_order_changes(self):
        log = []
        three = {n: Sleeper(self.clock, n, 1e-4, log) for n in "abc"}
        rounds.take_turns(three, 20, least_s=1e-4)
        order = [name for name, _ in log][-60:]
        first = [order[i] for i in range(0, 60, 3)]
        self.assertEqual(set(first), set("abc"))
        for i in range(0, 60, 3):
            self.assertEqual(set(order[i:i + 3]), set("abc"))

    def test_a_budget_ends_it_after_a_few(self):
        log = []
        times = rounds.take_turns(
            {"a": Sleeper(self.clock, "a", 1e-3, log)}, 9,
            until=self.clock.monotonic() - 1, least_s=1e-3)
        self.assertEqual(len(times["a"]), rounds.FEWEST_ROUNDS)

    def test_what_a_case_leaves_is_the_others(self):
        now = [0.0]
        budget = rounds.Budget(100, 4, clock=lambda: now[0])
        self.assertEqual(budget.until(), 25)
        now[0] = 10
        self.assertEqual(budget.until(), 40)
        self.assertFalse(budget.is_spent())
        now[0] = 100
        self.assertTrue(budget.is_spent())

    def test_ratios_have_an_interval(self):
        rng = random.Random(2)
        median, lo, hi = rounds.interval([1 + rng.gauss(0, 0.01)
                                          for _ in range(9)])
        self.assertTrue(lo <= median <= hi and 0.97 < lo and hi < 1.03)


class Hangs(unittest.TestCase):
    LONGEST_S = 60  # of waiting for another thread; it takes no part of it

    def test_a_hung_device_is_left_with_what_there_is(self):
        done, left = [], threading.Event()

        def leave(code):
            done.append(code)
            left.set()

        watch = rounds.Watch(0.05, lambda: done.append("told"), leave)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            with watch("f16 nn 64"):
                self.assertTrue(left.wait(self.LONGEST_S))
        self.assertEqual(done, ["told", 3])
        self.assertIn("f16 nn 64", said.getvalue())

    def test_who_is_quick_is_left_alone(self):
        done = []
        watch = rounds.Watch(10 * self.LONGEST_S, lambda: done.append(1),
                             done.append)
        with watch("x"):
            pass
        watch.timer.join(self.LONGEST_S)
        self.assertFalse(watch.timer.is_alive())
        self.assertEqual(done, [])


class Recorder:
    """As much of PyTorch as a graph needs: calls are counted, and replayed
    where they were recorded."""

    def __init__(self, clock):
        self.clock, self.count, self.recording = clock, 0, None
        self.cuda = types.SimpleNamespace(synchronize=lambda: None,
                                          CUDAGraph=self.new, graph=self.graph)

    def new(self):
        graph = types.SimpleNamespace(calls=0)
        graph.replay = lambda: setattr(self, "count",
                                       self.count + graph.calls)
        return graph

    @contextlib.contextmanager
    def graph(self, graph):
        self.recording = graph
        yield
        self.recording = None

    def call(self):
        if self.recording:
            self.recording.calls += 1
        else:
            self.clock.sleep(1e-3)


class Graphs(Timed):
    def test_a_graph_replays_its_products(self):
        torch = Recorder(self.clock)
        loop = rounds.Side.of_call(torch.call, torch.cuda.synchronize)
        side = sides.graph_side(torch, torch.call, loop)
        self.assertIn(side.unit, (9, 10))  # of 1 ms in 10
        side.run(3)
        self.assertEqual(torch.count, 3 * side.unit)


class Cases(unittest.TestCase):
    def test_files_are_read_as_clbench_reads_them(self):
        got = list(cases.cases_of_file("gemm_llm", least_m=16))
        self.assertTrue(all(c.m >= 16 and c.dtype == "f16" for c in got))
        self.assertEqual(got[0].label(), "f16 nt 16x6144x4096")
        self.assertEqual(got[0].inputs, [(1, 16, 4096), (1, 6144, 4096)])

    def test_what_is_no_shape_is_said(self):
        for word in ("axb", "1x2x3x4", "0", ""):
            with self.assertRaises(cases.BadShape):
                cases.sizes_of(word, "given")

    def test_what_makes_a_case_another_is_in_its_parameters(self):
        case = cases.GemmCase((4, 4, 4), "f32", accuracy="split",
                              epilogue=cases.GELU)
        row = file.row_of(case, "gemm_ref", 0, [2.0, 1.0, 3.0], 0.5, 1)
        self.assertIn("accuracy=split", row["id"])
        self.assertEqual((row["median_ns"], row["verdict"]), (2.0, "ok"))
        self.assertEqual(file.row_of(case, "gemm_ref", 0, [1.0], 2, 1)
                         ["verdict"], "rejected")

    def test_sets_are_whole(self):
        for s in sets.SETS:
            self.assertTrue(list(s.cases()))
            self.assertEqual(s.sides()[0], "ours")


def result(case, ratio, theirs_us=100.0):
    return {"set": "llm", "case": case, "ours": "ours", "theirs": "graph",
            "ours_us": theirs_us / ratio, "theirs_us": theirs_us,
            "ratio": ratio, "min": ratio, "max": ratio}


class Summaries(unittest.TestCase):
    def test_small_cases_do_not_decide_the_worst(self):
        bar = sets.Bar("ours", "graph", each=0.9, mean=1.03, from_us=30)
        v = sets.verdict_of([result("a", 0.5, 10), result("b", 4.0),
                             result("c", 1.0)], bar)
        self.assertAlmostEqual(v["mean"], 2**(1 / 3))
        self.assertEqual((v["worst"]["case"], v["each_met"], v["mean_met"]),
                         ("c", "yes", "yes"))

    def test_two_percent_are_a_tie(self):
        self.assertEqual([sets.standing(r, 1.0) for r in (1.0, 0.985, 0.97)],
                         ["yes", "tie", "no"])

    def test_it_fits_a_terminal(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            sets.print_summary([result("f16 nt 2048x57344x8192", 1.0)])
        lines = said.getvalue().split("\n")
        self.assertTrue(all(len(line) < 80 for line in lines), lines)
        self.assertIn("mean 1.03 no, each 0.90 yes", lines[-2])

    def test_kept_rows_are_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kept.json")
            file.write_kept(path, {"rows": [result("a", 1.0)] * 2})
            with open(path, encoding="utf-8") as f:
                text = f.read()
        self.assertEqual(len(json.loads(text)["rows"]), 2)
        self.assertEqual(text.count("\n"), 6)


if __name__ == "__main__":
    unittest.main()
