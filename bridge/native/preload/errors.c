/* Errors by name, through the handler of the communicator. */
#include <stdarg.h>

#include "bridge.h"

static bool is_fatal(MPI_Comm handle) {
    int started;
    PMPI_Initialized(&started);
    if (!started)
        return true; /* MPI_Session_init is called without MPI_Init */
    MPI_Errhandler handler;
    PMPI_Comm_get_errhandler(handle, &handler);
    bool fatal = handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT;
    PMPI_Errhandler_free(&handler);
    return fatal;
}

void inherit_handler(MPI_Comm from, MPI_Comm to) {
    MPI_Errhandler handler;
    PMPI_Comm_get_errhandler(from, &handler);
    PMPI_Comm_set_errhandler(to, handler);
    PMPI_Errhandler_free(&handler);
}

/* Raises an error of the library as `code`, which it returns if the handler returns. */
int fail_as(struct communicator *c, int error, int code) {
    if (is_fatal(c->handle)) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length;
        PMPI_Error_string(error, text, &length);
        stop("rank %d of the world: %s", world.rank, text);
    }
    PMPI_Comm_call_errhandler(c->handle, code);
    return code;
}

/* The errors that the bridge has raised. MPICH 4.0 loses the text of a code that is added to one of its own classes. */
static struct known { int class, code; char *text; } *known;
static int n_known;

static int code_of(int error_class, const char *text) {
    for (int i = 0; i < n_known; i++)
        if (known[i].class == error_class && !strcmp(known[i].text, text))
            return known[i].code;
    int code;
    if (PMPI_Add_error_code(error_class, &code))
        return error_class;
    PMPI_Add_error_string(code, text);
    PUSH(known, n_known, ((struct known){error_class, code, strdup(text)}));
    return code;
}

int bridge_Error_string(int code, char *text, int *length) {
    for (int i = 0; i < n_known; i++)
        if (known[i].code == code)
            return *length = sprintf(text, "%s", known[i].text), MPI_SUCCESS;
    return PMPI_Error_string(code, text, length);
}

int fail(const struct communicator *c, int error_class, const char *format, ...) {
    char text[MPI_MAX_ERROR_STRING] = "steppe bridge: ";
    size_t start = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + start, sizeof text - start, format, arguments);
    va_end(arguments);
    MPI_Comm handle = c ? c->handle : MPI_COMM_SELF;
    if (is_fatal(handle))
        stop_with(EXIT_CALL, "%s", text + start);
    int code = code_of(error_class, text);
    PMPI_Comm_call_errhandler(handle, code);
    return code;
}

/* Beside a count of 0 MPICH takes MPI_DATATYPE_NULL, Open MPI does not. */
#ifdef OPEN_MPI
#define NEEDS_TYPE(count) true
#else
#define NEEDS_TYPE(count) (count)
#endif

int values_checked(const struct communicator *c, MPI_Count count, MPI_Datatype type) {
    if (count < 0)
        return fail(c, MPI_ERR_COUNT, "the count %lld is negative.", (long long)count);
    return NEEDS_TYPE(count) && type == MPI_DATATYPE_NULL ? fail(c, MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL.") : MPI_SUCCESS;
}

int ranks_checked(const struct communicator *c, int n, const int *ranks, int size) {
    for (int i = 0; i < n; i++)
        if (ranks[i] != MPI_PROC_NULL && (ranks[i] < 0 || ranks[i] >= size))
            return fail(c, MPI_ERR_RANK, "the rank %d is not one of a group of %d ranks.", ranks[i], size);
    return MPI_SUCCESS;
}

int bridge_refuse(const char *function, struct communicator *c) {
    char name[MPI_MAX_OBJECT_NAME + 1] = "", sites[256] = "";
    int length;
    PMPI_Comm_get_name(c->handle, name, &length);
    c = c->merged ? c->merged : c;
    for (int s = 0; s < c->sites; s++) {
        size_t used = strlen(sites);
        snprintf(sites + used, sizeof sites - used, "%s%s", s ? ", " : "", world.names[world.site_of[c->world[c->leader[s]]]]);
    }
    return fail(c, MPI_ERR_UNSUPPORTED_OPERATION,
                "%s on %s, which spans the sites %s, is not supported. Use a communicator of MPI_Comm_split_type, or run at one site.", function,
                name[0] ? name : "a communicator", sites);
}

int bridge_refuse_always(const char *function) {
    return fail(NULL, MPI_ERR_UNSUPPORTED_OPERATION, "%s is not supported between sites. Run at one site.", function);
}
