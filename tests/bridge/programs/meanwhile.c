/* Rank 0 waits for rank 1, which is at its site and waits for rank 2 of another site, which needs rank 0: a deadlock unless rank 0 serves the
 * other site while the library of its own blocks. Every way to need it, with every kind of call that blocks: a line each.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUES = 8 << 20, LONG_TAG = 1, DONE_TAG = 2, OTHER_TAG = 3 }; /* 32 MB, far beyond what is sent without credit */

static int rank, wrong, *out, *in;
static MPI_Comm site;

static int value(int i) { return i * 7 + 1; }

static void check(int stride) {
    for (int i = 0; i < VALUES; i++)
        if (in[(size_t)(i * stride)] != value(i)) {
            wrong++;
            return;
        }
}

/* ---- what rank 2 needs of rank 0 ---- */

static MPI_Request pending;
static MPI_Datatype strided;

static void receive(int peer) {
    peer == 2 ? MPI_Irecv(in, VALUES, MPI_INT, 2, LONG_TAG, MPI_COMM_WORLD, &pending) : MPI_Send(out, VALUES, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD);
}

static void receive_from_any(int peer) {
    peer == 2 ? MPI_Irecv(in, VALUES, MPI_INT, MPI_ANY_SOURCE, LONG_TAG, MPI_COMM_WORLD, &pending)
              : MPI_Send(out, VALUES, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD);
}

static void receive_strided(int peer) {
    peer == 2 ? MPI_Irecv(in, 1, strided, 2, LONG_TAG, MPI_COMM_WORLD, &pending) : MPI_Send(out, VALUES, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD);
}

static void acknowledge(int peer) {
    peer == 2 ? MPI_Irecv(in, VALUES, MPI_INT, 2, LONG_TAG, MPI_COMM_WORLD, &pending) : MPI_Ssend(out, VALUES, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD);
}

