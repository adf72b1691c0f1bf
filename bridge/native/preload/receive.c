/* Receives that another site may serve: the queue of those posted, the queue of unexpected messages.
 *
 * A receive from any source listens twice: in the queue here, and in the library for ranks of this site. When a message of another site
 * matches it, its local half is cancelled. That ends in one of three ways: cancelled, and the message is delivered; completed with a local
 * message, and the other goes on down the queue; or not yet ended, and the message is held until it is.
 * MPI demands an order only between messages of one source and communicator, and both queues keep theirs: those behind a held one wait too.
 */
#include "bridge.h"

#define UNEXPECTED_LIMIT ((uint64_t)256 << 20) /* from here on those senders wait that no receive and no probe asks for */

static struct operation *posted_first, *posted_last;
static struct message *unexpected_first, *unexpected_last;
static uint64_t unexpected_bytes;
static int local_halves, held_messages, incoming; /* incoming: receives that have their message, but not all of it */
static bool deferred;
static struct origin {
    struct message *message; /* what comes in from there now */
    uint64_t received, granted;
    bool starving;
} *origins;
static int n_starving;

static void grant(int source) {
    struct origin *from = &origins[source];
    n_starving -= from->starving;
    from->starving = false;
    if (from->granted - from->received <= world.window / 2) {
        from->granted = from->received + world.window;
        link_credit(source, from->granted);
    }
}

static bool may_come_from(const struct communicator *c, int peer, int world_rank) {
    return peer == MPI_ANY_SOURCE ? c->by_world[world_rank] >= 0 : c->peer_world[peer] == world_rank;
}

/* What a receive waits for may come after any number of unexpected messages. */
static bool is_awaited(int world_rank) {
    for (struct operation *o = posted_first; o; o = o->next)
        if (may_come_from(o->c, o->source, world_rank))
            return true;
    return false;
}

void receive_awaits(const struct communicator *c, int source) {
    for (int r = 0; n_starving && r < world.size; r++)
        if (origins[r].starving && may_come_from(c, source, r))
            grant(r);
}

static void grant_starving(void) {
    for (int r = 0; n_starving && unexpected_bytes < UNEXPECTED_LIMIT && r < world.size; r++)
        if (origins[r].starving)
            grant(r);
}

/* ---- the posted queue ---- */

static void post(struct operation *o) {
    o->posted = true, o->previous = posted_last;
    APPEND(posted_first, posted_last, o);
}

static void unpost(struct operation *o) {
    if (!o->posted)
        return;
    *(o->previous ? &o->previous->next : &posted_first) = o->next;
    *(o->next ? &o->next->previous : &posted_last) = o->previous;
    o->posted = false;
}

static bool matches(const struct operation *o, const struct frame *h) {
    return o->context == h->context && !o->held && !o->ending && (o->tag == MPI_ANY_TAG || o->tag == h->tag) &&
           (o->source == MPI_ANY_SOURCE || o->c->peer_world[o->source] == h->source);
}

bool receive_waiting(void) { return posted_first || incoming; }

static bool comes_before(const struct frame *one, const struct frame *other) {
    return one->source == other->source && one->context == other->context && one->id < other->id;
}

/* Whether a message must wait for an earlier one that is held, or deferred. */
static bool is_behind(const struct frame *h) {
    for (struct operation *o = held_messages ? posted_first : NULL; o; o = o->next)
        if (o->held && comes_before(&o->held->head, h))
            return true;
    for (struct message *m = deferred ? unexpected_first : NULL; m; m = m->next)
        if (m->deferred && comes_before(&m->head, h))
            return true;
    return false;
}

/* ---- messages ---- */

void receive_deliver(struct operation *o) {
    struct message *m = o->received;
    uint64_t bytes = m->head.total;
    incoming--;
    if (o->take)
        o->buffer = m->data, m->data = NULL;
    else if (m->data) {
        if (bytes > o->room)
            bytes = o->room, o->error = MPI_ERR_TRUNCATE;
        type_unpack(m->data, bytes, o->buffer, o->count, o->type);
    }
    o->status_source = o->c->by_world[m->head.source], o->status_tag = m->head.tag, o->bytes = bytes;
    free(m->data), free(m);
    operation_complete(o);
}

static void deliver(struct operation *o, struct message *m) {
    o->received = m;
    if (!helper_defers(o))
        receive_deliver(o);
}

