/* The gateway of a site: carries frames between the ranks of its site and the gateways of the other sites. One thread, one epoll loop.
 *
 *     main.c      options, loop, clock        connection.c  sockets, reading, writing      queue.c   bytes that wait
 *     options.c   command line, key           tls.c         TLS 1.3 with the shared key    route.c   checks and carries frames
 *     dial.c      listening, dialling         sites.c       who takes part, pairs of sites
 *     link.c      connections to another site, resuming       parcel.c    parcels that come  press.c   compression
 *     world.c     local ranks, two-phase start, end                                       failure.c sentences, ABORT
 *
 * Memory is bounded. A rank is not read while its frames wait for a link (source_limit). Frames that wait for ranks are bounded by the
 * credit window that WORLD announces, and by HELD_MAX. Connections that have proven nothing are few (STRANGERS) and hold little.
 */
#ifndef STEPPE_BRIDGE_GATEWAY_H
#define STEPPE_BRIDGE_GATEWAY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../wire.h"

enum limits {
    READ_CHUNK = 256 * 1024,
    RUN_MAX = sizeof(struct frame) + FRAME_PAYLOAD, /* whole frames that leave together */
    FRAME_MAX = sizeof(struct frame) + RUN_MAX,     /* a parcel of them */
    CHUNK = 64 * 1024,
    NOT_SENT = 8 * 1024,     /* of a connection that the system has taken: epoll calls it writable below this */
    PARCELS = 65536,         /* numbers of a link that may be under way */
    KEPT_MAX = 8 << 20,      /* of parcels for another site that can be sent again */
    CONNECTIONS = 32,        /* of a link */
    LINK_LOW = 16 * 1024,    /* a connection with fewer sealed bytes takes the next frame: what is sealed cannot be overtaken */
    SOURCE_MAX = 512 * 1024, /* of the frames of one local rank that wait for links, ... */
    LINK_MAX = 6 << 20,      /* ... and of those of all local ranks */
    WINDOW_ALL = 32 << 20,   /* of the frames that wait for the ranks of a site, by credits; */
    HELD_MAX = 38 << 20,     /* beyond this the gateway reads nobody: some rank ignores credits */
    STRANGERS = 64,          /* connections of a kind that have proven nothing; one more closes the oldest */
    STRANGER_MS = 10000,
    FLUSH_MS = 1000, /* after a failure */
    STRANGER_PAYLOAD = 128,
    DIRECT_MS = 3000, /* two joining sites that do not reach each other within this are routed by the first site */
    SITES = 64,
    NAME = 64,
    ADDRESS = 64,
    BRIDGE_FAILURE = 75,
    MISTAKE = 2,             /* in the options: nothing was started */
    WHY = 512,
};

/* Bytes that wait, in chunks. `next`, `waits` and `served` (the turn that it had last) are of the round robin of a link. */
struct queue {
    struct chunk *first, *last;
    size_t bytes;
    struct queue *next;
    bool waits;
    uint64_t served;
};

enum kind { LISTENS_TO_RANKS, LISTENS_TO_NODES, LISTENS_TO_SITES, SIGNALS, NEW_RANK, RANK, NEW_SITE, LINK };

struct connection {
    enum kind kind;
    int fd, rank; /* local rank of a RANK */
    struct link *link; /* of a LINK */
    SSL *ssl;
    bool connecting, shaken, greeted, paused, more, mute, shut, leaving, bye, bye_said; /* bye: of the other end */
    uint32_t interest;
    int64_t since, heard, spoken; /* [ms] */
    uint64_t records;             /* sealed under the present key */
    uint8_t *rest;                /* the beginning of a frame */
    size_t rest_bytes, rest_room;
    size_t backlog;      /* RANK: bytes of its frames that wait for links */
    struct queue out;    /* bytes for the socket; of a LINK sealed ones */
    uint8_t challenge[CHALLENGE]; /* NEW_RANK by TCP: what it must answer */
    bool challenged;
    struct dial *dial;
    char name[NAME]; /* NEW_SITE, LINK: of the other site, after its hello; the rest of the hello too */
    int ranks, port, connections, reconnect;
    bool presses;
    uint64_t session;
    struct connection *previous, *next;
};

struct dial {
    char host[256], port[8];
    int site; /* -1: the first site */
    int says; /* the enum site_frame that it begins with */
    struct link *link; /* of SITE_RESUME and SITE_LANE */
    int64_t next, give_up, pause;
    unsigned attempts;
    struct connection *connection;
    bool done, refused; /* refused: the first site has said why, it is not dialled again */
};

