/* Who takes part: the first site gathers the others and tells all of them the roster; then each pair of sites links, or is routed.
 *
 *     dialling gateway ── SITE_JOIN, SITE_MESH ──> ── SITE_CONFIRM ──>  only now does either end count on the link: a relay may accept
 *                      <── SITE_WELCOME, ABORT ──                       and close at once, and a dial is repeated until a link stands
 *
 * In a pair the site of the higher index dials. If it gives up, it tells the other one through the first site. It also brings the further
 * connections of the link (SITE_LANE), and resumes it (SITE_RESUME); the other end answers the same.
 */
#include "gateway.h"

#include <openssl/rand.h>

static int find_site(const char *name) {
    for (int s = 0; s < g.n_sites; s++)
        if (!strcmp(g.seats[s].name, name))
            return s;
    return -1;
}

struct link *next_hop(int site) { return g.sites[site].link ? g.sites[site].link : g.sites[g.first].link; }

void send_to_site(int site, struct frame frame, const void *payload) {
    struct link *link = next_hop(site);
    if (link)
        link_send_own(link, frame, payload);
}

static void say(struct connection *to, enum site_frame what, uint64_t session) {
    struct frame hello = {.type = FRAME_SITE, .source = g.reconnect, .dest = g.ranks, .tag = WIRE_PROTOCOL, .id = what, .total = (uint64_t)g.port};
    hello.flags = (uint16_t)(g.lanes | (g.presses ? PRESSES : 0));
    hello.length = (uint32_t)strlen(g.name);
    hello.context = session;
    send_frame(to, hello, g.name);
}

static void say_of_link(struct connection *to, const struct link *link, enum site_frame what) {
    struct frame hello = {.type = FRAME_SITE, .source = -1, .id = what, .context = link->session, .total = link->taken};
    hello.length = (uint32_t)strlen(g.name);
    send_frame(to, hello, g.name);
}

void greet(struct connection *c) {
    if (c->dial && c->dial->link)
        say_of_link(c, c->dial->link, c->dial->says);
    else if (c->dial)
        say(c, c->dial->says, 0);
}

bool pairs_are_settled(void) {
    for (int s = 0; s < g.n_sites; s++)
        if (s != g.me && !g.sites[s].link && !g.sites[s].routed)
            return false;
    return g.roster;
}

void pair_is_routed(int site, bool tell) {
    if (g.sites[site].link || g.sites[site].routed)
        return;
    g.sites[site].routed = true;
    event("{\"event\": \"routed\", \"site\": \"%s\"}", g.seats[site].name);
    if (tell)
        send_to_site(site, (struct frame){.type = FRAME_SITE, .source = g.me, .dest = site, .id = SITE_ROUTED}, NULL);
    try_ready();
}

static void enter_roster(int me, int first) {
    g.roster = true;
    g.me = me;
    g.first = first;
    lay_out_world();
    for (int s = 0; s < g.n_sites; s++)
        if (g.sites[s].link)
            link_prepare(g.sites[s].link);
}

static void send_roster(void) {
    enter_roster(g.me, g.me);
    struct frame roster = {.type = FRAME_SITE, .flags = g.turns, .dest = g.me, .tag = g.n_sites, .id = SITE_ROSTER};
    roster.length = (uint32_t)(sizeof *g.seats * (size_t)g.n_sites);
    for (int s = 0; s < g.n_sites && g.phase == STARTING; s++) {
        roster.source = s;
        if (s != g.me)
            link_send_own(g.sites[s].link, roster, g.seats);
    }
    try_ready();
}

static void link_stands(struct connection *c, int site) {
    struct link *link = link_new(c);
    link_attach(link, c);
    link->site = site;
    event("{\"event\": \"joined\", \"site\": \"%s\"}", c->name);
    if (site >= 0)
        g.sites[site].link = link;
    if (g.phase == ABORTING) {
        g.limit = g.now + FLUSH_MS;
        send_abort(c);
        return;
    }
    if (g.roster) {
        link_prepare(link);
        try_ready();
    } else if (g.expect) {
        g.seats[site].ranks = c->ranks;
        g.seats[site].port = c->port;
        address_of(c->fd, g.seats[site].address, ADDRESS);
        for (int s = 0; s < g.n_sites; s++)
            if (s != g.me && !g.sites[s].link)
                return;
        send_roster();
    }
}

