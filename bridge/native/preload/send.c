/* Sends: to a rank of this site by the library, to another site in frames. */
#include "bridge.h"

static uint64_t next_id = 1;
static struct map unacknowledged; /* number of a synchronous message -> operation */

/* MPI_Buffer_attach says how much may be buffered; the bridge has memory of its own for it. */
static uint64_t buffer_room, buffer_used;
#ifndef MPI_BUFFER_AUTOMATIC
#define MPI_BUFFER_AUTOMATIC NULL
#endif

void buffered_sent(uint64_t bytes) { buffer_used -= bytes + MPI_BSEND_OVERHEAD; }

void send_part_done(struct operation *o) {
    if (--o->waits == 0)
        operation_complete(o);
}

bool send_waiting(void) { return unacknowledged.used; }

void send_acknowledged(uint64_t id) {
    struct operation *o = map_get(&unacknowledged, id);
    map_remove(&unacknowledged, id);
    if (o)
        send_part_done(o);
}

static struct outgoing *new_message(struct communicator *c, uint64_t bytes, int peer, int tag, uint64_t context) {
    struct outgoing *out = calloc(1, sizeof *out);
    out->dest = c->peer_world[peer];
    out->head = (struct frame){.type = FRAME_MESSAGE, .source = world.rank, .dest = out->dest, .context = context, .tag = tag, .total = bytes, .id = next_id++};
    return out;
}

void send_start(struct operation *o, const void *buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, uint64_t context, bool synchronous) {
    MPI_Count size;
    bool dense = type_is_dense(type, &size);
    uint64_t bytes = (uint64_t)(size * count);
    struct outgoing *out = new_message(o->c, bytes, peer, tag, context);
    out->data = dense ? buffer : (out->owned = type_pack(buffer, count, type, &bytes));
    out->operation = o;
    o->waits = 1;
    if (synchronous) {
        o->waits = 2;
        out->head.flags = FLAG_SYNCHRONOUS;
        map_put(&unacknowledged, out->head.id, o);
    }
    link_send(out);
}

static void send_memory(struct communicator *c, char *data, uint64_t bytes, int peer, int tag, uint64_t context, bool counted) {
    struct outgoing *out = new_message(c, bytes, peer, tag, context);
    out->data = out->owned = data, out->counted = counted;
    link_send(out);
}

void send_owned(struct communicator *c, char *data, uint64_t bytes, int peer, int tag) {
    send_memory(c, data, bytes, peer, tag, c->context + 1, false);
}

static int send_buffered(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag) {
    uint64_t bytes = (uint64_t)(type_size(type) * count);
    if (buffer_used + bytes + MPI_BSEND_OVERHEAD > buffer_room)
        return fail(c, MPI_ERR_BUFFER, "MPI_Bsend of %llu bytes: %llu of the attached %llu bytes are in use.", (unsigned long long)bytes,
                    (unsigned long long)buffer_used, (unsigned long long)buffer_room);
    buffer_used += bytes + MPI_BSEND_OVERHEAD;
    char *copy = type_pack(buffer, count, type, &bytes);
    return send_memory(c, copy, bytes, dest, tag, c->context, true), MPI_SUCCESS;
}

int bridge_Buffer_attach(void *buffer, MPI_Count size) {
    int error = PMPI_Buffer_attach_c(buffer, size);
    if (!error)
        buffer_room = buffer && buffer == MPI_BUFFER_AUTOMATIC ? UINT64_MAX : (uint64_t)size;
    return error;
}

static void empty_buffer(void) { AWAIT(!buffer_used, true); }

int bridge_Buffer_detach(void *buffer, MPI_Count *size) {
    empty_buffer();
    buffer_room = 0;
    return HELPED(PMPI_Buffer_detach_c(buffer, size));
}

#ifndef LACKS_MPI_Buffer_flush
int bridge_Buffer_flush(void) {
    empty_buffer();
    return HELPED(PMPI_Buffer_flush());
}
#endif

int send_checked(struct communicator *c, int dest, int tag, MPI_Count count, MPI_Datatype type) {
    OR_RETURN(ranks_checked(c, 1, &dest, c->peers));
    if (tag < 0 || tag > TAG_LIMIT)
        return fail(c, MPI_ERR_TAG, "the tag %d is not between 0 and %d.", tag, TAG_LIMIT);
    return values_checked(c, count, type);
}

int send_call(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, enum send_mode mode) {
    if (mode == SEND_BUFFERED)
        return send_buffered(c, buffer, count, type, dest, tag);
    struct operation o;
    operation_begin(&o, c);
    send_start(&o, buffer, count, type, dest, tag, c->context, mode == SEND_SYNCHRONOUS);
    await(&o, true);
    return o.error;
}

int send_begin(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, enum send_mode mode,
               MPI_Request *request) {
    if (mode == SEND_BUFFERED)
        OR_RETURN(send_buffered(c, buffer, count, type, dest, tag));
    struct operation *o = operation_new(c, request);
    if (mode == SEND_BUFFERED)
        operation_complete(o);
    else
        send_start(o, buffer, count, type, dest, tag, c->context, mode == SEND_SYNCHRONOUS);
    return MPI_SUCCESS;
}
