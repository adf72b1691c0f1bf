/* What the files of the preload library know of each other.
 *
 *     wrappers.c      one function for each MPI_X, made from the table; calls bridge_X or PMPI_X
 *     world.c         start and end: finds the program's MPI, joins the world through the gateway
 *     link.c          the socket to the gateway: frames out and in
 *     send.c          sends to other sites        receive.c   posted and unexpected, any source
 *     probe.c         probes, matched probes      wait.c      every wait and test; operation.c, persistent.c
 *     communicator.c  communicators that span sites; group.c, inter.c, topology.c
 *     plain.c         blocking calls inside a site while other sites need this rank; helper.c: a thread for those of collectives
 *     task.c          collectives that run while the program does something else
 *     collective.c    one crossing of the wide area each
 *
 * A communicator that spans sites is a real communicator of its members at this site and an entry in a table; all others the bridge does
 * not know. Values of other sites arrive as generalized requests, so that any mixture of requests can be waited for.
 * One thread at a time calls MPI (MPI_THREAD_SERIALIZED), so nothing is locked; helper.c says when another one works.
 */
#ifndef STEPPE_BRIDGE_H
#define STEPPE_BRIDGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_header.h"
#include "../wire.h"

enum { BRIDGE_ON, BRIDGE_INERT, BRIDGE_UNKNOWN, BRIDGE_LENT /* the helper has the link */ };
extern int bridge_mode;
void bridge_enter(void); /* in the last two modes, when the program calls MPI */

/* Leaves a function with the error of a call that has failed. */
#define OR_RETURN(call)                \
    do {                               \
        int error_returned = (call);   \
        if (error_returned)            \
            return error_returned;     \
    } while (0)

/* Puts an item at the end of a list. */
#define APPEND(first, last, item) ((item)->next = NULL, *(first ? &last->next : &first) = item, last = item)

/* An array of counts or displacements, as int or as MPI_Count: exactly one is set. */
struct vector {
    const int *narrow;
    const MPI_Count *wide;
};

static inline MPI_Count at(struct vector v, int i) { return v.wide ? v.wide[i] : v.narrow[i]; }

/* ---- the world (world.c) ---- */

#define EXIT_BRIDGE 75      /* another try may do better */
#define EXIT_CALL 1         /* a call of the program cannot be served */
#define TAG_LIMIT 0x3ffffff /* MPI_TAG_UB at all sites: fits every library */

extern struct world {
    int size, rank;     /* of the world */
    int sites, site;
    int *site_of;       /* world rank -> site */
    int *local_of;      /* world rank -> rank in the launch of its site */
    int *world_of;      /* rank in the launch of this site -> world rank */
    const char **names; /* of the sites */
    bool alone;         /* no other rank is at this site */
    uint64_t window;    /* bytes of frames that a rank may have under way to another */
    MPI_Group local;    /* the group of the launch of this site */
} world;

