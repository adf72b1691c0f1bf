/* The calls of collectives: blocking, non-blocking and persistent forms of one description each. */
#include "calls.h"
#include "topology.h"

static bool reduces(collective *run) { return run == reduce || run == allreduce || run == reduce_scatter || run == scan || run == exscan; }

void collective_lengths(struct communicator *c, collective *run, const struct call *a, int *sources, int *dests) {
    bool root = a->root == (c->merged ? MPI_ROOT : c->rank), member = !c->merged || a->root >= 0, nothing = run == barrier || run == duplicate;
    bool takes = run == gather                       ? root
                 : run == scatter                    ? member && a->receive.buffer != MPI_IN_PLACE
                 : run == bcast || run == reduce ? root || member
                                                     : !nothing;
    bool gives = run == gather ? member : run == scatter ? root : run != bcast && !reduces(run) && !nothing;
    *sources = !takes ? 0 : run == reduce_scatter ? c->size : c->peers;
    *dests = gives && a->send.buffer != MPI_IN_PLACE ? c->peers : 0;
    if (run == neighbor_allgather || run == neighbor_alltoall)
        *sources = topology_degrees(c, dests);
}

static int check_side(struct communicator *c, int n, const struct side *s) {
    bool many = s->counts.narrow || s->counts.wide || s->types;
    int error = MPI_SUCCESS;
    for (int i = 0; i < (many ? n : n > 0) && !error; i++)
        error = values_checked(c, side_count(s, i), side_type(s, i));
    return error;
}

/* The library says whether an operation fits a datatype: asked for no values, by a communicator of this rank alone. */
static int check_operation(struct communicator *c, const struct call *a) {
    char nothing;
    int error = PMPI_Allreduce(MPI_IN_PLACE, &nothing, 0, a->receive.type, a->op, communicator_alone()), class;
    if (!error)
        return MPI_SUCCESS;
    PMPI_Error_class(error, &class);
    return fail(c, class, "the library of this site refuses the operation for the datatype.");
}

/* Checks what the library would check, and is never asked, before anything is sent: no rank waits for one that has an error. */
int collective_checked(struct communicator *c, collective *run, const struct call *a) {
    int sources, dests, error;
    bool rooted = run == bcast || run == reduce || run == gather || run == scatter;
    if (rooted && (a->root < 0 || a->root >= c->peers) && !(c->merged && (a->root == MPI_ROOT || a->root == MPI_PROC_NULL)))
        return fail(c, MPI_ERR_ROOT, "the root %d is not one of a communicator of %d ranks.", a->root, c->peers);
    if ((run == scan || run == exscan) && c->merged)
        return fail(c, MPI_ERR_COMM, "an intercommunicator has no scan.");
    if ((run == neighbor_allgather || run == neighbor_alltoall) && !c->topology)
        return fail(c, MPI_ERR_TOPOLOGY, "the communicator has no topology.");
    collective_lengths(c, run, a, &sources, &dests);
    error = check_side(c, sources, &a->receive);
    error = error ? error : check_side(c, dests, &a->send);
    return error || !sources || !reduces(run) ? error : check_operation(c, a);
}

int collective_call(struct communicator *c, collective *run, const struct call *call) {
    int error = collective_run(c, run, call);
    return error ? fail_as(c, error, error) : MPI_SUCCESS;
}

int gather_ints(struct communicator *c, const int *mine, int n, int *all) {
    const struct call call = {.send = {.buffer = (void *)mine, .count = n, .type = MPI_INT}, .receive = {.buffer = all, .count = n, .type = MPI_INT}};
    return collective_run(c, allgather, &call);
}
