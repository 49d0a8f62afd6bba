/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised matrices: weights of a few bits in blocks that share a scale, in
 * the layouts in which files and other programs keep them. */
#ifndef CROSSLANE_QMAT_H
#define CROSSLANE_QMAT_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/dtype.h>
#include <crosslane/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The formats. Rows are stored one after another, each as blocks along its
 *  columns; numbers of more than a byte are little-endian. Element i of a
 *  block has the value on the right, a result of f32 (exact, or one rounding
 *  of the sum). "nibbles halved": element i is in the low half of byte i, and
 *  element i + 16 in its high half. The layouts are those of ggml
 *  (ggml-common.h), whose files (GGUF) store them so; MXFP4's elements and
 *  scales are those of the OCP Microscaling Formats 1.0, sections 5.2 and 5.3.
 */
typedef enum xl_qformat {
    XL_Q4_0,   ///< f16 d, 16 bytes q of nibbles halved: d (q - 8)
    XL_Q4_1,   ///< f16 d, f16 m, 16 bytes q of nibbles halved: d q + m
    XL_Q5_0,   ///< f16 d, 32 bits h, 16 bytes q of nibbles halved:
               ///< d (q + 16 h[i] - 16), h[i] bit i of h
    XL_Q8_0,   ///< f16 d, 32 bytes q with sign: d q
    XL_Q4_K,   ///< f16 d, f16 m, 12 bytes of scales, 128 bytes q, of 256
               ///< elements: d s[j] q - m t[j] with j = i / 32. Pairs of j
               ///< share 32 bytes of q, the even j their low halves. s and t
               ///< have 6 bits: for j < 4 the low ones of bytes j and j + 4;
               ///< else the halves of byte j + 4, s the low one, with the high
               ///< two bits of bytes j - 4 and j above them
    XL_Q6_K,   ///< 128 bytes l, 64 bytes h, 16 bytes s with sign, f16 d, of
               ///< 256 elements: d s[i / 16] (q - 32). For i = 128 a + 32 b +
               ///< c, q has the low half (b < 2, else the high half) of byte
               ///< 64 a + 32 (b % 2) + c of l and above it bits 2 b and
               ///< 2 b + 1 of byte 32 a + c of h
    XL_IQ4_NL, ///< f16 d, 16 bytes q of nibbles halved: d v[q], v = -127 -104
               ///< -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
    XL_MXFP4,  ///< a byte e, 16 bytes q of nibbles halved: 2^(e - 127) v[q],
               ///< v[0..7] = 0 0.5 1 1.5 2 3 4 6, v[8 + j] = 0 - v[j]; NaN
               ///< for e = 255
    XL_INT4,   ///< 4 bits q, element 2 i in the low half of byte i:
               ///< scale (q - zero), with an f16 scale and a zero of 4 bits for
               ///< each group of columns, each in memory of its own: scales of
               ///< a row one after another, zeros of a row packed as q, from
               ///< a whole byte on; without zeros, 8. The layout of ONNX
               ///< Runtime's MatMulNBits
    XL_INT8,   ///< a byte q with sign: scale q, with an f16 scale for each row
               ///< in memory of its own
    XL_FP8,    ///< a byte q, E4M3 of the OCP 8-bit Floating Point Specification
               ///< (torch.float8_e4m3fn: XL_F8E4M3): scale q, NaN for q = 0x7f
               ///< and 0xff, with an f32 scale for each block of rows and
               ///< columns in memory of its own: of whole rows of blocks one
               ///< after another
    XL_N_QFORMATS
} xl_qformat;

/** What a format is: a row of the library's table. */
typedef struct xl_qlayout {
    const char *name;     ///< "q4_0"
    size_t block;         ///< columns of a block; a row has whole blocks
    size_t block_bytes;
    bool has_scales;      ///< in memory of their own
    bool has_zeros;       ///< may have them in memory of their own
    xl_dtype scale_dtype; ///< of scales: XL_F16, or of XL_FP8 XL_F32
} xl_qlayout;

/** Static; NULL for a value that is not a format. */
XL_API const xl_qlayout *xl_qformat_layout(xl_qformat format);
/** The format of this name; XL_N_QFORMATS: there is none. */
XL_API xl_qformat xl_qformat_find(const char *name);

/** The sizes of a quantised matrix. */
typedef struct xl_qshape {
    xl_qformat format;
    size_t rows, cols; ///< >= 1; cols a multiple of the format's block
    size_t group;      ///< of XL_INT4 and XL_FP8: columns that share a scale, a
                       ///< multiple of 32 that divides cols; of XL_FP8 0: all;
                       ///< other formats: not read
    size_t group_rows; ///< of XL_FP8: rows that share a scale; the last ones
                       ///< may be fewer; 0: all. (0, 1) is a scale by channel,
                       ///< (0, 0) one for all, (128, 128) one for a square
                       ///< block; other formats: not read
} xl_qshape;

/** Its memory, dense. */
typedef struct xl_qbytes {
    size_t blocks, scales, zeros; ///< 0: the format has none
    double bits;                  ///< of an element, with its share of scales
                                  ///< and zeros
} xl_qbytes;

/** The bytes that it takes. XL_BAD_ARGUMENT: a NULL, no format; XL_BAD_SHAPE:
 *  a size of 0, columns that are not whole blocks, a group that does not fit;
 *  XL_OVERFLOW. *out is then as it was. */
XL_API xl_status xl_qshape_bytes(const xl_qshape *shape, xl_qbytes *out);

/** Quantised data in the host's memory, dense, at any alignment. */
typedef struct xl_qdata {
    void *blocks;
    void *scales; ///< NULL where the format has none
    void *zeros;  ///< likewise; of XL_INT4 NULL: all are 8
} xl_qdata;

/**
 * Quantise @p src, rows x cols, row-major, to the nearest value that the scale
 * of its block permits. Scales follow ggml where it has a simple rule: the
 * element of the largest magnitude is the end of the range that has no
 * counterpart (Q4_0, Q5_0, IQ4_NL), the ends of the range are the least and the
 * largest element (Q4_1), or the largest magnitude is the largest value (Q8_0,
 * INT8, and FP8, of two codes as near the even one); of MXFP4 the exponent is
 * that of the largest magnitude less 2. INT4 takes the range of a group and 0,
 * with zeros; without, the rule of Q4_0. The scales of Q4_K and Q6_K are by the
 * same rules for each part of a block, without ggml's search for better ones. A
 * scale below 2^-100 counts as 0. xl_qconvert_run() does the same on the
 * device.
 *
 * @return XL_OK; XL_BAD_SCALAR: an element is infinite or NaN, or a scale
 *         exceeds its type; *out's memory is then undefined. XL_BAD_ARGUMENT:
 *         a NULL where the format has that memory. Otherwise as
 *         xl_qshape_bytes()
 */
XL_API xl_status xl_qmat_quantise_host(const xl_qshape *shape,
                                       const float *src, const xl_qdata *out);

/** The values of all elements, rows x cols, row-major, in the f32 that the
 *  format defines. The kernels give the same bit for bit, except that values
 *  below 2^-126 may count as 0. Errors as xl_qmat_quantise_host(). */
XL_API xl_status xl_qmat_dequantise_host(const xl_qshape *shape,
                                         const xl_qdata *data, float *dst);

#ifdef __cplusplus
}
#endif
#endif
