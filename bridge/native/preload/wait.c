/* Every wait and test. The library completes requests of both kinds; here the bridge makes progress meanwhile.
 *
 * Two kinds of requests are not what they seem to the library: an active persistent request of the bridge, in whose place the request under way
 * is waited for, and a receive at this site whose status needs another number of its source.
 */
#include <sched.h>

#include "bridge.h"

enum { SPIN = 20, YIELD = 400, SHORT_NAP = 20000, NAP = 1000000, LONG_NAP = 100000000 }; /* turns; [ns] */

static struct map tracked; /* request -> communicator, which is held until the request has gone */

/* ---- progress ---- */

void progress(void) {
    link_write();
    link_read();
    receive_progress();
    tasks_progress();
}

bool busy(void) { return receive_waiting() || link_waiting() || tasks_waiting() || send_waiting(); }

/* A rank that waits for other sites alone sleeps on the socket, so that the gateway has its processor; every millisecond it lets the library
 * serve its neighbours, if it has any. */
void idle(int turn, bool only_remote) {
    if (turn < SPIN && !only_remote)
        return;
    if (only_remote) {
        int flag;
        if (!world.alone)
            PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        link_poll(link_unsent(), world.alone ? LONG_NAP : NAP);
    } else if (turn < YIELD)
        sched_yield();
    else
        link_poll(link_unsent(), turn < 10 * YIELD ? SHORT_NAP : 10 * SHORT_NAP);
}

void await(struct operation *o, bool only_remote) { AWAIT(o->done, only_remote); }

int await_local(MPI_Request *request, MPI_Status *status) {
    int error = MPI_SUCCESS, done = 0;
    AWAIT(done || (error = PMPI_Test(request, &done, status)) || done, false);
    return error;
}

/* ---- what the library is given, and what the program gets back ---- */

void request_track(MPI_Request request, struct communicator *c) {
    if (c->identity)
        return;
    c->holds++;
    map_put(&tracked, (uintptr_t)request, c);
}

static void forget(MPI_Request request) {
    struct communicator *c = map_get(&tracked, (uintptr_t)request);
    map_remove(&tracked, (uintptr_t)request);
    if (c)
        communicator_let_go(c);
}

void translate_source(const struct communicator *c, MPI_Status *status) {
    if (status != MPI_STATUS_IGNORE && status->MPI_SOURCE >= 0 && status->MPI_SOURCE < c->local_size)
        status->MPI_SOURCE = c->from_local[status->MPI_SOURCE];
}

struct given {
    int n;
    MPI_Request *requests, *before; /* before: null if none needs attention */
    MPI_Request one;
};

static void give(struct given *g, int n, MPI_Request *requests) {
    g->n = n, g->requests = requests, g->before = NULL;
    failed_forget();
    if ((!persistents && !tracked.used && !operations) || n <= 0)
        return;
    g->before = n == 1 ? &g->one : grow(NULL, (size_t)n * sizeof *g->before);
    memcpy(g->before, requests, (size_t)n * sizeof *g->before);
    for (int i = 0; i < n; i++) {
        MPI_Request *inner = persistent_inner(requests[i]);
        if (inner)
            requests[i] = *inner;
    }
}

static void take_back(struct given *g) {
    for (int i = 0; g->before && i < g->n; i++) {
        MPI_Request *inner = persistent_inner(g->before[i]);
        failed_find(inner ? *inner : g->before[i], i);
        if (inner)
            *inner = g->requests[i], g->requests[i] = g->before[i];
    }
}

static void translate(struct given *g, int i, MPI_Status *status) {
    if (!g->before || i < 0)
        return;
    struct communicator *c = map_get(&tracked, (uintptr_t)g->before[i]);
    if (!c)
        return;
    translate_source(c, status);
    if (g->requests[i] == MPI_REQUEST_NULL) /* a persistent one stays */
        forget(g->before[i]);
}

static void give_up(struct given *g) {
    if (g->before != &g->one)
        free(g->before);
}

/* After a call that has completed one request, or none (-1). */
static int finish(struct given *g, int index, MPI_Status *status, int error) {
    translate(g, index, status);
    give_up(g);
    return failed_raise(error);
}

