# SPDX-License-Identifier: Apache-2.0
# The SHA-256 of a file in base64, as a Content-Security-Policy names a script.
#   cmake -DFILE=page.js -DOUT=page.js.digest -P digest.cmake
set(letters
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
file(SHA256 "${FILE}" hex)
# Six digits are four letters; two are filled up at the end, where the last
# letter gives way to the sign that says so.
string(APPEND hex "00")
set(digest "")
foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    foreach(shift 18 12 6 0)
        math(EXPR letter "(0x${group} >> ${shift}) & 63")
        string(SUBSTRING "${letters}" ${letter} 1 letter)
        string(APPEND digest "${letter}")
    endforeach()
endforeach()
string(SUBSTRING "${digest}" 0 43 digest)
file(WRITE "${OUT}" "${digest}=")
