/* Blocking messages among ranks of one site while other sites may need this rank: non-blocking, with progress meanwhile. */
#include <stdlib.h>

#include "bridge.h"

#define SEND(NAME, STARTED)                                                                                                       \
    int plain_##NAME(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {         \
        MPI_Request request;                                                                                             \
        int error = PMPI_##STARTED##_c(buffer, count, type, dest, tag, comm, &request);                                    \
        return error ? error : await_local(&request, MPI_STATUS_IGNORE);                                                 \
    }

SEND(Send, Isend)
SEND(Ssend, Issend)
SEND(Rsend, Irsend)

int plain_Recv(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request request;
    int error = PMPI_Irecv_c(buffer, count, type, source, tag, comm, &request);
    return error ? error : await_local(&request, status);
}

int plain_Sendrecv(const void *send, MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag, void *receive, MPI_Count receive_count,
                   MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request sent, received;
    int error;
    OR_RETURN(PMPI_Irecv_c(receive, receive_count, receive_type, source, receive_tag, comm, &received));
    if ((error = PMPI_Isend_c(send, send_count, send_type, dest, send_tag, comm, &sent))) {
        PMPI_Cancel(&received), PMPI_Request_free(&received);
        return error;
    }
    error = await_local(&received, status);
    int error_sent = await_local(&sent, MPI_STATUS_IGNORE);
    return error ? error : error_sent;
}

int plain_Sendrecv_replace(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int send_tag, int source, int receive_tag, MPI_Comm comm,
                           MPI_Status *status) {
    void *memory, *copy = type_allocate(count, type, &memory);
    type_copy(buffer, count, type, copy);
    int error = plain_Sendrecv(copy, count, type, dest, send_tag, buffer, count, type, source, receive_tag, comm, status);
    free(memory);
    return error;
}

#define PROBE(CALL)                          \
    for (int turn = 0, flag = 0;; turn++) {  \
        int error = CALL;                    \
        if (error || flag)                   \
            return error;                    \
        progress();                          \
        idle(turn, false);                   \
    }

int plain_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) { PROBE(PMPI_Iprobe(source, tag, comm, &flag, status)) }

int plain_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    PROBE(PMPI_Improbe(source, tag, comm, &flag, message, status))
}
