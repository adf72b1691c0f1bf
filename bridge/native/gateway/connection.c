/* Sockets: what waits to be written, in which order; what is read, until whole frames are there. */
#include "gateway.h"

#include <sys/epoll.h>

static uint8_t scratch[FRAME_MAX + READ_CHUNK]; /* all reading goes through here; only the beginning of a frame is stored per connection */
static struct connection *grave;

struct connection *connection_open(enum kind kind, int fd) {
    struct connection *c = room(1, sizeof *c);
    *c = (struct connection){.kind = kind, .fd = fd, .rank = -1, .since = g.now, .heard = g.now, .spoken = g.now, .previous = g.last};
    *(g.last ? &g.last->next : &g.connections) = c;
    g.last = c;
    set_interest(c);
    return c;
}

void set_interest(struct connection *c) {
    if (c->fd < 0)
        return;
    bool holds = c->kind == RANK && g.phase == STARTING; /* a rank gets WORLD first, then what has come for it before */
    uint32_t interest = (c->paused || c->connecting ? 0 : EPOLLIN) | (c->connecting || ((c->out.bytes || (c->link && link_waits(c->link))) && !holds && !c->mute) ? EPOLLOUT : 0);
    if (interest == c->interest)
        return;
    struct epoll_event wanted = {.events = interest, .data.ptr = c};
    /* without interest it leaves the set: a dead one would be reported for ever */
    epoll_ctl(g.epoll, !interest ? EPOLL_CTL_DEL : !c->interest ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, &wanted);
    c->interest = interest;
}

static void drop_waiting(struct connection *c) {
    if (c->kind == RANK)
        g.held -= c->out.bytes;
    queue_drop(&c->out, c->out.bytes);
    if (c->link && !c->link->reconnect)
        link_drop(c->link);
}

void connection_close(struct connection *c) {
    if (c->fd < 0)
        return;
    drop_waiting(c);
    SSL_free(c->ssl);
    if (c->interest)
        epoll_ctl(g.epoll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    c->fd = -1;
    c->ssl = NULL;
    *(c->previous ? &c->previous->next : &g.connections) = c->next;
    *(c->next ? &c->next->previous : &g.last) = c->previous;
    c->next = grave;
    grave = c;
    if ((c->kind == NEW_RANK || c->kind == NEW_SITE) && !c->dial)
        g.strangers[c->kind == NEW_SITE]--;
    if (c->kind == RANK && g.locals[c->rank] == c)
        g.locals[c->rank] = NULL;
    if (c->kind == LINK)
        link_detach(c);
    if (c->dial && c->dial->connection == c)
        c->dial->connection = NULL;
}

void connections_bury(void) {
    for (struct connection *c; (c = grave);) {
        grave = c->next;
        free(c->rest);
        free(c);
    }
}

/* The other end reads no more. Reading goes on: an ABORT or BYE may lie there. */
static void mute(struct connection *c) {
    drop_waiting(c);
    c->mute = true;
    c->paused = false;
    set_interest(c);
}

void seal(struct connection *lane, const void *data, size_t bytes) {
    if (!tls_seal(lane, data, bytes))
        mute(lane);
}

void flush(struct connection *c) {
    struct iovec pieces[16];
    for (bool blocked = c->mute || (c->kind == RANK && g.phase == STARTING); !blocked;) {
        while (c->link && link_waits(c->link) && takes_more(c))
            link_take_turn(c);
        if (!c->out.bytes)
            break;
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)queue_vector(&c->out, pieces, 16)};
        ssize_t sent = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            mute(c);
        blocked = sent < 0;
        if (sent > 0) {
            blocked = c->kind == LINK && (size_t)sent < c->out.bytes;
            queue_drop(&c->out, (size_t)sent);
            g.held -= c->kind == RANK ? (size_t)sent : 0;
            c->spoken = g.now;
        }
    }
    set_interest(c);
}

