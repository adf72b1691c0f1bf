/* Rank 0 asks for the last messages first: behind more than it keeps of what no receive asks for. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1000000, FIRST = 280, BETWEEN = 20 };

int main(int count, char **words) {
    int rank, n = 0, wrong = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *bytes = calloc(1, SIZE);
    if (rank == 1) {
        MPI_Request requests[FIRST + 3 * BETWEEN + 4];
        for (int last = 2; last <= 5; last++) {
            for (int i = 0; i < (last == 2 ? FIRST : BETWEEN); i++)
                MPI_Isend(bytes, SIZE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[n++]);
            MPI_Isend(bytes, last, MPI_CHAR, 0, last, MPI_COMM_WORLD, &requests[n++]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Status status;
        MPI_Recv(bytes, SIZE, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &n);
        wrong += n != 2;
        for (int last = 3; last <= 5; last++) {
            MPI_Message message = MPI_MESSAGE_NULL;
            int found = last == 3;
            if (last == 3)
                MPI_Probe(1, last, MPI_COMM_WORLD, &status);
            while (!found)
                if (last == 4)
                    MPI_Iprobe(1, last, MPI_COMM_WORLD, &found, &status);
                else
                    MPI_Improbe(MPI_ANY_SOURCE, last, MPI_COMM_WORLD, &found, &message, &status);
            if (last == 5)
                MPI_Mrecv(bytes, SIZE, MPI_CHAR, &message, &status);
            else
                MPI_Recv(bytes, SIZE, MPI_CHAR, 1, last, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &n);
            wrong += n != last;
        }
        for (int i = 0; i < FIRST + 3 * BETWEEN; i++) {
            MPI_Recv(bytes, SIZE, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &n);
            wrong += n != SIZE || status.MPI_TAG != 1;
        }
        printf("%d wrong\n", wrong);
    }
    MPI_Finalize();
    return wrong != 0;
}
