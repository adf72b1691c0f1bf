/* What programs seldom do, for three ranks, the last two of them at one site. With a word, the last one sends the one beside it
 * more than 2 GiB. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"

/* Frees a communicator while a receive, a persistent one and a matched message of the own site are under way. */
static void free_early(void) {
    enum { BLOCKS = 40 };
    int got[3] = {-1, -1, -1}, peer = 3 - rank;
    MPI_Comm comm;
    MPI_Request receives[2], sends[3];
    MPI_Status statuses[3];
    MPI_Message message;
    void *blocks[BLOCKS];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank) {
        MPI_Irecv(&got[0], 1, MPI_INT, peer, 1, comm, &receives[0]);
        MPI_Recv_init(&got[1], 1, MPI_INT, peer, 2, comm, &receives[1]);
        MPI_Start(&receives[1]);
        for (int i = 0; i < 3; i++)
            MPI_Isend(&rank, 1, MPI_INT, peer, i + 1, comm, &sends[i]);
        MPI_Mprobe(peer, 3, comm, &message, &statuses[2]);
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < BLOCKS; i++) /* of the memory that has been freed */
        blocks[i] = memset(malloc(8 + 8 * i), 0x7f, 8 + 8 * i);
    if (rank) {
        MPI_Waitall(2, receives, statuses);
        MPI_Mrecv(&got[2], 1, MPI_INT, &message, &statuses[2]);
        for (int i = 0; i < 3; i++)
            CHECK(statuses[i].MPI_SOURCE == peer && got[i] == peer);
        MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
        MPI_Request_free(&receives[1]);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

/* A persistent request that is not active is no message under way. */
static void disconnect_with_idle_request(void) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Send_init(&rank, 1, MPI_INT, rank == 2 ? 0 : 2, 1, comm, &request);
    MPI_Comm_disconnect(&comm);
    MPI_Request_free(&request);
}

/* What a program does with the communicator whose attribute is deleted: it still spans the sites. */
static int uses(MPI_Comm comm, int key, void *value, void *unused) {
    int size, total, one = 1;
    (void)key, (void)unused;
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(value);
    return !(size == 3 && total == 3);
}

static void free_with_attribute(void) {
    MPI_Comm comm, within;
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_Comm_dup(comm, &within);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, uses, &key, NULL);
    MPI_Comm_set_attr(comm, key, &within);
    MPI_Comm_free(&comm);
    CHECK(comm == MPI_COMM_NULL && within == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&key);
}

static int calls, raised;
static MPI_Comm raised_on;

