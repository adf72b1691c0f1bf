/* For programs that count what is wrong at each rank. */
#include <mpi.h>
#include <stdio.h>

static int rank, failures;

#define CHECK(what)                                                       \
    do                                                                    \
        if (!(what) && failures++ < 5)                                    \
            printf("rank %d, line %d: not %s\n", rank, __LINE__, #what);  \
    while (0)

/* Prints the failures of all ranks and ends MPI; returns what `main` returns. */
static int finished(void) {
    int all;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", all);
    MPI_Finalize();
    return all != 0;
}