/* Where the bytes of a message go that a receive has matched: straight into its buffer if they lie there as they come. */
static void aim(struct operation *o, struct message *m) {
    bool straight = o->dense && o->room >= m->head.total;
    if (straight && m->data) {
        memcpy(o->buffer, m->data, m->got);
        free(m->data), m->data = NULL;
    } else if (!straight && !m->data)
        m->data = grow(NULL, m->head.total);
    m->target = m->data ? m->data : o->buffer;
}

static void bind(struct operation *o, struct message *m) {
    unpost(o);
    incoming++;
    o->held = NULL, m->operation = o;
    unexpected_bytes -= m->counted, m->counted = 0;
    if (m->head.flags & FLAG_SYNCHRONOUS)
        link_control(FRAME_ACKNOWLEDGE, m->head.source, 0, 0, m->head.id, NULL, 0);
    aim(o, m);
    if (origins[m->head.source].message == m)
        grant(m->head.source);
    else
        deliver(o, m);
}

static void local_won(struct operation *o, const MPI_Status *status, int error) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    unpost(o);
    local_halves--;
    o->status_source = o->c->from_local[status->MPI_SOURCE], o->status_tag = status->MPI_TAG;
    o->bytes = (uint64_t)bytes, o->error = error, o->raised = true;
    operation_complete(o);
}

/* The end of a cancelled local half, if it has come. */
static bool half_ended(struct operation *o, bool *cancelled) {
    int ended = 0, is_cancelled = 0;
    MPI_Status status;
    int error = PMPI_Test(&o->local, &ended, &status);
    if (!ended)
        return false;
    if (o->ending)
        PMPI_Test_cancelled(&status, &is_cancelled);
    *cancelled = is_cancelled;
    o->ending = false;
    if (is_cancelled)
        local_halves--;
    else
        local_won(o, &status, error);
    return true;
}

/* Offers a message to a receive; false if a local message has taken it. */
static bool claim(struct operation *o, struct message *m) {
    if (o->local != MPI_REQUEST_NULL) {
        bool cancelled;
        PMPI_Cancel(&o->local);
        o->ending = true;
        if (!half_ended(o, &cancelled)) {
            o->held = m, m->operation = o;
            held_messages++;
            return true;
        }
        if (!cancelled)
            return false;
    }
    bind(o, m);
    return true;
}

/* A message of another site finds its receive; false if there is none. */
static bool match(struct message *m) {
    if (is_behind(&m->head))
        return false;
    for (struct operation *o = posted_first, *next; o; o = next) {
        next = o->next;
        if (!matches(o, &m->head))
            continue;
        if (o->local != MPI_REQUEST_NULL && helper_works())
            return m->deferred = deferred = true, false;
        if (claim(o, m))
            return true;
    }
    return false;
}

/* After a hold: all unexpected messages of a source look for their receives again; null: those of all sources. */
static void match_again(const struct frame *h) {
    struct message *all = unexpected_first;
    unexpected_first = unexpected_last = NULL;
    for (struct message *m = all, *next; m; m = next) {
        next = m->next;
        if ((h && (m->head.source != h->source || m->head.context != h->context)) || !match(m))
            APPEND(unexpected_first, unexpected_last, m);
    }
}

void receive_match_deferred(void) {
    if (!deferred)
        return;
    deferred = false;
    for (struct message *m = unexpected_first; m; m = m->next)
        m->deferred = false;
    match_again(NULL);
}

/* Puts a message that was held before those that its source has sent later. */
static void put_back(struct message *m) {
    struct message **place = &unexpected_first;
    while (*place && ((*place)->head.source != m->head.source || (*place)->head.id < m->head.id))
        place = &(*place)->next;
    m->operation = NULL, m->next = *place;
    *place = m;
    if (!m->next)
        unexpected_last = m;
}

/* What another site says of a message is not trusted. */
static void check(const struct message *m, const struct frame *head) {
    if (head->length > (m ? m->head.total - m->got : head->total) || (m != NULL) != (head->type == FRAME_FRAGMENT) || (m && m->head.id != head->id))
        stop("rank %d of the world got a malformed part of a message from rank %d.", world.rank, head->source);
}

