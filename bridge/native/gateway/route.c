/* Frames: which may come from whom, and where they go. */
#include "gateway.h"

static bool is_data(const struct frame *f) { return f->type >= FRAME_MESSAGE && f->type <= FRAME_CREDIT; }

/* Over a link come frames of its own site; from the first site also those that it carries for others. */
static bool comes_over(const struct link *link, int site) {
    return site == link->site || (link->site == g.first && g.first != g.me && site != g.me);
}

static bool is_for(const struct link *link, int site) { return site == g.me || (g.first == g.me && site != link->site); }

static bool between_ranks(const struct frame *f) {
    return g.roster && f->source >= 0 && f->source < g.world && f->dest >= 0 && f->dest < g.world;
}

static bool between_sites(const struct link *link, const struct frame *f) {
    return g.roster && f->source >= 0 && f->source < g.n_sites && f->dest >= 0 && f->dest < g.n_sites && comes_over(link, f->source) &&
           is_for(link, f->dest);
}

static bool is_expected(const struct connection *from, const struct frame *f, bool of_parcel) {
    bool parcel = f->type == FRAME_PARCEL;
    if (f->magic != WIRE_MAGIC || f->length > (parcel ? RUN_MAX : FRAME_PAYLOAD) || (parcel && (of_parcel || from->kind != LINK || !g.roster)))
        return false;
    switch (from->kind) {
    case NEW_RANK: return f->type == FRAME_HELLO && f->length == sizeof(struct machine) + (from->challenged ? CHALLENGE : 0);
    case NEW_SITE: return (f->type == FRAME_SITE && f->length <= STRANGER_PAYLOAD) || (f->type == FRAME_ABORT && from->dial);
    case RANK:
        if (f->type == FRAME_ABORT)
            return true;
        if (g.phase != RUNNING || from->bye || f->source != g.world_of[from->rank])
            return false;
        return f->type == FRAME_BYE || (is_data(f) && between_ranks(f));
    case LINK:
        if (is_data(f))
            return between_ranks(f) && comes_over(from->link, g.site_of[f->source]) && is_for(from->link, g.site_of[f->dest]);
        if (f->type == FRAME_READY)
            return between_sites(from->link, f) && f->length == sizeof(struct machine);
        if (f->type == FRAME_BYE)
            return between_sites(from->link, f);
        return f->type == FRAME_SITE || f->type == FRAME_ABORT || f->type == FRAME_PING || f->type == FRAME_PONG || parcel || f->type == FRAME_TAKEN;
    default: return false;
    }
}

static void take_own(struct connection *from, const struct frame *f, const uint8_t *payload) {
    bool passes = (f->type == FRAME_READY || f->type == FRAME_BYE) && from->kind == LINK && f->dest != g.me;
    if (passes)
        return send_to_site(f->dest, *f, payload);
    switch (f->type) {
    case FRAME_HELLO: on_hello(from, f, payload); break;
    case FRAME_SITE: on_site(from, f, payload); break;
    case FRAME_READY: on_ready(f, payload); break;
    case FRAME_BYE: on_bye(from, f); break;
    case FRAME_ABORT: on_abort(from, f, payload); break;
    case FRAME_PARCEL:
        if (!link_take(from, f, payload))
            malformed(from);
        break;
    case FRAME_TAKEN:
        if (!link_acknowledged(from->link, f->id))
            malformed(from);
        break;
    case FRAME_PING:
        if (from->out.bytes < LINK_LOW)
            send_frame(from, (struct frame){.type = FRAME_PONG, .source = -1, .id = f->id}, NULL);
        break;
    default: break;
    }
}

/* Where the frames of a rank go: to a rank of this site, or to a link. Both null: nowhere. */
struct target {
    struct connection *rank;
    struct link *link;
};

static struct target target_of(int dest) {
    int site = g.site_of[dest];
    return site == g.me ? (struct target){.rank = g.locals[g.local_of[dest]]} : (struct target){.link = next_hop(site)};
}

static void send_run(struct target to, int source, const uint8_t *frames, size_t bytes) {
    if (to.rank)
        send_to_rank(to.rank, frames, bytes);
    else if (to.link)
        link_send(to.link, source, frames, bytes);
}

/* Frames of one source that go the same way and lie together leave together. */
size_t take_frames(struct connection *from, const uint8_t *data, size_t bytes, bool of_parcel) {
    struct target to = {0};
    size_t at = 0, run = 0; /* the run is data[run .. at) */
    int source = -1;
    struct frame f;
    while (bytes - at >= sizeof f) {
        memcpy(&f, data + at, sizeof f);
        bool expected = is_expected(from, &f, of_parcel);
        size_t size = sizeof f + f.length;
        if (expected && bytes - at < size)
            break;
        struct target next = {0};
        if (expected && is_data(&f)) {
            next = target_of(f.dest);
            g.frames++;
            g.bytes += f.length;
        }
        if (to.rank != next.rank || to.link != next.link || source != f.source || (to.link && at + size - run > RUN_MAX)) {
            send_run(to, source, data + run, at - run);
            to = next;
            source = f.source;
            run = at;
        }
        if (!expected)
            malformed(from);
        else if (!is_data(&f))
            take_own(from, &f, data + at + sizeof f);
        if (from->fd < 0 || from->leaving || g.phase == ABORTING)
            return bytes;
        at += size;
    }
    send_run(to, source, data + run, at - run);
    return at;
}
