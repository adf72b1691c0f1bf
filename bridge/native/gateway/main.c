/* Options, the loop, the clock. Exit code 0 after an orderly end, 75 when the bridge failed, 2 for a mistake in the options,
 * else the code that a rank ended with, or gave MPI_Abort. */
#include "gateway.h"

#include <malloc.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>

enum { EVENTS = 64, TICK_STARTING = 20, TICK_RUNNING = 250, PING_MS = 2000 };

struct gateway g;

static int64_t clock_ms(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static void open_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        fail("The gateway of site %s cannot be started: %s.", g.name, strerror(errno));
    connection_open(SIGNALS, fd);
}

static void stop(struct connection *signals) {
    struct signalfd_siginfo what;
    if (read(signals->fd, &what, sizeof what) != sizeof what)
        return;
    if (g.phase == ABORTING || g.phase == ENDING)
        exit(g.phase == ENDING ? 0 : g.code);
    event("{\"event\": \"stopped\"}"); /* else the supervisor could not tell this from a failure of before */
    abort_world(BRIDGE_FAILURE, "Site %s was stopped.", g.name);
}

static void handle(struct connection *c, uint32_t events) {
    if (c->fd < 0)
        return; /* closed by an earlier event of this round */
    if (c->kind == LISTENS_TO_RANKS || c->kind == LISTENS_TO_NODES || c->kind == LISTENS_TO_SITES)
        accept_all(c);
    else
        connection_ready(c, events);
}

/* @return whether it closed connections */
static bool watch_link(struct connection *c) {
    if (c->paused)
        c->heard = g.now; /* it was not listened to */
    if (g.now - c->spoken >= PING_MS && c->out.bytes < LINK_LOW) {
        c->spoken = g.now;
        send_frame(c, (struct frame){.type = FRAME_PING, .source = -1}, NULL);
    }
    if (g.now - c->heard < 1000 * (int64_t)g.link_timeout)
        return false;
    if (link_break(c->link))
        return true;
    if (c->link->site < 0 || !g.sites[c->link->site].bye)
        abort_world(BRIDGE_FAILURE, "Site %s has not answered for %d s.", c->name, g.link_timeout);
    return false;
}

static void tick(void) {
    for (int s = 0; s < g.n_sites && g.phase == RUNNING; s++)
        if (g.sites[s].link)
            link_watch(g.sites[s].link);
    for (struct connection *c = g.connections, *next; c; c = next) {
        next = c->next;
        if ((c->kind == NEW_RANK || c->kind == NEW_SITE) && g.now - c->since > (c->leaving ? 1000 : STRANGER_MS)) {
            g.refused += !c->dial && !c->leaving;
            connection_close(c);
            continue;
        }
        if (c->kind == LINK && g.phase <= RUNNING && watch_link(c))
            break; /* `next` may be closed; the others have their turn at the next tick */
        if (c->paused && g.held < HELD_MAX / 2 && c->backlog < g.source_limit / 2) {
            c->paused = false;
            c->more = c->ssl != NULL;
            set_interest(c);
        }
    }
    if (g.phase != ENDING)
        dial_tick();
    if (g.phase == STARTING && g.now - g.started >= 1000 * (int64_t)g.timeout)
        expired();
}

int main(int count, char **words) {
    struct rlimit files;
    read_options(count, words);
    mallopt(M_TRIM_THRESHOLD, READ_CHUNK * 16); /* chunks of queues come and go */
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    g.now = g.started = clock_ms();
    g.epoll = epoll_create1(EPOLL_CLOEXEC);
    g.locals = room((size_t)g.ranks, sizeof *g.locals);
    if (g.epoll < 0)
        fail("The gateway of site %s cannot be started: %s.", g.name, strerror(errno));
    g.source_limit = (size_t)(LINK_MAX / g.ranks);
    g.source_limit = g.source_limit > SOURCE_MAX ? SOURCE_MAX : g.source_limit < FRAME_MAX ? FRAME_MAX : g.source_limit;
    open_signals();
    tls_prepare();
    sites_begin();
    listen_to_all();
    for (int64_t next_tick = 0;;) {
        struct epoll_event events[EVENTS];
        bool more = false;
        for (struct connection *c = g.connections; c; c = c->next)
            more |= c->more && !c->paused;
        int wait = g.phase == RUNNING ? TICK_RUNNING : TICK_STARTING;
        int n = epoll_wait(g.epoll, events, EVENTS, more ? 0 : wait);
        g.now = clock_ms();
        struct connection *signals = NULL;
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (c->kind == SIGNALS)
                signals = c;
            else
                handle(c, events[i].events);
        }
        if (signals) /* last: the end of a rank ends its launcher, and so the supervisor stops this gateway */
            stop(signals);
        for (struct connection *c = g.connections, *next; more && c && c->fd >= 0; c = next) {
            next = c->next;
            if (c->more && !c->paused)
                connection_ready(c, 0);
        }
        if (g.now >= next_tick) {
            next_tick = g.now + wait;
            tick();
        }
        try_end();
        if (g.phase == ENDING || g.phase == ABORTING)
            settle();
        connections_bury();
    }
}
