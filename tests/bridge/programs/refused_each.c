/* Calls each function that is refused, with arguments that mean nothing: REFUSALS is a file of a line for each, made by the test. Rank 0 prints
 * those whose error is another one than it should be, and how many were called.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

static int rank, called, wrong;

static void judge(const char *name, int code, int names_communicator) {
    char text[MPI_MAX_ERROR_STRING] = "", start[200];
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    snprintf(start, sizeof start, "steppe bridge: %s %s not supported", name,
             names_communicator ? "on MPI_COMM_WORLD, which spans the sites a, b, is" : "is");
    called++;
    if (class == MPI_ERR_UNSUPPORTED_OPERATION && !strncmp(text, start, strlen(start)))
        return;
    wrong++;
    if (rank == 0)
        printf("%s: %s\n", name, text);
}

#define ON_WORLD(name, ...) judge(#name, name(__VA_ARGS__), 1);
#define ALWAYS(name, ...) judge(#name, name(__VA_ARGS__), 0);

int main(int count, char **words) {
    int one = 1, sum;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#include REFUSALS
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* all goes on */
    if (rank == 0)
        printf("%d called at %d ranks\n", called, sum);
    MPI_Finalize();
    return wrong != 0;
}
