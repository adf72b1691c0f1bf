/* Listening for ranks and for sites, and dialling sites until a link stands. */
#include "gateway.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { PAUSE_FIRST = 50, PAUSE_LAST = 1000, BACKLOG = 512 };

static void listen_to_ranks(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(g.socket_path) >= sizeof address.sun_path)
        fail("--socket %s is too long; a socket's path has at most %zu bytes.", g.socket_path, sizeof address.sun_path - 1);
    strcpy(address.sun_path, g.socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(g.socket_path);
    mode_t before = umask(077);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, BACKLOG))
        fail("The socket %s cannot be made: %s.", g.socket_path, strerror(errno));
    umask(before);
    connection_open(LISTENS_TO_RANKS, fd);
}

static int try_listen(const char *host, const char *port) {
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    int fd = -1, yes = 1, no = 0;
    if (getaddrinfo(host[0] ? host : NULL, port, &hints, &found))
        return errno = EADDRNOTAVAIL, -1;
    for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (at->ai_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
        if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG)) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* Ranks of other machines of the site. A stranger may come as well, so these prove the secret. */
static void listen_to_nodes(void) {
    char host[256], port[8];
    split_address(g.nodes, host, sizeof host, port);
    int fd = try_listen(host, port);
    if (fd < 0)
        fail("Site %s cannot listen to its ranks at %s: %s.", g.name, g.nodes, strerror(errno));
    connection_open(LISTENS_TO_NODES, fd);
}

static void listen_to_sites(void) {
    char host[256] = "", port[8] = "0";
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (g.listen)
        split_address(g.listen, host, sizeof host, port);
    int fd = -1;
    if (!host[0])
        fd = try_listen("::", port); /* of both families, where there are two */
    if (fd < 0)
        fd = try_listen(host, port);
    if (fd < 0)
        fail("Site %s cannot listen at %s: %s.", g.name, g.listen ? g.listen : "any port", strerror(errno));
    getsockname(fd, (struct sockaddr *)&address, &length);
    g.port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port : ((struct sockaddr_in *)&address)->sin_port);
    connection_open(LISTENS_TO_SITES, fd);
}

/* To the ranks last: their socket shows the supervisor that nothing stands against a launch. */
void listen_to_all(void) {
    if (g.nodes)
        listen_to_nodes();
    listen_to_sites();
    listen_to_ranks();
    event("{\"event\": \"listening\", \"port\": %d}", g.port);
}

static void tune(int fd) {
    int yes = 1, not_sent = NOT_SENT, patience = g.link_timeout * 1000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &not_sent, sizeof not_sent);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

static void close_oldest(enum kind kind) {
    struct connection *c = g.connections;
    while (c && (c->kind != kind || c->dial))
        c = c->next;
    if (c) {
        g.refused += !c->leaving; /* else it is counted already */
        connection_close(c);
    }
}

static void challenge(struct connection *c) {
    c->challenged = RAND_bytes(c->challenge, CHALLENGE) == 1;
    if (c->challenged)
        send_frame(c, (struct frame){.type = FRAME_HELLO, .length = CHALLENGE}, c->challenge);
    else
        connection_close(c);
}

void accept_all(struct connection *listener) {
    enum kind kind = listener->kind == LISTENS_TO_SITES ? NEW_SITE : NEW_RANK;
    int most = kind == NEW_RANK ? g.ranks + STRANGERS : STRANGERS; /* all ranks may come at once */
    for (int fd, n = 0; n < STRANGERS && (fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; n++) {
        if (g.strangers[kind == NEW_SITE] >= most)
            close_oldest(kind);
        if (listener->kind != LISTENS_TO_RANKS)
            tune(fd);
        struct connection *c = connection_open(kind, fd);
        g.strangers[kind == NEW_SITE]++;
        if (kind == NEW_SITE && !tls_open(c, true))
            connection_close(c);
        if (listener->kind == LISTENS_TO_NODES)
            challenge(c);
    }
}

void address_of(int fd, char *address, size_t room) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    address[0] = 0;
    if (!getpeername(fd, (struct sockaddr *)&peer, &length))
        getnameinfo((struct sockaddr *)&peer, length, address, (socklen_t)room, NULL, 0, NI_NUMERICHOST);
    if (!strncmp(address, "::ffff:", 7)) /* other sites may have no IPv6 */
        memmove(address, address + 7, strlen(address + 7) + 1);
}

struct dial *dial_add(int site, const char *host, const char *port, int says, struct link *link) {
    struct dial *dial = g.dials;
    while (dial < g.dials + g.n_dials && !(dial->done && dial->says == SITE_LANE)) /* its place is free */
        dial++;
    g.n_dials += dial == g.dials + g.n_dials;
    *dial = (struct dial){.site = site, .says = says, .link = link, .next = g.now, .pause = PAUSE_FIRST};
    dial->give_up = says == SITE_MESH ? g.now + DIRECT_MS : INT64_MAX;
    snprintf(dial->host, sizeof dial->host, "%s", host);
    snprintf(dial->port, sizeof dial->port, "%s", port);
    return dial;
}

void dials_forget(const struct link *link) {
    for (struct dial *dial = g.dials; dial < g.dials + g.n_dials; dial++) {
        if (dial->link != link || dial->done)
            continue;
        dial->done = true;
        if (dial->connection)
            connection_close(dial->connection);
    }
}

/* A host may have several addresses: each attempt takes the next one. */
static void attempt(struct dial *dial) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    unsigned n = 0;
    dial->next = g.now + dial->pause;
    dial->pause = dial->pause * 2 < PAUSE_LAST ? dial->pause * 2 : PAUSE_LAST;
    if (getaddrinfo(dial->host, dial->port, &hints, &found))
        return;
    for (struct addrinfo *at = found; at; at = at->ai_next)
        n++;
    struct addrinfo *at = found;
    for (unsigned skip = dial->attempts++ % n; skip; skip--)
        at = at->ai_next;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        tune(fd);
        if (connect(fd, at->ai_addr, at->ai_addrlen) && errno != EINPROGRESS) {
            close(fd);
        } else {
            struct connection *c = connection_open(NEW_SITE, fd);
            c->dial = dial;
            c->connecting = true;
            dial->connection = c;
            set_interest(c);
        }
    }
    freeaddrinfo(found);
}

void dial_tick(void) {
    for (struct dial *dial = g.dials; dial < g.dials + g.n_dials; dial++) {
        if (dial->done || dial->refused)
            continue;
        if (g.now >= dial->give_up) {
            dial->done = true;
            if (dial->connection)
                connection_close(dial->connection);
            pair_is_routed(dial->site, true);
        } else if (!dial->connection && g.now >= dial->next) {
            attempt(dial);
        }
    }
}