static void handle(MPI_Comm *comm, int *code, ...) {
    calls++, raised_on = *comm;
    MPI_Error_class(*code, &raised);
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Receives that are too short for a message of another site: the error has its class, and goes to the handler of its communicator, once. */
static void cut_short(void) {
    enum { N = 5 };
    int values[8] = {0}, flag = 0, n = 0, indices[2];
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    for (int i = 0; rank == 2 && i < N; i++)
        MPI_Send(values, 8, MPI_INT, 0, i, comm);
    MPI_Barrier(comm);
    if (rank == 0) {
        MPI_Irecv(values, 4, MPI_INT, 2, 0, comm, &requests[0]);
        CHECK(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
        CHECK(calls == 1 && raised == MPI_ERR_TRUNCATE && raised_on == comm && requests[0] == MPI_REQUEST_NULL);
        MPI_Irecv(values, 8, MPI_INT, 2, 1, comm, &requests[0]);
        MPI_Recv_init(values, 4, MPI_INT, MPI_ANY_SOURCE, 2, comm, &requests[1]);
        MPI_Start(&requests[1]);
        CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
        CHECK(class_of(statuses[0].MPI_ERROR) == MPI_SUCCESS && class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
        CHECK(calls == 2 && raised == MPI_ERR_IN_STATUS && raised_on == comm && statuses[1].MPI_SOURCE == 2);
        MPI_Request_free(&requests[1]);
        MPI_Irecv(values, 4, MPI_INT, 2, 3, comm, &requests[1]);
        CHECK(class_of(MPI_Waitsome(2, requests, &n, indices, statuses)) == MPI_ERR_IN_STATUS);
        CHECK(n == 1 && indices[0] == 1 && class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE && calls == 3);
        MPI_Irecv(values, 4, MPI_INT, 2, 4, comm, &requests[0]);
        MPI_Comm freed = comm;
        MPI_Comm_free(&freed); /* its last request knows the handler still */
        int code = MPI_SUCCESS;
        while (!flag && !code)
            code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        CHECK(class_of(code) == MPI_ERR_TRUNCATE && calls == 4 && raised == MPI_ERR_TRUNCATE);
        CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS && calls == 4);
    } else
        MPI_Comm_free(&comm);
}

static void buffer_automatically(void) {
#ifdef MPI_BUFFER_AUTOMATIC
    void *was;
    int size;
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    if (rank != 1)
        MPI_Bsend(&rank, 1, MPI_INT, 2 - rank, 7, MPI_COMM_WORLD);
    MPI_Buffer_detach(&was, &size);
#else
    if (rank != 1)
        MPI_Send(&rank, 1, MPI_INT, 2 - rank, 7, MPI_COMM_WORLD);
#endif
    int got = 1;
    if (rank != 1)
        MPI_Recv(&got, 1, MPI_INT, 2 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == 2 - rank);
}

/* Holds many matched messages at once. */
static void match_many(void) {
    enum { N = 5000 };
    static MPI_Message messages[N];
    for (int i = 0; rank == 2 && i < N; i++)
        MPI_Send(&i, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < N; i++)
        MPI_Mprobe(2, 8, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE);
    for (int i = 0, got; rank == 0 && i < N; i++) {
        MPI_Mrecv(&got, 1, MPI_INT, &messages[i], MPI_STATUS_IGNORE);
        CHECK(got == i);
    }
}

/* MPI_Waitall beside a persistent collective inside the site, which MPI_Testall of MPICH 5.0 cannot look at. */
static void wait_beside_persistent_collective(void) {
    int got = -1;
    MPI_Request requests[2];
    MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Irecv(&got, 1, MPI_INT, 2, 9, MPI_COMM_WORLD, &requests[1]), MPI_Send(&rank, 1, MPI_INT, 2, 9, MPI_COMM_WORLD);
    else if (rank == 2) {
        MPI_Recv(&got, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(50000);
        MPI_Isend(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Waitall(rank == 1 ? 1 : 2, requests, MPI_STATUSES_IGNORE);
    CHECK(rank == 1 || got == 2 - rank);
    MPI_Request_free(&requests[0]);
}

/* A duplicate of an intercommunicator waits behind a barrier of it while it is split. */
static void split_beside_duplicate(void) {
    int sum = -1, expected = rank == 1 ? 2 : 1;
    MPI_Comm group, inter, copy, part;
    MPI_Request requests[2];
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 1 ? 0 : 1, 1, &inter);
    for (int i = 0; i < 3; i++) {
        usleep(rank == 0 ? 20000 : 0);
        MPI_Ibarrier(inter, &requests[0]);
        MPI_Comm_idup(inter, &copy, &requests[1]);
        MPI_Comm_split(inter, 0, 0, &part);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
        CHECK(sum == expected);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
        CHECK(sum == expected);
        MPI_Comm_free(&copy), MPI_Comm_free(&part);
    }
    MPI_Comm_free(&inter), MPI_Comm_free(&group);
}

static void number_message(void) {
    int got = -1;
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 2, 10, MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Message message;
        MPI_Mprobe(0, 10, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
#ifdef OPEN_MPI
        message = MPI_Message_f2c(MPI_Message_c2f(message));
#else
        message = MPI_Message_fromint(MPI_Message_toint(message));
#endif
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(got == 0 && message == MPI_MESSAGE_NULL);
    }
}

static void ask_for_largest_tag(void) {
    int *of_world, *own, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &of_world, &found);
    MPI_Comm_get_attr(MPI_COMM_SELF, MPI_TAG_UB, &own, &found);
    CHECK(found && *own == *of_world);
}

/* Ends the process if the world is not whole any more when MPI_Finalize deletes what MPI_COMM_SELF has. */
static int deleted_at_end(MPI_Comm self, int key, void *value, void *unused) {
    int size, total, one = 1;
    (void)self, (void)key, (void)value, (void)unused;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (size != 3 || total != 3)
        exit(1);
    return MPI_SUCCESS;
}

static void attach_to_self(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted_at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
}

/* Values of a derived type that overlap: many bytes in little memory. */
static void send_much(void) {
    enum { LONG = 1 << 18, N = 2100 };
    int sends[3] = {0, rank == 2 ? N : 0, 0}, receives[3] = {0, 0, rank == 1 ? N : 0}, places[3] = {0};
    int *from = malloc((LONG + N) * sizeof(int)), *to = calloc(LONG + N, sizeof(int));
    MPI_Datatype values, overlapping;
    for (int i = 0; i < LONG + N; i++)
        from[i] = i;
    MPI_Type_contiguous(LONG, MPI_INT, &values);
    MPI_Type_create_resized(values, 0, sizeof(int), &overlapping);
    MPI_Type_commit(&overlapping);
    MPI_Alltoallv(from, sends, places, overlapping, to, receives, places, overlapping, MPI_COMM_WORLD);
    CHECK(rank != 1 || !memcmp(from, to, (LONG + N - 1) * sizeof(int)));
    MPI_Type_free(&values), MPI_Type_free(&overlapping);
    free(from), free(to);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; count == 1 && i < 50; i++)
        free_early();
    if (count == 1)
        free_with_attribute(), disconnect_with_idle_request(), cut_short(), buffer_automatically(), match_many(),
            wait_beside_persistent_collective(), split_beside_duplicate(), number_message(), ask_for_largest_tag(), attach_to_self();
    else
        send_much();
    return finished();
}
