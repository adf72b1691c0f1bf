/* Probes: the library's queue and the bridge's are asked in turn, so that neither can starve the other. */
#include "bridge.h"

static struct map held;           /* messages of other sites that a probe has matched, by their handles */
static struct map local_messages; /* matched at this site: handle -> communicator, for the source in the status */

static struct message *message_of(MPI_Message handle) { return map_get(&held, (uintptr_t)handle); }

/* The handle is that of an empty message of this rank to itself: all functions of the library know it. */
static MPI_Message hold(struct communicator *c, struct message *m) {
    MPI_Message handle;
    MPI_Request sent;
    PMPI_Isend(NULL, 0, MPI_BYTE, 0, 0, communicator_alone(), &sent);
    PMPI_Mprobe(0, 0, communicator_alone(), &handle, MPI_STATUS_IGNORE);
    PMPI_Request_free(&sent);
    map_put(&held, (uintptr_t)handle, m);
    m->c = c, c->uses++;
    return handle;
}

static int probe_local(struct communicator *c, int source, int tag, int *flag, MPI_Message *handle, MPI_Status *status) {
    int local = local_of(c, source);
    int error = handle ? PMPI_Improbe(local, tag, c->handle, flag, handle, status) : PMPI_Iprobe(local, tag, c->handle, flag, status);
    if (*flag && !error) {
        if (handle && !c->identity && *handle != MPI_MESSAGE_NO_PROC)
            c->holds++, map_put(&local_messages, (uintptr_t)*handle, c);
        translate_source(c, status);
    }
    return error;
}

static bool probe_remote(struct communicator *c, int source, int tag, MPI_Message *handle, MPI_Status *status) {
    struct message *m = message_find(c, source, tag, c->context, handle != NULL);
    if (!m)
        return false;
    operation_set_status(status, c->by_world[m->head.source], m->head.tag, m->head.total, false);
    if (handle)
        *handle = hold(c, m);
    return true;
}

static int probe(struct communicator *c, int source, int tag, int *flag, MPI_Message *handle, MPI_Status *status) {
    static bool remote_first;
    OR_RETURN(receive_checked(c, source, tag, 0, MPI_BYTE));
    int error = MPI_SUCCESS;
    bool local = source < 0 || c->to_local[source] >= 0, remote = source == MPI_ANY_SOURCE || !local;
    progress();
    *flag = 0;
    remote_first = !remote_first;
    if (remote && remote_first)
        *flag = probe_remote(c, source, tag, handle, status);
    if (local && !*flag)
        error = probe_local(c, source, tag, flag, handle, status);
    if (remote && !remote_first && !*flag && !error)
        *flag = probe_remote(c, source, tag, handle, status);
    if (remote && !*flag && !error)
        receive_awaits(c, source);
    return error;
}

static int probe_until(struct communicator *c, int source, int tag, MPI_Message *handle, MPI_Status *status) {
    int error = MPI_SUCCESS, flag = 0;
    AWAIT(flag || (error = probe(c, source, tag, &flag, handle, status)) || flag, source >= 0 && c->to_local[source] < 0);
    return error;
}

int bridge_Iprobe(struct communicator *c, int source, int tag, int *flag, MPI_Status *status) { return probe(c, source, tag, flag, NULL, status); }
int bridge_Probe(struct communicator *c, int source, int tag, MPI_Status *status) { return probe_until(c, source, tag, NULL, status); }
int bridge_Improbe(struct communicator *c, int source, int tag, int *flag, MPI_Message *message, MPI_Status *status) {
    return probe(c, source, tag, flag, message, status);
}
int bridge_Mprobe(struct communicator *c, int source, int tag, MPI_Message *message, MPI_Status *status) {
    return probe_until(c, source, tag, message, status);
}

/* The communicator of a message that the library holds, if its source needs translation. */
static struct communicator *forget_local(MPI_Message message) {
    struct communicator *c = map_get(&local_messages, (uintptr_t)message);
    map_remove(&local_messages, (uintptr_t)message);
    return c;
}

static struct communicator *let_go(MPI_Message *handle) {
    struct communicator *c = message_of(*handle)->c;
    map_remove(&held, (uintptr_t)*handle);
    PMPI_Mrecv(NULL, 0, MPI_BYTE, handle, MPI_STATUS_IGNORE);
    return c;
}

int bridge_Imrecv(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
    struct message *m = message_of(*message);
    if (!m) {
        struct communicator *c = forget_local(*message);
        int error = PMPI_Imrecv_c(buffer, count, type, message, request);
        if (c && !error)
            request_track(*request, c);
        if (c)
            communicator_let_go(c);
        return error;
    }
    OR_RETURN(values_checked(m->c, count, type));
    struct communicator *c = let_go(message);
    struct operation *o = operation_new(c, request);
    receive_into(o, buffer, count, type);
    receive_bind(o, m);
    communicator_release(c);
    return MPI_SUCCESS;
}

int bridge_Mrecv(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
    if (message_of(*message)) {
        MPI_Request request;
        OR_RETURN(bridge_Imrecv(buffer, count, type, message, &request));
        return bridge_Wait(&request, status);
    }
    struct communicator *c = forget_local(*message);
    int error = busy() ? AWAITED(PMPI_Imrecv_c(buffer, count, type, message, &awaited), status)
                       : PMPI_Mrecv_c(buffer, count, type, message, status);
    if (c)
        translate_source(c, status), communicator_let_go(c);
    return error;
}