/* Of an accepted gateway that has said its name: welcome it, refuse it, or let it wait for the roster. */
static void consider(struct connection *c, bool joins) {
    if (joins && !g.expect)
        return refuse(c, "Site %s is not the first site: --join of site %s must name the address of the first one.", g.name, c->name);
    if (!joins && !g.roster)
        return;
    int site = find_site(c->name);
    if (site < 0) {
        refuse(c, "Site %s is not among the sites that take part%s%s.", c->name, g.expect ? ": " : "", g.expect ? g.expect : "");
    } else if (site == g.me || g.sites[site].link) {
        refuse(c, "Site %s has come twice; each site needs a name of its own.", c->name);
    } else if (!g.sites[site].routed) {
        for (struct connection *other = g.connections, *next; other; other = next) {
            next = other->next; /* an earlier attempt of the same site, cut before it was confirmed */
            if (other != c && other->kind == NEW_SITE && other->greeted && !strcmp(other->name, c->name))
                connection_close(other);
        }
        c->greeted = true;
        if (RAND_bytes((unsigned char *)&c->session, sizeof c->session) != 1)
            fail("OpenSSL has no random numbers.");
        say(c, SITE_WELCOME, c->session);
    }
}

static void on_hello_of_site(struct connection *from, const struct frame *f, const uint8_t *payload) {
    if (f->tag != WIRE_PROTOCOL)
        return refuse(from, "Site %s speaks protocol %d of the bridge and a site that joins it protocol %d: install one release at all sites.", g.name,
               WIRE_PROTOCOL, f->tag);
    if (!f->length || f->length >= NAME || f->dest < 1 || f->total > 65535 || (f->flags & (PRESSES - 1)) > CONNECTIONS || f->source < 0)
        return malformed(from);
    memcpy(from->name, payload, f->length);
    from->name[f->length] = 0;
    from->ranks = f->dest;
    from->port = (int)f->total;
    from->connections = f->flags & (PRESSES - 1);
    from->presses = f->flags & PRESSES;
    from->reconnect = f->source;
    if (f->id == SITE_WELCOME)
        from->session = f->context;
    if (!is_name(from->name))
        malformed(from);
    else if (f->id != SITE_WELCOME)
        consider(from, f->id == SITE_JOIN);
    else if (from->dial->site >= 0 && strcmp(from->name, g.seats[from->dial->site].name))
        connection_close(from); /* the address leads elsewhere */
    else {
        say(from, SITE_CONFIRM, from->session);
        link_stands(from, from->dial->site);
    }
}

static void on_roster(struct connection *from, const struct frame *f, const uint8_t *payload) {
    int n = f->tag;
    if (g.roster || g.expect || n < 1 || n > SITES || f->length != (size_t)n * sizeof *g.seats || f->source < 0 || f->source >= n || f->dest < 0 ||
        f->dest >= n || f->source == f->dest)
        return malformed(from);
    memcpy(g.seats, payload, f->length);
    for (int s = 0; s < n; s++) {
        g.seats[s].name[NAME - 1] = g.seats[s].address[ADDRESS - 1] = 0;
        if (!is_name(g.seats[s].name) || g.seats[s].ranks < 1 || g.seats[s].ranks > FRAME_PAYLOAD)
            return malformed(from);
    }
    g.n_sites = n;
    g.turns = f->flags;
    from->link->site = f->dest;
    g.sites[f->dest].link = from->link;
    enter_roster(f->source, f->dest);
    for (int s = 0; s < g.me && g.phase == STARTING; s++) {
        char port[16];
        snprintf(port, sizeof port, "%d", g.seats[s].port);
        if (s != g.first)
            dial_add(s, g.seats[s].address, port, SITE_MESH, NULL);
    }
    for (struct connection *c = g.connections, *next; c; c = next) {
        next = c->next;
        if (c->kind == NEW_SITE && !c->dial && c->name[0] && !c->greeted)
            consider(c, false);
    }
    try_ready();
}

