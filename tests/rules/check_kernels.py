# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel offline for one target, on all cores.

check_kernels.py TARGET [--compiler FILE] [--libclc FILE] [--assembler FILE]
                 [--writer PROGRAM]... [--sets PART] [--tiles PART]
                 [--required] --stamps FOLDER

TARGET      compiler   what is checked
portable    clang      plain OpenCL C 1.2, every extension off, no warning
gfx*        clang      AMD: optimised, no register spilled, no function absent
sm_*        clang      NVIDIA's own kernels and option sets: then assembled by
                       ptxas, nothing spilled and nothing serialized
any other   ocloc      Intel: that device, no register spilled

Compiled are the option sets of kernel_options.txt, the files below cl/ that it
does not name by themselves (portable: all), of what each `--writer` program
(`PROGRAM write FOLDER`) generates a fourth of the kernels (portable: half), and
the tile sets of the target's vendor table. The parts say how many: `--sets 1/3`
the second third of the files and of the option sets that do not name the
target, `none` those that name it alone; `--tiles 0/2` half of the tile sets.
Of tile sets the compiler's figures are compared with the table's, and printed
with the occupancy that follows; of kernels on Intel's engine the inner loop is
printed. A build that succeeds leaves a file in
`--stamps`, of these with their figures, else empty. Its name is the hash of
everything that the result depends on:

    this script, the tools' files, the options,
    the text of the kernel and of all files that it includes, less comments

so a build is repeated only after one of these changes, and one that fails is
always repeated. Where a tool is absent: `SKIPPED: ...`, or with `--required`
a failure.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import engine_loop
import short_builtins
import engine_tiles
import intel_loop
import tile_sets

CL = pathlib.Path(__file__).resolve().parents[2] / "cl"
LONGEST_S = 600  # a compiler that hangs

# Which compilers a file is for, by its path below cl/.
NVIDIA = re.compile(r"(^|/)nvidia/")
INTEL = re.compile(r"(^|/)intel/")
ONE_TARGET = {"@dg2", "@pvc", "@gfx90a", "@gfx942", "@gfx1100", "@gfx1201"}
# The functions of the matrix engine (IN-15), which ocloc does not declare by
# itself, with those that other kernels need.
ENGINE = ["-cl-ext=-all,+cl_khr_fp16,+cl_intel_subgroups,"
          "+cl_intel_subgroups_short,+cl_intel_required_subgroup_size,"
          "+cl_intel_subgroup_matrix_multiply_accumulate"]
AMD = re.compile(r"(^|/)amd/mma_amdgcn")
# Intel: emulated matrix instructions, which are never chosen there; probes that
# fill the registers; IN-12; tiles of other devices: its own are in its lists;
# attention, whose arrays of sums that compiler keeps in memory.
MAY_SPILL = re.compile(
    r"/attention/(backward_)?(flash|reference)\.cl |/attention/split\.cl .*-DKV_ROWS=3|"
    r"/(split_mma|mma|occupancy|parallel_ladder|skinny|tiled|simt)\.cl ")
# AMD: more strides and pointers than scalar registers hold; those that are
# spilled are kept in lanes of a vector register.
MANY_SCALARS = re.compile(
    r"/attention/backward_|-DKV_ROWS=|/mma_transposed\.cl .*-DMT=")
CPU = re.compile(r"(^|/)cpu/|(^|[/_])cpu\.cl$|_thread\.cl$|/winograd\.cl$")

parser = argparse.ArgumentParser()
parser.add_argument("target")
for option in "compiler", "libclc", "assembler", "stamps":
    parser.add_argument("--" + option, type=pathlib.Path)
parser.add_argument("--writer", action="append", default=[])
parser.add_argument("--sets", default="0/1")
parser.add_argument("--tiles", default="0/1")
parser.add_argument("--required", action="store_true")
args = parser.parse_args()
is_portable = args.target == "portable"
is_amd = args.target.startswith("gfx")
is_nvidia = args.target.startswith("sm_")
is_intel = not is_portable and not is_amd and not is_nvidia
is_gpu = not is_portable
N_AT_ONCE = 8 if is_intel else 24  # builds of a process: some seconds

tools = [f for f in (args.compiler, args.libclc, args.assembler) if f]
missing = [str(f) for f in tools if not f.is_file()]
if is_intel and args.required and not intel_loop.LIBRARY:
    missing.append("libiga64")
if missing:
    print("not found:" if args.required else "SKIPPED: not found:", *missing)
    sys.exit(args.required)

flags = ["-cl-std=CL1.2", f"-I{CL}"]  # an include names a path below cl/


