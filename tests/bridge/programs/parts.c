/* Topologies of some ranks, and intercommunicators of parts: some lie at one site, some span both. For four ranks, three of them at one site. */
#include <string.h>

#include "checks.h"

/* A ring of the first n ranks as a graph. */
static void graph(int n) {
    int index[4], edges[8], kind, nodes, count, got[2], me, neighbors[2];
    MPI_Comm ring;
    for (int i = 0; i < n; i++)
        index[i] = 2 * (i + 1), edges[2 * i] = (i + n - 1) % n, edges[2 * i + 1] = (i + 1) % n;
    MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, 0, &ring);
    CHECK((ring != MPI_COMM_NULL) == (rank < n));
    if (ring == MPI_COMM_NULL)
        return;
    MPI_Topo_test(ring, &kind);
    MPI_Graphdims_get(ring, &nodes, &count);
    CHECK(kind == MPI_GRAPH && nodes == n && count == 2 * n);
    MPI_Comm_rank(ring, &me);
    MPI_Graph_neighbors(ring, me, 2, neighbors);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring);
    CHECK(me == rank && neighbors[0] == (rank + n - 1) % n && got[0] == neighbors[0] && got[1] == (rank + 1) % n);
    MPI_Comm_free(&ring);
}

static void line(int n) {
    int kind, below, above, wraps = 0;
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &wraps, 0, &line);
    CHECK((line != MPI_COMM_NULL) == (rank < n));
    if (line == MPI_COMM_NULL)
        return;
    MPI_Topo_test(line, &kind);
    MPI_Cart_shift(line, 0, 1, &below, &above);
    CHECK(kind == MPI_CART && below == (rank ? rank - 1 : MPI_PROC_NULL) && above == (rank < n - 1 ? rank + 1 : MPI_PROC_NULL));
    MPI_Comm_free(&line);
}

static int has_handler(MPI_Comm comm, MPI_Errhandler wanted) {
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(comm, &handler);
    int same = handler == wanted;
    MPI_Errhandler_free(&handler);
    return same;
}

/* Even and odd ranks; then of each group a half: 0 and 1 are at one site, 2 and 3 are not. The handler of the parent is inherited. */
static void between(void) {
    MPI_Comm group, inter, half, merged;
    int mine, other = -1, size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
    MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    CHECK(has_handler(inter, MPI_ERRORS_RETURN));
    MPI_Comm_split(inter, rank / 2, rank, &half);
    CHECK(has_handler(half, MPI_ERRORS_RETURN));
    MPI_Comm_remote_size(half, &size);
    mine = rank + 10;
    MPI_Sendrecv(&mine, 1, MPI_INT, 0, 3, &other, 1, MPI_INT, 0, 3, half, MPI_STATUS_IGNORE);
    CHECK(size == 1 && other == (rank ^ 1) + 10);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_ARE_FATAL);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    CHECK(has_handler(merged, MPI_ERRORS_RETURN));
    MPI_Comm_free(&merged);
    MPI_Intercomm_merge(half, rank % 2, &merged);
    CHECK(has_handler(merged, MPI_ERRORS_ARE_FATAL));
    MPI_Comm_free(&merged), MPI_Comm_free(&half), MPI_Comm_free(&inter), MPI_Comm_free(&group);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int n = 1; n <= 4; n++)
        graph(n), line(n);
    between();
    return finished();
}
