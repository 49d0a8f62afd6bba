/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     an item's sum of texels of 4 words, a 2 x 2 neighbourhood per
 *               iteration. The items of a group form a tile of 2^lg_tile
 *               columns; group g has the g-th tile of the image, and moves in
 *               each iteration:
 *
 *                 x = (x0 + t * HOP_X) mod width,  y likewise
 *
 *               By an image with linear filter the neighbourhood is one
 *               sample, at the corner that its texels share: their mean.
 * Arguments:    out: one word per item, or one float (linear). src:
 *               2^lg_width * 2^lg_height texels: floats of 1 to 2, whose bits
 *               are summed. iterations: of the loop.
 * Launch:       one dimension, groups of WG, a power of two.
 * Local memory: none.
 * -D:           WG      items of a group
 *               FORM    src is 0 a buffer, 1 an image, 2 an image with linear
 *                       filter, 3 an image of a buffer
 * Needs:        FORM 1 to 3: images.
 * Cost:         64 bytes per iteration and item (linear: 4 texels in one
 *               sample).
 * Source:       OpenCL 1.2 specification, 8.2: the weights of a linear
 *               filter. */
#ifndef WG
#define WG 64
#endif
#ifndef FORM
#define FORM 0
#endif
#define HOP_X 80 /* whole cache lines of buffers */
#define HOP_Y 37

#define PLACE CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE

#if FORM == 0
#define SOURCE __global const uint4 *restrict
#define TEXEL(x, y) src[((y) << lg_width) + (x)]
#elif FORM == 1
#define SOURCE __read_only image2d_t
#define TEXEL(x, y) as_uint4(read_imagef(src, nearest, (int2)(x, y)))
__constant sampler_t nearest = PLACE | CLK_FILTER_NEAREST;
#elif FORM == 2
#define SOURCE __read_only image2d_t
__constant sampler_t linear = PLACE | CLK_FILTER_LINEAR;
#else
#define SOURCE __read_only image1d_buffer_t
#define TEXEL(x, y) as_uint4(read_imagef(src, (int)(((y) << lg_width) + (x))))
#endif

__kernel void image_read(__global uint *restrict out, SOURCE src,
                         const uint lg_width, const uint lg_height,
                         const uint lg_tile, const uint iterations)
{
    const uint last_x = (1u << lg_width) - 1, last_y = (1u << lg_height) - 1;
    const uint item = (uint)get_global_id(0) % WG;
    const uint group = (uint)get_global_id(0) / WG;
    const uint lg_across = lg_width - lg_tile;
    uint x = ((group & ((1u << lg_across) - 1)) << lg_tile) +
             (item & ((1u << lg_tile) - 1));
    uint y = (group >> lg_across) * (WG >> lg_tile) + (item >> lg_tile);
#if FORM == 2
    float4 sum = (float4)(0);
#else
    uint4 sum = (uint4)(0);
#endif
    for (uint t = 0; t < iterations; t++) {
        x &= last_x;
        y &= last_y;
#if FORM == 2
        sum += read_imagef(src, linear, (float2)(x + 1, y + 1));
#else
        const uint right = min(x + 1, last_x), below = min(y + 1, last_y);
        sum += TEXEL(x, y) + TEXEL(right, y);
        sum += TEXEL(x, below) + TEXEL(right, below);
#endif
        x += HOP_X;
        y += HOP_Y;
    }
#if FORM == 2
    out[get_global_id(0)] = as_uint(sum.x + sum.y + sum.z + sum.w);
#else
    out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
#endif
}
