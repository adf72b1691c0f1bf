/* The link to another site: frames that wait for it, its connections, and what happens when these are lost.
 *
 *     link_send ──> a queue of each source ── one frame in turn ──> a connection with room ──> socket
 *
 * Where a link has one connection and ends with it, frames go as they are. Else they go in numbered parcels: those of one source are taken in
 * their order, whichever connection brings them. With --reconnect a parcel is kept until the other end has taken it. When the connections are
 * lost, the end that dialled dials again, both ends say up to where they have taken, and what was lost goes once more.
 */
#include "gateway.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

enum { GONE_MS = 3000 };

/* ---- connections ---- */

struct link *link_new(const struct connection *c) {
    struct link *link = room(1, sizeof *link);
    *link = (struct link){.site = -1, .dial = c->dial, .session = c->session, .connections = g.lanes, .reconnect = g.reconnect};
    memcpy(link->name, c->name, NAME);
    if (c->connections > link->connections)
        link->connections = c->connections;
    if (c->reconnect > link->reconnect)
        link->reconnect = c->reconnect;
    link->counts = link->connections > 1 || link->reconnect;
    link->presses = c->presses && g.presses;
    return link;
}

void link_attach(struct link *link, struct connection *c) {
    if (link->n_lanes == CONNECTIONS)
        return connection_close(c);
    if (!c->dial)
        g.strangers[1]--;
    else
        c->dial->done = true;
    c->kind = LINK;
    c->link = link;
    link->lanes[link->n_lanes++] = c;
}

void link_detach(struct connection *c) {
    struct link *link = c->link;
    for (int i = 0; i < link->n_lanes; i++)
        if (link->lanes[i] == c)
            link->lanes[i] = link->lanes[--link->n_lanes];
}

/* The end that dialled brings the further connections. */
static void widen(struct link *link) {
    for (int i = 1; link->dial && i < link->connections; i++)
        dial_add(link->dial->site, link->dial->host, link->dial->port, SITE_LANE, link);
}

/* Once the world is laid out. */
void link_prepare(struct link *link) {
    link->sources = room((size_t)g.world, sizeof *link->sources);
    if (link->counts) {
        link->last_of = room((size_t)g.world, sizeof *link->last_of);
        link->held = room(PARCELS, sizeof *link->held);
    }
    widen(link);
}

/* ---- out ---- */

/* A rank is not read while too many of its frames wait for links. */
static void account(int source, ssize_t bytes) {
    struct connection *rank = g.site_of[source] == g.me ? g.locals[g.local_of[source]] : NULL;
    if (!rank)
        return;
    rank->backlog += (size_t)bytes;
    if (bytes > 0 ? rank->backlog > g.source_limit : rank->paused && rank->backlog < g.source_limit / 2) {
        rank->paused = bytes > 0;
        set_interest(rank);
    }
}

/* No connection will take what waits, now or later. */
void link_drop(struct link *link) {
    for (struct queue *source; (source = link->first);) {
        link->first = source->next;
        link->waiting--;
        source->waits = false;
        account((int)(source - link->sources), -(ssize_t)source->bytes);
        queue_drop(source, source->bytes);
    }
    link->last = NULL;
}

/* Whether the other end can remember more numbers, and this one keep more parcels. */
static bool is_open(const struct link *link) {
    return !link->counts || (link->sent - link->acknowledged < PARCELS && link->kept_bytes < KEPT_MAX);
}

bool link_waits(const struct link *link) { return link->resend || (link->first && is_open(link)); }

bool link_is_done(const struct link *link) {
    bool done = !link->first && !link->kept_first;
    for (int i = 0; i < link->n_lanes; i++)
        done &= !link->lanes[i]->out.bytes;
    return done;
}

/* Bytes that nothing can overtake any more: sealed, or with the system. */
static size_t unsent(const struct connection *lane) {
    int bytes = 0;
    return lane->out.bytes + (ioctl(lane->fd, SIOCOUTQNSD, &bytes) ? 0 : (size_t)bytes);
}

bool takes_more(const struct connection *lane) { return !lane->mute && !lane->shut && lane->out.bytes < LINK_LOW && unsent(lane) < LINK_LOW + NOT_SENT; }

/* Whether what waits will be taken some day: a connection whose other end has gone takes no more. */
static bool is_alive(const struct link *link) {
    bool alive = link->broken || (link->reconnect && link->n_lanes);
    for (int i = 0; i < link->n_lanes; i++)
        alive |= !link->lanes[i]->mute && !link->lanes[i]->shut;
    return alive;
}

static struct connection *with_room(const struct link *link) {
    struct connection *best = NULL;
    for (int i = 0; i < link->n_lanes; i++)
        if (takes_more(link->lanes[i]) && (!best || unsent(link->lanes[i]) < unsent(best)))
            best = link->lanes[i];
    return best;
}

static void keep(struct link *link, const struct frame *head, const uint8_t *frames) {
    struct parcel *parcel = room(1, sizeof *parcel + head->length);
    parcel->head = *head;
    memcpy(parcel->frames, frames, head->length);
    *(link->kept_first ? &link->kept_last->next : &link->kept_first) = parcel;
    link->kept_last = parcel;
    link->kept_bytes += sizeof *parcel + head->length;
}

static void seal_parcel(struct connection *lane, const struct frame *head, const uint8_t *frames) {
    uint8_t bytes[FRAME_MAX];
    memcpy(bytes, head, sizeof *head);
    memcpy(bytes + sizeof *head, frames, head->length);
    seal(lane, bytes, sizeof *head + head->length);
}