static void send(int peer) {
    peer == 2 ? MPI_Isend(out, VALUES, MPI_INT, 2, LONG_TAG, MPI_COMM_WORLD, &pending)
              : MPI_Recv(in, VALUES, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 takes part in the collective, and waits for its end instead of for rank 2. */
static void collective(int peer) {
    MPI_Iallreduce(out, in, VALUES / 32, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &pending);
    if (peer != 2)
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
}

/* It has begun to come in when rank 0 waits. */
static void receive_begun(int peer) {
    int done;
    receive(peer);
    for (int i = 0; peer == 2 && i < 20; i++)
        usleep(1000), MPI_Test(&pending, &done, MPI_STATUS_IGNORE);
}

/* ---- how rank 0 waits for rank 1 ---- */

static int number;

static void by_receive(int peer) {
    peer == 1 ? MPI_Recv(&number, 1, MPI_INT, 1, 0, site, MPI_STATUS_IGNORE) : MPI_Send(&number, 1, MPI_INT, 0, 0, site);
}

static void by_synchronous_send(int peer) {
    peer == 1 ? MPI_Ssend(&number, 1, MPI_INT, 1, 0, site) : MPI_Recv(&number, 1, MPI_INT, 0, 0, site, MPI_STATUS_IGNORE);
}

static void by_long_send(int peer) {
    peer == 1 ? MPI_Send(out, VALUES, MPI_INT, 1, 0, site) : MPI_Recv(in, VALUES, MPI_INT, 0, 0, site, MPI_STATUS_IGNORE);
}

static void by_exchange(int peer) {
    int got = 0, mine = rank + 10;
    MPI_Status status;
    MPI_Sendrecv(&mine, 1, MPI_INT, peer, 4, &got, 1, MPI_INT, peer, 4, site, &status);
    wrong += got != peer + 10 || status.MPI_SOURCE != peer;
    MPI_Sendrecv_replace(&mine, 1, MPI_INT, peer, 5, peer, 5, site, MPI_STATUS_IGNORE);
    wrong += mine != peer + 10;
}

static void by_probe(int peer) {
    MPI_Status status = {.MPI_SOURCE = -9};
    if (peer == 1)
        MPI_Probe(MPI_ANY_SOURCE, 0, site, &status);
    wrong += peer == 1 && status.MPI_SOURCE != 1;
    by_receive(peer);
}

static void by_matched_probe(int peer) {
    MPI_Message message;
    if (peer == 1) {
        MPI_Mprobe(1, 0, site, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else
        by_receive(peer);
}

static void by_barrier(int peer) { (void)peer, MPI_Barrier(site); }

static void by_allreduce(int peer) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, site);
    wrong += sum != rank + peer;
}

static void by_duplicate(int peer) {
    MPI_Comm copy;
    (void)peer;
    MPI_Comm_dup(site, &copy);
    MPI_Comm_free(&copy);
}

/* ---- */

struct way {
    const char *name;
    void (*act)(int peer);
};

static const struct way needs[] = {
    {"receive", receive}, {"receive from any", receive_from_any}, {"receive strided", receive_strided}, {"receive begun", receive_begun},
    {"acknowledge", acknowledge}, {"send", send}, {"collective", collective}, {NULL, NULL},
};
static const struct way waits[] = {
    {"receive", by_receive}, {"barrier", by_barrier}, {"allreduce", by_allreduce}, {"duplicate", by_duplicate}, {"synchronous send", by_synchronous_send},
    {"long send", by_long_send}, {"exchange", by_exchange}, {"probe", by_probe}, {"matched probe", by_matched_probe}, {NULL, NULL},
};

static void meet(const struct way *need, const struct way *wait) {
    if (rank == 0)
        printf("%s, %s\n", need->name, wait->name), fflush(stdout);
    memset(in, 0, 2 * (size_t)VALUES * sizeof *in);
    if (rank == 0) {
        need->act(2);
        wait->act(1);
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        if (need->act == collective)
            collective(0);
        else
            MPI_Recv(&number, 1, MPI_INT, 2, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wait->act(0);
    } else {
        need->act(0);
        if (need->act != collective)
            MPI_Send(&number, 1, MPI_INT, 1, DONE_TAG, MPI_COMM_WORLD);
    }
    if (need->act != collective && rank == (need->act == send ? 2 : 0))
        check(need->act == receive_strided ? 2 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Only the library can say whether a message of rank 1 has come before the first of rank 2: until then the second must not overtake that. */
static void order(void) {
    int one = 1, two = 2, local = 3, got[3];
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, LONG_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, 2, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Barrier(site);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(&got[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += !(got[0] == local && got[1] == one && got[2] == two) && !(got[0] == one && got[1] == two && got[2] == local);
    } else if (rank == 1) {
        MPI_Send(&local, 1, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, 2, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(20000); /* both have come */
        MPI_Barrier(site);
    } else {
        MPI_Send(&one, 1, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD);
        MPI_Send(&two, 1, MPI_INT, 0, OTHER_TAG, MPI_COMM_WORLD);
        MPI_Send(&number, 1, MPI_INT, 1, DONE_TAG, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *old, void *new, int *flag) {
    int found;
    (void)comm, (void)key, (void)extra;
    *(void **)new = old;
    return *flag = 1, MPI_Iprobe(MPI_ANY_SOURCE, OTHER_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

/* While the library has the program's thread, it calls the program, and that MPI. */
static void callback(void) {
    int key;
    MPI_Comm copy;
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(site, key, &number);
    if (rank == 0)
        receive(2);
    if (rank == 1)
        usleep(10000);
    if (rank < 2)
        MPI_Comm_dup(site, &copy), MPI_Comm_free(&copy);
    if (rank == 0)
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
    if (rank == 2)
        receive(0);
    MPI_Comm_delete_attr(site, key);
    MPI_Comm_free_keyval(&key);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &site);
    MPI_Type_vector(VALUES, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    out = malloc(VALUES * sizeof *out), in = malloc(2 * (size_t)VALUES * sizeof *in);
    for (int i = 0; i < VALUES; i++)
        out[i] = value(i);
    for (const struct way *need = needs; need->name; need++)
        for (const struct way *wait = waits; wait->name; wait++)
            if (need == needs || wait == waits || (wait == waits + 1 && need->act != collective))
                meet(need, wait);
    for (int i = 0; i < 20; i++)
        order();
    callback();
    int all;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong\n", all);
    MPI_Finalize();
    return all != 0;
}
