/* SPDX-License-Identifier: Apache-2.0 */
/* HOST:PORT, [IPv6]:PORT or PORT as a listening TCP socket, and the address that it really got. */
#include "monitor_address.h"

#include "core/number.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK "127.0.0.1"

enum { WAITING = 1024, TEXT = 64, LAST_PORT = 65535 }; /* WAITING: a full queue costs others a second */

typedef struct parts {
    char host[TEXT], port[TEXT];
} parts;

/* "HOST:PORT", "[HOST]:PORT", ":PORT", "PORT", "HOST:" never. */
static bool split(const char *address, parts *p)
{
    const char *colon = strrchr(address, ':'), *port = colon ? colon + 1 : address;
    const char *from = address, *to = colon ? colon : address;
    if (*from == '[') {
        if (to == from || to[-1] != ']') return false;
        from++;
        to--;
    } else if (colon && memchr(from, ':', (size_t)(to - from)))
        return false; /* ::1 without brackets is ambiguous */
    int64_t number;
    if (to - from >= TEXT || !stk__number_whole(port, strlen(port), &number) || number < 0 ||
        number > LAST_PORT)
        return false;
    snprintf(p->port, TEXT, "%d", (int)number);
    snprintf(p->host, TEXT, "%.*s", (int)(to - from), from);
    if (!p->host[0] || strcmp(p->host, "localhost") == 0) snprintf(p->host, TEXT, LOOPBACK);
    return true;
}

static stk_status fail_address(const char *address, stk_error *error)
{
    stk__fail(error, STK_ERROR_ARGUMENT, "invalid address '%s'", address);
    stk__error_hint(error, "use an IP address and a port: " LOOPBACK ":9400 or [::1]:9400");
    return STK_ERROR_ARGUMENT;
}

static stk_status fail_listening(const char *address, int cause, stk_error *error)
{
    stk__fail_errno(error, cause, "cannot listen on '%s'", address);
    if (cause == EADDRINUSE)
        stk__error_hint(error, "the port is in use; choose another: --prometheus " LOOPBACK ":9401");
    return STK_ERROR_IO;
}

static int open_socket(const struct addrinfo *found)
{
    const int one = 1, made = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return -1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* else the port stays in use after exit */
    if (bind(made, found->ai_addr, found->ai_addrlen) == 0 && listen(made, WAITING) == 0) return made;
    const int cause = errno;
    close(made);
    errno = cause;
    return -1;
}

static void show_address(int listener, char shown[STK_ADDRESS_BYTES])
{
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    char host[TEXT] = "?", port[TEXT] = "?";
    if (getsockname(listener, (struct sockaddr *)&own, &length) == 0)
        getnameinfo((struct sockaddr *)&own, length, host, TEXT, port, TEXT, NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(shown, STK_ADDRESS_BYTES, own.ss_family == AF_INET6 ? "[%.50s]:%.10s" : "%.50s:%.10s", host,
             port);
}

bool stk__address_is_for_all(int listener)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } own = {0};
    socklen_t length = sizeof own;
    if (getsockname(listener, &own.any, &length) != 0) return false;
    if (own.any.sa_family == AF_INET) return own.four.sin_addr.s_addr == htonl(INADDR_ANY);
    static const struct in6_addr mapped = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}}};
    return memcmp(&own.six.sin6_addr, &in6addr_any, sizeof mapped) == 0 ||
           memcmp(&own.six.sin6_addr, &mapped, sizeof mapped) == 0;
}

stk_status stk__address_listen(const char *address, int *listener, char shown[STK_ADDRESS_BYTES],
                               stk_error *error)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    parts p;
    *listener = -1;
    if (!split(address, &p) || getaddrinfo(p.host, p.port, &wanted, &found) != 0)
        return fail_address(address, error);
    *listener = open_socket(found);
    const int cause = errno;
    freeaddrinfo(found);
    if (*listener < 0) return fail_listening(address, cause, error);
    show_address(*listener, shown);
    return STK_OK;
}
