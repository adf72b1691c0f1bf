/* What collectives keep while they are under way: datatypes that the program has freed, and stacks for its operations. For three ranks. */
#include <string.h>
#include <unistd.h>

#include "checks.h"

enum { RANKS = 3, MANY = 20, STACK = 2 << 20 };

static MPI_Datatype every_other(int n, MPI_Datatype of) {
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 2, of, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Frees a datatype, and makes others that may take its handle. */
static void replace(MPI_Datatype *type, MPI_Datatype *others) {
    MPI_Type_free(type);
    for (int i = 0; i < MANY; i++)
        others[i] = every_other(2, MPI_DOUBLE);
}

static void free_all(MPI_Datatype *types) {
    for (int i = 0; i < MANY; i++)
        MPI_Type_free(&types[i]);
}

static void persistent(void) {
    int given[] = {rank, -1, rank + 1, -1, rank + 2, -1}, got[3 * RANKS];
    MPI_Datatype type = every_other(3, MPI_INT), others[MANY];
    MPI_Request request;
    MPI_Allgather_init(given, 1, type, got, 3, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    replace(&type, others);
    for (int turn = 0; turn < 2; turn++) {
        memset(got, -1, sizeof got);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3 * RANKS; i++)
            CHECK(got[i] == i / 3 + i % 3);
    }
    MPI_Request_free(&request);
    free_all(others);
}

/* The last rank comes late, so that the exchange begins when its datatypes have been freed. */
static void under_way(void) {
    int given[6 * RANKS], got[3 * RANKS], one[] = {1, 1, 1}, three[] = {3, 3, 3}, from[] = {0, 24, 48}, to[] = {0, 12, 24};
    MPI_Datatype type = every_other(3, MPI_INT), others[MANY], types[] = {type, type, type}, integers[] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Request requests[2];
    for (int i = 0; i < 6 * RANKS; i++)
        given[i] = 100 * rank + i;
    if (rank == RANKS - 1)
        usleep(200000);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Ialltoallw(given, one, from, types, got, three, to, integers, MPI_COMM_WORLD, &requests[1]);
    replace(&type, others);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3 * RANKS; i++)
        CHECK(got[i] == 100 * (i / 3) + 6 * rank + 2 * (i % 3));
    free_all(others);
}

static void add(void *in, void *out, int *n, MPI_Datatype *type) {
    volatile char much[STACK];
    (void)type;
    for (int i = 0; i < STACK; i += 4096)
        much[i] = 1;
    for (int i = 0; i < *n; i++)
        ((int *)out)[i] += ((int *)in)[i] + much[0] - 1;
}

static void operation(void) {
    int sum = 0;
    MPI_Op op;
    MPI_Request request;
    MPI_Op_create(add, 1, &op);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == RANKS * (RANKS - 1) / 2);
    MPI_Op_free(&op);
}

static long resident(void) { /* [KiB] */
    long pages[2];
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(fscanf(file, "%ld %ld", &pages[0], &pages[1]) == 2);
    fclose(file);
    return pages[1] * (sysconf(_SC_PAGESIZE) / 1024);
}

static void many(void) {
    long before = 0;
    for (int i = 0; i < 2500; i++) {
        MPI_Request request;
        before = i == 500 ? resident() : before;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(resident() - before < 150);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    persistent(), under_way(), operation(), many();
    return finished();
}
