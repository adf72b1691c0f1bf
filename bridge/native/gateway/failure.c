/* Failures: one sentence, which every site and every rank gets by ABORT, and an exit code. */
#include "gateway.h"

#include <stdarg.h>

enum { FIND_MS = 5000, EVENTS = 10, SENTENCE_TO_STRANGER = 512 };

void event(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

_Noreturn void end_with(int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("steppe bridge: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(code);
}

void send_abort(struct connection *to) {
    struct frame abort = {.type = FRAME_ABORT, .source = -1, .tag = g.code, .length = (uint32_t)strlen(g.sentence)};
    send_frame(to, abort, g.sentence);
}

void abort_world(int code, const char *format, ...) {
    va_list list;
    if (g.phase == ABORTING)
        return;
    bool starting = g.phase == STARTING, linked = false;
    va_start(list, format);
    vsnprintf(g.sentence, sizeof g.sentence, format, list);
    va_end(list);
    g.phase = ABORTING;
    g.code = code;
    fprintf(stderr, "steppe bridge: %s\n", g.sentence);
    for (struct connection *c = g.connections; c; c = c->next) {
        linked |= c->kind == LINK;
        if (c->kind == RANK && starting) { /* early messages, behind a WORLD that will not come */
            g.held -= c->out.bytes;
            queue_drop(&c->out, c->out.bytes);
        }
        if (c->kind == LINK || c->kind == RANK)
            send_abort(c);
    }
    /* A site that has not reached the first one yet goes on dialling for a while, so that the others do not wait for it until their time limit. */
    bool seeks = g.join && !linked && g.n_dials && !g.dials[0].done && !g.dials[0].refused;
    for (int s = 0; s < g.n_sites; s++)
        seeks |= g.sites[s].link && g.sites[s].link->broken;
    g.limit = g.now + (seeks ? FIND_MS : FLUSH_MS);
}

/* Printable and in one line, whatever the sender put there. */
static void clean(char *to, size_t room, const uint8_t *from, size_t length) {
    size_t n = length < room - 1 ? length : room - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] < ' ' || from[i] == 127 ? ' ' : (char)from[i];
    to[n] = 0;
}

void on_abort(struct connection *from, const struct frame *f, const uint8_t *payload) {
    char sentence[sizeof g.sentence];
    int code = f->tag && !(f->tag & 255) ? BRIDGE_FAILURE : f->tag & 255; /* what a process can return */
    clean(sentence, sizeof sentence, payload, f->length);
    if (from->kind == NEW_SITE && from->dial->says == SITE_JOIN)
        from->dial->refused = true;
    if (from->kind == NEW_SITE && (from->dial->says == SITE_MESH || from->dial->says == SITE_LANE)) {
        connection_close(from);
    } else if (sentence[0]) {
        abort_world(code, "%s", sentence);
    } else if (from->kind == RANK) {
        abort_world(code, "Rank %d of site %s called MPI_Abort with code %d.", from->rank, g.name, f->tag);
    } else {
        abort_world(code, "Site %s ended the world with code %d.", from->name, f->tag);
    }
}

static void rank_failed(const struct connection *rank, const char *what) {
    if (g.roster)
        abort_world(BRIDGE_FAILURE, "Rank %d of site %s (world rank %d) %s.", rank->rank, g.name, g.world_of[rank->rank], what);
    else
        abort_world(BRIDGE_FAILURE, "Rank %d of site %s %s.", rank->rank, g.name, what);
}

/* The other end has closed the connection, or the system has. */
void lost(struct connection *c, int error) {
    bool late = g.phase == ENDING || g.phase == ABORTING;
    if (c->kind == RANK && !late && !c->bye)
        rank_failed(c, "ended without MPI_Finalize");
    bool orderly = c->bye && c->link && c->link->n_lanes > 1; /* the last words come by another connection */
    if (c->kind == LINK && !late && !orderly && link_break(c->link))
        return;
    if (c->kind == LINK && !late && !orderly && !(c->link->site >= 0 && g.sites[c->link->site].bye)) {
        if (error == ETIMEDOUT)
            abort_world(BRIDGE_FAILURE, "Site %s has not answered for %d s.", c->name, g.link_timeout);
        else
            abort_world(BRIDGE_FAILURE, "The link to site %s was lost.", c->name);
    }
    connection_close(c);
}

void malformed(struct connection *c) {
    bool counted_on = c->kind == LINK || (c->kind == RANK && (g.phase != STARTING || (g.roster && g.sites[g.me].ready)));
    g.refused++;
    if (counted_on && c->kind == RANK)
        rank_failed(c, "sent a malformed frame");
    else if (counted_on)
        abort_world(BRIDGE_FAILURE, "Site %s sent a malformed frame.", c->name);
    else if (c->kind == RANK)
        g.come--; /* its place is free again */
    if (!counted_on)
        connection_close(c);
}

/* Counts a rank or a gateway that was refused; `expired` says why the last gateway was. */
void turn_away(enum kind kind, const char *why) {
    if (++g.refused <= EVENTS)
        event("{\"event\": \"refused\", \"why\": \"%s\"}", why);
    if (kind == NEW_SITE) {
        g.turned_away++;
        snprintf(g.why, sizeof g.why, "%s", why);
    }
}

/* Tells the other end why, and closes when that is flushed. */
void refuse(struct connection *c, const char *format, ...) {
    char sentence[SENTENCE_TO_STRANGER];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    turn_away(c->kind, sentence);
    send_frame(c, (struct frame){.type = FRAME_ABORT, .source = -1, .tag = BRIDGE_FAILURE, .length = (uint32_t)strlen(sentence)}, sentence);
    c->leaving = true;
    c->since = g.now;
    shutdown(c->fd, SHUT_WR);
}

/* The world should stand by now, or another site asks why it does not. */
void expired(void) {
    char list[640] = "";
    int length = 0, n = 0;
    for (int s = 0; s < g.n_sites && g.expect && !g.roster; s++) {
        if (s != g.me && !g.sites[s].link && length < 500)
            length += snprintf(list + length, sizeof list - (size_t)length, "%s%s", n++ ? ", " : "", g.seats[s].name);
    }
    if (n) {
        char others[64] = "";
        if (g.turned_away > 1)
            snprintf(others, sizeof others, " %d connections were refused, the last one for this:", g.turned_away);
        abort_world(BRIDGE_FAILURE, "Site%s %s ha%s not come within %d s.%s%s%s", n > 1 ? "s" : "", list, n > 1 ? "ve" : "s", g.timeout, others,
                    g.turned_away ? " " : "", g.why);
    } else if (!g.come) {
        abort_world(BRIDGE_FAILURE, "No rank of site %s has come within %d s: the program may be static, or may not use MPI.", g.name, g.timeout);
    } else if (g.come < g.ranks) {
        for (int r = 0; r < g.ranks; r++)
            if (!g.locals[r] && ++n && length < 60)
                length += snprintf(list + length, sizeof list - (size_t)length, "%s%d", n > 1 ? ", " : "", r);
        abort_world(BRIDGE_FAILURE, "Rank%s %s%s of site %s ha%s not come within %d s.", n > 1 ? "s" : "", list, length < 60 ? "" : " ...", g.name,
                    n > 1 ? "ve" : "s", g.timeout);
    } else if (!g.roster && g.join && !g.dials[0].done) {
        g.dials[0].refused = true;
        abort_world(BRIDGE_FAILURE, "Site %s has not reached the first site at %s within %d s.", g.name, g.join, g.timeout);
    } else if (!g.asked) {
        g.asked = true;
        for (struct connection *c = g.connections; c; c = c->next) /* before the roster there is one link, to the first site */
            if (c->kind == LINK && (c->link->site < 0 || !g.sites[c->link->site].ready))
                send_frame(c, (struct frame){.type = FRAME_SITE, .source = g.me, .dest = -1, .id = SITE_ASK}, NULL);
        for (int s = 0; s < g.n_sites && g.roster; s++)
            if (g.sites[s].routed && !g.sites[s].ready)
                send_to_site(s, (struct frame){.type = FRAME_SITE, .source = g.me, .dest = s, .id = SITE_ASK}, NULL);
    } else if (g.now > g.started + 1000 * ((int64_t)g.timeout + 2)) {
        int s = 0;
        while (g.roster && s < g.n_sites - 1 && g.sites[s].ready)
            s++;
        abort_world(BRIDGE_FAILURE, "%s has not been ready within %d s.", g.roster ? g.seats[s].name : "The first site", g.timeout);
    }
}

void settle(void) {
    bool done = true;
    for (struct connection *c = g.connections; c; c = c->next) {
        done &= c->kind == LINK ? false : c->kind == RANK ? c->mute || !c->out.bytes : true;
        if (c->kind == LINK && !c->out.bytes && !link_waits(c->link) && !c->shut) {
            if (!c->bye_said) {
                c->bye_said = true;
                send_frame(c, (struct frame){.type = FRAME_SITE, .source = -1, .id = SITE_END}, NULL);
            }
            if (c->out.bytes)
                continue;
            c->shut = true; /* the other end reads all before it sees the end: closing with unread bytes could cut that */
            shutdown(c->fd, SHUT_WR);
        }
    }
    done &= g.phase == ENDING || g.limit - g.now <= FLUSH_MS; /* else the first site is still looked for */
    if (!done && g.now < g.limit)
        return;
    if (g.phase == ENDING)
        event("{\"event\": \"end\", \"frames\": %llu, \"bytes\": %llu, \"refused\": %llu}", (unsigned long long)g.frames, (unsigned long long)g.bytes,
              (unsigned long long)g.refused);
    exit(g.phase == ENDING ? 0 : g.code);
}
