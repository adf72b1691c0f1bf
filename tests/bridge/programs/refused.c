/* What the bridge does not serve on a communicator of several sites, and what goes on inside one. With a word, errors are fatal: by
 * MPI_ERRORS_ARE_FATAL, or with "abort" by MPI_ERRORS_ABORT. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, wrong;

static void expect(const char *name, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    wrong += class != MPI_ERR_UNSUPPORTED_OPERATION || !strstr(text, name);
    if (rank == 0)
        printf("%s %s\n", name, text);
}

int main(int count, char **words) {
    MPI_Win window;
    MPI_File file;
    MPI_Comm site, children;
    int size, *memory, value = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (count == 1)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    else if (!strcmp(words[1], "abort"))
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    expect("MPI_Win_allocate", MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    expect("MPI_Win_create", MPI_Win_create(&value, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    expect("MPI_File_open", MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    expect("MPI_Comm_spawn", MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &site);
    MPI_Comm_size(site, &size);
    MPI_Win_allocate(4, 4, MPI_INFO_NULL, site, &memory, &window);
    MPI_Win_fence(0, window);
    int one = rank + 1;
    MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Comm_free(&site);
    if (rank == 0)
        printf("inside a site of %d\n", size);
    MPI_Finalize();
    return wrong != 0;
}
