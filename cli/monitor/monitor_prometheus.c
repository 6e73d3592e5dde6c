/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP server of /metrics. One thread serves all clients; the text of a frame is generated once, by the
 * sampling thread, and shared. A connection serves one request and lives for some seconds at most, however
 * slow its client is; where there are many, the oldest has to go for a new one, so that clients that never
 * get ready cannot keep others out. */
#include "monitor_prometheus.h"

#include "cli.h"
#include "core/clock.h"
#include "core/logger.h"
#include "core/thread.h"
#include "monitor/record/prometheus_text.h"
#include "monitor_address.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_ADDRESS "127.0.0.1:9400"
#define LIFE_NS         (5 * STK_SECOND_NS)
#define SWEEP_MS        500

/* PLACES: of those beyond CLIENTS, which have been sent away but are not closed yet. */
enum { CLIENTS = 32, PLACES = 64, CLIENT_BYTES = 8192, IDLE_S = 3 };

typedef struct client {
    int socket;
    uint64_t since_ns; /* 0: a free place */
    bool leaves;       /* sent away: the server closes it soon */
} client;

struct stk__prometheus {
    struct MHD_Daemon *daemon;
    int listener, wake; /* wake: eventfd, readable when the thread must stop */
    stk__thread *thread;
    client clients[PLACES]; /* of the thread that serves */
    stk__buffer text;       /* of the thread that samples */
    bool dcgm;

    pthread_mutex_t lock;         /* guards the one below; never held while waiting */
    struct MHD_Response *metrics; /* of the last frame; NULL: none */
    struct MHD_Response *way, *nothing, *refused, *not_yet;
};

/* --- the thread that serves ------------------------------------------------------------------------------
 */

static void send_away(client *gone)
{
    shutdown(gone->socket, SHUT_RDWR);
    gone->leaves = true;
}

/* A request is served as soon as it is there: who has been here longest is the slowest. */
static void make_room(stk__prometheus *p)
{
    client *oldest = NULL;
    int count = 0;
    for (int i = 0; i < PLACES; i++) {
        client *one = &p->clients[i];
        if (!one->since_ns || one->leaves) continue;
        count++;
        if (!oldest || one->since_ns < oldest->since_ns) oldest = one;
    }
    if (count >= CLIENTS) send_away(oldest);
}

static void watch_client(void *context, struct MHD_Connection *connection, void **place,
                         enum MHD_ConnectionNotificationCode what)
{
    stk__prometheus *p = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        client *gone = *place;
        if (gone) gone->since_ns = 0;
        return;
    }
    make_room(p);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (int i = 0; info && i < PLACES; i++) {
        if (p->clients[i].since_ns) continue;
        p->clients[i] = (client){.socket = info->connect_fd, .since_ns = stk__clock_ns()};
        *place = &p->clients[i];
        return;
    }
}

static void sweep_clients(stk__prometheus *p)
{
    const uint64_t now_ns = stk__clock_ns();
    for (int i = 0; i < PLACES; i++)
        if (p->clients[i].since_ns && now_ns - p->clients[i].since_ns > LIFE_NS) send_away(&p->clients[i]);
}

static enum MHD_Result answer_metrics(stk__prometheus *p, struct MHD_Connection *connection)
{
    pthread_mutex_lock(&p->lock);
    const enum MHD_Result result =
        p->metrics ? MHD_queue_response(connection, MHD_HTTP_OK, p->metrics)
                   : MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, p->not_yet);
    pthread_mutex_unlock(&p->lock);
    return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body, size_t *body_bytes,
                              void **seen)
{
    stk__prometheus *p = context;
    (void)version;
    (void)body;
    (void)body_bytes;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return MHD_queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, p->refused);
    if (!*seen) { /* the first call comes before the request has ended */
        *seen = p;
        return MHD_YES;
    }
    if (strcmp(path, "/metrics") == 0) return answer_metrics(p, connection);
    if (strcmp(path, "/") == 0) return MHD_queue_response(connection, MHD_HTTP_OK, p->way);
    return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, p->nothing);
}

