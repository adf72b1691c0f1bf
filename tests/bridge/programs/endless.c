/* Barriers for ever, after one line. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("begun\n"), fflush(stdout);
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}
