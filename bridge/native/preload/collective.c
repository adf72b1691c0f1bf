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
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "calls.h"

/* ---- barrier and broadcast ---- */

int barrier(struct communicator *c, const struct call *a, int tag) {
    (void)a;
    char token = 0;
    int error = local_barrier(c);
    if (!error && c->local_rank == 0) {
        struct operation *sends = post_to_leaders(c, &token, 1, tag);
        for (int s = 0; s < c->sites; s++)
            if (s != c->site) {
                uint64_t bytes;
                free(receive_taken(c, c->leader[s], tag, &bytes));
            }
        await_to_leaders(c, sends);
    }
    return error ? error : local_broadcast(c, &token, 1, MPI_BYTE, 0);
}

int broadcast(struct communicator *c, const struct call *a, int tag) {
    if (c->rank == a->root) {
        MPI_Count size;
        bool dense = type_is_dense(a->receive_type, &size);
        uint64_t bytes = (uint64_t)(size * a->receive_count);
        char *packed = dense ? NULL : type_pack(a->receive, a->receive_count, a->receive_type, &bytes);
        struct operation *sends = post_to_leaders(c, dense ? a->receive : packed, bytes, tag);
        int error = local_broadcast(c, a->receive, a->receive_count, a->receive_type, c->local_rank);
        await_to_leaders(c, sends);
        free(packed);
        return error;
    }
    bool here = c->to_local[a->root] >= 0;
    struct operation o = {0};
    if (!here && c->local_rank == 0) {
        operation_begin(&o, c);
        receive_start(&o, a->receive, a->receive_count, a->receive_type, a->root, tag, c->context + 1);
        await(&o, true);
    }
    int error = local_broadcast(c, a->receive, a->receive_count, a->receive_type, here ? c->to_local[a->root] : 0);
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
    MPI_Request request;
    if (c->inner == MPI_COMM_NULL) {
        type_copy(mine, a->receive_count, a->receive_type, to);
        return MPI_SUCCESS;
    }
    int error = PMPI_Ireduce_c(mine, to, a->receive_count, a->receive_type, a->op, root, c->inner, &request);
    return error ? error : await_local(&request, MPI_STATUS_IGNORE);
}

static const void *mine_in(const struct call *a) { return a->send == MPI_IN_PLACE ? a->receive : a->send; }

/* At the root alone, or at all. */
static int reduce_in_rank_order(struct communicator *c, const struct call *a, int tag, bool to_all) {
    uint64_t bytes;
    char *packed = type_pack(mine_in(a), a->receive_count, a->receive_type, &bytes);
    struct blocks b = to_all ? blocks_allgather(c, packed, bytes, tag) : blocks_gather(c, packed, bytes, a->root, tag);
    struct values *parts = b.n ? grow(NULL, (size_t)b.n * sizeof *parts) : NULL;
    for (int r = 0; r < b.n; r++)
        parts[r] = values_of(b.at[r], b.sizes[r], a);
    if (b.n)
        values_put(values_combine(parts, b.n, a), 0, a->receive, a->receive_count, a);
    blocks_free(&b), free(packed);
    return MPI_SUCCESS;
}

/* Collects the parts of the other sites beside the own one, and combines them in the order of the sites. */
static struct values of_sites(struct communicator *c, struct values own, const struct call *a, int tag) {
    struct values *parts = grow(NULL, (size_t)c->sites * sizeof *parts);
    for (int s = 0; s < c->sites; s++) {
        if (s == c->site) {
            parts[s] = own;
            continue;
        }
        uint64_t bytes;
        char *packed = receive_taken(c, c->leader[s], tag, &bytes);
        parts[s] = values_of(packed, bytes, a);
        free(packed);
    }
    return values_combine(parts, c->sites, a);
}

int reduce(struct communicator *c, const struct call *a, int tag) {
    if (!by_sites(c, a->op))
        return reduce_in_rank_order(c, a, tag, false);
    bool root = c->rank == a->root, here = c->to_local[a->root] >= 0, collects = here ? root : c->local_rank == 0;
    struct values own = {0};
    if (collects)
        own.at = type_allocate(a->receive_count, a->receive_type, &own.memory);
    int error = local_reduce(c, mine_in(a), own.at, a, here ? c->to_local[a->root] : 0);
    if (error || !collects)
        return free(own.memory), error;
    if (root)
        values_put(of_sites(c, own, a, tag), 0, a->receive, a->receive_count, a);
    else {
        uint64_t bytes;
        char *packed = type_pack(own.at, a->receive_count, a->receive_type, &bytes);
        send_owned(c, packed, bytes, a->root, tag, c->context + 1);
        free(own.memory);
    }
    return MPI_SUCCESS;
}

