/* Every other rank sends MEGABYTES to rank 0, which receives nothing before SECONDS have passed; prints its greatest memory [MB]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int peak(void) {
    char line[200];
    int kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "VmHWM:", 6))
            kilobytes = atoi(line + 6);
    fclose(status);
    return kilobytes / 1000;
}

int main(int count, char **words) {
    enum { SIZE = 1000000 };
    int rank, size, wrong = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int messages = atoi(words[1]), before = peak(), flag;
    char *bytes = malloc(SIZE);
    memset(bytes, rank, SIZE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double until = MPI_Wtime() + atof(words[2]);
        while (MPI_Wtime() < until)
            MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        int waiting = peak() - before;
        for (int i = 0; i < messages * (size - 1); i++) {
            MPI_Status status;
            MPI_Recv(bytes, SIZE, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            wrong += bytes[SIZE - 1] != status.MPI_SOURCE;
        }
        printf("%d MB, %d wrong\n", waiting, wrong);
    } else
        for (int i = 0; i < messages; i++)
            MPI_Send(bytes, SIZE, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
