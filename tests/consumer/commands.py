#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the clbench examples of the manuals and compares the manual of clbench
with its --help.

    commands.py CLBENCH FOLDER SOURCE_DIR [--seconds S]

An example is a line `clbench ...` in a block ```sh, or `$ clbench ...` in a
block ```text, of README.md or bench/README.md. Each line runs in a shell, in
a folder of its own below FOLDER. A program that still runs after S seconds
(2 when not given) is interrupted with SIGINT. An example fails when clbench
exits with 2 (usage), 4 (a file), a code that the manual does not list, or a
signal. On the stub driver kernels compute nothing, so 1 (a wrong result), 3
(no usable device, of doctor) and 5 (a gate) are expected there. For the same
reason each file that report, compare, site or plan reads is replaced by result.json,
which was measured on PoCL. A block ```opencl whose first line is // NAME is
the file of a kernel.

bench/README.md must have each command and each option that --help prints, and
no other option."""
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys

EXIT_CODES = {0, 1, 3, 5, 130}
RESULT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "result.json")
MODEL = os.path.join(os.path.dirname(RESULT), "..", "fuzz", "corpus_gguf",
                     "llama.gguf")
N_AT_ONCE = 4  # most of them wait for the interrupt
OTHER_OPTIONS = {"--install", "--prefix", "--raw"}  # of cmake and clinfo


def read_examples(path):
    """The examples of one Markdown file as (line number, command)."""
    kind, pending = None, ""
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("```"):
            kind = line[3:] if kind is None else None
            continue
        if kind == "text" and line.startswith("$ clbench"):
            line = line[2:]
        elif kind == "text" and not pending or kind not in ("sh", "text"):
            continue
        line = pending + line.strip()
        pending = ""
        if line.endswith("\\"):
            pending = line[:-1]
        elif re.match(r"([A-Z_]+=\S+ )*clbench\b", line):
            yield number, line


def supply_results(command, folder):
    """Writes the result files, and the model, that the example reads."""
    for name in re.findall(r"[\w-]+\.gguf\b", command):
        shutil.copy(MODEL, os.path.join(folder, name))
    if not re.match(r"clbench (report|compare|site|plan)\b", command):
        return
    read = re.sub(r"--(json|csv|html|markdown|svg|model) \S+", "", command)
    for name in re.findall(r"[\w-]+\.json\b", read):
        shutil.copy(RESULT, os.path.join(folder, name))


def supply_kernels(command, folder, text):
    """Writes the kernels that the example builds: blocks ```opencl whose first
    line is // NAME."""
    if re.match(r"clbench kernel\b", command):
        for name, kernel in re.findall(r"^```opencl\n// (\S+)\n(.*?)^```",
                                       text, re.M | re.S):
            with open(os.path.join(folder, name), "w",
                      encoding="utf-8") as file:
                file.write(kernel)


def run_example(command, folder, seconds):
    """(exit code, standard error); 130 when it had to be interrupted."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True)
    for interrupts in range(3):
        try:
            _, errors = process.communicate(timeout=seconds)
            code = process.returncode
            is_ended = interrupts > 0 and code in (130, -signal.SIGINT)
            return (130 if is_ended else code), errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            seconds = max(seconds, 30)
    os.killpg(process.pid, signal.SIGKILL)
    return "none: it does not stop", process.communicate()[1]


def check_examples(source_dir, folder, seconds):
    def run(example):
        name, number, command = example
        own_folder = os.path.join(folder, f"{name}_{number}".replace("/", "_"))
        os.makedirs(own_folder)
        supply_results(command, own_folder)
        supply_kernels(command, own_folder, texts[name])
        return run_example(command, own_folder, seconds)

    texts = {name: open(os.path.join(source_dir, name),
                        encoding="utf-8").read()
             for name in ("README.md", "bench/README.md")}
    examples = [(name, number, command)
                for name in texts
                for number, command in
                read_examples(os.path.join(source_dir, name))]
    failed = not examples
    with concurrent.futures.ThreadPoolExecutor(N_AT_ONCE) as pool:
        for (name, number, command), (code, errors) in zip(
                examples, pool.map(run, examples)):
            print(f"{code}  {name}:{number}: {command}", flush=True)
            if code not in EXIT_CODES:
                print(f"FAILED: {name}:{number}: exit code {code}")
                print("    " + "\n    ".join(errors.splitlines()[:10]))
                failed += 1
    return failed


def read_help(clbench, *command):
    return subprocess.run([clbench, *command, "--help"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def check_manual(clbench, path):
    """Commands and options of --help, and of the manual: the same."""
    manual = open(path, encoding="utf-8").read()
    overview = read_help(clbench)
    listing = overview.split("Commands:\n")[1].split("\n\n")[0]
    commands = re.findall(r"^  ([a-z]+) ", listing, re.M)
    failed = not commands
    options = set()
    for text in [overview] + [read_help(clbench, c) for c in commands]:
        options |= set(re.findall(r"^(?:  -\w, |      )(--[a-z-]+)", text,
                                  re.M))
    for command in commands:
        if not re.search(rf"`{command}[ `]|clbench {command}\b", manual):
            print(f"FAILED: {path} does not have the command {command}")
            failed += 1
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", manual))
    for option in sorted(options - named):
        print(f"FAILED: {path} does not have {option}")
        failed += 1
    for option in sorted(named - options - OTHER_OPTIONS):
        print(f"FAILED: {path} has {option}, which clbench does not")
        failed += 1
    return failed


def main():
    clbench, folder, source_dir = sys.argv[1:4]
    seconds = float(sys.argv[5]) if len(sys.argv) > 5 else 2
    clbench = os.path.abspath(clbench)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.environ["PATH"] = (os.path.dirname(clbench) + os.pathsep +
                          os.environ["PATH"])
    os.environ["XL_TUNED_DIR"] = os.path.join(os.path.abspath(folder), "tuned")
    failed = check_manual(clbench, os.path.join(source_dir,
                                                "bench/README.md"))
    failed += check_examples(source_dir, folder, seconds)
    sys.exit(1 if failed else 0)


main()
