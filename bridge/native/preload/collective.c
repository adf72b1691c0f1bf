/* Collectives on communicators that span sites. The leader of a site is its lowest rank.
 *
 *     barrier              leaders tell each other                                  one way
 *     broadcast            the root tells the leaders, before its own site          one way
 *     reduce, allreduce    a part a site, combined in the order of the sites        one way
 *     gather, scatter      one message a site                                       one way
 *     allgather            leaders exchange what their sites have                   one way
 *     alltoall             each pair of ranks                                       one way
 *
 * Operations that do not commute, where the order of sites is not the order of ranks, are done in the order of ranks on what all have sent.
 */
#include "calls.h"

/* ---- barrier and broadcast ---- */

int barrier(struct communicator *c, const struct call *a, int tag) {
    char token = 0;
    int error = local_barrier(c);
    if (!error && c->local_rank == 0) {
        struct part *sends = send_to_leaders(c, &token, 1, tag);
        for (int s = 0; s < c->sites; s++)
            if (s != c->site) {
                uint64_t bytes;
                free(receive_taken(c, c->leader[s], tag, &bytes));
            }
        parts_await(sends, c->sites - 1);
    }
    return error ? error : local_broadcast(c, &token, 1, MPI_BYTE, 0);
}

int bcast(struct communicator *c, const struct call *a, int tag) {
    if (c->rank == a->root) {
        MPI_Count size;
        bool dense = type_is_dense(a->receive.type, &size);
        uint64_t bytes = (uint64_t)(size * a->receive.count);
        char *packed = dense ? NULL : type_pack(a->receive.buffer, a->receive.count, a->receive.type, &bytes);
        struct part *sends = send_to_leaders(c, dense ? a->receive.buffer : packed, bytes, tag);
        int error = local_broadcast(c, a->receive.buffer, a->receive.count, a->receive.type, c->local_rank);
        parts_await(sends, c->sites - 1);
        free(packed);
        return error;
    }
    bool here = c->to_local[a->root] >= 0;
    struct operation o = {0};
    if (!here && c->local_rank == 0) {
        operation_begin(&o, c);
        receive_start(&o, a->receive.buffer, a->receive.count, a->receive.type, a->root, tag, c->context + 1);
        await(&o, true);
    }
    int error = local_broadcast(c, a->receive.buffer, a->receive.count, a->receive.type, here ? c->to_local[a->root] : 0);
    return o.error ? o.error : error;
}

/* ---- reductions ---- */

static bool by_sites(const struct communicator *c, MPI_Op op) {
    static int in_rank_order = -1;
    if (in_rank_order < 0)
        in_rank_order = getenv("STEPPE_BRIDGE_REDUCE") && !strcmp(getenv("STEPPE_BRIDGE_REDUCE"), "rankorder");
    int commutes;
    PMPI_Op_commutative(op, &commutes);
    return !in_rank_order && (commutes || c->ordered);
}

static int local_reduce(struct communicator *c, const void *mine, void *to, const struct call *a, int root) {
    return AWAITED(PMPI_Ireduce_c(mine, to, a->receive.count, a->receive.type, a->op, root, c->inner, &awaited), MPI_STATUS_IGNORE);
}

static void *mine_in(const struct call *a) { return a->send.buffer == MPI_IN_PLACE ? a->receive.buffer : a->send.buffer; }

static int reduce_in_rank_order(struct communicator *c, const struct call *a, int tag, bool to_all) {
    uint64_t bytes;
    char *packed = type_pack(mine_in(a), a->receive.count, a->receive.type, &bytes);
    struct blocks b = to_all ? blocks_allgather(c, packed, bytes, tag) : blocks_gather(c, packed, bytes, a->root, tag);
    if (b.n)
        values_put(values_combined(&b, 0, b.n, a), 0, a->receive.buffer, a->receive.count, a);
    blocks_free(&b), free(packed);
    return MPI_SUCCESS;
}

/* Puts the parts of the other sites beside the own one, and combines them in the order of the sites. */
static void combine_sites(struct communicator *c, struct values own, const struct call *a, int tag) {
    struct values *parts = grow(NULL, (size_t)c->sites * sizeof *parts);
    parts[c->site] = own;
    for (int s = 0; s < c->sites; s++) {
        if (s == c->site)
            continue;
        uint64_t bytes;
        char *packed = receive_taken(c, c->leader[s], tag, &bytes);
        parts[s] = values_of(packed, bytes, a);
        free(packed);
    }
    values_put(values_combine(parts, c->sites, a), 0, a->receive.buffer, a->receive.count, a);
}

