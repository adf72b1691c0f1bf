/* Takes from rank 1 of the world what the word names. */
#include <mpi.h>
#include <string.h>

int main(int count, char **words) {
    int values[2] = {0};
    MPI_Comm between;
    MPI_Init(&count, &words);
    if (!strcmp(words[1], "message"))
        MPI_Recv(values, 2, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(words[1], "blocks"))
        MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD);
    else
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1, 5, &between);
    MPI_Finalize();
    return 0;
}
