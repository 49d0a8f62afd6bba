/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      a dense copy of images, or filters, of n x h x w x c elements
 *               of 2 bytes, with zeros before and behind the pixels of a row
 *               and behind the channels of a pixel. PAIRS: images 2 i and 2 i +
 *               1 become image i, element beside element, 0 where the second
 *               is missing; c counts the elements of both
 * Arguments     from, off, sn sc sh sw: base, offset and strides along images,
 *               channels, rows, columns, in elements; from_n, from_w, from_c:
 *               images, columns and channels that there are; to, first: base and first element
 *               of the copy, a multiple of 8; chunks: of 8 elements of its row;
 *               h, c: its rows and channels; left: columns of zeros before a
 *               row
 * Launch        global (chunks rounded up to the local size, rows, images)
 * Local memory  none
 * -D            PAIRS 0, 1
 * Needs         OpenCL C 1.2
 * Cost          2 bytes an element, once read and once written
 * Source        own */
#ifndef PAIRS
#define PAIRS 0
#endif
#define TOGETHER (1 + PAIRS)

__kernel void gemm_windows_copy(__global const ushort *from, ulong off,
                                ulong sn, ulong sc, ulong sh, ulong sw,
                                uint from_n, uint from_w, uint from_c,
                                __global ushort *to, ulong first, uint chunks,
                                uint h, uint c, uint left)
{
    const uint chunk = get_global_id(0);
    const uint row = get_global_id(1), image = get_global_id(2);
    if (chunk >= chunks)
        return;
    const uint col = chunk * 8 / c;
    uint channel = (chunk * 8 - col * c) / TOGETHER, x = col - left;
    ushort all[8];
    from += off + row * sh;
    #pragma unroll
    for (uint i = 0; i < 8; i++) {
        const uint n = image * TOGETHER + i % TOGETHER;
        all[i] = 0;
        if (x < from_w && channel < from_c && n < from_n)
            all[i] = from[n * sn + x * sw + channel * sc];
        if (i % TOGETHER == TOGETHER - 1 && ++channel == c / TOGETHER) {
            channel = 0;
            x++;
        }
    }
    to += first + ((ulong)image * h + row) * chunks * 8 + chunk * 8;
    *(__global ushort8 *)to = (ushort8)(all[0], all[1], all[2], all[3],
                                        all[4], all[5], all[6], all[7]);
}
