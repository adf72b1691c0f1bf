/* The calls of collectives: blocking, non-blocking and persistent forms of one description each. */
#include "bridge.h"
#include "topology.h"

static bool reduces(collective *run) { return run == reduce || run == allreduce || run == reduce_scatter || run == scan; }

void collective_lengths(struct communicator *c, collective *run, const struct call *a, int *sources, int *dests) {
    bool root = a->root == (c->merged ? MPI_ROOT : c->rank), member = !c->merged || a->root >= 0, nothing = run == barrier || run == duplicate;
    bool takes = run == gather                       ? root
                 : run == scatter                    ? member && a->receive != MPI_IN_PLACE
                 : run == broadcast || run == reduce ? root || member
                                                     : !nothing;
    bool gives = run == gather ? member : run == scatter ? root : run != broadcast && !reduces(run) && !nothing;
    *sources = !takes ? 0 : run == reduce_scatter ? c->size : c->peers;
    *dests = gives && a->send != MPI_IN_PLACE ? c->peers : 0;
    if (run == neighbor_allgather || run == neighbor_alltoall)
        *sources = topology_degrees(c, dests);
}

static int check_side(struct communicator *c, int n, struct vector counts, MPI_Count count, const MPI_Datatype *types, MPI_Datatype type) {
    bool many = counts.narrow || counts.wide;
    int error = MPI_SUCCESS;
    for (int i = 0; i < (many || types ? n : n > 0) && !error; i++)
        error = values_checked(c, many ? at(counts, i) : count, types ? types[i] : type);
    return error;
}

/* The library says whether an operation fits a datatype: asked for no values, by a communicator of this rank alone. */
static int check_operation(struct communicator *c, const struct call *a) {
    char nothing;
    int error = PMPI_Allreduce(MPI_IN_PLACE, &nothing, 0, a->receive_type, a->op, communicator_alone()), class;
    if (!error)
        return MPI_SUCCESS;
    PMPI_Error_class(error, &class);
    return fail(c, class, "the library of this site refuses the operation for the datatype.");
}

/* Checks what the library would check, and is never asked, before anything is sent: no rank waits for one that has an error. */
static int check(struct communicator *c, collective *run, const struct call *a) {
    int sources, dests, error;
    bool rooted = run == broadcast || run == reduce || run == gather || run == scatter;
    if (rooted && (a->root < 0 || a->root >= c->peers) && !(c->merged && (a->root == MPI_ROOT || a->root == MPI_PROC_NULL)))
        return fail(c, MPI_ERR_ROOT, "the root %d is not one of a communicator of %d ranks.", a->root, c->peers);
    if (run == scan && c->merged)
        return fail(c, MPI_ERR_COMM, "an intercommunicator has no scan.");
    if ((run == neighbor_allgather || run == neighbor_alltoall) && !c->topology)
        return fail(c, MPI_ERR_TOPOLOGY, "the communicator has no topology.");
    collective_lengths(c, run, a, &sources, &dests);
    error = check_side(c, sources, a->receive_counts, a->receive_count, a->receive_types, a->receive_type);
    error = error ? error : check_side(c, dests, a->send_counts, a->send_count, a->send_types, a->send_type);
    return error || !sources || !reduces(run) ? error : check_operation(c, a);
}

static int run(struct communicator *c, collective *what, const struct call *call) {
    OR_RETURN(check(c, what, call));
    int error = collective_run(c, what, call);
    return error ? fail_as(c, error, error) : MPI_SUCCESS;
}

static int begin(struct communicator *c, collective *what, const struct call *call, MPI_Request *request) {
    OR_RETURN(check(c, what, call));
    return collective_start(c, what, call, request);
}

static int prepare(struct communicator *c, collective *what, const struct call *call, MPI_Request *request) {
    OR_RETURN(check(c, what, call));
    return collective_persistent(c, what, call, request);
}

/* NAME, its function, its parameters, the description. */
#define FORMS(NAME, INAME, INIT, RUN, PARAMETERS, ...)                                                                                      \
    int bridge_##NAME(struct communicator *c PARAMETERS) { return run(c, RUN, &(struct call){__VA_ARGS__}); }                              \
    int bridge_##INAME(struct communicator *c PARAMETERS, MPI_Request *request) {                                                          \
        return begin(c, RUN, &(struct call){__VA_ARGS__}, request);                                                                        \
    }                                                                                                                                      \
    int bridge_##INIT(struct communicator *c PARAMETERS, MPI_Info info, MPI_Request *request) {                                            \
        (void)info;                                                                                                                        \
        return prepare(c, RUN, &(struct call){__VA_ARGS__}, request);                                                                      \
    }

#define P(...) , __VA_ARGS__

FORMS(Barrier, Ibarrier, Barrier_init, barrier, , 0)

