# SPDX-License-Identifier: Apache-2.0
"""Result files: a run writes the same files as `clbench report` of its JSON,
and independent readers accept them.

report.py CLBENCH FOLDER INTERRUPT
"""
import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest

CLBENCH, FOLDER, INTERRUPT = (os.path.abspath(path) for path in sys.argv[1:4])
FORMATS = ("csv", "markdown", "html")
LONGEST_S = 900  # beyond that, it hangs


def clbench(*words, before=(), **more):
    return subprocess.run(
        [*before, CLBENCH, *words], capture_output=True, text=True,
        encoding="utf-8", stdin=subprocess.DEVNULL, timeout=LONGEST_S, **more)


def content(name):
    with open(name, encoding="utf-8", newline="") as file:
        return file.read()


def rows_of(text):
    lines = list(csv.reader(text.splitlines(keepends=True), strict=True))
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def files_of_100_bytes():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def without_state(shown):
    """A run prints its state as it is at that time, a report that at the
    end."""
    return re.sub(r"^(QUIET|BUSY)\b.*\n\n", "", shown, flags=re.M)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        os.chdir(FOLDER)
        files = [word for name in FORMATS
                 for word in (f"--{name}", f"run.{name}")]
        cls.run_ = clbench(
            "probe", "timer", "subgroup", "launch", "tile", "--quick",
            "--json", "run.json", *files, "--svg", "run")
        assert cls.run_.returncode == 0, cls.run_.stderr

    def check_exit(self, code, *words, **more):
        done = clbench(*words, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_report_equals_run(self):
        files = [word for name in FORMATS
                 for word in (f"--{name}", f"again.{name}")]
        done = self.check_exit(0, "report", "run.json", *files, "--svg",
                               "again")
        self.assertEqual(done.stdout, "")
        for name in FORMATS:
            self.assertEqual(content(f"again.{name}"), content(f"run.{name}"))
        self.assertEqual(os.listdir("again"), os.listdir("run"))
        for name in os.listdir("run"):
            self.assertEqual(content(f"again/{name}"), content(f"run/{name}"))

    def test_report_has_the_tables_of_the_run(self):
        shown = self.check_exit(0, "report", "run.json").stdout
        self.assertIn(without_state(self.run_.stdout), shown)
        with open("run.json", encoding="utf-8") as file:
            state = json.load(file)["state"]["text"]
        self.assertIn(state, shown.split("\n\n")[0])
        self.assertTrue(all(len(line) <= 80 for line in shown.splitlines()
                            if " on 0: " not in line), shown)

    def test_csv_has_every_row(self):
        with open("run.json", encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        table = rows_of(content("run.csv"))
        self.assertEqual([row["id"] for row in table],
                         [row["id"] for row in rows])
        for line, row in zip(table, rows):
            self.assertEqual(line["verdict"], row["verdict"])
            self.assertEqual(line["reason"], row["reason"] or "")
            if row["median_ns"] is not None:
                self.assertEqual(float(line["median_ns"]), row["median_ns"])
                self.assertEqual(float(line["value"]), row["value"])

    def test_standard_output_is_only_the_file(self):
        done = self.check_exit(0, "report", "run.json", "--csv", "-")
        self.assertEqual(rows_of(done.stdout), rows_of(content("run.csv")))
        done = self.check_exit(0, "probe", "timer", "--quick", "--markdown")
        self.assertTrue(done.stdout.startswith("# "), done.stdout)
        self.assertEqual(done.stdout.count("\n# "), 0)
        # The tables of the run are not on standard output.
        self.assertEqual(done.stdout.count("event_over_wall"), 1)

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [CLBENCH, "report", "run.json", "--csv", "-"], stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=LONGEST_S)
        self.assertEqual(done.returncode, 4)
        self.assertIn("--csv: 'standard output'", done.stderr)

    def test_several_files(self):
        shown = self.check_exit(0, "report", "run.json", "run.json").stdout
        self.assertEqual(shown.count(without_state(self.run_.stdout)), 2)
        done = self.check_exit(0, "report", "run.json", "run.json", "--csv",
                               "-")
        self.assertEqual(len(rows_of(done.stdout)),
                         2 * len(rows_of(content("run.csv"))))

    def test_figures_are_files_of_their_devices(self):
        device = {"index": 0, "name": "My Chip (R) 9", "facts": [
            {"name": "copy_bytes_per_s", "value": 1e12, "unit": "B/s",
             "source": "measured"},
            {"name": "peak_f32_flop_per_s", "value": 5e13, "unit": "flop/s",
             "source": "measured"}]}
        document = {"schema": "clbench/1", "rows": [],
                    "devices": [device, dict(device, index=1)]}
        for name, change in {"two.json": {}, "one.json": {
                "devices": [device]}}.items():
            with open(name, "w", encoding="utf-8") as file:
                json.dump(document | change, file)
        self.check_exit(0, "report", "one.json", "--svg", "deep/one")
        self.assertIn("roofline.svg", os.listdir("deep/one"))
        self.check_exit(0, "report", "two.json", "one.json", "--svg",
                        "deep/two/")
        expected = {f"roofline-my-chip-r-9{end}.svg"
                    for end in ("", "-2", "-3")}
        self.assertLessEqual(expected, set(os.listdir("deep/two")))
        for name in expected:
            self.assertTrue(content(f"deep/two/{name}").startswith("<svg"))

    def test_no_rows(self):
        self.check_exit(0, "limits", "--json", "none.json", "--csv", "none.csv",
                 "--markdown", "none.md")
        self.assertEqual(rows_of(content("none.csv")), [])
        self.assertIn("| compute_units |", content("none.md"))
        self.assertIn("compute_units", self.check_exit(0, "report",
                                                "none.json").stdout)

    def test_bad_files(self):
        bad = {"torn.json": '{"schema": "clbench/1", "rows": [',
               "other.json": '{"schema": "other/1"}',
               "bare.json": '{"schema": "clbench/1"}',
               "bytes.json": b'{"schema": "clbench/1", "x": "\xff"}'}
        for name, text in bad.items():
            with open(name, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
            done = self.check_exit(4, "report", "run.json", name, "--csv",
                                   "bad.csv")
            self.assertIn(f"'{name}' ", done.stderr)
            self.assertFalse(os.path.exists("bad.csv"))
        self.assertIn("nowhere.json",
                      self.check_exit(4, "report", "nowhere.json").stderr)
        self.check_exit(2, "report")

    def test_files_that_cannot_be_written(self):
        for name in FORMATS:
            done = self.check_exit(4, "gemm", "16", f"--{name}", "none/x",
                            "--json", "-")
            self.assertEqual(done.stdout, "")
            self.assertIn(f"--{name}: 'none/x' cannot be", done.stderr)
            done = self.check_exit(4, "report", "run.json", f"--{name}",
                                   "/dev/full")
            self.assertIn("/dev/full", done.stderr)
        self.check_exit(4, "report", "run.json", "--svg", "run.json/x")
        done = self.check_exit(2, "gemm", "16", "--csv", "one", "--markdown",
                               "one")
        self.assertIn("--csv and --markdown", done.stderr)
        self.assertFalse(os.path.exists("one"))
        self.check_exit(2, "gemm", "16", "--json", "-", "--csv", "-")

    def test_a_disk_that_is_full_leaves_the_old_file(self):
        with open("old.csv", "w", encoding="utf-8") as file:
            file.write("old")
        done = self.check_exit(4, "report", "run.json", "--csv", "old.csv",
                        preexec_fn=files_of_100_bytes)
        self.assertIn("old.csv", done.stderr)
        self.assertEqual(content("old.csv"), "old")
        self.assertFalse([name for name in os.listdir(".") if ".tmp" in name])

    def test_an_interrupted_run_keeps_its_rows(self):
        done = clbench(
            "probe", "timer", "dot", "coalescing", "--json", "part.json",
            "--csv", "part.csv",
            before=(sys.executable, INTERRUPT, "part.csv", "probe_"))
        self.assertEqual(done.returncode, 130, done.stderr)
        self.assertIn("finishing this run; again to stop", done.stderr)
        with open("part.json", encoding="utf-8") as file:
            document = json.load(file)
        rows = document["rows"]
        self.assertIs(document["interrupted"], True)
        self.assertIn("interrupted: rows may be missing",
                      self.check_exit(0, "report", "part.json").stdout)
        self.assertGreater(len(rows), 0)
        self.assertEqual([row["id"] for row in rows_of(content("part.csv"))],
                         [row["id"] for row in rows])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
