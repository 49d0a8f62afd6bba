# SPDX-License-Identifier: Apache-2.0
# Writes a C file with a hash of source files, by name and text. Kernels are
# not among them: a program's key has the hash of its own text.
#
#   cmake -DOUT=out.c -DROOT=folder "-DFILES=a.c;b.c" -P build_hash.cmake
set(all "")
foreach(file IN LISTS FILES)
    file(SHA256 "${ROOT}/${file}" hash)
    string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 32 hash)
file(WRITE "${OUT}"
"/* Made by lib/build_hash.cmake. */
#include \"runtime/program.h\"

const char xl__build_hash[] = \"${hash}\";
")
