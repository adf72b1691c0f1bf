/* The calls of collectives: blocking, non-blocking and persistent forms of one description each. */
#include "bridge.h"
#include "topology.h"

/* Checks what the library would check, and is never asked. */
static int check_root(struct communicator *c, int root) {
    if (c->merged && (root == MPI_ROOT || root == MPI_PROC_NULL || (root >= 0 && root < c->peers)))
        return MPI_SUCCESS;
    return root >= 0 && root < c->size ? MPI_SUCCESS : fail(c, MPI_ERR_ROOT, "the root %d is not one of a communicator of %d ranks.", root, c->size);
}

/* How many counts a call holds: only a root has some, and neighbours are as many as they are. */
void collective_lengths(struct communicator *c, collective *run, const struct call *a, int *sources, int *dests) {
    bool rooted = run == gather || run == scatter, root = a->root == MPI_ROOT || (!c->merged && a->root == c->rank);
    *sources = *dests = rooted && !root ? 0 : run == reduce_scatter ? c->size : c->peers;
    if (run == neighbor_allgather || run == neighbor_alltoall)
        *sources = topology_degrees(c, dests);
}

static int run(struct communicator *c, collective *what, const struct call *call) {
    int error = collective_run(c, what, call);
    return error ? fail_plain(c, error) : MPI_SUCCESS;
}

/* NAME, its function, its parameters, a check, the description. */
#define FORMS(NAME, INAME, INIT, RUN, PARAMETERS, CHECK, ...)                                                                               \
    int bridge_##NAME(struct communicator *c PARAMETERS) {                                                                                 \
        int error = CHECK;                                                                                                                 \
        return error ? error : run(c, RUN, &(struct call){__VA_ARGS__});                                                                   \
    }                                                                                                                                      \
    int bridge_##INAME(struct communicator *c PARAMETERS, MPI_Request *request) {                                                          \
        int error = CHECK;                                                                                                                 \
        return error ? error : collective_start(c, RUN, &(struct call){__VA_ARGS__}, request);                                             \
    }                                                                                                                                      \
    int bridge_##INIT(struct communicator *c PARAMETERS, MPI_Info info, MPI_Request *request) {                                     \
        int error = CHECK;                                                                                                                 \
        (void)info;                                                                                                                        \
        return error ? error : collective_persistent(c, RUN, &(struct call){__VA_ARGS__}, request);                                        \
    }

#define P(...) , __VA_ARGS__

FORMS(Barrier, Ibarrier, Barrier_init, barrier, , MPI_SUCCESS, 0)

FORMS(Bcast, Ibcast, Bcast_init, broadcast, P(void *buffer, MPI_Count count, MPI_Datatype type, int root), check_root(c, root), .receive = buffer,
      .receive_count = count, .receive_type = type, .root = root)

FORMS(Reduce, Ireduce, Reduce_init, reduce, P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root), check_root(c, root),
      .send = send, .receive = receive, .receive_count = count, .receive_type = type, .op = op, .root = root)

FORMS(Allreduce, Iallreduce, Allreduce_init, allreduce, P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op), MPI_SUCCESS,
      .send = send, .receive = receive, .receive_count = count, .receive_type = type, .op = op)

FORMS(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, reduce_scatter, P(const void *send, void *receive, struct vector counts, MPI_Datatype type, MPI_Op op),
      MPI_SUCCESS, .send = send, .receive = receive, .receive_counts = counts, .receive_type = type, .op = op)

FORMS(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, reduce_scatter,
      P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op), MPI_SUCCESS, .send = send, .receive = receive,
      .receive_count = count, .receive_type = type, .op = op)

FORMS(Scan, Iscan, Scan_init, scan, P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op), MPI_SUCCESS, .send = send,
      .receive = receive, .receive_count = count, .receive_type = type, .op = op, .inclusive = true)

FORMS(Exscan, Iexscan, Exscan_init, scan, P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op), MPI_SUCCESS, .send = send,
      .receive = receive, .receive_count = count, .receive_type = type, .op = op)

#define BOTH const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive
#define SENT .send = send, .send_count = send_count, .send_type = send_type, .receive = receive

