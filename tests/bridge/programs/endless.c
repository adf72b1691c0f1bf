/* Barriers for ever, after one line; then a line each second: how many seconds ago that was. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words) {
    int rank, seconds = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("begun\n"), fflush(stdout);
    for (double begin = MPI_Wtime();; MPI_Barrier(MPI_COMM_WORLD))
        if (rank == 0 && MPI_Wtime() - begin > seconds + 1) {
            seconds = (int)(MPI_Wtime() - begin);
            printf("%d\n", seconds), fflush(stdout);
        }
}
