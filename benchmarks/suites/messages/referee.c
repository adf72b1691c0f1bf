/* Messages timed by a plain C program with the method of the OSU micro-benchmarks (osu_latency, osu_bw, osu_allreduce, osu_barrier):
 *
 *     latency    half of a round trip of blocking messages between ranks 0 and 1, the mean of all
 *     bandwidth  64 non-blocking messages under way, then a short answer; the time of one of the 64
 *     allreduce  each timed alone, a barrier after each; the mean of all calls and all ranks
 *     barrier    each timed alone; the mean of all calls and all ranks
 *
 * referee ITERATIONS REPEATS: prints a line for each, its name and REPEATS means in seconds. Point to point with two ranks only.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WINDOW = 64, LARGE = 1 << 20, PAGE = 4096, TAG = 7 };

static int rank, size;
static char *sent, *received;

/* Bytes on small pages, touched. */
static char *buffer(size_t length)
{
    void *found = NULL;

    if (posix_memalign(&found, PAGE, length) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    madvise(found, length, MADV_NOHUGEPAGE);
    memset(found, 1, length);
    return found;
}

static double latency(int bytes, int iterations)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        if (rank == 0) {
            MPI_Send(sent, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(received, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(received, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(sent, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begin) / (2.0 * iterations);
}

static double bandwidth(int bytes, int iterations)
{
    MPI_Request requests[WINDOW];
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        for (int j = 0; j < WINDOW; j++) {
            if (rank == 0)
                MPI_Isend(sent, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(received, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(received, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(sent, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / ((double)iterations * WINDOW);
}

static double mean_of_ranks(double own)
{
    double total = 0.0;

    MPI_Reduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return total / size;
}

static double allreduce(int bytes, int iterations)
{
    double total = 0.0, begin;

    for (int i = 0; i < iterations; i++) {
        begin = MPI_Wtime();
        MPI_Allreduce(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return mean_of_ranks(total / iterations);
}

static double barrier(int bytes, int iterations)
{
    double total = 0.0, begin;

    (void)bytes;
    for (int i = 0; i < iterations; i++) {
        begin = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
        total += MPI_Wtime() - begin;
    }
    return mean_of_ranks(total / iterations);
}

static void report(const char *name, double (*measure)(int, int), int bytes, int iterations, int repeats)
{
    if (rank == 0)
        printf("%s", name);
    measure(bytes, iterations); /* warm-up */
    for (int i = 0; i < repeats; i++) {
        double mean = measure(bytes, iterations);

        if (rank == 0)
            printf(" %.9e", mean);
    }
    if (rank == 0)
        printf("\n");
}

int main(int argc, char **argv)
{
    int iterations = argc == 3 ? atoi(argv[1]) : 0, repeats = argc == 3 ? atoi(argv[2]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (iterations < 1 || repeats < 1 || size < 2) {
        if (rank == 0)
            fprintf(stderr, "usage, on two ranks or more: referee ITERATIONS REPEATS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    sent = buffer(LARGE);
    received = buffer(LARGE);
    if (size == 2) {
        report("latency0", latency, 0, iterations, repeats);
        report("latency8", latency, 8, iterations, repeats);
        report("bandwidth", bandwidth, LARGE, iterations / 1000 + 1, repeats);
    }
    report("allreduce", allreduce, 8, iterations, repeats);
    report("barrier", barrier, 0, iterations, repeats);
    MPI_Finalize();
    return 0;
}