/* Whole frames of a source, or of the gateway itself (-1): those are taken after everything before them. Without a lane they go
 * when one is back. @return bytes for the wire */
static size_t post(struct link *link, struct connection *lane, int source, const uint8_t *frames, size_t bytes) {
    uint8_t pressed[RUN_MAX];
    struct frame head = {.magic = WIRE_MAGIC, .type = FRAME_PARCEL, .source = source, .tag = CODING_NONE, .length = (uint32_t)bytes, .total = bytes};
    size_t length = link->presses && link->first ? press(link, frames, bytes, pressed, &head.flags) : 0;
    if (length) {
        head.tag = CODING_ZSTD;
        head.length = (uint32_t)length;
        frames = pressed;
    }
    if (link->counts) {
        head.context = ++link->sent;
        head.id = source < 0 ? EVERY : link->last_of[source] > link->acknowledged ? link->last_of[source] : 0;
        if (source >= 0)
            link->last_of[source] = link->sent;
        if (link->reconnect)
            keep(link, &head, frames);
    }
    if (lane && (link->counts || length))
        seal_parcel(lane, &head, frames);
    else if (lane)
        seal(lane, frames, bytes);
    return head.length;
}

/* At the end; or at the front, if all that wait have had a turn since its last one: a short message beside a stream goes before its next frame. */
static void put_in_turn(struct link *link, struct queue *source) {
    bool front = link->turns - source->served > link->waiting;
    source->waits = true;
    link->waiting++;
    if (link->first && front) {
        source->next = link->first;
        link->first = source;
    } else {
        source->next = NULL;
        *(link->first ? &link->last->next : &link->first) = source;
        link->last = source;
    }
}

/* Seals what was lost before, else one frame of the source whose turn it is. */
void link_take_turn(struct connection *lane) {
    struct link *link = lane->link;
    struct queue *source = link->first;
    struct parcel *again = link->resend;
    uint8_t run[RUN_MAX];
    struct frame frame;
    if (again) {
        link->resend = again->next;
        seal_parcel(lane, &again->head, again->frames);
        return;
    }
    queue_copy(source, &frame, sizeof frame);
    size_t bytes = sizeof frame + frame.length;
    queue_copy(source, run, bytes);
    size_t on_wire = post(link, lane, (int)(source - link->sources), run, bytes);
    queue_drop(source, bytes);
    link->first = source->next;
    link->waiting--;
    source->waits = false;
    source->served = ++link->turns;
    if (source->bytes)
        put_in_turn(link, source);
    account((int)(source - link->sources), -(ssize_t)bytes);
    press_measure(link, on_wire);
}

void link_send(struct link *link, int source, const uint8_t *frames, size_t bytes) {
    struct connection *lane = link->first || link->resend || !is_open(link) ? NULL : with_room(link);
    struct queue *queue = &link->sources[source];
    if (lane) {
        post(link, lane, source, frames, bytes);
        flush(lane);
    } else if (is_alive(link)) {
        queue_push(queue, frames, bytes);
        if (!queue->waits)
            put_in_turn(link, queue);
        account(source, (ssize_t)bytes);
        for (int i = 0; i < link->n_lanes; i++)
            set_interest(link->lanes[i]);
    }
}

/* A frame of the gateway itself. It overtakes what waits; the last one, BYE, is as safe as the frames of ranks. */
void link_send_own(struct link *link, struct frame frame, const void *payload) {
    struct connection *lane = link->n_lanes ? link->lanes[0] : NULL;
    frame.magic = WIRE_MAGIC;
    if (frame.type == FRAME_BYE && link->counts) {
        post(link, lane, -1, (const uint8_t *)&frame, sizeof frame);
        if (lane)
            flush(lane);
    } else if (lane) {
        send_frame(lane, frame, payload);
    }
}

/* ---- lost and back ---- */

/* @return whether the link waits for new connections, so that its loss is no failure. */
bool link_break(struct link *link) {
    if (!link->reconnect || g.phase != RUNNING)
        return false;
    if (link->broken)
        return true;
    link->broken = g.now;
    link->resend = NULL;
    while (link->n_lanes)
        connection_close(link->lanes[0]);
    dials_forget(link);
    event("{\"event\": \"broken\", \"site\": \"%s\", \"seconds\": %d}", link->name, link->reconnect);
    if (link->dial) {
        link->dial->done = false;
        link->dial->says = SITE_RESUME;
        link->dial->link = link;
        link->dial->next = g.now;
    }
    return true;
}

/* The first new connection stands; the other end has taken all up to `number`. */
void link_resume(struct link *link, struct connection *c, uint64_t number) {
    event("{\"event\": \"resumed\", \"site\": \"%s\", \"seconds\": %.1f}", link->name, (double)(g.now - link->broken) / 1000);
    link->broken = 0;
    link->told = link->taken;
    link_attach(link, c);
    if (!link_acknowledged(link, number))
        return malformed(c);
    link->resend = link->kept_first;
    flush(c);
    widen(link);
}

/* Now and then: says what has been taken, and gives up what does not come back. */
void link_watch(struct link *link) {
    int64_t patience = g.sites[link->site].bye ? GONE_MS : 1000 * (int64_t)link->reconnect;
    if (link->n_lanes && link->told != link->taken)
        link_tell(link);
    if (!link->broken || g.now - link->broken < patience)
        return;
    if (!g.sites[link->site].bye)
        return abort_world(BRIDGE_FAILURE, "Site %s has been out of reach for %d s.", link->name, link->reconnect);
    link->broken = 0; /* it has ended well, and only its last word is missing */
    dials_forget(link);
    link_drop(link);
    link_acknowledged(link, link->sent);
}