#define stop(...) stop_with(EXIT_BRIDGE, __VA_ARGS__)
_Noreturn void stop_with(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- a map from handles (map.c) ---- */

struct map {
    struct { uintptr_t key; void *value; } *slots;
    size_t capacity, used;
};

void *map_get(const struct map *map, uintptr_t key);
void map_put(struct map *map, uintptr_t key, void *value);
void map_remove(struct map *map, uintptr_t key);

void prove(const void *challenge, size_t bytes, uint8_t proof[32]); /* proof.c: that this rank knows the secret of its site */

/* ---- communicators (communicator.c) ---- */

struct task;
struct topology;

struct communicator {
    MPI_Comm handle;  /* the program's: its members at this site; of an intercommunicator, the members of both groups */
    MPI_Comm inner;   /* the same members, for the local parts of collectives; null of an intercommunicator */
    uint64_t context; /* of messages; context + 1: of collectives */
    unsigned children, collectives;
    int size, rank;   /* own group */
    int *world;       /* own group: rank -> world rank */
    int peers;        /* the group that ranks of messages mean: the own one, or the remote group of an intercommunicator */
    int *peer_world;
    int *to_local;    /* peer -> rank in `handle`, -1 at another site */
    int *from_local;  /* rank in `handle` -> peer, -1 for none */
    bool identity;    /* from_local[i] == i: statuses of local receives need no translation */
    int local_size, local_rank; /* of `handle` */
    int sites, site;  /* of the own group: how many, the index of this one among them */
    int *site_of;     /* own rank -> index of its site */
    int *leader;      /* index of a site -> its lowest rank */
    bool ordered;     /* the ranks of each site follow each other, in the order of sites */
    int *by_world;    /* world rank -> peer, -1 for none */
    struct communicator *merged; /* of an intercommunicator: both groups as one, for its collectives */
    int own_first, peers_first;  /* where the groups begin in it */
    struct topology *topology;
    struct task *first, *last; /* collectives under way, in the order of their calls */
    int uses;                  /* operations under way, and one while the program holds it */
    int holds;                 /* of requests and messages that may outlive both */
};

static inline bool is_remote(const struct communicator *c, int peer) { return peer >= 0 && c->to_local[peer] < 0; }

/* The rank in the handle of a peer at this site; what is no rank, as MPI_PROC_NULL, stays. */
static inline int local_of(const struct communicator *c, int peer) { return peer < 0 ? peer : c->to_local[peer]; }

struct communicator *bridge_spans(MPI_Comm handle); /* its entry; null if its members are at one site */

/* Makes the entry of a communicator. `handle`, `inner`: its members at this site, in the order of their ranks; both belong to the entry. */
struct communicator *communicator_enter(MPI_Comm handle, MPI_Comm inner, int size, const int *world_ranks, uint64_t context);
MPI_Comm communicator_inner(MPI_Comm handle);
MPI_Comm communicator_alone(void); /* of the bridge, and of this rank alone */
struct communicator *communicator_private(struct communicator *c); /* a collective call */
void topology_copy(struct communicator *to, const struct communicator *from);
struct communicator *communicator_enter_inter(MPI_Comm handle, int size, const int *own, int peers, const int *remote, uint64_t context);
void inter_merge(struct communicator *c, MPI_Comm here, MPI_Comm inner); /* `here`: the members of both groups at this site, in the order of inter.c */
int inter_split(struct communicator *c, int color, int key, MPI_Comm *new);
void communicator_release(struct communicator *c);
void communicator_let_go(struct communicator *c); /* the same, of a hold */
uint64_t communicator_new_context(struct communicator *c, uint64_t salt);
bool spans(int n, const int *world_ranks);
int *copy_ints(const int *from, int n);
int place_of(const int *ranks, int n, int rank); /* MPI_UNDEFINED if it is not among them */
/* The members of a color among ranks first .. first + size - 1, in the order of their keys, as world ranks; pairs: color and key of each rank. */
int *members_of(const struct communicator *c, const int *pairs, int first, int size, int color, int *n);
uint64_t mix(uint64_t x);

/* ---- groups (group.c) ---- */

int group_members(MPI_Group group, int **world_ranks); /* how many; the caller frees */
bool group_spans(MPI_Group group); /* whether it has ranks of other sites */
int group_make(int n, const int *world_ranks, MPI_Group *group);
MPI_Group group_here(int n, const int *world_ranks); /* those of this site, as a group of the library */

/* ---- errors (errors.c) ---- */

int fail(const struct communicator *c, int error_class, const char *format, ...) __attribute__((format(printf, 3, 4)));
int values_checked(const struct communicator *c, MPI_Count count, MPI_Datatype type); /* an error, already raised, or MPI_SUCCESS */
int ranks_checked(const struct communicator *c, int n, const int *ranks, int size);   /* the same: MPI_PROC_NULL, or of a group of `size` */
int fail_as(struct communicator *c, int error, int code);
void inherit_handler(MPI_Comm from, MPI_Comm to);
int bridge_refuse(const char *function, struct communicator *c);
int bridge_refuse_always(const char *function);

/* ---- operations: what is under way (operation.c) ---- */

struct message;

struct operation {
    struct communicator *c;
    MPI_Request request; /* what the program waits for; null for an operation of the bridge itself */
    bool done, cancelled, receive, posted, dense;
    int waits; /* of a send: to be written, to be acknowledged */
    int error;
    bool raised; /* the handler of the communicator has had the error */
    int index;   /* of one that has failed, among the requests of the call that has completed it; -1 for none */
    /* a receive */
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    bool own_type;          /* a duplicate, since the program may free its own */
    uint64_t room;          /* bytes of count values; dense: they lie in memory as they are sent */
    bool take;              /* the bytes are handed over in `buffer`, which the caller frees; count is not looked at */
    int source, tag;        /* peer or any; tag or any */
    uint64_t context;
    MPI_Request local;      /* the half of a receive from any source that listens at this site */
    bool ending;            /* that half is being cancelled */
    struct message *held;   /* the message of another site that waits for the end of that half */
    struct message *received;
    struct operation *next, *previous; /* of those posted; next: of those that the helper has finished, or that have failed */
    /* what the status says */
    int status_source, status_tag;
    uint64_t bytes;
    /* a collective */
    struct task *task;
};

extern int operations; /* generalized requests alive */

void operation_begin(struct operation *o, struct communicator *c);
struct operation *operation_new(struct communicator *c, MPI_Request *request); /* with a request for the program */
struct operation *operation_of(MPI_Request request);
void operation_complete(struct operation *o);
void operation_status(const struct operation *o, MPI_Status *status);
void operation_set_status(MPI_Status *status, int source, int tag, uint64_t bytes, bool cancelled);
int operation_raise(const struct operation *o, int code); /* its error, as `code`, if it has not been raised */

/* Requests whose operations have failed. A call that completes requests forgets what was before, finds which of its own have failed, and raises
 * their errors; `error`: what the library has said. */
void failed_forget(void);
void failed_find(MPI_Request request, int index);
int failed_raise(int error);
int failed_raise_all(int error, int n, const int *indices, MPI_Status *statuses);

/* ---- datatypes (datatype.c) ---- */

bool type_is_dense(MPI_Datatype type, MPI_Count *size); /* its values lie in memory as they are sent */
MPI_Datatype type_keep(MPI_Datatype type, bool *own);
char *type_pack(const void *buffer, MPI_Count count, MPI_Datatype type, uint64_t *bytes);
int type_unpack(const char *packed, uint64_t bytes, void *buffer, MPI_Count count, MPI_Datatype type);
void type_copy(const void *from, MPI_Count count, MPI_Datatype type, void *to);
void *type_allocate(MPI_Count count, MPI_Datatype type, void **memory); /* room for values; free(*memory) */
void *type_duplicate(const void *values, MPI_Count count, MPI_Datatype type, void **memory); /* the same */
MPI_Count type_extent(MPI_Datatype type);
MPI_Count type_size(MPI_Datatype type);
void *grow(void *memory, size_t bytes);
#define PUSH(array, n, value) (array = grow(array, (size_t)(n + 1) * sizeof *array), array[n++] = value)

/* ---- sends (send.c) ---- */

/* Starts a send of `count` values to a peer at another site; `o` is completed when the buffer may be used again. */
void send_start(struct operation *o, const void *buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, uint64_t context, bool synchronous);
void send_owned(struct communicator *c, char *data, uint64_t bytes, int peer, int tag); /* of a collective; frees `data` afterwards */
void send_part_done(struct operation *o);
void send_acknowledged(uint64_t id);

enum send_mode { SEND_STANDARD, SEND_SYNCHRONOUS, SEND_READY, SEND_BUFFERED };
/* Sends to another site, of arguments that have been checked. */
int send_call(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, enum send_mode mode);
int send_prepare(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, enum send_mode mode,
                 MPI_Request *request);
int send_begin(struct communicator *c, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, enum send_mode mode,
               MPI_Request *request);
/* An error, already raised, or MPI_SUCCESS. */
int send_checked(struct communicator *c, int dest, int tag, MPI_Count count, MPI_Datatype type);
int receive_checked(struct communicator *c, int source, int tag, MPI_Count count, MPI_Datatype type);

/* ---- the socket to the gateway (link.c) ---- */

struct outgoing {
    struct outgoing *next;
    struct frame head;
    const char *data;
    char *owned;
    uint64_t sent;
    int dest; /* world rank; -1: a frame for the gateway, or one that needs no credit */
    bool started;
    struct operation *operation; /* completed when all is written; null for none */
    bool counted;                /* a buffered send: its bytes are given back */
};

void link_open(int descriptor);
void link_hello(struct frame *frame, const void *payload, uint32_t length);
void link_start(int ranks, uint64_t window);
void link_send(struct outgoing *out); /* takes it over */
void link_control(uint16_t type, int dest, int tag, uint64_t total, uint64_t id, const void *payload, uint32_t length);
void link_credit(int dest, uint64_t allowed);
bool link_unsent(void);  /* whether something could be written */
bool link_waiting(void); /* the same, or waits for credit */
void link_poll(bool unsent, long nanoseconds); /* until something can be read, or what is unsent be written */
void link_read(void);  /* reads what has come */
void link_write(void); /* writes what can be written */
void link_drain(void);
int link_read_frame(struct frame *frame, void *payload, uint32_t room); /* waits for one frame: the start only */
void buffered_sent(uint64_t bytes);

/* ---- receives (receive.c) ---- */

struct message {
    struct message *next;
    struct frame head;
    char *data;   /* owned; null while the bytes go straight into the buffer of the receive */
    char *target; /* where bytes go */
    uint64_t got, counted; /* bytes that have come; of them, counted as unexpected */
    bool deferred;         /* by the helper: a receive from any source may match it */
    struct operation *operation;
    struct communicator *c; /* of a matched probe */
};

void receive_into(struct operation *o, void *buffer, MPI_Count count, MPI_Datatype type); /* where what it gets goes */
void receive_start(struct operation *o, void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, uint64_t context);
bool receive_cancel(struct operation *o);
void receive_bind(struct operation *o, struct message *m); /* a message taken out of the queue by a matched probe */
struct message *message_arrived(const struct frame *head); /* its first frame; where the bytes go is in `target` + `got` */
struct message *message_under_way(const struct frame *head);
void message_received(struct message *m, uint64_t bytes);
struct message *message_find(struct communicator *c, int source, int tag, uint64_t context, bool take);
void receive_deliver(struct operation *o); /* what it has received */
void receive_match_deferred(void);
void receive_progress(void); /* local halves of receives from any source */
bool receive_waiting(void);
void receive_awaits(const struct communicator *c, int source); /* its senders need not wait, however much has come that nobody has asked for */
bool send_waiting(void);
bool tasks_waiting(void);
char *receive_taken(struct communicator *c, int source, int tag, uint64_t *bytes); /* of a collective: waits, the caller frees */

/* ---- progress (task.c, wait.c) ---- */

void progress(void);
bool busy(void); /* whether other sites may need this rank while it waits for its own */
void idle(int turn, bool only_remote);
/* Until `done`, as an expression that is asked again: outside of a task with progress meanwhile. */
#define AWAIT(done, only_remote)                                               \
    for (int turn = 0; !(done); turn++)                                       \
        if (!task_yield() && (progress(), !(done)))                            \
    idle(turn, only_remote)
/* Waits for what a call of the library starts as the request `awaited`. */
#define AWAITED(started, status)                                               \
    ({                                                                         \
        MPI_Request awaited;                                                   \
        int error_started = started;                                           \
        error_started ? error_started : await_local(&awaited, status);         \
    })
void await(struct operation *o, bool only_remote);
int await_local(MPI_Request *request, MPI_Status *status);
void tasks_progress(void);
void tasks_free_operations(void); /* what the program has freed and no collective uses any more */
bool task_yield(void); /* false outside of a task */

/* ---- while the library blocks (helper.c) ---- */

void helper_enter(void);
void helper_leave(void);
void helper_recall(void);
void helper_end(void); /* before the process ends */
bool helper_works(void); /* it alone: no function of MPI may be called */
bool helper_defers(struct operation *o); /* true if it has finished the operation, which is completed after the recall */

#define HELPED(call)              \
    ({                            \
        helper_enter();           \
        int error_helped = call;  \
        helper_leave();           \
        error_helped;             \
    })

/* A receive at this site whose status names the rank in the handle: translated when it completes. */
void request_track(MPI_Request request, struct communicator *c);
void translate_source(const struct communicator *c, MPI_Status *status);

/* ---- persistent requests (persistent.c) ---- */

extern int persistents;                                /* how many there are */
MPI_Request *persistent_inner(MPI_Request request);    /* of one that is active: what is under way; null for any other request */
bool persistent_free(MPI_Request request);             /* false if it is not one of the bridge's */

/* ---- collectives (task.c, collective.c) ---- */

/* What a rank gives, or what it gets; of each rank or neighbour where there are counts and displacements. */
struct side {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    struct vector counts, places;
    const MPI_Datatype *types; /* of the w forms, whose displacements are bytes */
};

struct call { /* the wrappers make it from the parameters of a collective */
    struct side send, receive;
    MPI_Op op;
    int root;
    MPI_Comm *new_communicator;
    MPI_Info info;
    bool with_info; /* of a duplicate */
    /* of MPI_Isendrecv, which waits for no collective; `root` is its source */
    bool alone;
    int dest, send_tag, receive_tag;
    void *memory; /* freed at the end */
    struct operation *operation;
};

/* Copies of what a program may let go of before its call has ended: datatypes; counts and displacements, although it should not. */
struct kept {
    void *memory[6];
    MPI_Datatype *own; /* duplicates to free */
    int n, n_own;
};

typedef int collective(struct communicator *c, const struct call *call, int tag);

void collectives_end(struct communicator *c); /* waits for those under way */
int collective_checked(struct communicator *c, collective *run, const struct call *call); /* an error, already raised, or MPI_SUCCESS */
int collective_call(struct communicator *c, collective *run, const struct call *call); /* for the program: errors are raised */
int collective_run(struct communicator *c, collective *run, const struct call *call);
int gather_ints(struct communicator *c, const int *mine, int n, int *all); /* as many of each rank */
int collective_start(struct communicator *c, collective *run, const struct call *call, MPI_Request *request);
int collective_persistent(struct communicator *c, collective *run, const struct call *call, MPI_Request *request);
int collective_launch(struct operation *o, collective *run, const struct call *call);

collective barrier, bcast, reduce, allreduce, gather, scatter, allgather, alltoall, scan, exscan, reduce_scatter, duplicate;
collective neighbor_allgather, neighbor_alltoall;
void call_keep(struct communicator *c, collective *run, struct call *call, struct kept *kept);
void kept_free(struct kept *kept);
/* How many blocks this rank takes and gives: 0 where the call's counts and datatypes of that side mean nothing. */
void collective_lengths(struct communicator *c, collective *run, const struct call *call, int *sources, int *dests);
int inter_run(struct communicator *c, collective *run, const struct call *call, int tag); /* the same between the groups of an intercommunicator */

int local_barrier(struct communicator *c);
int local_broadcast(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int root);

#endif