FORMS(Bcast, Ibcast, Bcast_init, broadcast, P(void *buffer, MPI_Count count, MPI_Datatype type, int root), .receive = buffer,
      .receive_count = count, .receive_type = type, .root = root)

FORMS(Reduce, Ireduce, Reduce_init, reduce, P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root),
      .send = send, .receive = receive, .receive_count = count, .receive_type = type, .op = op, .root = root)

FORMS(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, reduce_scatter, P(const void *send, void *receive, struct vector counts, MPI_Datatype type, MPI_Op op),
      .send = send, .receive = receive, .receive_counts = counts, .receive_type = type, .op = op)

#define REDUCTION P(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op)
#define REDUCED .send = send, .receive = receive, .receive_count = count, .receive_type = type, .op = op

FORMS(Allreduce, Iallreduce, Allreduce_init, allreduce, REDUCTION, REDUCED)
FORMS(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, reduce_scatter, REDUCTION, REDUCED)
FORMS(Scan, Iscan, Scan_init, scan, REDUCTION, REDUCED, .inclusive = true)
FORMS(Exscan, Iexscan, Exscan_init, scan, REDUCTION, REDUCED)

#define BOTH const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive
#define SENT .send = send, .send_count = send_count, .send_type = send_type, .receive = receive

FORMS(Gather, Igather, Gather_init, gather, P(BOTH, MPI_Count count, MPI_Datatype type, int root), SENT, .receive_count = count,
      .receive_type = type, .root = root)

FORMS(Gatherv, Igatherv, Gatherv_init, gather, P(BOTH, struct vector counts, struct vector places, MPI_Datatype type, int root), SENT,
      .receive_counts = counts, .receive_places = places, .receive_type = type, .root = root)

FORMS(Scatter, Iscatter, Scatter_init, scatter, P(BOTH, MPI_Count count, MPI_Datatype type, int root), SENT, .receive_count = count,
      .receive_type = type, .root = root)

FORMS(Scatterv, Iscatterv, Scatterv_init, scatter,
      P(const void *send, struct vector counts, struct vector places, MPI_Datatype send_type, void *receive, MPI_Count count, MPI_Datatype type, int root),
      .send = send, .send_counts = counts, .send_places = places, .send_type = send_type, .receive = receive,
      .receive_count = count, .receive_type = type, .root = root)

#define EQUAL P(BOTH, MPI_Count count, MPI_Datatype type)
#define EQUAL_BLOCKS SENT, .receive_count = count, .receive_type = type
#define OWN P(BOTH, struct vector counts, struct vector places, MPI_Datatype type)
#define OWN_BLOCKS SENT, .receive_counts = counts, .receive_places = places, .receive_type = type

FORMS(Allgather, Iallgather, Allgather_init, allgather, EQUAL, EQUAL_BLOCKS)
FORMS(Allgatherv, Iallgatherv, Allgatherv_init, allgather, OWN, OWN_BLOCKS)
FORMS(Alltoall, Ialltoall, Alltoall_init, alltoall, EQUAL, EQUAL_BLOCKS)
FORMS(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, neighbor_allgather, EQUAL, EQUAL_BLOCKS)
FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, neighbor_allgather, OWN, OWN_BLOCKS)
FORMS(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, neighbor_alltoall, EQUAL, EQUAL_BLOCKS)

#define VECTORS(TYPE)                                                                                                                      \
    P(const void *send, struct vector send_counts, struct vector send_places, TYPE(send), void *receive, struct vector counts,              \
      struct vector places, TYPE(receive))
#define ONE(side) MPI_Datatype side##_type
#define MANY(side) const MPI_Datatype side##_types[]

#define GIVEN .send = send, .send_counts = send_counts, .receive = receive, .receive_counts = counts
#define ONE_TYPE GIVEN, .send_places = send_places, .send_type = send_type, .receive_places = places, .receive_type = receive_type

FORMS(Alltoallv, Ialltoallv, Alltoallv_init, alltoall, VECTORS(ONE), ONE_TYPE)
FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, neighbor_alltoall, VECTORS(ONE), ONE_TYPE)

FORMS(Alltoallw, Ialltoallw, Alltoallw_init, alltoall, VECTORS(MANY), GIVEN, .send_places = send_places, .send_types = send_types,
      .receive_places = places, .receive_types = receive_types, .bytes_places = true)

#define WIDE(places) (struct vector){.wide = (const MPI_Count *)(places)}

FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, neighbor_alltoall,
      P(const void *send, struct vector send_counts, const MPI_Aint send_places[], const MPI_Datatype send_types[], void *receive,
        struct vector counts, const MPI_Aint places[], const MPI_Datatype receive_types[]),
      GIVEN, .send_places = WIDE(send_places), .send_types = send_types, .receive_places = WIDE(places), .receive_types = receive_types,
      .bytes_places = true)
