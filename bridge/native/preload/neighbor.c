/* Collectives along edges: each rank sends to its destinations and receives from its sources, in their order. All to all has an edge from each
 * rank to each. */
#include <stdlib.h>

#include "blocks.h"
#include "calls.h"
#include "topology.h"

struct edges {
    int n, m, *sources, *dests; /* how many of each */
    bool crossed;               /* what is sent down a dimension comes from above: that decides where both neighbours are one rank (MPI 4.1, 8.6) */
};

struct part { /* one destination's */
    struct operation send;
    char *packed;
    uint64_t bytes;
    int peer;
};

static bool is_here(const struct communicator *c, int peer) { return peer != MPI_PROC_NULL && c->to_local[peer] >= 0; }
static bool is_there(const struct communicator *c, int peer) { return peer != MPI_PROC_NULL && c->to_local[peer] < 0; }

/* An edge from this rank to itself: the k-th source that is this rank belongs to the k-th destination that is. */
static struct part *to_itself(const struct communicator *c, struct part *parts, int n, int k) {
    for (int i = 0; i < n; i++)
        if (parts[i].peer == c->rank && k-- == 0)
            return &parts[i];
    stop("rank %d of the world has an edge to itself in its sources that is not in its destinations.", world.rank);
}

static int exchange(struct communicator *c, const struct call *a, int tag, const struct edges *edges, bool same) {
    bool in_place = a->send == MPI_IN_PLACE;
    int n = edges->n, m = edges->m, *sources = edges->sources, locals = 0, own = 0, error = MPI_SUCCESS;
    struct part *parts = grow(NULL, (size_t)m * sizeof *parts);
    MPI_Request *local = grow(NULL, (size_t)(n + m) * sizeof *local);
    for (int i = 0; i < m; i++) {
        struct part *p = &parts[i];
        p->peer = edges->dests[i];
        p->packed = in_place ? type_pack(call_receive_place(a, i), call_receive_count(a, i), call_receive_type(a, i), &p->bytes)
                    : same ? type_pack(a->send, a->send_count, a->send_type, &p->bytes)
                           : type_pack(call_send_place(a, i), call_send_count(a, i), call_send_type(a, i), &p->bytes);
        if (is_there(c, p->peer))
            post_bytes(&p->send, c, p->packed, p->bytes, p->peer, tag);
        else if (is_here(c, p->peer) && p->peer != c->rank)
            local[locals++] = local_start(c, p->packed, p->bytes, c->to_local[p->peer], tag, true);
    }
    for (int k = 0; k < n; k++) {
        int i = k ^ edges->crossed;
        if (sources[i] == c->rank) {
            struct part *p = to_itself(c, parts, m, own++);
            error |= call_unpack(a, i, p->packed, p->bytes);
        } else if (is_here(c, sources[i]))
            PMPI_Irecv_c(call_receive_place(a, i), call_receive_count(a, i), call_receive_type(a, i), c->to_local[sources[i]], tag, c->inner,
                         &local[locals++]);
    }
    for (int k = 0; k < n; k++) {
        int i = k ^ edges->crossed;
        if (is_there(c, sources[i])) {
            uint64_t bytes;
            char *block = receive_taken(c, sources[i], tag, &bytes);
            error |= call_unpack(a, i, block, bytes);
            free(block);
        }
    }
    int error_here = await_locals(locals, local);
    for (int i = 0; i < m; i++) {
        if (is_there(c, parts[i].peer))
            await(&parts[i].send, true);
        free(parts[i].packed);
    }
    free(parts), free(local);
    return error ? error : error_here;
}

static int along_topology(struct communicator *c, const struct call *a, int tag, bool same) {
    struct edges edges = {.crossed = c->topology->kind == MPI_CART};
    edges.n = topology_neighbors(c, &edges.sources, &edges.dests, &edges.m);
    int error = exchange(c, a, tag, &edges, same);
    free(edges.sources), free(edges.dests);
    return error;
}

int neighbor_allgather(struct communicator *c, const struct call *a, int tag) { return along_topology(c, a, tag, true); }
int neighbor_alltoall(struct communicator *c, const struct call *a, int tag) { return along_topology(c, a, tag, false); }

int alltoall(struct communicator *c, const struct call *a, int tag) {
    int *ranks = grow(NULL, (size_t)c->size * sizeof *ranks);
    for (int r = 0; r < c->size; r++)
        ranks[r] = r;
    int error = exchange(c, a, tag, &(struct edges){c->size, c->size, ranks, ranks, false}, false);
    free(ranks);
    return error;
}
