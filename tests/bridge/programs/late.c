/* Rank 0 asks for the last messages first: behind more than it keeps of what no receive asks for. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1000000, FIRST = 280, BETWEEN = 10 };

int main(int count, char **words) {
    int rank, n = 0, wrong = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *bytes = calloc(1, SIZE);
    if (rank == 1) {
        MPI_Request requests[FIRST + BETWEEN + 2];
        for (int i = 0; i < FIRST; i++)
            MPI_Isend(bytes, SIZE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Isend(bytes, 2, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[n++]);
        for (int i = 0; i < BETWEEN; i++)
            MPI_Isend(bytes, SIZE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Isend(bytes, 3, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &requests[n++]);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Status status;
        MPI_Recv(bytes, SIZE, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &n);
        wrong += n != 2;
        MPI_Probe(1, 3, MPI_COMM_WORLD, &status);
        MPI_Recv(bytes, SIZE, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &n);
        wrong += n != 3;
        for (int i = 0; i < FIRST + BETWEEN; i++) {
            MPI_Recv(bytes, SIZE, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &n);
            wrong += n != SIZE || status.MPI_TAG != 1;
        }
        printf("%d wrong\n", wrong);
    }
    MPI_Finalize();
    return wrong != 0;
}
