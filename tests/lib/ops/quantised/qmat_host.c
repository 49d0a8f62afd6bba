/* SPDX-License-Identifier: Apache-2.0 */
/* Quantises or dequantises standard input on the host, for check_qmat.py:
 *
 *   qmat_host quantise|dequantise FORMAT ROWS COLS GROUP ZEROS GROUP_ROWS
 *
 * Elements are f32, row-major; quantised data are the blocks, the scales and,
 * where ZEROS is 1, the zeros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/qmat.h>

int main(int argc, char **argv)
{
    xl_qbytes bytes;
    if (argc != 8)
        return 2;
    const bool quantises = strcmp(argv[1], "quantise") == 0;
    const xl_qshape s = {xl_qformat_find(argv[2]), strtoul(argv[3], NULL, 10),
                         strtoul(argv[4], NULL, 10),
                         strtoul(argv[5], NULL, 10),
                         strtoul(argv[7], NULL, 10)};
    if (xl_qshape_bytes(&s, &bytes) != XL_OK)
        return 3;
    if (strcmp(argv[6], "1") != 0)
        bytes.zeros = 0;
    const size_t n = s.rows * s.cols,
                 all = bytes.blocks + bytes.scales + bytes.zeros;
    unsigned char *data = calloc(all, 1);
    float *elems = calloc(n, sizeof *elems);
    const xl_qdata at = {data, data ? data + bytes.blocks : NULL,
                         bytes.zeros ? data + bytes.blocks + bytes.scales
                                     : NULL};
    int code = 4;
    if (data && elems && quantises)
        code = fread(elems, sizeof *elems, n, stdin) == n &&
                       xl_qmat_quantise_host(&s, elems, &at) == XL_OK &&
                       fwrite(data, 1, all, stdout) == all
                   ? 0
                   : 5;
    else if (data && elems)
        code = fread(data, 1, all, stdin) == all &&
                       xl_qmat_dequantise_host(&s, &at, elems) == XL_OK &&
                       fwrite(elems, sizeof *elems, n, stdout) == n
                   ? 0
                   : 5;
    free(data);
    free(elems);
    return code;
}
