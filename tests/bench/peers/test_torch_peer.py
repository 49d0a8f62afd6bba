# SPDX-License-Identifier: Apache-2.0
"""bench/peers/torch_gemm.py and torch_expr.py, without a device and without
PyTorch: rounds and times, budgets, summaries, cases, result files. Calls are
simulated by a clock that only sleeps advance, and CUDA graphs by a module in
PyTorch's place."""
import contextlib
import ctypes as ct
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

tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3)
sys.path.insert(0, os.path.join(tree, "bench", "peers"))

from pytorch import attention_gradients  # noqa: E402
from pytorch import crosslane_expr, expr_cases  # noqa: E402
from pytorch import gemm_case_sets as sets  # noqa: E402
from pytorch import gemm_cases as cases  # noqa: E402
from pytorch import gemm_libraries as libraries  # noqa: E402
from pytorch import result_rows  # noqa: E402
from pytorch import timing_rounds as rounds  # noqa: E402
import torch_gemm  # noqa: E402


class Clock:
    """In place of the module `time`: only sleeps advance it."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    perf_counter = monotonic

    def sleep(self, seconds):
        self.now += seconds


class SimulatedTime(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        patch = mock.patch.object(rounds, "time", self.clock)
        patch.start()
        self.addCleanup(patch.stop)


class SimulatedCalls(rounds.TimedCalls):
    """run() only counts calls, finish() takes their time."""

    def __init__(self, clock, name, call_s, log, products=1):
        super().__init__(self.enqueue, self.wait, products)
        self.clock, self.name, self.call_s = clock, name, call_s
        self.log, self.n_enqueued = log, 0

    def enqueue(self, n):
        self.n_enqueued += n
        self.log.append((self.name, n))

    def wait(self):
        self.clock.sleep(self.n_enqueued * self.call_s)
        self.n_enqueued = 0


class Rounds(SimulatedTime):
    def test_batches_are_long_enough(self):
        log = []
        a = SimulatedCalls(self.clock, "a", 1e-4, log)
        self.assertIn(rounds.calls_per_batch(a, least_s=0.02), (200, 201))

    def test_times_are_of_one_product(self):
        log = []
        times = rounds.measure_rounds(
            {"a": SimulatedCalls(self.clock, "a", 2e-3, log),
             "b": SimulatedCalls(self.clock, "b", 4e-3, log, products=2)}, 5,
            least_s=0.01)
        self.assertEqual([len(t) for t in times.values()], [5, 5])
        for t in times.values():  # a call of b is two products
            for ns in t:
                self.assertAlmostEqual(ns, 2e6, delta=1)

    def test_the_order_changes(self):
        log = []
        three = {n: SimulatedCalls(self.clock, n, 1e-4, log) for n in "abc"}
        rounds.measure_rounds(three, 20, least_s=1e-4)
        order = [name for name, _ in log][-60:]
        first = [order[i] for i in range(0, 60, 3)]
        self.assertEqual(set(first), set("abc"))
        for i in range(0, 60, 3):
            self.assertEqual(set(order[i:i + 3]), set("abc"))

    def test_a_deadline_leaves_the_fewest_rounds(self):
        log = []
        times = rounds.measure_rounds(
            {"a": SimulatedCalls(self.clock, "a", 1e-3, log)}, 9,
            until=self.clock.monotonic() - 1, least_s=1e-3)
        self.assertEqual(len(times["a"]), rounds.FEWEST_ROUNDS)

    def test_unused_time_goes_to_later_cases(self):
        now = [0.0]
        budget = rounds.TimeBudget(100, 4, clock=lambda: now[0])
        self.assertEqual(budget.next_deadline(), 25)
        now[0] = 10
        self.assertEqual(budget.next_deadline(), 40)
        self.assertFalse(budget.is_spent())
        now[0] = 100
        self.assertTrue(budget.is_spent())

    def test_the_median_has_an_interval(self):
        rng = random.Random(2)
        median, lo, hi = rounds.median_interval([1 + rng.gauss(0, 0.01)
                                          for _ in range(9)])
        self.assertTrue(lo <= median <= hi and 0.97 < lo and hi < 1.03)


class Hangs(unittest.TestCase):
    LONGEST_S = 60  # a limit against hangs; the test waits much shorter

    def test_a_hang_saves_results_and_exits(self):
        done, left = [], threading.Event()

        def leave(code):
            done.append(code)
            left.set()

        guard = rounds.HangGuard(0.05, lambda: done.append("saved"), leave)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            with guard("f16 nn 64"):
                self.assertTrue(left.wait(self.LONGEST_S))
        self.assertEqual(done, ["saved", 3])
        self.assertIn("f16 nn 64", out.getvalue())

    def test_a_case_in_time_does_not_exit(self):
        done = []
        guard = rounds.HangGuard(10 * self.LONGEST_S, lambda: done.append(1),
                             done.append)
        with guard("x"):
            pass
        guard.timer.join(self.LONGEST_S)
        self.assertFalse(guard.timer.is_alive())
        self.assertEqual(done, [])


class SimulatedTorch:
    """As much of PyTorch as a graph needs: calls are counted while a graph is
    recorded, and replays of it add that number."""

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


class Graphs(SimulatedTime):
    def test_a_graph_replays_its_products(self):
        torch = SimulatedTorch(self.clock)
        loop = rounds.TimedCalls.of_function(torch.call, torch.cuda.synchronize)
        replays = libraries.record_graph(torch, torch.call, loop)
        self.assertIn(replays.products, (9, 10))  # of 1 ms in 10
        replays.run(3)
        self.assertEqual(torch.count, 3 * replays.products)


class Cases(unittest.TestCase):
    def test_files_are_read_as_clbench_reads_them(self):
        got = list(cases.cases_of_file("gemm_llm", least_m=16))
        self.assertTrue(all(c.m >= 16 and c.dtype == "f16" for c in got))
        self.assertEqual(got[0].label(), "f16 nt 16x6144x4096")
        self.assertEqual(got[0].inputs, [(1, 16, 4096), (1, 6144, 4096)])

    def test_invalid_shapes_are_refused(self):
        for word in ("axb", "1x2x3x4", "0", ""):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                with self.assertRaises(cases.BadShape) as refused:
                    cases.parse_sizes(word, "command line")
            self.assertEqual(refused.exception.code, 2)
            self.assertIn("must be MxNxK", said.getvalue())

    def test_contradictions_are_refused(self):
        heads = "1x4x64x64"
        for words, text in (
                ("--accuracy quick", "argument --accuracy: invalid choice"),
                ("64 --accuracy split --dtype f16", "of --dtype f32"),
                ("64 --accuracy fast --dtype f32 --dtype bf16",
                 "of --dtype f32 and f8e4m3"),
                (heads + " --accuracy split --backward", "must be full"),
                ("--shapes conv_resnet50 --pass backward-data --accuracy fast",
                 "must be full"),
                ("64 --pass backward-data", "needs --shapes"),
                ("--pass sideways", "argument --pass: invalid choice"),
                ("64 --score cap", "BATCHxHEADSxNxD"),
                (heads + " --score cup", "argument --score: invalid choice"),
                (heads + " --score cap --backward", "leave out --backward"),
                (heads + " --kv-heads 3", "must divide"),
                ("64 --causal", "BATCHxHEADSxNxD"),
                ("64x64x64 --rows rms", "ROWSxCOLS"),
                ("64x64 --rows rmsnorm", "argument --rows: invalid choice")):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                with self.assertRaises(SystemExit) as refused:
                    torch_gemm.parse_arguments(words.split())
            self.assertEqual(refused.exception.code, 2)
            self.assertIn(text, said.getvalue())
        for words in ("", "--rows rms", heads + " --causal --kv-heads 2",
                      "64 --accuracy fast", "--set all", "--self-test",
                      "--shapes conv_resnet50 --pass backward-filters"):
            torch_gemm.parse_arguments(words.split())

    def test_the_row_id_has_all_options(self):
        case = cases.GemmCase((4, 4, 4), "f32", accuracy="split",
                              epilogue=cases.GELU)
        row = result_rows.make_row(case, "gemm_ref", 0, [2.0, 1.0, 3.0], 0.5, 1)
        self.assertIn("accuracy=split", row["id"])
        self.assertEqual((row["median_ns"], row["verdict"]), (2.0, "ok"))
        self.assertEqual(result_rows.make_row(case, "gemm_ref", 0, [1.0], 2, 1)
                         ["verdict"], "rejected")

    def test_gradients_have_the_operands_of_their_call(self):
        case = attention_gradients.AttentionGradientCase(
            (1, 2, 3, 5, 8), "f16", causal=True)
        n = len(case.inputs) + 1 + len(case.more_bytes)
        op = case.descriptor([ct.c_void_p(1 + i) for i in range(n)])
        views = [op.q, op.k, op.v, op.grad_o[0], op.grad_q[0], op.o,
                 op.lse[0], op.grad_k[0], op.grad_v[0]]
        self.assertEqual([v.mem.buf for v in views], list(range(1, n + 1)))

    def test_sets_have_cases_and_crosslane_first(self):
        for s in sets.SETS:
            self.assertTrue(list(s.cases()))
            self.assertEqual(s.library_names()[0], "ours")


class ExprCases(unittest.TestCase):
    def test_assigned_names_are_the_outputs(self):
        for text, names in (("x + y", ["out"]), ("out = x", ["out"]),
                            ("m = x; v[0] = m == x; m + v", ["m", "v", "out"]),
                            ("y = x == 2; y = y", ["y"])):
            self.assertEqual(expr_cases.assigned_names(text), names)

    def test_a_case_makes_a_row(self):
        case = expr_cases.ExprCase(
            {"name": "axpy", "text": "y = a * x + y", "scalars": "a=2:f32",
             "ranges": "x=-1:1"}, "x=10x10:f16,y=10x10:f16")
        self.assertEqual((case.inputs, case.outputs), (["y", "x"], ["y"]))
        self.assertEqual(case.bytes, 600)
        self.assertEqual(case.input_range("x"), (-1, 1))
        row = result_rows.make_row(case, "expr_fused", 0, [2.0, 1.0], 0.5, 1,
                                   n_launches=3)
        self.assertEqual(row["id"],
                         "expr/expr_fused/x=100,y=100/case=axpy/f16/hot")
        self.assertEqual((row["launches"], row["verdict"]), (3, "ok"))


def result(case, ratio, theirs_us=100.0):
    return {"set": "llm", "case": case, "ours": "ours", "theirs": "graph",
            "ours_us": theirs_us / ratio, "theirs_us": theirs_us,
            "ratio": ratio, "min": ratio, "max": ratio}


class Summaries(unittest.TestCase):
    def test_short_cases_are_not_the_worst(self):
        target = sets.Target("ours", "graph", each=0.9, mean=1.03, from_us=30)
        v = sets.summarise_target([result("a", 0.5, 10), result("b", 4.0),
                             result("c", 1.0)], target)
        self.assertAlmostEqual(v["mean"], 2**(1 / 3))
        self.assertEqual(v["worst"]["case"], "c")
        self.assertEqual((v["each_reached"], v["mean_reached"]),
                         ("yes", "yes"))

    def test_two_percent_are_a_tie(self):
        self.assertEqual([sets.compare_with_target(ratio, 1.0)
                          for ratio in (1.0, 0.985, 0.97)],
                         ["yes", "tie", "no"])

    def test_it_fits_a_terminal(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            sets.print_summary([result("f16 nt 2048x57344x8192", 1.0)])
        lines = out.getvalue().split("\n")
        self.assertTrue(all(len(line) < 80 for line in lines), lines)
        self.assertIn("mean 1.03 no, each 0.90 yes", lines[-2])

    def test_the_short_file_has_a_line_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "short.json")
            result_rows.write_short_document(
                path, {"rows": [result("a", 1.0)] * 2})
            with open(path, encoding="utf-8") as f:
                text = f.read()
        self.assertEqual(len(json.loads(text)["rows"]), 2)
        self.assertEqual(text.count("\n"), 6)


class Structs(unittest.TestCase):
    @staticmethod
    def fields(kind):
        return [getattr(kind, name) for base in reversed(kind.__mro__)
                for name, _ in base.__dict__.get("_fields_", ())]

    def test_they_are_those_of_the_headers(self):
        layout, name = {}, None
        with open(os.path.join(tree, "lib", "layout.txt"),
                  encoding="utf-8") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if line.startswith(" "):
                    layout[name].append((int(words[1]), int(words[2])))
                else:
                    name = words[0]
                    layout[name] = []
        for name, kind in crosslane_expr.STRUCTS.items():
            with self.subTest(name):
                self.assertEqual([(field.offset, field.size)
                                  for field in self.fields(kind)],
                                 layout.get("xl_" + name))


if __name__ == "__main__":
    unittest.main()
