/* Times of collective operations on the machine that SimGrid simulates: a line "operation,n,p,t" each, of the rank that takes longest.
 *
 * Nothing disturbs such a machine: each operation is done once. Ranks leave the barrier before it at different times, so they rest and
 * begin on the same whole second.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ALL MPI_COMM_WORLD
enum { SMALLEST = 8, LARGEST = 1 << 18 };

static char *sent, *received;

static void broadcast(int n) { MPI_Bcast(sent, n, MPI_BYTE, 0, ALL); }
static void scatter(int n) { MPI_Scatter(sent, n, MPI_BYTE, received, n, MPI_BYTE, 0, ALL); }
static void gather(int n) { MPI_Gather(sent, n, MPI_BYTE, received, n, MPI_BYTE, 0, ALL); }
static void allgather(int n) { MPI_Allgather(sent, n, MPI_BYTE, received, n, MPI_BYTE, ALL); }
static void total_exchange(int n) { MPI_Alltoall(sent, n, MPI_BYTE, received, n, MPI_BYTE, ALL); }
static void reduction(int n) { MPI_Reduce(sent, received, n / 8, MPI_DOUBLE, MPI_SUM, 0, ALL); }
static void allreduce(int n) { MPI_Allreduce(sent, received, n / 8, MPI_DOUBLE, MPI_SUM, ALL); }
static void scan(int n) { MPI_Scan(sent, received, n / 8, MPI_DOUBLE, MPI_SUM, ALL); }
static void barrier(int n) { (void)n, MPI_Barrier(ALL); }

static const struct {
    const char *name;
    void (*run)(int n);
} operations[] = {
    {"broadcast", broadcast}, {"scatter", scatter}, {"gather", gather},
    {"allgather", allgather}, {"total exchange", total_exchange}, {"reduction", reduction},
    {"allreduce", allreduce}, {"scan", scan},
};

/* Does an operation and prints its line. */
static void measure(const char *name, void (*run)(int), int n)
{
    MPI_Barrier(ALL);
    double rest = ceil(MPI_Wtime()) + 1.0 - MPI_Wtime();
    struct timespec time = {(time_t)rest, (long)(1e9 * fmod(rest, 1.0))};
    nanosleep(&time, NULL);
    double start = MPI_Wtime();
    run(n);
    double taken = MPI_Wtime() - start, longest = 0.0;
    MPI_Reduce(&taken, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, ALL);
    int rank, p;
    MPI_Comm_rank(ALL, &rank);
    MPI_Comm_size(ALL, &p);
    if (rank == 0)
        printf("%s,%d,%d,%.9e\n", name, n, p, longest);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int p;
    MPI_Comm_size(ALL, &p);
    sent = calloc(p, LARGEST);
    received = calloc(p, LARGEST);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        for (int n = SMALLEST; n <= LARGEST; n *= 2) {
            measure(operations[i].name, operations[i].run, n);
            if (n > SMALLEST && n < LARGEST)
                measure(operations[i].name, operations[i].run, n / 2 * 3);
        }
    }
    measure("barrier", barrier, 0);
    MPI_Finalize();
}
