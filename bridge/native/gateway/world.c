/* The world: local ranks come, READY when all are there, WORLD when all sites are ready, BYE at the end.
 *
 * WORLD goes out in the second phase only, so that a rank never sends to one that has not come. A site that starts earlier may already send:
 * frames for local ranks wait behind WORLD.
 */
#include "gateway.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

/* The same at all sites, so all ranks get one number. */
static uint64_t credit_window(void) {
    uint64_t window = 16 << 20;
    for (int s = 0; s < g.n_sites; s++) {
        uint64_t pairs = (uint64_t)g.seats[s].ranks * (uint64_t)(g.world - g.seats[s].ranks);
        if (pairs && WINDOW_ALL / pairs < window)
            window = WINDOW_ALL / pairs;
    }
    return window < 16384 ? 16384 : window;
}

void lay_out_world(void) {
    int64_t world = 0;
    int most = 0, w = 0;
    for (int s = 0; s < g.n_sites; s++) {
        world += g.seats[s].ranks;
        most = g.seats[s].ranks > most ? g.seats[s].ranks : most;
    }
    if (world * 4 + SITES * NAME > FRAME_PAYLOAD) {
        abort_world(BRIDGE_FAILURE, "The sites have %lld ranks; a world has at most %d.", (long long)world, (FRAME_PAYLOAD - SITES * NAME) / 4);
        world = most = 0; /* frames of ranks fit nothing any more */
    }
    g.world = (int)world;
    g.site_of = room((size_t)world + 1, sizeof *g.site_of);
    g.local_of = room((size_t)world + 1, sizeof *g.local_of);
    g.world_of = room((size_t)g.ranks, sizeof *g.world_of);
    /* blocks: site by site; turns: the first rank of each site, the second ones, ... */
    for (int outer = 0; outer < (g.turns ? most : world ? g.n_sites : 0); outer++) {
        for (int inner = 0; inner < (g.turns ? g.n_sites : g.seats[outer].ranks); inner++) {
            int site = g.turns ? inner : outer, local = g.turns ? outer : inner;
            if (local >= g.seats[site].ranks)
                continue;
            g.site_of[w] = site;
            g.local_of[w] = local;
            if (site == g.me)
                g.world_of[local] = w;
            w++;
        }
    }
    g.window = credit_window();
}

/* @return whether a rank that came by TCP knows the secret. */
static bool answers(const struct connection *rank, const uint8_t *answer) {
    uint8_t expected[CHALLENGE];
    unsigned length;
    HMAC(EVP_sha256(), g.secret, sizeof g.secret, rank->challenge, CHALLENGE, expected, &length);
    return !CRYPTO_memcmp(expected, answer, CHALLENGE);
}

void on_hello(struct connection *from, const struct frame *f, const uint8_t *payload) {
    struct machine machine;
    memcpy(&machine, payload, sizeof machine);
    if (from->challenged && !answers(from, payload + sizeof machine))
        return refuse(from, "A rank of site %s does not know the secret in %s.", g.name, g.secret_path);
    bool known = f->source >= 0 && f->source < g.ranks;
    if (g.come == g.ranks || (known && g.locals[f->source]))
        return refuse(from, "Rank %d of site %s has come twice: more than one program uses this gateway.", f->source, g.name);
    if (f->tag != WIRE_PROTOCOL) {
        abort_world(BRIDGE_FAILURE, "A rank of site %s speaks protocol %d of the bridge, its gateway protocol %d: they are of different releases.",
                    g.name, f->tag, WIRE_PROTOCOL);
    } else if (f->dest != g.ranks) {
        abort_world(BRIDGE_FAILURE, "The launcher of site %s started %d rank%s; -n says %d.", g.name, f->dest, f->dest == 1 ? "" : "s", g.ranks);
    } else if (!known) {
        malformed(from);
        return;
    } else if (g.come && memcmp(&machine, &g.machine, sizeof machine)) {
        abort_world(BRIDGE_FAILURE, "The machines of site %s differ in byte order or in the sizes of types.", g.name);
    }
    if (!known) { /* the world ends */
        send_abort(from);
        return;
    }
    g.strangers[0]--;
    from->kind = RANK;
    from->rank = f->source;
    g.locals[f->source] = from;
    if (g.phase == ABORTING) { /* this rank as well is to hear of it */
        send_abort(from);
        return;
    }
    g.machine = machine;
    g.come++;
    set_interest(from);
    try_ready();
}