def without_comments(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return "\n".join(line for line in map(str.strip, text.split("\n")) if line)


def read_closure(path, seen):
    """The text of a file and, once each, of those that it includes."""
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r'^\s*#\s*include\s+"(.*)"', text, flags=re.M):
        included = CL / name
        if included.is_file() and included not in seen:
            text += read_closure(included, seen)
    return text


def describe_tool(path):
    """Libraries of the same package change with the program's own file."""
    stat = path.resolve().stat()
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


base = pathlib.Path(__file__).read_text(encoding="utf-8") + str(
    [args.target] + [describe_tool(f) for f in tools])
tile_base = "".join(
    pathlib.Path(m.__file__).read_text(encoding="utf-8")
    for m in (tile_sets, engine_tiles, engine_loop, intel_loop))


class Build:
    """One kernel file with one set of options."""

    def __init__(self, path, options="", is_written=False, tiles=None):
        self.path = path
        words = options.split()
        self.options = [w for w in words if w.startswith("-")]
        self.extensions = [w for w in words if w.startswith("+")]
        self.marks = [w for w in words if w.startswith("@")]
        self.items = "".join(w[1:] for w in words if w[1:].isdigit())
        self.is_written = is_written
        # Its inner loop is counted.
        self.has_engine = "-DXL_DPAS_INTEL=1" in words
        # A row of tile_sets, and is it the plain build?; or of engine_tiles,
        # and which of its builds
        self.tiles = tiles
        self.figures = ""
        self.name = f"{path.name} {options}".strip()
        self.wall_s = 0

    def stamp(self):
        text = without_comments(read_closure(self.path, set()))
        key = base + str([self.options, self.extensions, self.items,
                          self.is_written, self.tiles]) + text
        if self.tiles or self.has_engine:
            key += tile_base + str(self.marks)
        return args.stamps / hashlib.sha256(key.encode()).hexdigest()

    def compile(self):
        """What is wrong: an empty text if nothing is."""
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            error = compile_for_target(self, folder)
        self.wall_s = time.monotonic() - begin
        return self.keep(error)

    def keep(self, error):
        if not error:
            self.stamp().write_text(self.figures, encoding="utf-8")
        return error


