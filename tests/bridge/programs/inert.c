/* Says what it received; the same with a preloaded bridge that has no site to join. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, sent[4], received[4], sum, many, *limit, flag, colour_rank;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm part, copy;
    MPI_Group group;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++)
        sent[i] = 10 * rank + i;
    MPI_Irecv(received, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, 4, MPI_INT, (rank + 1) % size, rank, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &many);
    MPI_Allreduce(&received[3], &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, rank % 2, -rank, &part);
    MPI_Comm_group(part, &group);
    MPI_Group_rank(group, &colour_rank);
    MPI_Comm_get_attr(copy, MPI_TAG_UB, &limit, &flag);
    MPI_Group_free(&group);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
    for (int turn = 0; turn < size; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn == rank)
            printf("%d of %d: %d from %d, tag %d, sum %d, place %d, %d\n", rank, size, many, statuses[0].MPI_SOURCE, statuses[0].MPI_TAG, sum,
                   colour_rank, flag);
        fflush(stdout);
    }
    MPI_Finalize();
    return 7;
}
