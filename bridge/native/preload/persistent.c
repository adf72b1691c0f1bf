/* Persistent requests to and from other sites, and of collectives.
 *
 * The program holds an inactive persistent request of the library (a receive from nobody). When it is started, a request under way stands
 * behind it; wait.c waits for that one.
 */
#include "bridge.h"

struct persistent {
    struct communicator *c;
    MPI_Request inner; /* null: inactive */
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
    enum send_mode mode;
    bool receive, own_type;
    collective *run;
    struct call call;
    struct kept kept;
};

int persistents;
static struct map all;

static struct persistent *find(MPI_Request request) { return persistents && request != MPI_REQUEST_NULL ? map_get(&all, (uintptr_t)request) : NULL; }

static struct persistent *make(struct communicator *c, MPI_Request *request) {
    struct persistent *p = calloc(1, sizeof *p);
    p->c = c, p->inner = MPI_REQUEST_NULL;
    c->holds++;
    PMPI_Recv_init_c(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
    map_put(&all, (uintptr_t)*request, p);
    persistents++;
    return p;
}

MPI_Request *persistent_inner(MPI_Request request) {
    struct persistent *p = find(request);
    return p && p->inner != MPI_REQUEST_NULL ? &p->inner : NULL;
}

bool persistent_free(MPI_Request request) {
    struct persistent *p = find(request);
    if (!p)
        return false;
    if (p->inner != MPI_REQUEST_NULL)
        PMPI_Request_free(&p->inner);
    if (p->own_type)
        PMPI_Type_free(&p->type);
    communicator_let_go(p->c);
    kept_free(&p->kept);
    map_remove(&all, (uintptr_t)request);
    PMPI_Request_free(&request);
    persistents--;
    free(p);
    tasks_free_operations();
    return true;
}

static int start(struct persistent *p) {
    if (p->inner != MPI_REQUEST_NULL)
        return fail(p->c, MPI_ERR_REQUEST, "a persistent request is started that is active.");
    if (p->run)
        return collective_launch(operation_new(p->c, &p->inner), p->run, &p->call);
    if (p->receive)
        return bridge_Irecv(p->c, (void *)p->buffer, p->count, p->type, p->peer, p->tag, &p->inner);
    return send_begin(p->c, p->buffer, p->count, p->type, p->peer, p->tag, p->mode, &p->inner);
}

int bridge_Start(MPI_Request *request) {
    struct persistent *p = find(*request);
    return p ? start(p) : PMPI_Start(request);
}

int bridge_Startall(int n, MPI_Request *requests) {
    int error = MPI_SUCCESS;
    for (int i = 0; i < n && !error; i++)
        error = bridge_Start(&requests[i]);
    return error;
}

static struct persistent *prepare(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                                  MPI_Request *request) {
    struct persistent *p = make(c, request);
    p->buffer = buffer, p->count = count, p->peer = peer, p->tag = tag;
    p->type = type_keep(type, &p->own_type);
    return p;
}

int send_prepare(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, enum send_mode mode,
                 MPI_Request *request) {
    prepare(c, buffer, count, type, dest, tag, request)->mode = mode;
    return MPI_SUCCESS;
}

int bridge_Recv_init(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Request *request) {
    OR_RETURN(receive_checked(c, source, tag, count, type));
    if (source == MPI_ANY_SOURCE || is_remote(c, source)) {
        prepare(c, buffer, count, type, source, tag, request)->receive = true;
        return MPI_SUCCESS;
    }
    int error = PMPI_Recv_init_c(buffer, count, type, local_of(c, source), tag, c->handle, request);
    if (!error && source >= 0)
        request_track(*request, c);
    return error;
}

/* Ranks may start their persistent collectives in any order, so each has a communicator of its own. */
int collective_persistent(struct communicator *c, collective *run, const struct call *call, MPI_Request *request) {
    struct communicator *own = c->merged ? c : communicator_private(c);
    struct persistent *p = make(own, request);
    if (own != c)
        own->uses--; /* the request alone keeps it */
    p->run = run, p->call = *call;
    call_keep(own, run, &p->call, &p->kept);
    return MPI_SUCCESS;
}
