/* Collectives along edges: each rank sends to its destinations and receives from its sources, in their order. All to all has an edge from each
 * rank to each. */
#include "calls.h"
#include "topology.h"

struct edges {
    int n, m, *sources, *dests; /* how many of each */
    bool crossed;               /* what is sent down a dimension comes from above: that decides where both neighbours are one rank (MPI 4.1, 8.6) */
};

static int exchange(struct communicator *c, const struct call *a, int tag, const struct edges *edges, bool same) {
    bool in_place = a->send.buffer == MPI_IN_PLACE;
    struct part *parts = grow(NULL, (size_t)edges->m * sizeof *parts);
    char **packed = grow(NULL, (size_t)edges->m * sizeof *packed);
    int sent = 0, to_itself = 0, error = MPI_SUCCESS;
    uint64_t bytes;
    for (int i = 0; i < edges->m; i++) {
        if (edges->dests[i] == MPI_PROC_NULL)
            continue;
        packed[sent] = in_place ? side_pack(&a->receive, i, &bytes) : side_pack(&a->send, same ? 0 : i, &bytes);
        part_send(&parts[sent], c, packed[sent], bytes, edges->dests[i], tag);
        to_itself += edges->dests[i] == c->rank;
        sent++;
    }
    for (int k = 0; k < edges->n; k++) {
        int i = k ^ edges->crossed;
        if (edges->sources[i] == MPI_PROC_NULL)
            continue;
        if (edges->sources[i] == c->rank && to_itself-- == 0)
            stop("rank %d of the world has an edge to itself in its sources that is not in its destinations.", world.rank);
        char *block = part_receive(c, edges->sources[i], tag, &bytes);
        error |= side_unpack(&a->receive, i, block, bytes);
        free(block);
    }
    parts_await(parts, sent);
    while (sent)
        free(packed[--sent]);
    free(packed);
    return error;
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