struct parcel {
    struct parcel *next;
    struct frame head;
    uint8_t frames[];
};

struct press { /* what compression brings, as measured; rates in bytes/s */
    int width;
    double ratio, speed, tried_ratio, tried_speed, rate;
    int64_t since; /* [ms] of this window, 0: nothing waits */
    uint64_t bytes;
    unsigned frames, windows;
    bool on, said;
};

struct link {
    char name[NAME];
    int site; /* -1 before the roster */
    struct dial *dial; /* null at the end that accepted */
    struct connection *lanes[CONNECTIONS];
    int n_lanes, connections, reconnect; /* how many there are, should be; [s] */
    bool presses, counts;                /* may compress; numbers its parcels */
    struct press press;
    struct queue *sources, *first, *last; /* frames that wait, by world rank of their source; first ... last take turns */
    uint64_t turns, waiting;              /* turns that were taken; sources from first to last */
    uint64_t session;                     /* what a resuming end must know */
    int64_t broken;                       /* since when no connection stands [ms]; 0: not lost, or for good */
    /* numbers of parcels out, and those that can be sent again: from `resend` on they must */
    uint64_t sent, acknowledged, *last_of;
    struct parcel *kept_first, *kept_last, *resend;
    size_t kept_bytes;
    /* in: all up to `taken`, and those of `beyond`; what came too early is held by the number that it waits for */
    uint64_t taken, told;
    uint8_t beyond[PARCELS / 8];
    struct parcel **held, *held_for_every;
    uint64_t held_bytes;
};

struct site {
    struct link *link;
    struct machine machine;
    bool routed, ready, bye;
};

/* FRAME_SITE, by `id`. The dialling gateway says SITE_JOIN or SITE_MESH, the other one SITE_WELCOME, the first one SITE_CONFIRM: only then
 * does either of them count on the link. These: source = seconds of --reconnect, dest = ranks, tag = protocol, total = port, flags =
 * connections and PRESSES, context = session (of SITE_WELCOME), payload = name. */
enum site_frame {
    SITE_JOIN = 1,
    SITE_MESH,
    SITE_WELCOME,
    SITE_CONFIRM,
    SITE_ROSTER, /* source = index of the receiver, dest = index of the first site, tag = number of sites, flags = turns, payload = struct seat of each */
    SITE_ROUTED, /* source, dest: sites; source did not reach dest */
    SITE_LANE,   /* a further connection, repeated by the other end: context = session, payload = name */
    SITE_RESUME, /* the first connection after all were lost, and the answer: the same, total = parcels taken */
    SITE_END,    /* the last frame of a connection: its end is no loss */
    SITE_ASK,    /* dest = a site, or -1 for the receiver: why does it keep the world waiting? It answers by ABORT */
};

enum { PRESSES = 256 };

struct seat {
    int32_t ranks, port;
    char name[NAME], address[ADDRESS];
};

enum phase { STARTING, RUNNING, ENDING, ABORTING };

/* One process is one gateway, so its state is one object. */
struct gateway {
    const char *name, *socket_path, *key_path, *listen, *join, *expect;
    const char *nodes, *secret_path; /* where ranks of other machines come by TCP, and what they prove */
    int ranks, timeout, link_timeout, reconnect, lanes; /* [s], [s], [s], connections of a link */
    bool turns, presses;
    unsigned char key[32], secret[32];

    int epoll, port;
    enum phase phase;
    int64_t now, started, limit; /* [ms] */
    bool asked, bye_sent;
    int code;
    char sentence[1024];
    int turned_away; /* gateways that were refused; `why`: the last one */
    char why[WHY];

    struct connection *connections, *last; /* the oldest first */
    struct connection **locals;            /* by local rank */
    int come, byes, strangers[2];          /* new ranks, new sites */
    size_t held, source_limit;
    uint64_t frames, bytes, refused;
    struct machine machine;

    struct seat seats[SITES]; /* of the sites */
    struct site sites[SITES];
    int n_sites, me, first;
    bool roster;
    int world;                              /* ranks of the world */
    int32_t *site_of, *local_of, *world_of; /* by world rank, by world rank, by local rank */
    uint64_t window;
    struct dial dials[SITES * (CONNECTIONS + 1)];
    int n_dials;
};
extern struct gateway g;

/* queue.c */
void *grow(void *memory, size_t bytes);
void *room(size_t n, size_t size); /* zeroed */
void queue_push(struct queue *queue, const void *data, size_t bytes);
size_t queue_copy(const struct queue *queue, void *to, size_t bytes);         /* copies at most `bytes` from the front; they stay */
int queue_vector(const struct queue *queue, struct iovec *pieces, int most); /* @return number of pieces */
void queue_drop(struct queue *queue, size_t bytes);
void queue_append(struct queue *queue, struct queue behind); /* takes it over */