def run(*command):
    """What was printed, and what is wrong: an empty text if nothing is."""
    try:
        done = subprocess.run([str(word) for word in command], text=True,
                              errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return "", f"the compiler takes more than {LONGEST_S} s"
    error = f"exit status {done.returncode}: {done.stdout}"
    return done.stdout, error if done.returncode else ""


def is_engine_tile(row):
    return isinstance(row, engine_tiles.Tile)


def judge_tiles(build, figures):
    build.figures = json.dumps(figures)
    module = engine_tiles if is_engine_tile(build.tiles[0]) else tile_sets
    return module.judge(args.target, *build.tiles, figures)


def short_libclc():
    """libclc without what no kernel calls: every build reads it. It is written
    once, by the compiler's own LLVM where that is a library of its own."""
    libraries = sorted(args.compiler.resolve().parents[1].glob("lib/libLLVM*.so*"))
    if not libraries:
        return args.libclc
    root = CL.parent
    called = short_builtins.names_called(
        root / f for f in ("cl", "lib/expr", "lib/measure", "lib/ops/expression"))
    key = str([describe_tool(args.compiler), describe_tool(args.libclc),
               sorted(called)])
    short = args.stamps / f"{hashlib.sha256(key.encode()).hexdigest()}.bc"
    if not short.exists():
        new = short.with_suffix(f".{os.getpid()}")
        short_builtins.write_code(short_builtins.load_llvm(libraries[0]), called,
                                  args.libclc, new)
        new.rename(short)
    return short


def text_of(build):
    return " ".join([build.path.as_posix(), *build.options, ""])


def portable(build):
    return [args.compiler, "--target=spir64", "-x", "cl", *flags, "-Xclang",
            "-cl-ext=" + ",".join(["-all"] + build.extensions), "-Wall",
            "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter",
            "-Wno-unused-variable", "-Werror", "-fsyntax-only"]


def intel(build, folder):
    words = build.options
    if not build.tiles:
        words = tile_sets.common_option(args.target) + words
    return ["-file", build.path, "-device", args.target, "-out_dir", folder,
            "-options", " ".join(flags + words), "-internal_options",
            " ".join(["-cl-intel-allow-zebin"] +
                     ENGINE * build.has_engine)]


def judge_intel(build, folder):
    binary = next(pathlib.Path(folder).glob("*.bin")).read_bytes()
    figures = tile_sets.read_intel(binary)
    if build.tiles:
        return judge_tiles(build, figures)
    # A file without options is no set that is ever chosen.
    if figures["spilled"] and build.options and not build.is_written and \
            not MAY_SPILL.search(text_of(build)):
        return f"{figures['spilled']} bytes are spilled"
    if build.has_engine and intel_loop.LIBRARY:
        loop = intel_loop.count(args.target, binary)
        build.figures = intel_loop.describe(loop) * bool(loop["engine"])
        if "@fill" in build.marks and loop["fill"] < intel_loop.LEAST_FILL:
            return f"the engine does not fill the inner loop: {build.figures}"
    return ""


PLAIN = re.compile(r"-D\w+(=[\w.-]*)?")


def batches_of(builds):
    """Builds that one process does: portable ones with the same extensions and
    no option but definitions, and Intel's. Others one by one."""
    alike = {}
    for i, build in enumerate(builds):
        key = i
        if is_intel:
            key = "intel"
        elif is_portable and all(map(PLAIN.fullmatch, build.options)):
            key = str(build.extensions)
        alike.setdefault(key, []).append(build)
    return [batch[i:i + N_AT_ONCE] for batch in alike.values()
            for i in range(0, len(batch), N_AT_ONCE)]


def compile_batch(builds):
    """What is wrong with each. Where one process fails, a process for each says
    why: half of a small build is the compiler's start."""
    if len(builds) > 1:
        with tempfile.TemporaryDirectory() as folder:
            errors = (compile_intel if is_intel else compile_portable)(
                builds, folder)
        if errors:
            return [b.keep(error) for b, error in zip(builds, errors)]
    return [build.compile() for build in builds]


def compile_portable(builds, folder):
    """By a file for each build: its definitions and the kernel."""
    files = []
    for i, build in enumerate(builds):
        files.append(build.path)
        if build.options:
            files[-1] = pathlib.Path(folder, f"{i}.cl")
            files[-1].write_text("".join(
                "#define {} {}\n".format(*f"{word[2:]}=1".split("=")[:2])
                for word in build.options) + f'#include "{build.path}"\n',
                encoding="utf-8")
    # The driver starts a process for each file, and says how.
    said, error = run(*portable(builds[0]), "-###", files[0])
    if not error:
        _, error = run(*shlex.split(said.splitlines()[-1])[:-1], *files)
    return [] if error else [""] * len(builds)


def compile_intel(builds, folder):
    folders = [pathlib.Path(folder, str(i)) for i in range(len(builds))]
    for f in folders:
        f.mkdir()
    lines = pathlib.Path(folder, "lines")
    lines.write_text("".join(
        " ".join(f'"{word}"' for word in intel(*pair)) + "\n"
        for pair in zip(builds, folders)), encoding="utf-8")
    _, error = run(args.compiler, "multi", lines, "-q")
    return [] if error else list(map(judge_intel, builds, folders))


def compile_for_target(build, folder):
    if is_portable:
        _, error = run(*portable(build), *build.options, build.path)
        return error
    if is_intel:
        _, error = run(args.compiler, "compile", "-q", *intel(build, folder))
        return error or judge_intel(build, folder)
    assembly = pathlib.Path(folder, "kernel.s")
    machine = ["--target=nvptx64-nvidia-nvcl", "-march=" + args.target]
    if is_amd:
        # libclc's version; a newer clang has a newer default.
        machine = ["--target=amdgcn-amd-amdhsa", "-mcpu=" + args.target,
                   "-mcode-object-version=5"]
    for library in (libclc, args.libclc):  # should the short one lack a name
        _, error = run(
            args.compiler, *machine, "-nogpulib", "-x", "cl", *flags, "-Xclang",
            "-mlink-builtin-bitcode", "-Xclang", library, "-O3",
            *build.options, "-S", "-o", assembly, build.path)
        if error:
            return error
        text = assembly.read_text(encoding="utf-8")
        absent = {name for name in
                  re.findall(r"([\w.$]+)@(?:gotpc)?rel32@lo", text)
                  if f"\n{name}:" not in text}
        if not absent:
            break
    if absent:
        return f"called and not defined: {absent}"
    if build.tiles:
        return judge_tiles(build, engine_tiles.read(args.target, text)
                           if is_engine_tile(build.tiles[0])
                           else tile_sets.read_amd(text))
    if is_amd:
        # Generated ones may have more pointers than scalar registers hold.
        has_many = build.is_written or MANY_SCALARS.search(text_of(build))
        spilled = re.findall(("v" if has_many else "") +
                             "gpr_spill_count: +[1-9].*", text)
        return f"registers are spilled: {spilled}" if spilled else ""
    # The text states the size of a group and, where registers move between
    # warps, that one group is enough for a compute unit.
    if build.items:
        text = re.sub(r"\n\)[ \t]*\n", "\n)\n.minnctapersm 1\n.reqntid "
                      f"{build.items}, 1, 1\n", text)
    # The assembler alone allows 48 KiB of local memory that has a size.
    text = re.sub(r"(\.shared .*\[)\d{5,}\]", r"\g<1>1024]", text)
    assembly.write_text(text, encoding="utf-8")
    output, error = run(args.assembler, "-arch=" + args.target, "-v",
                         assembly, "-o", assembly.with_suffix(".bin"))
    if re.search("serialized|C7[56][0-9][0-9]|[1-9][0-9]* bytes spill", output):
        error = output
    return error


def is_for_target(path, words=()):
    """Is a file below cl/, with the words of the table's line, compiled?"""
    name = path.relative_to(CL).as_posix()
    if ONE_TARGET & set(words):
        return "@" + args.target in words
    if AMD.search(name) or is_amd and INTEL.search(name):
        return False  # it is compiled as a part of others; never chosen there
    if NVIDIA.search(name) or "-DXL_MMA_PTX=1" in words:
        return is_nvidia and bool(words)
    if is_nvidia:
        return False
    if is_portable:
        return True
    return path.suffix == ".cl" and not CPU.search(name) and \
        "@portable" not in words and (is_amd or "@amd" not in words)


def part(which, items, name=str):
    """Those of a list that a part, `0/3`, has: about a third; `none`. A name
    decides, so one that comes or goes leaves the others where they are."""
    if which == "none":
        return []
    first, _, count = which.partition("/")
    return [item for item in items if zlib.crc32(name(item).encode()) %
            int(count) == int(first)]


table = pathlib.Path(__file__).with_name("kernel_options.txt")
sets = []
for line in table.read_text(encoding="utf-8").splitlines():
    name, _, options = line.partition(" ")
    if name and name[0] != "#" and is_for_target(CL / name, options.split()):
        sets.append(Build(CL / name, options))
named = {b.path for b in sets if is_gpu}
files = sorted(f for f in CL.rglob("*") if f.suffix in (".cl", ".clh"))
sets += [Build(f) for f in files if is_for_target(f) and f not in named]
own = [b for b in sets if "@" + args.target in b.marks]
builds = own + part(args.sets, [b for b in sets if b not in own],
                    lambda b: b.name)
if args.target in tile_sets.UNITS:
    builds += [Build(CL / tile_sets.KERNELS[s.kernel], options,
                     tiles=(s, is_plain))
               for s in part(args.tiles, tile_sets.read_sets(args.target))
               for is_plain, options in zip(
                   (True, False), tile_sets.options(args.target, s))]
builds += [Build(CL / tile_sets.KERNELS[s.kernel], options, tiles=(s, i))
           for s in part(args.tiles, engine_tiles.read_tiles(args.target))
           for i, options in enumerate(engine_tiles.options(args.target, s))]

with tempfile.TemporaryDirectory() as scratch:
    for i, writer in enumerate(args.writer):
        written = pathlib.Path(scratch, str(i))
        written.mkdir()
        _, error = run(writer, "write", written)
        if error:
            sys.exit(f"{writer}: {error}")
        texts = sorted(written.glob("gpu_*.cl" if is_gpu else "*.cl"))
        builds += [Build(f, is_written=True)
                   for f in part("0/4" if is_gpu else "0/2", texts,
                                 lambda f: f.name)]

    args.stamps.mkdir(parents=True, exist_ok=True)
    libclc = short_libclc() if is_amd else args.libclc
    due = [b for b in builds if not b.stamp().exists()]
    # Those of tiles take longest: begun first, none ends alone.
    batches = batches_of(sorted(due, key=lambda b: not b.tiles))
    due = [b for batch in batches for b in batch]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [e for done in pool.map(compile_batch, batches) for e in done]

n_failed = 0
for build, error in zip(due, errors):
    if error:
        print(f"{build.name} {args.target}: {error}")
        n_failed += 1
for module in tile_sets, engine_tiles:
    made = [(b.tiles[0], json.loads(b.stamp().read_text(encoding="utf-8")))
            for b in builds if b.tiles and b.stamp().exists() and
            is_engine_tile(b.tiles[0]) == (module is engine_tiles)]
    if made:
        print(module.table(args.target, made))
for build in builds:
    if build.has_engine and build.stamp().exists():
        loop = build.stamp().read_text(encoding="utf-8")
        if loop:
            print(f"{build.name}\n    {loop}")
for build in sorted(due, key=lambda b: -b.wall_s)[:3]:
    print(f"{build.wall_s:.1f} s: {build.name}")
print(f"{len(builds)} for {args.target}: {len(due)} compiled, "
      f"{n_failed} failed, {len(builds) - len(due)} unchanged")
sys.exit(n_failed > 0 or not builds)