/* After one that has completed `n`. indices: of the requests that the statuses are of; null for all. */
static int finish_all(struct given *g, int n, const int *indices, MPI_Status *statuses, int error) {
    for (int i = 0; i < n; i++)
        translate(g, indices ? indices[i] : i, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    give_up(g);
    return failed_raise_all(error, n, indices, statuses);
}

static bool all_remote(int n, const MPI_Request *requests) {
    for (int i = 0; i < n; i++) {
        struct operation *o = operation_of(requests[i]);
        if (requests[i] != MPI_REQUEST_NULL && (!o || o->local != MPI_REQUEST_NULL || o->task))
            return false;
    }
    return true;
}

/* Runs TEST until DONE, or WAIT where no other site can matter. */
#define COMPLETE(n, requests, WAIT, TEST, DONE)                                                                                            \
    struct given g;                                                                                                                        \
    give(&g, n, requests);                                                                                                                 \
    int error, done = 0;                                                                                                                   \
    if (!busy())                                                                                                                           \
        error = WAIT, done = 1;                                                                                                            \
    else                                                                                                                                   \
        for (int turn = 0;; turn++) {                                                                                                      \
            progress();                                                                                                                    \
            error = TEST;                                                                                                                  \
            if (error || (DONE))                                                                                                           \
                break;                                                                                                                     \
            idle(turn, all_remote(n, requests));                                                                                            \
        }                                                                                                                                  \
    (void)done;                                                                                                                            \
    take_back(&g)

int bridge_Wait(MPI_Request *request, MPI_Status *status) {
    COMPLETE(1, request, PMPI_Wait(request, status), PMPI_Test(request, &done, status), done);
    return finish(&g, 0, status, error);
}

/* Those before `from` have ended. Each is asked alone: MPI_Testall of MPICH 5.0 fails beside a persistent collective. */
static bool all_ended(int n, const MPI_Request *requests, int *from) {
    for (int ended = 1; *from < n; ++*from)
        if (!PMPI_Request_get_status(requests[*from], &ended, MPI_STATUS_IGNORE) && !ended)
            return false;
    return true;
}

int bridge_Waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
    int first = 0;
    COMPLETE(n, requests, PMPI_Waitall(n, requests, statuses),
             (done = all_ended(n, requests, &first)) ? PMPI_Waitall(n, requests, statuses) : MPI_SUCCESS, done);
    return finish_all(&g, n, NULL, statuses, error);
}

int bridge_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status) {
    COMPLETE(n, requests, PMPI_Waitany(n, requests, index, status), PMPI_Testany(n, requests, index, &done, status), done);
    return finish(&g, *index, status, error);
}

int bridge_Waitsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses) {
    COMPLETE(n, requests, PMPI_Waitsome(n, requests, count, indices, statuses), PMPI_Testsome(n, requests, count, indices, statuses), *count);
    return finish_all(&g, *count, indices, statuses, error);
}

/* A test that fails lets the processor go: programs that spin on it would keep the gateway from it. */
#define TRY(n, requests, TEST, DONE)                                                                                                       \
    struct given g;                                                                                                                        \
    give(&g, n, requests);                                                                                                                 \
    if (busy())                                                                                                                            \
        progress();                                                                                                                        \
    int error = TEST;                                                                                                                      \
    take_back(&g);                                                                                                                         \
    if (!(DONE) && operations)                                                                                                             \
        sched_yield()

int bridge_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    TRY(1, request, PMPI_Test(request, flag, status), *flag);
    return finish(&g, *flag ? 0 : -1, status, error);
}

int bridge_Testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    TRY(n, requests, PMPI_Testall(n, requests, flag, statuses), *flag);
    return finish_all(&g, *flag ? n : 0, NULL, statuses, error);
}

int bridge_Testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    TRY(n, requests, PMPI_Testany(n, requests, index, flag, status), *flag);
    return finish(&g, *flag ? *index : -1, status, error);
}

int bridge_Testsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses) {
    TRY(n, requests, PMPI_Testsome(n, requests, count, indices, statuses), *count);
    return finish_all(&g, *count, indices, statuses, error);
}

int bridge_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    MPI_Request *inner = persistent_inner(request);
    if (busy())
        progress();
    int error = PMPI_Request_get_status(inner ? *inner : request, flag, status);
    struct communicator *c = map_get(&tracked, (uintptr_t)request);
    if (*flag && c)
        translate_source(c, status);
    return error;
}

int bridge_Cancel(MPI_Request *request) {
    MPI_Request *inner = persistent_inner(*request);
    return PMPI_Cancel(inner ? inner : request);
}

int bridge_Request_free(MPI_Request *request) {
    if (persistent_free(*request))
        return *request = MPI_REQUEST_NULL, MPI_SUCCESS;
    forget(*request);
    return PMPI_Request_free(request);
}

#ifndef LACKS_MPI_Request_get_status_any
int bridge_Request_get_status_any(int n, const MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    *index = MPI_UNDEFINED, *flag = 1;
    operation_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        int error = bridge_Request_get_status(requests[i], flag, status);
        if (error || *flag)
            return *index = i, error;
    }
    return MPI_SUCCESS;
}

int bridge_Request_get_status_some(int n, const MPI_Request requests[], int *count, int indices[], MPI_Status *statuses) {
    bool any = false;
    *count = 0;
    for (int i = 0; i < n; i++) {
        int flag = 0;
        MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        any = true;
        bridge_Request_get_status(requests[i], &flag, &status);
        if (flag && statuses != MPI_STATUSES_IGNORE)
            statuses[*count] = status;
        if (flag)
            indices[(*count)++] = i;
    }
    *count = any ? *count : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int bridge_Request_get_status_all(int n, const MPI_Request requests[], int *flag, MPI_Status *statuses) {
    *flag = 1;
    for (int i = 0; i < n && *flag; i++)
        bridge_Request_get_status(requests[i], flag, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    return MPI_SUCCESS;
}
#endif
