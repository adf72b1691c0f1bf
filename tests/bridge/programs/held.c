/* Receives from any source while both a long message of the own site and short ones of another come. The library may have matched the long one,
 * which it then has not got yet: the first short one waits for the end of that, and those behind it wait, too, so that their order holds.
 * Two ranks at the first site, one at the second.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LENGTH = 4 << 20, SHORT = 5, ROUNDS = 12 };

static int rank, failures;

#define CHECK(what)                                                            \
    do                                                                         \
        if (!(what) && failures++ < 5)                                         \
            printf("round %d, line %d: not %s\n", round, __LINE__, #what);     \
    while (0)

/* Two receives from any source, the others from rank 2 and from any in turn, the last one posted when all have come. */
static void receive(int round, int *memory) {
    MPI_Request requests[SHORT + 1];
    MPI_Status statuses[SHORT + 1];
    int next = 0, longs = 0, found;
    for (int i = 0; i < SHORT; i++)
        MPI_Irecv(memory + (size_t)i * LENGTH, LENGTH, MPI_INT, i % 2 && i > 1 ? 2 : MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (double until = MPI_Wtime() + 0.01; MPI_Wtime() < until;)
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE); /* so that all goes on */
    MPI_Irecv(memory + (size_t)SHORT * LENGTH, LENGTH, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[SHORT]);
    MPI_Waitall(SHORT + 1, requests, statuses);
    for (int i = 0; i <= SHORT; i++) {
        int *got = memory + (size_t)i * LENGTH, values;
        MPI_Get_count(&statuses[i], MPI_INT, &values);
        if (statuses[i].MPI_SOURCE == 1) {
            longs++;
            CHECK(values == LENGTH && got[0] == round && got[LENGTH - 1] == round + LENGTH - 1);
        } else
            CHECK(values == 1 && statuses[i].MPI_SOURCE == 2 && got[0] == next++);
    }
    CHECK(longs == 1 && next == SHORT);
}

/* Strided, since the receiver can fetch others by itself: the library sends it while the program is in MPI. */
static void send_long(int round, int *memory) {
    MPI_Request request;
    MPI_Datatype strided;
    MPI_Type_vector(LENGTH, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < LENGTH; i++)
        memory[2 * i] = round + i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(memory, 1, strided, 0, 1, MPI_COMM_WORLD, &request);
    usleep((useconds_t)(round % 3) * 15000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&strided);
}

static void send_short(int round) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep((useconds_t)(round % 4) * 1500);
    for (int i = 0; i < SHORT; i++)
        i % 2 ? MPI_Ssend(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD) : MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *memory = malloc((SHORT + 1) * (size_t)LENGTH * sizeof *memory);
    for (int round = 0; round < ROUNDS; round++)
        rank == 0 ? receive(round, memory) : rank == 1 ? send_long(round, memory) : send_short(round);
    if (rank == 0)
        printf("%d failures\n", failures);
    MPI_Finalize();
    return failures != 0;
}