void send_to_rank(struct connection *rank, const uint8_t *data, size_t bytes) {
    ssize_t sent = 0;
    if (rank->mute)
        return;
    if (!rank->out.bytes && (g.phase != STARTING || rank->kind == NEW_RANK)) {
        sent = send(rank->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return mute(rank);
        sent = sent < 0 ? 0 : sent;
    }
    if ((size_t)sent < bytes) {
        queue_push(&rank->out, data + sent, bytes - (size_t)sent);
        g.held += bytes - (size_t)sent;
        set_interest(rank);
    }
}

void send_frame(struct connection *to, struct frame frame, const void *payload) {
    uint8_t bytes[FRAME_MAX];
    frame.magic = WIRE_MAGIC;
    memcpy(bytes, &frame, sizeof frame);
    if (frame.length)
        memcpy(bytes + sizeof frame, payload, frame.length);
    if (to->mute || to->shut)
        return;
    if (to->kind == RANK || to->kind == NEW_RANK) {
        send_to_rank(to, bytes, sizeof frame + frame.length);
    } else {
        seal(to, bytes, sizeof frame + frame.length);
        flush(to);
    }
}

static void keep_rest(struct connection *c, const uint8_t *data, size_t bytes) {
    if (bytes > c->rest_room) { /* what has proven nothing gets little room */
        c->rest_room = c->kind == RANK || c->kind == LINK ? FRAME_MAX : bytes;
        c->rest = grow(c->rest, c->rest_room);
    }
    if (bytes)
        memcpy(c->rest, data, bytes);
    c->rest_bytes = bytes;
}

static void read_some(struct connection *c) {
    size_t have = c->rest_bytes, room = c->backlog ? FRAME_MAX : READ_CHUNK;
    if (have)
        memcpy(scratch, c->rest, have);
    ssize_t got = c->ssl ? tls_read(c, scratch + have, room) : recv(c->fd, scratch + have, room, MSG_DONTWAIT);
    c->more = got == (ssize_t)room && c->ssl;
    if (got < 0 && !c->ssl && (errno == EAGAIN || errno == EINTR))
        return;
    if (got < 0 || (!got && !c->ssl))
        return lost(c, got < 0 ? errno : 0);
    if (!got)
        return;
    c->heard = g.now;
    if (c->leaving || (g.phase == ABORTING && (c->kind == LINK || c->kind == RANK)))
        return;
    size_t all = have + (size_t)got, used = take_frames(c, scratch, all, false);
    if (c->fd < 0)
        return;
    keep_rest(c, scratch + used, all - used);
    if (g.held > HELD_MAX && (c->kind == RANK || c->kind == LINK)) {
        c->paused = true;
        set_interest(c);
    }
}

static void shake(struct connection *c) {
    int done = tls_shake(c);
    flush(c);
    if (done == -2 && c->dial && c->dial->says == SITE_JOIN) {
        c->dial->refused = true;
        abort_world(BRIDGE_FAILURE, "The gateway at %s refused the key in %s.", g.join, g.key_path);
    } else if (done < 0) {
        if (!c->dial) {
            char address[ADDRESS], why[ADDRESS + 64];
            address_of(c->fd, address, sizeof address);
            snprintf(why, sizeof why, "A connection from %s did not prove the key.", address);
            turn_away(c->kind, why);
        }
        connection_close(c);
    } else if (done == 1) {
        c->shaken = true;
        greet(c);
        c->more = SSL_has_pending(c->ssl);
    }
}

void connection_ready(struct connection *c, uint32_t events) {
    if (c->connecting && events) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error || !tls_open(c, false))
            return connection_close(c);
        c->connecting = false;
        set_interest(c);
    } else if (events & EPOLLOUT) {
        flush(c);
    }
    if (c->ssl && !c->shaken)
        shake(c);
    else if (c->fd >= 0 && !c->paused && (c->more || events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        read_some(c);
}