int allreduce(struct communicator *c, const struct call *a, int tag) {
    if (!by_sites(c, a->op))
        return reduce_in_rank_order(c, a, tag, true);
    uint64_t bytes;
    struct values own = {0};
    if (c->local_rank == 0)
        own.at = type_allocate(a->receive_count, a->receive_type, &own.memory);
    int error = local_reduce(c, mine_in(a), own.at, a, 0);
    if (!error && c->local_rank == 0) {
        char *packed = type_pack(own.at, a->receive_count, a->receive_type, &bytes);
        struct operation *sends = post_to_leaders(c, packed, bytes, tag);
        values_put(of_sites(c, own, a, tag), 0, a->receive, a->receive_count, a);
        await_to_leaders(c, sends);
        free(packed);
    }
    return error ? error : local_broadcast(c, a->receive, a->receive_count, a->receive_type, 0);
}

int reduce_scatter(struct communicator *c, const struct call *a, int tag) {
    struct call whole = *a;
    MPI_Count before = call_whole(&whole, c->size, c->rank);
    struct values all;
    whole.send = mine_in(a);
    whole.receive = all.at = type_allocate(whole.receive_count, a->receive_type, &all.memory);
    int error = allreduce(c, &whole, tag);
    values_put(all, before, a->receive, call_receive_count(a, c->rank), a);
    return error;
}

/* Each rank has the values of all, and combines those before it, from the left. */
int scan(struct communicator *c, const struct call *a, int tag) {
    uint64_t bytes;
    char *packed = type_pack(mine_in(a), a->receive_count, a->receive_type, &bytes);
    struct blocks b = blocks_allgather(c, packed, bytes, tag);
    int n = c->rank + a->inclusive;
    struct values sum = {0};
    for (int r = 0; r < n; r++) {
        struct values next = values_of(b.at[r], b.sizes[r], a);
        if (r)
            values_reduce(sum.at, next.at, a);
        free(sum.memory);
        sum = next;
    }
    if (n)
        values_put(sum, 0, a->receive, a->receive_count, a);
    blocks_free(&b), free(packed);
    return MPI_SUCCESS;
}

/* ---- gather, scatter, all to all ---- */

/* To the root alone, or to all: what this rank gives, and where it puts what it gets. */
static int collect(struct communicator *c, const struct call *a, int tag, bool to_all) {
    bool in_place = a->send == MPI_IN_PLACE;
    uint64_t bytes;
    char *packed = in_place ? type_pack(call_receive_place(a, c->rank), call_receive_count(a, c->rank), a->receive_type, &bytes)
                            : type_pack(a->send, a->send_count, a->send_type, &bytes);
    struct blocks b = to_all ? blocks_allgather(c, packed, bytes, tag) : blocks_gather(c, packed, bytes, a->root, tag);
    int error = MPI_SUCCESS;
    for (int r = 0; r < b.n; r++)
        if (!in_place || r != c->rank)
            error |= call_unpack(a, r, b.at[r], b.sizes[r]);
    blocks_free(&b), free(packed);
    return error;
}

int gather(struct communicator *c, const struct call *a, int tag) { return collect(c, a, tag, false); }
int allgather(struct communicator *c, const struct call *a, int tag) { return collect(c, a, tag, true); }

int scatter(struct communicator *c, const struct call *a, int tag) {
    struct blocks b = {0};
    if (c->rank == a->root) {
        blocks_allocate(&b, c->size);
        b.packages = b.n;
        b.package = grow(NULL, (size_t)b.n * sizeof *b.package);
        for (int r = 0; r < b.n; r++)
            b.at[r] = b.package[r] = type_pack(call_send_place(a, r), call_send_count(a, r), a->send_type, &b.sizes[r]);
    }
    struct package mine = blocks_scatter(c, &b, a->root, tag);
    int error = a->receive == MPI_IN_PLACE ? MPI_SUCCESS : type_unpack(mine.data, mine.bytes, a->receive, a->receive_count, a->receive_type);
    blocks_free(&b), free(mine.data);
    return error;
}
