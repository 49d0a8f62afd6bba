# SPDX-License-Identifier: Apache-2.0
"""Checks the recipes of lib/packaging without their tools.

- Versions, descriptions and licences are those of CMakeLists.txt and LICENSE.
- vcpkg.json has the keys, names and order that vcpkg's schema asks for; what
  the portfile calls exists in vcpkg, and its cache entries in this project.
- conanfile.py compiles, and `conan inspect` accepts it where Conan is installed.

    check_recipes.py TREE
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tree = pathlib.Path(sys.argv[1]).resolve()
packaging = tree / "lib" / "packaging"
project = (tree / "CMakeLists.txt").read_text()
version = re.search(r"^project\(crosslane VERSION (\S+)", project, re.M)[1]
description = re.search(r'DESCRIPTION "(.*)"\)', project)[1]
failures = []


def expect(is_right, text):
    if not is_right:
        failures.append(text)


def is_entry(name):
    """Is it a cache entry of the project or of CTest?"""
    return bool(re.search(rf"\b{name}\b", project))


# -- vcpkg -------------------------------------------------------------------
PORT_KEYS = set("""$schema name version version-semver version-date
    version-string port-version maintainers summary description homepage
    documentation license supports dependencies features default-features
    builtin-baseline overrides""".split())
DEPENDENCY_KEYS = set("""name default-features features host platform
    version>=""".split())
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FUNCTIONS = set("""get_filename_component file vcpkg_find_acquire_program
    vcpkg_cmake_configure vcpkg_cmake_install vcpkg_cmake_config_fixup
    vcpkg_fixup_pkgconfig vcpkg_install_copyright""".split())

folder = packaging / "vcpkg" / "crosslane"
port = json.loads((folder / "vcpkg.json").read_text())
expect(port["name"] == folder.name and NAME.fullmatch(port["name"]),
       "vcpkg.json: the name is not that of its folder")
expect(port["version-semver"] == version and
       re.fullmatch(r"\d+\.\d+\.\d+", version), "vcpkg.json: the version")
expect(port["description"] == description, "vcpkg.json: the description")
expect(not set(port) - PORT_KEYS, f"vcpkg.json: {set(port) - PORT_KEYS}")
needs = [d if isinstance(d, dict) else {"name": d}
         for d in port["dependencies"]]
for d in needs:
    expect(NAME.fullmatch(d["name"]) and not set(d) - DEPENDENCY_KEYS,
           f"vcpkg.json: the dependency {d}")
names = [d["name"] for d in needs]
expect(names == sorted(set(names)), "vcpkg.json: dependencies are not sorted")
helpers = {d["name"] for d in needs if d.get("host") is True}

text = re.sub(r"#.*", "", (folder / "portfile.cmake").read_text())
called = set(re.findall(r"^(\w+)\(", text, re.M))
expect(called <= FUNCTIONS, f"portfile.cmake: unknown {called - FUNCTIONS}")
for function, helper in (("vcpkg_cmake_configure", "vcpkg-cmake"),
                         ("vcpkg_cmake_config_fixup", "vcpkg-cmake-config")):
    expect((function in called) == (helper in helpers),
           f"{function}() without the host dependency {helper}, or the reverse")
for entry in re.findall(r"-D(\w+)=", text):
    expect(is_entry(entry) or entry == "PKG_CONFIG_EXECUTABLE",
           f"portfile.cmake: {entry} is no cache entry of the project")
# With functions that do nothing it is a script that cmake runs.
stubs = "".join(f"function({name})\nendfunction()\n"
                for name in sorted(FUNCTIONS) if name.startswith("vcpkg_"))
script = f"""{stubs}set(CURRENT_PACKAGES_DIR /nonexistent)
include({folder}/portfile.cmake)
if(NOT EXISTS ${{SOURCE_PATH}}/lib/crosslane.map)
    message(FATAL_ERROR "SOURCE_PATH is not the tree")
endif()
"""
with tempfile.NamedTemporaryFile("w", suffix=".cmake") as file:
    file.write(script)
    file.flush()
    done = subprocess.run(["cmake", "-P", file.name], text=True,
                          capture_output=True, check=False)
expect(done.returncode == 0, f"portfile.cmake: {done.stderr}")

# -- Conan -------------------------------------------------------------------
path = packaging / "conan" / "conanfile.py"
recipe = path.read_text()
compile(recipe, path, "exec")
for name, value in (("version", version), ("description", description),
                    ("license", "Apache-2.0")):
    expect(f'    {name} = "{value}"\n' in recipe,
           f"conanfile.py: {name} is not {value}")
expect("Apache License" in (tree / "LICENSE").read_text() and
       port["license"] == "Apache-2.0", "the licence is not that of LICENSE")
for entry in re.findall(r'cache_variables\["(\w+)"\]', recipe):
    expect(is_entry(entry), f"conanfile.py: {entry} is no cache entry")
conan = shutil.which("conan")
if conan:
    done = subprocess.run([conan, "inspect", path.parent, "--format", "json"],
                          text=True, capture_output=True, check=False)
    expect(done.returncode == 0, f"conan inspect: {done.stderr}")
    seen = json.loads(done.stdout or "{}")
    expect(seen.get("package_type") == "library" and
           seen.get("options_definitions", {}).get("shared") ==
           ["True", "False"], f"conan inspect: {seen}")

for failure in failures:
    print(failure)
print(f"vcpkg: {len(names)} dependencies; conan inspect: "
      f"{'run' if conan else 'Conan is not installed'}")
sys.exit(bool(failures))