/* @return whether the machines of two sites, both ready, are alike; else the world ends. */
static bool are_alike(int one, int other) {
    static const char *const properties[] = {"byte order (1 is little-endian)", "the size of long", "the size of long double",
                                             "the size of wchar_t", "the size of pointers", "the size of bool"};
    int a = one < other ? one : other, b = one + other - a; /* one sentence, whichever site finds it */
    const uint8_t *of_a = (const uint8_t *)&g.sites[a].machine, *of_b = (const uint8_t *)&g.sites[b].machine;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        if (of_a[i] != of_b[i]) {
            abort_world(BRIDGE_FAILURE, "The machines of sites %s and %s differ in %s: %d and %d; values cannot cross between them.",
                        g.seats[a].name, g.seats[b].name, properties[i], of_a[i], of_b[i]);
            return false;
        }
    }
    return true;
}

static void tell_ranks(void) {
    uint8_t payload[FRAME_PAYLOAD];
    size_t length = (size_t)g.world * sizeof(int32_t);
    memcpy(payload, g.site_of, length);
    for (int s = 0; s < g.n_sites; s++) {
        strcpy((char *)payload + length, g.seats[s].name);
        length += strlen(g.seats[s].name) + 1;
    }
    struct frame world = {.type = FRAME_WORLD, .source = g.me, .tag = g.n_sites, .length = (uint32_t)length, .total = (uint64_t)g.world, .id = g.window};
    for (int local = 0; local < g.ranks; local++) {
        struct connection *rank = g.locals[local];
        if (!rank)
            continue;
        struct queue early = rank->out;
        rank->out = (struct queue){0};
        world.dest = g.world_of[local];
        send_frame(rank, world, payload);
        queue_append(&rank->out, early);
        flush(rank);
    }
}

static void try_start(void) {
    char sites[SITES * (NAME + 40)];
    int length = 0;
    for (int s = 0; s < g.n_sites; s++) {
        if (!g.sites[s].ready || g.phase != STARTING)
            return;
        length += snprintf(sites + length, sizeof sites - (size_t)length, "%s{\"name\": \"%s\", \"ranks\": %d}", s ? ", " : "", g.seats[s].name,
                           g.seats[s].ranks);
    }
    g.phase = RUNNING;
    tell_ranks();
    event("{\"event\": \"world\", \"ranks\": %d, \"sites\": [%s]}", g.world, sites);
}

void try_ready(void) {
    if (g.phase != STARTING || g.come < g.ranks || !pairs_are_settled() || g.sites[g.me].ready)
        return;
    g.sites[g.me].ready = true;
    g.sites[g.me].machine = g.machine;
    for (int s = 0; s < g.n_sites; s++)
        if (g.sites[s].ready && !are_alike(g.me, s))
            return;
    for (int s = 0; s < g.n_sites; s++)
        if (s != g.me)
            send_to_site(s, (struct frame){.type = FRAME_READY, .source = g.me, .dest = s, .length = sizeof g.machine}, &g.machine);
    try_start();
}

void on_ready(const struct frame *f, const uint8_t *payload) {
    struct site *site = &g.sites[f->source];
    memcpy(&site->machine, payload, sizeof site->machine);
    site->ready = true;
    if (!g.sites[g.me].ready || are_alike(g.me, f->source))
        try_start();
}

void on_bye(struct connection *from, const struct frame *f) {
    if (from->kind == RANK) {
        from->bye = true;
        g.byes++;
    } else {
        g.sites[f->source].bye = true;
    }
}

/* After the last BYE of the local ranks: BYE to the other sites behind all frames; after theirs the gateway may end. */
void try_end(void) {
    if (g.phase != RUNNING || g.byes < g.ranks)
        return;
    for (int s = 0; s < g.n_sites; s++)
        if (g.sites[s].link && !link_is_done(g.sites[s].link))
            return;
    for (int linked = 0; linked < 2 && !g.bye_sent; linked++) /* the routed ones first: the first site goes when it has its own */
        for (int s = 0; s < g.n_sites; s++)
            if (s != g.me && (g.sites[s].link != NULL) == linked)
                send_to_site(s, (struct frame){.type = FRAME_BYE, .source = g.me, .dest = s}, NULL);
    g.bye_sent = true;
    for (int s = 0; s < g.n_sites; s++)
        if (s != g.me && (!g.sites[s].bye || (g.sites[s].link && !link_is_done(g.sites[s].link))))
            return;
    g.phase = ENDING;
    g.limit = g.now + 2000;
}