/* At the root alone, or at all. One rank of each site, the root or its leader, has the part of the site. */
static int reduce_by_sites(struct communicator *c, const struct call *a, int tag, bool to_all) {
    int collector = !to_all && c->to_local[a->root] >= 0 ? c->to_local[a->root] : 0;
    bool collects = c->local_rank == collector;
    struct values own = {0};
    if (collects)
        own.at = type_allocate(a->receive.count, a->receive.type, &own.memory);
    int error = local_reduce(c, mine_in(a), own.at, a, collector);
    if (error)
        return free(own.memory), error;
    bool combines = collects && (to_all || c->rank == a->root), gives = collects && (to_all || !combines);
    uint64_t bytes;
    char *packed = gives ? type_pack(own.at, a->receive.count, a->receive.type, &bytes) : NULL;
    struct part *sends = gives && to_all ? send_to_leaders(c, packed, bytes, tag) : NULL;
    if (combines) {
        combine_sites(c, own, a, tag);
        parts_await(sends, to_all ? c->sites - 1 : 0);
        free(packed);
    } else if (collects) {
        send_owned(c, packed, bytes, a->root, tag);
        free(own.memory);
    }
    return to_all ? local_broadcast(c, a->receive.buffer, a->receive.count, a->receive.type, 0) : MPI_SUCCESS;
}

int reduce(struct communicator *c, const struct call *a, int tag) {
    return (by_sites(c, a->op) ? reduce_by_sites : reduce_in_rank_order)(c, a, tag, false);
}

int allreduce(struct communicator *c, const struct call *a, int tag) {
    return (by_sites(c, a->op) ? reduce_by_sites : reduce_in_rank_order)(c, a, tag, true);
}

int reduce_scatter(struct communicator *c, const struct call *a, int tag) {
    struct call whole = *a;
    MPI_Count before = call_whole(&whole, c->size, c->rank);
    struct values all;
    whole.send.buffer = mine_in(a);
    whole.receive.buffer = all.at = type_allocate(whole.receive.count, a->receive.type, &all.memory);
    int error = allreduce(c, &whole, tag);
    values_put(all, before, a->receive.buffer, side_count(&a->receive, c->rank), a);
    return error;
}

/* Each rank has the values of all, and combines those of the first `n`, from the left. */
static int combine_first(struct communicator *c, const struct call *a, int tag, int n) {
    uint64_t bytes;
    char *packed = type_pack(mine_in(a), a->receive.count, a->receive.type, &bytes);
    struct blocks b = blocks_allgather(c, packed, bytes, tag);
    struct values sum = {0};
    for (int r = 0; r < n; r++) {
        struct values next = values_of(b.at[r], b.sizes[r], a);
        if (r)
            values_reduce(sum.at, next.at, a);
        free(sum.memory);
        sum = next;
    }
    if (n)
        values_put(sum, 0, a->receive.buffer, a->receive.count, a);
    blocks_free(&b), free(packed);
    return MPI_SUCCESS;
}

int scan(struct communicator *c, const struct call *a, int tag) { return combine_first(c, a, tag, c->rank + 1); }
int exscan(struct communicator *c, const struct call *a, int tag) { return combine_first(c, a, tag, c->rank); }

/* ---- gather, scatter, all to all ---- */

/* To the root alone, or to all: what this rank gives, and where it puts what it gets. */
static int collect(struct communicator *c, const struct call *a, int tag, bool to_all) {
    bool in_place = a->send.buffer == MPI_IN_PLACE;
    uint64_t bytes;
    char *packed = in_place ? side_pack(&a->receive, c->rank, &bytes) : side_pack(&a->send, 0, &bytes);
    struct blocks b = to_all ? blocks_allgather(c, packed, bytes, tag) : blocks_gather(c, packed, bytes, a->root, tag);
    int error = MPI_SUCCESS;
    for (int r = 0; r < b.n; r++)
        if (!in_place || r != c->rank)
            error |= side_unpack(&a->receive, r, b.at[r], b.sizes[r]);
    blocks_free(&b), free(packed);
    return error;
}

int gather(struct communicator *c, const struct call *a, int tag) { return collect(c, a, tag, false); }
int allgather(struct communicator *c, const struct call *a, int tag) { return collect(c, a, tag, true); }

int scatter(struct communicator *c, const struct call *a, int tag) {
    struct blocks b = c->rank == a->root ? side_blocks(&a->send, c->size) : (struct blocks){0};
    struct package mine = blocks_scatter(c, &b, a->root, tag);
    int error = a->receive.buffer == MPI_IN_PLACE ? MPI_SUCCESS : side_unpack(&a->receive, 0, mine.data, mine.bytes);
    blocks_free(&b), free(mine.data);
    return error;
}
