# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of the Python module, of nothing but this folder: the same
bytes each time. The build calls it.

    wheel.py VERSION FOLDER    FOLDER becomes what the wheel holds, unpacked, and
                               FOLDER/../crosslane-VERSION-py3-none-any.whl
"""
import base64
import hashlib
import pathlib
import shutil
import sys
import zipfile

version, target = sys.argv[1], pathlib.Path(sys.argv[2])
here = pathlib.Path(__file__).resolve().parent
info = f"crosslane-{version}.dist-info"
DATE = (2026, 1, 1, 0, 0, 0)  # of all files: a build repeats

if f'__version__ = "{version}"' not in (here / "crosslane/__init__.py"
                                        ).read_text():
    sys.exit(f"crosslane/__init__.py has not __version__ = \"{version}\"")
files = {f"crosslane/{path.name}": path.read_bytes()
         for path in sorted((here / "crosslane").iterdir())
         if path.name != "__pycache__"}
files[f"{info}/LICENSE"] = (here.parents[1] / "LICENSE").read_bytes()
files[f"{info}/METADATA"] = f"""\
Metadata-Version: 2.1
Name: crosslane
Version: {version}
Summary: OpenCL compute library for every vendor's device
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.22
Description-Content-Type: text/markdown

{(here / "README.md").read_text()}""".encode()
files[f"{info}/WHEEL"] = b"""\
Wheel-Version: 1.0
Generator: crosslane
Root-Is-Purelib: true
Tag: py3-none-any
"""
record = "".join(
    f"{name},sha256="
    f"{base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')}"
    f",{len(data)}\n" for name, data in files.items())
files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

shutil.rmtree(target, ignore_errors=True)
wheel = target.parent / f"crosslane-{version}-py3-none-any.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, data in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
        entry = zipfile.ZipInfo(name, DATE)
        entry.external_attr = 0o644 << 16
        archive.writestr(entry, data)
