/* A thread that serves other sites while the library of this one blocks.
 *
 * A blocking collective among ranks of one site is left to the library, which has no other form that matches it. While the program waits in
 * it, other sites may need this rank all the same: for the rest of a message, for credit, for an acknowledgement. So the program's thread
 * lends the link, with all that receive.c and send.c know, to a helper, and takes it back when the library returns:
 *
 *     OWN ── helper_enter ──> LENT <── the helper, when frames can pass ──> WORKING
 *      ^──── recall, when the library has returned ────┘
 *
 * The helper calls nothing of MPI, which belongs to the program's thread. It moves bytes, matches receives, acknowledges, gives credit. What
 * it finishes is completed after the recall. Two things stand still until then: a receive from any source, since only the library can say
 * whether a message of this site has come first, and a non-blocking collective of the bridge, whose next step is one of the library.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "bridge.h"

enum { NAP = 1000, NAPS = 1000 }; /* [us]; after so many the thread ends */

static _Atomic enum { OWN, LENT, WORKING } holder;
static atomic_bool runs;
static bool working; /* read and written by the one that has the link */
static struct operation *finished_first, *finished_last;

static bool changes(int from, int to) { return atomic_compare_exchange_strong(&holder, &(int){from}, to); }

/* While the program's thread has the link, looks for it each millisecond. */
static void *help(void *unused) {
    for (int naps = 0; naps < NAPS || !changes(OWN, WORKING);) {
        if (!changes(LENT, WORKING)) {
            naps++;
            usleep(NAP);
            continue;
        }
        working = true;
        link_write();
        link_read();
        working = false;
        bool unsent = link_unsent();
        atomic_store(&holder, LENT);
        link_poll(unsent, 1000 * NAP);
        naps = 0;
    }
    atomic_store(&runs, false);
    atomic_store(&holder, OWN);
    return unused;
}

/* Signals are the program's. */
static void start(void) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, help, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        stop("rank %d of the world cannot start a thread: %s.", world.rank, strerror(error));
    pthread_detach(thread);
    atomic_store(&runs, true);
}

bool helper_works(void) { return working; }

bool helper_defers(struct operation *o) {
    if (!working)
        return false;
    APPEND(finished_first, finished_last, o);
    return true;
}

void helper_enter(void) {
    if (!busy())
        return;
    while (!changes(OWN, WORKING)) /* the thread is about to end */
        sched_yield();
    if (!atomic_load(&runs))
        start();
    bridge_mode = BRIDGE_LENT;
    atomic_store(&holder, LENT);
}

void helper_recall(void) {
    while (!changes(LENT, OWN))
        sched_yield();
    bridge_mode = BRIDGE_ON;
    while (finished_first) {
        struct operation *o = finished_first;
        finished_first = o->next;
        if (o->received)
            receive_deliver(o);
        else
            operation_complete(o);
    }
    receive_match_deferred();
}

/* The process ends, whatever the library does: takes the link alone. A thread that is just taking it back may have it already. */
void helper_end(void) {
    for (int naps = 0; naps < NAPS && !changes(LENT, OWN); naps++)
        usleep(NAP);
}

/* A function that the library has called, as for the attributes of a duplicate, may have called MPI, and so have recalled the link. */
void helper_leave(void) {
    if (bridge_mode == BRIDGE_LENT)
        helper_recall();
}