struct message *message_arrived(const struct frame *head) {
    if (!origins) {
        origins = calloc((size_t)world.size, sizeof *origins);
        for (int r = 0; r < world.size; r++)
            origins[r].granted = world.window;
    }
    check(origins[head->source].message, head);
    struct message *m = calloc(1, sizeof *m);
    m->head = *head;
    origins[head->source].message = m;
    if (!match(m))
        APPEND(unexpected_first, unexpected_last, m);
    if (!m->target) /* unexpected, or held */
        m->target = m->data = grow(NULL, head->total);
    return m;
}

struct message *message_under_way(const struct frame *head) {
    struct message *m = origins ? origins[head->source].message : NULL;
    check(m, head);
    return m;
}

void message_received(struct message *m, uint64_t bytes) {
    struct origin *from = &origins[m->head.source];
    struct operation *o = m->operation;
    bool bound = o && o->held != m, all = m->got == m->head.total;
    from->received += sizeof m->head + bytes;
    if (!bound)
        unexpected_bytes += sizeof *m + bytes, m->counted += sizeof *m + bytes;
    if (all)
        from->message = NULL;
    if (bound || unexpected_bytes < UNEXPECTED_LIMIT || is_awaited(m->head.source))
        grant(m->head.source);
    else if (!from->starving)
        from->starving = true, n_starving++;
    if (bound && all)
        deliver(o, m);
}

struct message *message_find(struct communicator *c, int source, int tag, uint64_t context, bool take) {
    struct message *before = NULL;
    for (struct message *m = unexpected_first; m; before = m, m = m->next) {
        if (m->head.context != context || (tag != MPI_ANY_TAG && m->head.tag != tag) ||
            (source != MPI_ANY_SOURCE && c->peer_world[source] != m->head.source) || is_behind(&m->head))
            continue;
        if (take) {
            *(before ? &before->next : &unexpected_first) = m->next;
            if (m == unexpected_last)
                unexpected_last = before;
        }
        return m;
    }
    return NULL;
}

/* ---- what receives do ---- */

/* The type is asked here, since the helper cannot. */
void receive_into(struct operation *o, void *buffer, MPI_Count count, MPI_Datatype type) {
    MPI_Count size;
    o->receive = true;
    o->buffer = buffer, o->count = count;
    o->type = o->request == MPI_REQUEST_NULL ? type : type_keep(type, &o->own_type);
    o->dense = type_is_dense(type, &size) && !o->take;
    o->room = (uint64_t)(size * count);
}

void receive_bind(struct operation *o, struct message *m) {
    bind(o, m);
    grant_starving();
}

void receive_start(struct operation *o, void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, uint64_t context) {
    receive_into(o, buffer, count, type);
    o->source = source, o->tag = tag, o->context = context;
    struct message *m = message_find(o->c, source, tag, context, true);
    if (m)
        return receive_bind(o, m);
    if (source == MPI_ANY_SOURCE) {
        PMPI_Irecv_c(buffer, count, o->type, source, tag, o->c->handle, &o->local);
        local_halves++;
    }
    post(o);
    receive_awaits(o->c, source);
}

static void end_cancelled(struct operation *o) {
    unpost(o);
    o->cancelled = true;
    operation_complete(o);
}

/* Returns true if it is cancelled, now or when its local half has ended without a message. */
bool receive_cancel(struct operation *o) {
    if (!o->posted || o->held || o->ending)
        return false;
    bool cancelled = true;
    if (o->local != MPI_REQUEST_NULL) {
        PMPI_Cancel(&o->local);
        o->ending = true;
        if (!half_ended(o, &cancelled) || !cancelled)
            return cancelled;
    }
    end_cancelled(o);
    return true;
}

void receive_progress(void) {
    bool cancelled;
    if (!local_halves)
        return;
    for (struct operation *o = posted_first, *next; o; o = next) {
        next = o->next;
        struct message *m = o->held;
        if (o->local == MPI_REQUEST_NULL || !half_ended(o, &cancelled))
            continue;
        struct frame head = m ? m->head : (struct frame){0};
        if (cancelled && m)
            bind(o, m);
        else if (cancelled)
            end_cancelled(o);
        else if (m)
            put_back(m);
        if (m) {
            held_messages--;
            match_again(&head);
        }
        next = posted_first; /* the queue may have changed */
    }
}

char *receive_taken(struct communicator *c, int source, int tag, uint64_t *bytes) {
    struct operation o;
    operation_begin(&o, c);
    o.take = true;
    receive_start(&o, NULL, 0, MPI_BYTE, source, tag, c->context + 1);
    await(&o, true);
    *bytes = o.bytes;
    return o.buffer;
}
