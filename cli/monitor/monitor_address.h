/* SPDX-License-Identifier: Apache-2.0 */
/* "127.0.0.1:9400" as a listening socket. */
#ifndef STK_CLI_MONITOR_ADDRESS_H
#define STK_CLI_MONITOR_ADDRESS_H

#include "core/error.h"

enum { STK_ADDRESS_BYTES = 80 };

/* Numeric addresses or localhost only: no DNS lookup. Without a host it is loopback. *listener is owned by
 * the caller; shown gets the address for clients ("127.0.0.1:9400"), with the port that the system chose for
 * 0. */
stk_status stk__address_listen(const char *address, int *listener, char shown[STK_ADDRESS_BYTES],
                               stk_error *error);

/* Whether the socket listens on all addresses of the machine: 0.0.0.0, [::]. */
bool stk__address_is_for_all(int listener);

#endif
