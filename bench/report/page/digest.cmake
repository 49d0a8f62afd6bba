# SPDX-License-Identifier: Apache-2.0
# Writes the SHA-256 of a file in base64, by which a Content-Security-Policy
# names a script.
#   cmake -DFILE=page.js -DOUT=page.js.digest -P digest.cmake
set(letters
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
file(SHA256 "${FILE}" hex)
# Six hexadecimal digits are four letters. The 64 digits are padded with two
# zeros; the letter of the padding is replaced by "=".
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