/* A further or a new connection of a link that stands or is broken. */
static void on_link(struct connection *from, const struct frame *f, const uint8_t *payload) {
    char name[NAME] = "";
    memcpy(name, payload, f->length < NAME ? f->length : 0);
    int site = find_site(name);
    struct link *link = from->dial ? from->dial->link : site >= 0 ? g.sites[site].link : NULL;
    if (!link || link->session != f->context || (f->id == SITE_LANE && link->broken)) {
        if (from->dial)
            connection_close(from);
        else
            refuse(from, "Site %s knows of no link to resume.", g.name);
        return;
    }
    memcpy(from->name, link->name, NAME);
    if (g.phase == ABORTING) {
        g.limit = g.now + FLUSH_MS;
        link->broken = 0;
        send_abort(from);
    } else if (f->id == SITE_LANE && link->connections > 1) {
        if (!from->dial)
            say_of_link(from, link, SITE_LANE);
        link_attach(link, from);
    } else if (f->id == SITE_RESUME && link_break(link)) { /* the other end may know first that it is broken */
        if (!from->dial)
            say_of_link(from, link, SITE_RESUME);
        link_resume(link, from, f->total);
    } else {
        connection_close(from);
    }
}

void on_site(struct connection *from, const struct frame *f, const uint8_t *payload) {
    bool fresh = from->kind == NEW_SITE, between = g.roster && f->source >= 0 && f->source < g.n_sites && f->dest >= 0 && f->dest < g.n_sites;
    if (fresh && !from->dial && !from->name[0] && (f->id == SITE_JOIN || f->id == SITE_MESH)) {
        on_hello_of_site(from, f, payload);
    } else if (fresh && (from->dial ? from->dial->link != NULL : !from->name[0]) && (f->id == SITE_LANE || f->id == SITE_RESUME)) {
        on_link(from, f, payload);
    } else if (fresh && from->dial && !from->dial->link && f->id == SITE_WELCOME) {
        on_hello_of_site(from, f, payload);
    } else if (fresh && from->greeted && f->id == SITE_CONFIRM) {
        link_stands(from, find_site(from->name));
    } else if (!fresh && f->id == SITE_ROSTER) {
        on_roster(from, f, payload);
    } else if (!fresh && f->id == SITE_END) {
        from->bye = true;
    } else if (!fresh && f->id == SITE_ROUTED && between) {
        if (f->dest == g.me)
            pair_is_routed(f->source, false);
        else
            send_to_site(f->dest, *f, NULL);
    } else if (!fresh && f->id == SITE_ASK && g.phase == STARTING) {
        if (f->dest < 0 || f->dest == g.me)
            expired();
        else if (between)
            send_to_site(f->dest, *f, NULL);
    } else if (f->id != SITE_ASK) {
        malformed(from);
    }
}

/* The first site knows the names and their order, a joining one only where the first one is. */
void sites_begin(void) {
    char host[256], port[8];
    g.me = g.first = -1;
    if (g.join) {
        split_address(g.join, host, sizeof host, port);
        dial_add(-1, host, port, SITE_JOIN, NULL);
        return;
    }
    const char *at = g.expect;
    for (size_t length; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        char *name = g.seats[g.n_sites].name;
        if (g.n_sites == SITES || length >= NAME)
            mistake("--expect %s names more than %d sites, or one with a name of more than %d characters.", g.expect, SITES, NAME - 1);
        memcpy(name, at, length);
        name[length] = 0;
        if (!is_name(name) || find_site(name) >= 0)
            mistake("--expect %s names a site twice, or a name has other characters than letters, digits, dots and dashes.", g.expect);
        g.n_sites++;
    }
    g.me = g.first = find_site(g.name);
    if (g.me < 0)
        mistake("--expect %s does not name this site, %s.", g.expect, g.name);
    g.seats[g.me].ranks = g.ranks;
    if (g.n_sites == 1)
        send_roster();
}
