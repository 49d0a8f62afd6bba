# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of result files: bench/clbench-1.schema.json is what
`clbench report --schema` prints, and what runs write is what it describes,
every member of it.

schema.py CLBENCH SOURCE FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

CLBENCH, SOURCE, FOLDER = (os.path.abspath(path) for path in sys.argv[1:4])
FILE = os.path.join(SOURCE, "bench", "clbench-1.schema.json")
LONGEST_S = 900  # beyond that, it hangs

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "null": type(None)}


def is_of(value, name):
    if name in TYPES:
        return isinstance(value, TYPES[name])
    kinds = int if name == "integer" else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool)


# The keywords that the schema uses; another one is an error.
def check_type(value, names, _schema):
    return any(is_of(value, name)
               for name in ([names] if isinstance(names, str) else names))


KEYWORDS = {
    "type": check_type,
    "enum": lambda value, names, _: value in names,
    "const": lambda value, expected, _: value == expected,
    "pattern": lambda value, pattern, _:
        not isinstance(value, str) or re.search(pattern, value),
    "minLength": lambda value, least, _:
        not isinstance(value, str) or len(value) >= least,
    "minimum": lambda value, least, _:
        not is_of(value, "number") or value >= least,
    "exclusiveMinimum": lambda value, least, _:
        not is_of(value, "number") or value > least,
    "required": lambda value, names, _:
        not isinstance(value, dict) or set(names) <= set(value),
}
OF_PARTS = {"properties", "additionalProperties", "items", "description",
            "title", "$schema"}


def faults(value, schema, path="$"):
    """What of the value the schema forbids, or does not describe."""
    for word, rule in schema.items():
        if word in OF_PARTS:
            continue
        if not KEYWORDS[word](value, rule, schema):
            yield f"{path}: {value!r:.80} breaks {word}: {rule!r:.80}"
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from faults(item, schema["items"], f"{path}[{i}]")
    if not isinstance(value, dict) or "properties" not in schema and \
            "additionalProperties" not in schema:
        return
    others = schema.get("additionalProperties", False)
    for name, member in value.items():
        known = schema.get("properties", {}).get(name, others)
        if known is False:
            yield f"{path}: {name} is not described"
        elif known is not True:
            yield from faults(member, known, f"{path}.{name}")


def clbench(*words):
    return subprocess.run(
        [CLBENCH, *words], capture_output=True, text=True, encoding="utf-8",
        stdin=subprocess.DEVNULL, timeout=LONGEST_S)


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        os.chdir(FOLDER)
        cls.text = clbench("report", "--schema").stdout
        cls.schema = json.loads(cls.text)

    def check(self, document, where):
        found = list(faults(document, self.schema))
        self.assertEqual(found, [], where)

    def test_the_file_in_the_tree(self):
        with open(FILE, encoding="utf-8") as file:
            self.assertEqual(
                file.read(), self.text,
                "write it: clbench report --schema "
                ">bench/clbench-1.schema.json")

    def test_what_runs_write(self):
        runs = (("probe", "timer", "launch", "--quick"),
                ("gemm", "64", "--quick", "--roofs", "theoretical"),
                ("limits",))
        for words in runs:
            done = clbench(*words, "--json", f"{words[0]}.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(f"{words[0]}.json", encoding="utf-8") as file:
                document = json.load(file)
            self.check(document, words)
            self.assertIs(document["interrupted"], False)
            self.assertEqual(document["rows"] == [], words[0] == "limits")

    def test_the_checker(self):
        self.assertEqual(clbench("probe", "launch", "--quick", "--json",
                                 "run.json").returncode, 0)
        with open("run.json", encoding="utf-8") as file:
            text = file.read()
        changes = (
            ("rows", 0, "value", "fast"), ("rows", 0, "verdict", "fine"),
            ("rows", 0, "samples_ns", [-1]), ("rows", 0, "more", 1),
            ("rows", 0, "id", ""), ("devices", 0, "index", -1),
            ("schema", "clbench/2"), ("interrupted", None))
        for *path, value in changes:
            document = json.loads(text)
            at = document
            for name in path[:-1]:
                at = at[name]
            at[path[-1]] = value
            self.assertNotEqual(list(faults(document, self.schema)), [], path)
        document = json.loads(text)
        del document["rows"][0]["verdict"]
        self.assertNotEqual(list(faults(document, self.schema)), [])

    def test_it_is_a_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("Python's jsonschema is not installed")
        jsonschema.Draft202012Validator.check_schema(self.schema)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
