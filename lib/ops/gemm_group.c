/* SPDX-License-Identifier: Apache-2.0 */
/* Products of different sizes in one call. */
#include "ops/gemm.h"

xl_status xl_gemm_run_group(xl_queue *q, const xl_gemm *products, size_t n,
                            const xl_sync *sync)
{
    xl_status status = XL_OK;
    for (size_t i = 0; i < n; i++)
        TRY(xl_gemm_run(q, &products[i], i == 0 || i + 1 == n ? sync : NULL));
fail:
    return status;
}
