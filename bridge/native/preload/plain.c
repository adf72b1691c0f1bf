/* Blocking messages among ranks of one site while other sites may need this rank: non-blocking, with progress meanwhile. Those that have a
 * non-blocking form of their own are not here, but in the wrappers (AWAITED). */
#include "bridge.h"

int plain_Sendrecv(const void *send, MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag, void *receive, MPI_Count receive_count,
                   MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request sent, received;
    int error;
    OR_RETURN(PMPI_Irecv_c(receive, receive_count, receive_type, source, receive_tag, comm, &received));
    if ((error = PMPI_Isend_c(send, send_count, send_type, dest, send_tag, comm, &sent)))
        return PMPI_Cancel(&received), PMPI_Request_free(&received), error;
    error = await_local(&received, status);
    int error_sent = await_local(&sent, MPI_STATUS_IGNORE);
    return error ? error : error_sent;
}

int plain_Sendrecv_replace(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int send_tag, int source, int receive_tag, MPI_Comm comm,
                           MPI_Status *status) {
    void *memory, *copy = type_duplicate(buffer, count, type, &memory);
    int error = plain_Sendrecv(copy, count, type, dest, send_tag, buffer, count, type, source, receive_tag, comm, status);
    free(memory);
    return error;
}

int plain_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    int error = MPI_SUCCESS, flag = 0;
    AWAIT(flag || (error = PMPI_Iprobe(source, tag, comm, &flag, status)) || flag, false);
    return error;
}

int plain_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    int error = MPI_SUCCESS, flag = 0;
    AWAIT(flag || (error = PMPI_Improbe(source, tag, comm, &flag, message, status)) || flag, false);
    return error;
}
