/* MPI_Recv, MPI_Irecv, MPI_Sendrecv and their kin, on communicators that span sites. */
#include "bridge.h"

int receive_checked(struct communicator *c, int source, int tag, MPI_Count count, MPI_Datatype type) {
    OR_RETURN(ranks_checked(c, source != MPI_ANY_SOURCE, &source, c->peers));
    if (tag != MPI_ANY_TAG && (tag < 0 || tag > TAG_LIMIT))
        return fail(c, MPI_ERR_TAG, "the tag %d is not between 0 and %d.", tag, TAG_LIMIT);
    return values_checked(c, count, type);
}

static bool only_local(const struct communicator *c, int source) { return source != MPI_ANY_SOURCE && !is_remote(c, source); }

static int start_send(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Request *request) {
    OR_RETURN(send_checked(c, dest, tag, count, type));
    return is_remote(c, dest) ? send_begin(c, buffer, count, type, dest, tag, SEND_STANDARD, request)
                              : PMPI_Isend_c(buffer, count, type, local_of(c, dest), tag, c->handle, request);
}

int bridge_Recv(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Status *status) {
    OR_RETURN(receive_checked(c, source, tag, count, type));
    if (only_local(c, source)) {
        int local = local_of(c, source), error = busy() ? AWAITED(PMPI_Irecv_c(buffer, count, type, local, tag, c->handle, &awaited), status)
                                                        : PMPI_Recv_c(buffer, count, type, local, tag, c->handle, status);
        translate_source(c, status);
        return error;
    }
    struct operation o;
    operation_begin(&o, c);
    receive_start(&o, buffer, count, type, source, tag, c->context);
    await(&o, source != MPI_ANY_SOURCE);
    operation_status(&o, status);
    return o.error ? operation_raise(&o, o.error) : MPI_SUCCESS;
}

int bridge_Irecv(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Request *request) {
    OR_RETURN(receive_checked(c, source, tag, count, type));
    if (only_local(c, source)) {
        int error = PMPI_Irecv_c(buffer, count, type, local_of(c, source), tag, c->handle, request);
        if (!error && source != MPI_PROC_NULL)
            request_track(*request, c);
        return error;
    }
    receive_start(operation_new(c, request), buffer, count, type, source, tag, c->context);
    return MPI_SUCCESS;
}

int bridge_Sendrecv(struct communicator *c, const void *send, MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag, void *receive,
                    MPI_Count receive_count, MPI_Datatype receive_type, int source, int receive_tag, MPI_Status *status) {
    MPI_Request sent;
    OR_RETURN(start_send(c, send, send_count, send_type, dest, send_tag, &sent));
    int error = bridge_Recv(c, receive, receive_count, receive_type, source, receive_tag, status);
    int error_sent = bridge_Wait(&sent, MPI_STATUS_IGNORE);
    return error ? error : error_sent;
}

int bridge_Sendrecv_replace(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int dest, int send_tag, int source,
                            int receive_tag, MPI_Status *status) {
    OR_RETURN(send_checked(c, dest, send_tag, count, type));
    void *memory, *copy = type_duplicate(buffer, count, type, &memory);
    int error = bridge_Sendrecv(c, copy, count, type, dest, send_tag, buffer, count, type, source, receive_tag, status);
    free(memory);
    return error;
}

/* MPI_Isendrecv: a send and a receive as one request. */
static int exchange(struct communicator *c, const struct call *a, int tag) {
    MPI_Request sent;
    MPI_Status status;
    struct operation *o = a->operation;
    MPI_Count bytes = 0;
    OR_RETURN(start_send(c, a->send.buffer, a->send.count, a->send.type, a->dest, a->send_tag, &sent));
    int error = bridge_Recv(c, a->receive.buffer, a->receive.count, a->receive.type, a->root, a->receive_tag, &status);
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    o->status_source = status.MPI_SOURCE, o->status_tag = status.MPI_TAG, o->bytes = (uint64_t)bytes;
    int error_sent = await_local(&sent, MPI_STATUS_IGNORE);
    return error ? error : error_sent;
}

#ifndef LACKS_MPI_Isendrecv
int bridge_Isendrecv(struct communicator *c, const void *send, MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag, void *receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, int source, int receive_tag, MPI_Request *request) {
    OR_RETURN(send_checked(c, dest, send_tag, send_count, send_type));
    OR_RETURN(receive_checked(c, source, receive_tag, receive_count, receive_type));
    struct call call = {.send = {.buffer = (void *)send, .count = send_count, .type = send_type}, .dest = dest, .send_tag = send_tag,
                        .receive = {.buffer = receive, .count = receive_count, .type = receive_type}, .root = source,
                        .receive_tag = receive_tag, .alone = true};
    return collective_start(c, exchange, &call, request);
}

int bridge_Isendrecv_replace(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int dest, int send_tag, int source,
                             int receive_tag, MPI_Request *request) {
    OR_RETURN(send_checked(c, dest, send_tag, count, type));
    OR_RETURN(receive_checked(c, source, receive_tag, count, type));
    struct call call = {.send = {.count = count, .type = type}, .dest = dest, .send_tag = send_tag,
                        .receive = {.buffer = buffer, .count = count, .type = type}, .root = source, .receive_tag = receive_tag, .alone = true};
    call.send.buffer = type_duplicate(buffer, count, type, &call.memory);
    return collective_start(c, exchange, &call, request);
}
#endif
