/* Mistakes in calls between sites: each is an error at all ranks, and the world goes on. What means nothing at a rank is no mistake. */
#include <stdbool.h>

#include "checks.h"

static int size;

static void expect(int line, int code, int wanted) {
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    if (class != wanted && failures++ < 5)
        printf("rank %d, line %d: class %d, not %d\n", rank, line, class, wanted);
}

#define EXPECT(wanted, call) expect(__LINE__, call, wanted)

static void operations(void) {
    double one = rank + 1, other = -1;
    int counts[] = {1, 1, 1, 1};
    MPI_Request request;
    EXPECT(MPI_ERR_OP, MPI_Scan(&one, &other, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_OP, MPI_Exscan(&one, &other, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_OP, MPI_Allreduce(&one, &other, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_OP, MPI_Reduce(&one, &other, 1, MPI_DOUBLE, MPI_BAND, 0, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_OP, MPI_Reduce_scatter(&one, &other, counts, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_OP, MPI_Iallreduce(&one, &other, 1, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD, &request));
}

static void counts_and_types(void) {
    double one = rank + 1, others[4];
    int counts[] = {1, 1, -1, 1}, ones[] = {1, 1, 1, 1}, places[] = {0, 1, 2, 3};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DATATYPE_NULL, MPI_DOUBLE};
    EXPECT(MPI_ERR_COUNT, MPI_Bcast(&one, -1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_COUNT, MPI_Gather(&one, -2, MPI_DOUBLE, others, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_COUNT, MPI_Alltoall(others, -1, MPI_DOUBLE, others, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_COUNT, MPI_Allgatherv(&one, 1, MPI_DOUBLE, others, counts, places, MPI_DOUBLE, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_TYPE, MPI_Alltoallw(others, ones, places, types, others, ones, places, types, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_TYPE, MPI_Allreduce(&one, others, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_ROOT, MPI_Bcast(&one, 1, MPI_DOUBLE, size, MPI_COMM_WORLD));
}

static void messages(void) {
    int there = rank ? 0 : size - 1, value = rank, flag; /* a rank of another site */
    MPI_Request request;
    MPI_Message message;
    EXPECT(MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, there, 1, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_TYPE, MPI_Recv(&value, 1, MPI_DATATYPE_NULL, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_TAG, MPI_Recv_init(&value, 1, MPI_INT, there, -7, MPI_COMM_WORLD, &request));
    EXPECT(MPI_ERR_TAG, MPI_Probe(there, -7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_TAG, MPI_Improbe(there, -7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, there, 2, MPI_COMM_WORLD);
    if (rank == size - 1) {
        MPI_Mprobe(0, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        EXPECT(MPI_ERR_TYPE, MPI_Mrecv(&value, 1, MPI_DATATYPE_NULL, &message, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_COUNT, MPI_Imrecv(&value, -1, MPI_INT, &message, &request));
        EXPECT(MPI_SUCCESS, MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
        failures += value != 0;
    }
}

/* A rank has no room for what it gets. Values of its own site go by the library, whose errors have the handler of the communicator. */
static void too_short(void) {
    double one[8] = {rank}, others[8];
    int last = rank == size - 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, root = rank == 0, sends[8], places[] = {0, 1, 2, 3}, none[] = {0, 0, 0, 0};
    MPI_Request request;
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    EXPECT(root ? MPI_ERR_TRUNCATE : MPI_SUCCESS, MPI_Gather(one, 2, MPI_DOUBLE, others, 1, MPI_DOUBLE, 0, comm));
    EXPECT(last, MPI_Scatter(one, 2, MPI_DOUBLE, others, 2 - (last != MPI_SUCCESS), MPI_DOUBLE, 0, comm));
    for (int r = 0; r < size; r++)
        sends[r] = rank == 0 && r == size - 1;
    EXPECT(last, MPI_Alltoallv(one, sends, none, MPI_DOUBLE, others, none, places, MPI_DOUBLE, comm));
    MPI_Iallgather(one, 2, MPI_DOUBLE, others, 2 - (last != MPI_SUCCESS), MPI_DOUBLE, comm, &request);
    EXPECT(last, MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int r = 0; r < size; r++)
        sends[r] = rank == 0 && r == 1;
    int code = MPI_Alltoallv(one, sends, none, MPI_DOUBLE, others, none, places, MPI_DOUBLE, comm);
    failures += (code == MPI_SUCCESS) != (rank != 1);
    bool sender = rank == size - 1; /* the lowest rank of the other site has an error; the next one does not wait for it */
    EXPECT(root ? MPI_ERR_TRUNCATE : MPI_SUCCESS, MPI_Bcast(one, 1 + sender, MPI_DOUBLE, size - 1, comm));
    MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void topologies(void) {
    int beyond = size + 3, one = 1, negative = -1, values[4], next = (rank + 1) % size, index[] = {1, 2, 3}, edges[] = {1, 2, beyond};
    MPI_Comm comm, part;
    MPI_Request request;
    EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, negative, &one, &one, 0, &comm));
    EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){1 << 16, 1 << 16}, (int[]){0, 0}, 0, &comm));
    EXPECT(MPI_ERR_RANK, MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
    EXPECT(MPI_ERR_RANK, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &beyond, &one, MPI_INFO_NULL, 0, &comm));
    EXPECT(MPI_ERR_RANK, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &next, &one, 1, &beyond, &one, MPI_INFO_NULL, 0,
                                                        &comm));
    EXPECT(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&rank, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD));
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, 0, &part);
    EXPECT(MPI_ERR_RANK, MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, beyond, 1, &comm));
    EXPECT(MPI_ERR_RANK, MPI_Intercomm_create(part, beyond, MPI_COMM_WORLD, next, 1, &comm));
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 1 ? 0 : 1, 1, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    EXPECT(MPI_ERR_COMM, MPI_Scan(&rank, values, 1, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COMM, MPI_Iexscan(&rank, values, 1, MPI_INT, MPI_SUM, comm, &request));
    MPI_Comm_free(&comm);
    MPI_Comm_free(&part);
}

static void no_mistakes(void) {
    int value = rank, all[] = {rank, rank, rank, rank}, sum = -1, root = rank == 0, wanted = size * (size - 1) / 2;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    MPI_Request request;
    EXPECT(MPI_SUCCESS, MPI_Gather(&value, 1, MPI_INT, all, root ? 1 : -1, root ? MPI_INT : none, 0, MPI_COMM_WORLD));
    failures += root && all[size - 1] != size - 1;
    EXPECT(MPI_SUCCESS, MPI_Igather(root ? MPI_IN_PLACE : &value, root ? -1 : 1, root ? none : MPI_INT, all, 1, root ? MPI_INT : none, 0,
                                    MPI_COMM_WORLD, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(MPI_SUCCESS, MPI_Scatter(all, root ? 1 : -1, root ? MPI_INT : none, root ? MPI_IN_PLACE : &value, root ? -1 : 1,
                                    root ? none : MPI_INT, 0, MPI_COMM_WORLD));
    EXPECT(MPI_SUCCESS, MPI_Allgather(MPI_IN_PLACE, -1, none, all, 1, MPI_INT, MPI_COMM_WORLD));
    EXPECT(MPI_SUCCESS, MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
#ifndef MPICH_VERSION /* MPICH takes any datatype beside a count of 0 */
    none = MPI_INT;
#endif
    int no_counts[4] = {0};
    MPI_Datatype no_types[] = {none, none, none, none};
    EXPECT(MPI_SUCCESS, MPI_Alltoallw(&value, no_counts, no_counts, no_types, all, no_counts, no_counts, no_types, MPI_COMM_WORLD));
    failures += value != rank || all[0] != 0 || sum != wanted;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    operations(), counts_and_types(), messages(), too_short(), topologies(), no_mistakes();
    return finished();
}
