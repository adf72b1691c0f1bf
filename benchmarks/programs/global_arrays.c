/* Gather and scatter with addition by Global Arrays, and MPI_Get with one flush: rank 0 prints "gather NS", "accumulate NS" and "get NS"
   an element for each round, and how much of what was added is lost.

   global_arrays LENGTH ELEMENTS ROUNDS */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double elapsed(double begin, int n) {
    double seconds = MPI_Wtime() - begin, most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most / n * 1e9;
}

int main(int argc, char **argv) {
    int length = atoi(argv[1]), n = atoi(argv[2]), rounds = atoi(argv[3]), rank;
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 30000000, 30000000); /* without it a gather aborts */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int array = NGA_Create(C_DBL, 1, &length, "y", NULL);
    GA_Zero(array);
    double *values = malloc(n * sizeof *values), one = 1.0;
    int *index = malloc(n * sizeof *index), **subscripts = malloc(n * sizeof *subscripts);
    unsigned long state = 12345 + rank;
    for (int k = 0; k < n; k++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        index[k] = (int)((state >> 33) % (unsigned long)length);
        subscripts[k] = &index[k];
        values[k] = 1.0;
    }
    int ranks, part;
    double *own;
    MPI_Win window;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    part = length / ranks;
    MPI_Win_allocate(part * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
    for (int k = 0; k < part; k++) own[k] = 1.0;
    for (int round = 0; round <= rounds; round++) {
        GA_Sync();
        double begin = MPI_Wtime();
        NGA_Gather(array, values, subscripts, n);
        double gather = elapsed(begin, n);
        for (int k = 0; k < n; k++) values[k] = 1.0;
        GA_Sync();
        begin = MPI_Wtime();
        NGA_Scatter_acc(array, values, subscripts, n, &one);
        double accumulate = elapsed(begin, n);
        GA_Sync();
        begin = MPI_Wtime();
        MPI_Win_lock_all(0, window);
        for (int k = 0; k < n; k++) MPI_Get(&values[k], 1, MPI_DOUBLE, index[k] / part, index[k] % part, 1, MPI_DOUBLE, window);
        MPI_Win_flush_all(window);
        MPI_Win_unlock_all(window);
        double get = elapsed(begin, n);
        if (rank == 0 && round > 0) printf("gather %g\naccumulate %g\nget %g\n", gather, accumulate, get);
    }
    GA_Sync();
    double total, *whole = NULL;
    if (rank == 0) {
        int low = 0, high = length - 1, stride = length;
        whole = malloc(length * sizeof *whole);
        NGA_Get(array, &low, &high, whole, &stride);
        total = 0.0;
        for (int k = 0; k < length; k++) total += whole[k];
        printf("lost %g\n", (double)(rounds + 1) * n * ranks - total);
    }
    GA_Sync();
    MPI_Win_free(&window);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
