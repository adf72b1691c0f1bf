/* Operations: what is under way for a request of the program, or for a call of the bridge itself.
 *
 * A request is a generalized one of the library, which would raise an error through the handler of another communicator. So it never learns of
 * one: an operation that ends with an error stays until the call that completes its request has raised it.
 */
#include "bridge.h"

int operations;
static struct map ours; /* request -> operation */
static struct operation *failed;

void operation_begin(struct operation *o, struct communicator *c) {
    *o = (struct operation){.c = c, .request = MPI_REQUEST_NULL, .local = MPI_REQUEST_NULL, .status_source = MPI_ANY_SOURCE, .status_tag = MPI_ANY_TAG};
    c->uses++;
}

static int query(void *state, MPI_Status *status) {
    operation_status(state, status);
    return status->MPI_ERROR = MPI_SUCCESS;
}

static int release(void *state) {
    struct operation *o = state;
    map_remove(&ours, (uintptr_t)o->request);
    if (o->own_type)
        PMPI_Type_free(&o->type);
    operations--;
    if (o->error)
        o->index = -1, o->next = failed, failed = o;
    else
        free(o);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    struct operation *o = state;
    if (!complete && o->receive)
        receive_cancel(o);
    return MPI_SUCCESS;
}

struct operation *operation_new(struct communicator *c, MPI_Request *request) {
    struct operation *o = grow(NULL, sizeof *o);
    operation_begin(o, c);
    PMPI_Grequest_start(query, release, cancel, o, &o->request);
    map_put(&ours, (uintptr_t)o->request, o);
    operations++;
    *request = o->request;
    return o;
}

struct operation *operation_of(MPI_Request request) { return request == MPI_REQUEST_NULL ? NULL : map_get(&ours, (uintptr_t)request); }

void operation_complete(struct operation *o) {
    struct communicator *c = o->c;
    if (helper_defers(o))
        return;
    o->done = true;
    if (o->request != MPI_REQUEST_NULL) {
        c->holds += o->error != MPI_SUCCESS;
        PMPI_Grequest_complete(o->request); /* may free it */
    }
    communicator_release(c);
}

/* MPI_ERROR is left as it is: only calls that complete several requests may set it. */
void operation_set_status(MPI_Status *status, int source, int tag, uint64_t bytes, bool cancelled) {
    if (status == MPI_STATUS_IGNORE)
        return;
    PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)bytes);
    PMPI_Status_set_cancelled(status, cancelled);
    status->MPI_SOURCE = source, status->MPI_TAG = tag;
}

void operation_status(const struct operation *o, MPI_Status *status) {
    operation_set_status(status, o->status_source, o->status_tag, o->bytes, o->cancelled);
}

/* ---- those that have failed ---- */

void failed_forget(void) {
    for (struct operation *o; (o = failed);) {
        failed = o->next;
        communicator_let_go(o->c);
        free(o);
    }
}

void failed_find(MPI_Request request, int index) {
    for (struct operation *o = failed; o; o = o->next)
        if (o->request == request)
            o->index = index;
}

/* An error of the library's own, and one of a call within, has been raised before. */
int operation_raise(const struct operation *o, int code) { return o->raised ? code : fail_as(o->c, o->error, code); }

/* Of those that a call has completed, the first one whose error is to be raised. */
static const struct operation *first_found(void) {
    const struct operation *found = NULL;
    for (const struct operation *o = failed; o; o = o->next)
        if (o->index >= 0 && (!found || found->raised))
            found = o;
    return found;
}

int failed_raise(int error) {
    const struct operation *o = first_found();
    return o ? operation_raise(o, o->error) : error;
}

int failed_raise_all(int error, int n, const int *indices, MPI_Status *statuses) {
    const struct operation *first = first_found();
    for (int k = 0; first && statuses != MPI_STATUSES_IGNORE && k < n; k++) {
        if (!error)
            statuses[k].MPI_ERROR = MPI_SUCCESS;
        for (const struct operation *o = failed; o; o = o->next)
            if (o->index == (indices ? indices[k] : k))
                statuses[k].MPI_ERROR = o->error;
    }
    return first ? operation_raise(first, MPI_ERR_IN_STATUS) : error;
}
