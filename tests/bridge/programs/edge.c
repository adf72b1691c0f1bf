/* A graph in which each rank is a source of its own, and not among its destinations: its exchange cannot be. */
#include <mpi.h>
#include <stddef.h>

int main(void) {
    int rank = 0, give[2] = {1, 1}, got[2] = {0};
    MPI_Comm graph;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, &weight, 0, &rank, &weight, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoall(give, 1, MPI_INT, got, 1, MPI_INT, graph);
    MPI_Finalize();
    return 0;
}