/* options.c */
void read_options(int count, char **words);
bool is_name(const char *name);
bool split_address(const char *address, char *host, size_t room, char *port); /* HOST:PORT, [HOST]:PORT; port has 8 bytes */

/* tls.c */
void tls_prepare(void);
bool tls_open(struct connection *connection, bool accepts);
int tls_shake(struct connection *connection); /* @return 1 done, 0 not yet, -1 failed, -2 the other end refused the key */
ssize_t tls_read(struct connection *connection, void *to, size_t room);
bool tls_seal(struct connection *connection, const void *data, size_t bytes); /* sealed bytes go to `out` */

/* connection.c */
struct connection *connection_open(enum kind kind, int fd);
void connection_close(struct connection *connection);
void connection_ready(struct connection *connection, uint32_t events);
void connections_bury(void); /* frees what was closed; events of it may have been under way */
void set_interest(struct connection *connection);
void flush(struct connection *connection);
void send_to_rank(struct connection *rank, const uint8_t *frames, size_t bytes);
void send_frame(struct connection *to, struct frame frame, const void *payload); /* the gateway's own, overtakes what waits for a link */
void seal(struct connection *lane, const void *data, size_t bytes);

/* link.c */
struct link *link_new(const struct connection *connection);
void link_prepare(struct link *link);
void link_attach(struct link *link, struct connection *connection);
void link_detach(struct connection *connection);
void link_drop(struct link *link);
bool link_waits(const struct link *link);   /* for room at a connection */
bool link_is_done(const struct link *link); /* nothing waits, is sealed or kept */
bool takes_more(const struct connection *lane);
void link_take_turn(struct connection *lane);
void link_send(struct link *link, int source, const uint8_t *frames, size_t bytes); /* whole frames of one source */
void link_send_own(struct link *link, struct frame frame, const void *payload);
bool link_break(struct link *link);
void link_resume(struct link *link, struct connection *connection, uint64_t number);
void link_watch(struct link *link);

/* parcel.c */
void link_tell(struct link *link);                                                         /* the other end, what has been taken */
bool link_take(struct connection *lane, const struct frame *head, const uint8_t *frames); /* a parcel; false: malformed */
bool link_acknowledged(struct link *link, uint64_t number);                                /* false: malformed */

/* press.c */
bool press_is_there(void);
size_t press(struct link *link, const uint8_t *run, size_t bytes, uint8_t *to, uint16_t *width); /* @return 0: it goes as it is */
void press_measure(struct link *link, size_t on_wire);
bool press_open(const struct frame *head, const uint8_t *from, uint8_t *to); /* false: malformed */

/* route.c */
size_t take_frames(struct connection *from, const uint8_t *data, size_t bytes, bool of_parcel); /* @return bytes that were whole frames */

/* dial.c */
void listen_to_all(void);
void accept_all(struct connection *listener);
struct dial *dial_add(int site, const char *host, const char *port, int says, struct link *link);
void dials_forget(const struct link *link); /* those for further connections */
void dial_tick(void);
void address_of(int fd, char *address, size_t room);

/* sites.c */
void sites_begin(void);
void greet(struct connection *connection); /* after the TLS handshake */
void on_site(struct connection *from, const struct frame *frame, const uint8_t *payload);
void send_to_site(int site, struct frame frame, const void *payload);
struct link *next_hop(int site);
void pair_is_routed(int site, bool tell);
bool pairs_are_settled(void);

/* world.c */
void on_hello(struct connection *from, const struct frame *frame, const uint8_t *payload);
void on_ready(const struct frame *frame, const uint8_t *payload);
void on_bye(struct connection *from, const struct frame *frame);
void lay_out_world(void); /* after the roster: who has which world rank */
void try_ready(void);
void try_end(void);

/* failure.c */
void abort_world(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void send_abort(struct connection *to);
void on_abort(struct connection *from, const struct frame *frame, const uint8_t *payload);
void lost(struct connection *connection, int error);
void malformed(struct connection *connection);
void refuse(struct connection *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));
void expired(void);
void settle(void); /* ENDING, ABORTING: exits when all is flushed, or at the limit */
void turn_away(enum kind kind, const char *why);
_Noreturn void end_with(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define fail(...) end_with(BRIDGE_FAILURE, __VA_ARGS__)
#define mistake(...) end_with(MISTAKE, __VA_ARGS__)
void event(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