FORMS(Gather, Igather, Gather_init, gather, P(BOTH, MPI_Count count, MPI_Datatype type, int root), check_root(c, root), SENT, .receive_count = count,
      .receive_type = type, .root = root)

FORMS(Gatherv, Igatherv, Gatherv_init, gather, P(BOTH, struct vector counts, struct vector places, MPI_Datatype type, int root), check_root(c, root), SENT,
      .receive_counts = counts, .receive_places = places, .receive_type = type, .root = root)

FORMS(Scatter, Iscatter, Scatter_init, scatter, P(BOTH, MPI_Count count, MPI_Datatype type, int root), check_root(c, root), SENT, .receive_count = count,
      .receive_type = type, .root = root)

FORMS(Scatterv, Iscatterv, Scatterv_init, scatter,
      P(const void *send, struct vector counts, struct vector places, MPI_Datatype send_type, void *receive, MPI_Count count, MPI_Datatype type, int root),
      check_root(c, root), .send = send, .send_counts = counts, .send_places = places, .send_type = send_type, .receive = receive,
      .receive_count = count, .receive_type = type, .root = root)

FORMS(Allgather, Iallgather, Allgather_init, allgather, P(BOTH, MPI_Count count, MPI_Datatype type), MPI_SUCCESS, SENT, .receive_count = count,
      .receive_type = type)

FORMS(Allgatherv, Iallgatherv, Allgatherv_init, allgather, P(BOTH, struct vector counts, struct vector places, MPI_Datatype type), MPI_SUCCESS, SENT,
      .receive_counts = counts, .receive_places = places, .receive_type = type)

FORMS(Alltoall, Ialltoall, Alltoall_init, alltoall, P(BOTH, MPI_Count count, MPI_Datatype type), MPI_SUCCESS, SENT, .receive_count = count,
      .receive_type = type)

#define VECTORS(TYPE)                                                                                                                      \
    P(const void *send, struct vector send_counts, struct vector send_places, TYPE(send), void *receive, struct vector counts,              \
      struct vector places, TYPE(receive))
#define ONE(side) MPI_Datatype side##_type
#define MANY(side) const MPI_Datatype side##_types[]

FORMS(Alltoallv, Ialltoallv, Alltoallv_init, alltoall, VECTORS(ONE), MPI_SUCCESS, .send = send, .send_counts = send_counts, .send_places = send_places,
      .send_type = send_type, .receive = receive, .receive_counts = counts, .receive_places = places, .receive_type = receive_type)

FORMS(Alltoallw, Ialltoallw, Alltoallw_init, alltoall, VECTORS(MANY), MPI_SUCCESS, .send = send, .send_counts = send_counts, .send_places = send_places,
      .send_types = send_types, .receive = receive, .receive_counts = counts, .receive_places = places, .receive_types = receive_types,
      .bytes_places = true)

/* ---- neighbours ---- */

FORMS(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, neighbor_allgather, P(BOTH, MPI_Count count, MPI_Datatype type),
      MPI_SUCCESS, SENT, .receive_count = count, .receive_type = type)

FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, neighbor_allgather,
      P(BOTH, struct vector counts, struct vector places, MPI_Datatype type), MPI_SUCCESS, SENT, .receive_counts = counts,
      .receive_places = places, .receive_type = type)

FORMS(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, neighbor_alltoall, P(BOTH, MPI_Count count, MPI_Datatype type),
      MPI_SUCCESS, SENT, .receive_count = count, .receive_type = type)

FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, neighbor_alltoall, VECTORS(ONE), MPI_SUCCESS, .send = send,
      .send_counts = send_counts, .send_places = send_places, .send_type = send_type, .receive = receive, .receive_counts = counts,
      .receive_places = places, .receive_type = receive_type)

#define WIDE(places) (struct vector){.wide = (const MPI_Count *)(places)}

FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, neighbor_alltoall,
      P(const void *send, struct vector send_counts, const MPI_Aint send_places[], const MPI_Datatype send_types[], void *receive,
        struct vector counts, const MPI_Aint places[], const MPI_Datatype receive_types[]),
      MPI_SUCCESS, .send = send, .send_counts = send_counts, .send_places = WIDE(send_places), .send_types = send_types, .receive = receive,
      .receive_counts = counts, .receive_places = WIDE(places), .receive_types = receive_types, .bytes_places = true)
