/* Collectives of neighbours: each rank sends to its destinations and receives from its sources, in their order. */
#include <stdlib.h>

#include "blocks.h"
#include "calls.h"
#include "topology.h"

struct part { /* one neighbour's */
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

/* What is sent down a dimension of a Cartesian topology comes from above: that decides where both neighbours are one rank (MPI 4.1, 8.6). */
static int source_of_turn(const struct communicator *c, int i) { return c->topology->kind == MPI_CART ? i ^ 1 : i; }

static int exchange(struct communicator *c, const struct call *a, int tag, bool same) {
    int *sources, *dests, m, n = topology_neighbors(c, &sources, &dests, &m), locals = 0, own = 0, error = MPI_SUCCESS;
    struct part *parts = grow(NULL, (size_t)m * sizeof *parts);
    MPI_Request *local = grow(NULL, (size_t)(n + m) * sizeof *local);
    for (int i = 0; i < m; i++) {
        struct part *p = &parts[i];
        p->peer = dests[i];
        p->packed = same ? type_pack(a->send, a->send_count, a->send_type, &p->bytes)
                         : type_pack(call_send_place(a, i), call_send_count(a, i), call_send_type(a, i), &p->bytes);
        if (is_there(c, p->peer))
            post_bytes(&p->send, c, p->packed, p->bytes, p->peer, tag);
        else if (is_here(c, p->peer) && p->peer != c->rank)
            local[locals++] = local_start(c, p->packed, p->bytes, c->to_local[p->peer], tag, true);
    }
    for (int k = 0; k < n; k++) {
        int i = source_of_turn(c, k);
        if (sources[i] == c->rank) {
            struct part *p = to_itself(c, parts, m, own++);
            error |= call_unpack(a, i, p->packed, p->bytes);
        } else if (is_here(c, sources[i]))
            PMPI_Irecv_c(call_receive_place(a, i), call_receive_count(a, i), call_receive_type(a, i), c->to_local[sources[i]], tag, c->inner,
                         &local[locals++]);
    }
    for (int k = 0; k < n; k++) {
        int i = source_of_turn(c, k);
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
    free(sources), free(dests), free(parts), free(local);
    return error ? error : error_here;
}

int neighbor_allgather(struct communicator *c, const struct call *a, int tag) { return exchange(c, a, tag, true); }
int neighbor_alltoall(struct communicator *c, const struct call *a, int tag) { return exchange(c, a, tag, false); }