static void serve(void *context)
{
    stk__prometheus *p = context;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(p->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd waited[] = {{.fd = p->wake, .events = POLLIN}, {.fd = info->epoll_fd, .events = POLLIN}};
    for (;;) {
        MHD_UNSIGNED_LONG_LONG soon_ms = SWEEP_MS;
        if (MHD_get_timeout(p->daemon, &soon_ms) != MHD_YES || soon_ms > SWEEP_MS) soon_ms = SWEEP_MS;
        if (poll(waited, 2, (int)soon_ms) < 0 && errno != EINTR) return;
        if (waited[0].revents) return;
        MHD_run(p->daemon);
        sweep_clients(p);
    }
}

/* --- the thread that samples -----------------------------------------------------------------------------
 */

/* NULL: no memory. */
static struct MHD_Response *make_response(const void *text, size_t size_bytes, const char *type)
{
    struct MHD_Response *made =
        MHD_create_response_from_buffer(size_bytes, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!made) return NULL;
    if (MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
        MHD_add_response_header(made, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES)
        return made;
    MHD_destroy_response(made);
    return NULL;
}

static struct MHD_Response *make_plain(const char *text)
{
    return make_response(text, strlen(text), "text/plain; charset=utf-8");
}

static bool make_responses(stk__prometheus *p)
{
    p->way = make_plain("stoker monitor: metrics are at /metrics\n");
    p->nothing = make_plain("not found: metrics are at /metrics\n");
    p->refused = make_plain("method not allowed: use GET or HEAD\n");
    p->not_yet = make_plain("no frame was sampled yet\n");
    return p->way && p->nothing && p->refused && p->not_yet &&
           MHD_add_response_header(p->refused, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES;
}

static stk_status start_server(stk__prometheus *p, stk_error *error)
{
    const stk__thread_options options = {.name = "stk-prometheus", .run = serve, .context = p};
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->wake < 0) return stk__fail_errno(error, errno, "cannot create an eventfd");
    if (!make_responses(p)) return stk__fail(error, STK_ERROR_MEMORY, "out of memory: metrics server");
    p->daemon =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, p, MHD_OPTION_LISTEN_SOCKET, p->listener,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)PLACES, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                         MHD_OPTION_NOTIFY_CONNECTION, watch_client, p, MHD_OPTION_END);
    if (!p->daemon) return stk__fail(error, STK_ERROR_IO, "cannot start the metrics server");
    p->listener = -1; /* the server's now */
    return stk__thread_start(&p->thread, &options, error);
}

static void warn_of_everybody(const char *shown)
{
    const char *port = strrchr(shown, ':');
    stk__log(
        STK_LOG_WARNING,
        "everyone who can reach this machine can read the metrics at %s; only this machine: --prometheus "
        "127.0.0.1%s",
        shown, port);
}

stk_status stk__prometheus_open(stk__prometheus **prometheus, const char *address, bool dcgm,
                                stk_error *error)
{
    char shown[STK_ADDRESS_BYTES];
    stk__prometheus *p = stk__alloc(sizeof *p);
    if (!p) return stk__fail_memory(error, sizeof *p, "the metrics server");
    pthread_mutex_init(&p->lock, NULL);
    p->dcgm = dcgm;
    p->wake = p->listener = -1;
    stk_status status = stk__address_listen(address ? address : DEFAULT_ADDRESS, &p->listener, shown, error);
    const bool everybody = status == STK_OK && stk__address_is_for_all(p->listener);
    if (status == STK_OK) status = start_server(p, error);
    *prometheus = p;
    if (status != STK_OK)
        stk__prometheus_close(prometheus);
    else if (!stk__cli_quiet)
        fprintf(stderr, "stoker: metrics at http://%s/metrics\n", shown);
    if (status == STK_OK && everybody) warn_of_everybody(shown);
    return status;
}

static void destroy_response(struct MHD_Response *response)
{
    if (response) MHD_destroy_response(response);
}

void stk__prometheus_close(stk__prometheus **prometheus)
{
    stk__prometheus *p = *prometheus;
    if (!p) return;
    const uint64_t one = 1;
    if (p->thread && write(p->wake, &one, sizeof one) < 0) stk__thread_abandon(&p->thread); /* cannot be */
    while (p->thread && !stk__thread_join(&p->thread, stk__clock_ns() + STK_SECOND_NS))
        continue;
    if (p->daemon) MHD_stop_daemon(p->daemon);
    if (p->listener >= 0) close(p->listener);
    if (p->wake >= 0) close(p->wake);
    struct MHD_Response *const all[] = {p->metrics, p->way, p->nothing, p->refused, p->not_yet};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        destroy_response(all[i]);
    stk__buffer_fini(&p->text);
    pthread_mutex_destroy(&p->lock);
    stk__free(p);
    *prometheus = NULL;
}

/* When out of memory nothing is served: stale values would look current. Clients that are still being sent
 * the last text keep it. */
void stk__prometheus_publish(stk__prometheus *p, const stk_monitor_frame *frame)
{
    struct MHD_Response *made = NULL;
    if (stk__prometheus_text_write(&p->text, frame, p->dcgm, NULL) == STK_OK)
        made = make_response(p->text.data, p->text.size_bytes, "text/plain; version=0.0.4; charset=utf-8");
    pthread_mutex_lock(&p->lock);
    struct MHD_Response *last = p->metrics;
    p->metrics = made;
    pthread_mutex_unlock(&p->lock);
    destroy_response(last);
}
