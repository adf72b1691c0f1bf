/* Collectives that run while the program does something else.
 *
 * A collective is written once, as a function that waits (await, await_local). A blocking call runs it where it is called. A non-blocking one
 * runs it on a stack of its own, which is left whenever it would wait and entered again by progress(). The collectives of a communicator run
 * one after the other, in the order of their calls, so that their local parts meet in the same order on all ranks.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "bridge.h"

#define LEAST_STACK (512 << 10)
#define MOST_STACK (64 << 20)
#define GUARD (64 << 10) /* bytes below a stack that nothing may touch: whole pages on any machine */

struct task {
    struct task *next, *all_next; /* of the communicator; of all */
    struct operation *operation;
    struct communicator *c;
    collective *run;
    struct call call;
    struct kept kept;
    int tag, result;
    bool started, finished;
    ucontext_t here, back;
    void *stack;
};

static struct task *running, *all_first, *all_last;
static MPI_Op *freed; /* by the program */
static int n_freed;
static void **spare; /* stacks of tasks that have ended */
static int n_spare;
static size_t stack; /* bytes of one */

bool tasks_waiting(void) { return all_first; }

bool task_yield(void) {
    if (!running)
        return false;
    struct task *t = running;
    swapcontext(&t->here, &t->back);
    return true;
}

static int run_now(struct communicator *c, collective *run, const struct call *call, int tag) {
    return c->merged && !call->alone ? inter_run(c, run, call, tag) : run(c, call, tag);
}

static void body(void) {
    struct task *t = running;
    t->result = run_now(t->c, t->run, &t->call, t->tag);
    t->finished = true;
    swapcontext(&t->here, &t->back);
}

/* As large as the program's own, since operations of the program run on it; memory is taken as it is used. */
static void *new_stack(void) {
    struct rlimit limit;
    if (!stack && !getrlimit(RLIMIT_STACK, &limit))
        stack = limit.rlim_cur < LEAST_STACK ? LEAST_STACK : limit.rlim_cur > MOST_STACK ? MOST_STACK : limit.rlim_cur;
    char *all = mmap(NULL, GUARD + stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all, GUARD, PROT_NONE))
        stop("rank %d of the world has no memory for the stack of a collective.", world.rank);
    madvise(all, GUARD + stack, MADV_NOHUGEPAGE);
    return all + GUARD;
}

static void start(struct task *t) {
    t->started = true;
    t->stack = n_spare ? spare[--n_spare] : new_stack();
    getcontext(&t->here);
    t->here.uc_stack.ss_sp = t->stack;
    t->here.uc_stack.ss_size = stack;
    t->here.uc_link = NULL;
    makecontext(&t->here, body, 0);
}

static void end(struct task *t) {
    struct operation *o = t->operation;
    PUSH(spare, n_spare, t->stack);
    if (!t->call.alone)
        t->c->first = t->next;
    free(t->call.memory);
    kept_free(&t->kept);
    o->error = t->result, o->raised = t->call.alone, o->task = NULL;
    free(t);
    operation_complete(o);
}

void tasks_progress(void) {
    if (running)
        return;
    struct task *before = NULL;
    for (struct task *t = all_first, *next; t; t = next) {
        next = t->all_next;
        if (t->call.alone || t->c->first == t) {
            if (!t->started)
                start(t);
            running = t;
            swapcontext(&t->back, &t->here);
            running = NULL;
            next = t->all_next; /* it may have started others */
            if (t->finished) {
                *(before ? &before->all_next : &all_first) = next;
                if (all_last == t)
                    all_last = before;
                end(t);
                continue;
            }
        }
        before = t;
    }
    tasks_free_operations();
}

/* Collectives under way use operations that the program has freed: the library learns of it after the last of them. */
int bridge_Op_free(MPI_Op *op) {
    if (!all_first && !persistents)
        return PMPI_Op_free(op);
    PUSH(freed, n_freed, *op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

void tasks_free_operations(void) {
    while (n_freed && !all_first && !persistents)
        PMPI_Op_free(&freed[--n_freed]);
}

static int next_tag(struct communicator *c) { return (int)(c->collectives++ & TAG_LIMIT); }

void collectives_end(struct communicator *c) { AWAIT(!c->first, false); }

int collective_run(struct communicator *c, collective *run, const struct call *call) {
    collectives_end(c);
    c->uses++;
    int error = run_now(c, run, call, next_tag(c));
    communicator_release(c);
    return error;
}

static void *keep(struct kept *kept, size_t bytes) { return kept->memory[kept->n++] = grow(NULL, bytes); }

static void keep_vector(struct vector *v, int n, struct kept *kept) {
    if (!v->narrow && !v->wide)
        return;
    MPI_Count *copy = keep(kept, (size_t)n * sizeof *copy);
    for (int i = 0; i < n; i++)
        copy[i] = at(*v, i);
    *v = (struct vector){.wide = copy};
}

static MPI_Datatype keep_type(MPI_Datatype type, struct kept *kept) {
    bool own;
    type = type_keep(type, &own);
    if (own)
        PUSH(kept->own, kept->n_own, type);
    return type;
}

static void keep_side(struct side *s, int n, struct kept *kept) {
    keep_vector(&s->counts, n, kept);
    keep_vector(&s->places, n, kept);
    if (s->types) {
        MPI_Datatype *copy = keep(kept, (size_t)n * sizeof *copy);
        for (int i = 0; i < n; i++)
            copy[i] = keep_type(s->types[i], kept);
        s->types = copy;
    } else if (n)
        s->type = keep_type(s->type, kept);
}

void call_keep(struct communicator *c, collective *run, struct call *call, struct kept *kept) {
    int sources, dests;
    collective_lengths(c, run, call, &sources, &dests);
    keep_side(&call->receive, sources, kept);
    keep_side(&call->send, dests, kept);
}

void kept_free(struct kept *kept) {
    while (kept->n)
        free(kept->memory[--kept->n]);
    while (kept->n_own)
        PMPI_Type_free(&kept->own[--kept->n_own]);
    free(kept->own);
}

int collective_launch(struct operation *o, collective *run, const struct call *call) {
    struct task *t = calloc(1, sizeof *t);
    t->operation = o, t->c = o->c, t->run = run, t->call = *call, t->tag = call->alone ? 0 : next_tag(o->c);
    t->call.operation = o;
    call_keep(t->c, run, &t->call, &t->kept);
    o->task = t;
    if (!call->alone)
        APPEND(o->c->first, o->c->last, t);
    *(all_first ? &all_last->all_next : &all_first) = t;
    all_last = t;
    progress();
    return MPI_SUCCESS;
}

int collective_start(struct communicator *c, collective *run, const struct call *call, MPI_Request *request) {
    return collective_launch(operation_new(c, request), run, call);
}
