/* SPDX-License-Identifier: Apache-2.0 */
/* From mean and deviation of values 0 … 1 to scale and bias of levels 0 … 255. Pure: any thread. */
#include "augment/normalization.h"

stk_status stk__normalization_make(stk__normalization *out, const double mean[3], const double std[3],
                                   const char *option, stk_error *error)
{
    const bool none = std[0] == 0 && std[1] == 0 && std[2] == 0;
    if (!none && !(std[0] > 0 && std[1] > 0 && std[2] > 0)) {
        stk__fail(error, STK_ERROR_CONFIG, "%s has a 0, and images cannot be divided by it", option);
        stk__error_hint(error, "leave it out for 1; stoker stats prints the data set's own");
        return STK_ERROR_CONFIG;
    }
    for (int c = 0; c < 3; c++) {
        const double divisor = none ? 1 : std[c];
        out->scale[c] = (float)(1 / (255 * divisor));
        out->bias[c] = (float)(-mean[c] / divisor);
    }
    return STK_OK;
}
