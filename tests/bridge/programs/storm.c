/* Random traffic among all ranks, checked: `storm SEED`. Every rank draws the same plan from the seed, so each knows what it must get. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;
static unsigned long long drawn;

#define CHECK(what)                                                                                                                        \
    do                                                                                                                                     \
        if (!(what) && failures++ < 5)                                                                                                     \
            printf("rank %d, line %d: not %s\n", rank, __LINE__, #what);                                                                   \
    while (0)

static unsigned draw(unsigned below) { /* the same on all ranks, who call it alike */
    drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(drawn >> 33) % below;
}

static int value_of(int source, int dest, int number) { return source * 1000003 + dest * 1009 + number; }

/* Calls that block inside a site, while messages from and to other sites are under way. */
static void inside(MPI_Comm site, int count) {
    int n, me, total, left;
    MPI_Comm_size(site, &n);
    MPI_Comm_rank(site, &me);
    for (int k = 0; k < count; k++) {
        int mine = me + k;
        MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, site);
        CHECK(total == n * (n - 1) / 2 + n * k);
        MPI_Sendrecv(&mine, 1, MPI_INT, (me + 1) % n, k, &left, 1, MPI_INT, (me + n - 1) % n, k, site, MPI_STATUS_IGNORE);
        CHECK(left == (me + n - 1) % n + k);
    }
}

/* Everyone sends `count` messages to everyone, by all modes; receives name their source, or none; the order of each source must hold. */
static void storm(MPI_Comm comm, int count) {
    int n, me, messages = 0, requests = 0;
    MPI_Comm site;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &site);
    MPI_Request *request = malloc(2 * (size_t)(count * n) * sizeof *request);
    MPI_Status *status = malloc(2 * (size_t)(count * n) * sizeof *status);
    int *got = malloc((size_t)(count * n) * sizeof *got), *sent = malloc((size_t)(count * n) * sizeof *sent);
    int *next = calloc((size_t)n, sizeof *next);
    for (int i = 0; i < count * n; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 7, comm, &request[requests++]);
    for (int k = 0; k < count; k++)
        for (int d = 0; d < n; d++) {
            int dest = (me + d) % n;
            sent[messages] = value_of(me, dest, k);
            if ((k + d) % 5 == 4)
                MPI_Issend(&sent[messages], 1, MPI_INT, dest, 7, comm, &request[requests++]);
            else
                MPI_Isend(&sent[messages], 1, MPI_INT, dest, 7, comm, &request[requests++]);
            messages++;
            if (k == count / 2 && d == 0)
                inside(site, 1 + count / 3);
        }
    inside(site, 1 + count / 3);
    MPI_Comm_free(&site);
    if (draw(2))
        MPI_Waitall(requests, request, status);
    else
        for (int left = requests, some, *index = malloc((size_t)requests * sizeof *index); left > 0; left -= some) {
            MPI_Status *part = malloc((size_t)requests * sizeof *part);
            MPI_Waitsome(requests, request, &some, index, part);
            for (int i = 0; i < some; i++)
                status[index[i]] = part[i];
            free(part);
            if (left == some)
                free(index);
        }
    for (int i = 0; i < count * n; i++) {
        int source = status[i].MPI_SOURCE, values;
        MPI_Get_count(&status[i], MPI_INT, &values);
        CHECK(values == 1 && status[i].MPI_TAG == 7);
        CHECK(source >= 0 && source < n && got[i] == value_of(source, me, next[source]));
        next[source]++;
    }
    free(request), free(status), free(got), free(sent), free(next);
}

/* A ring of long messages: plain, of a strided type, matched by a probe, and replaced in place. */
static void ring(MPI_Comm comm) {
    int n, me, length = 1 + (int)draw(120000), values;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    int to = (me + 1) % n, from = (me + n - 1) % n;
    double *out = malloc(2 * (size_t)length * sizeof *out), *in = malloc(2 * (size_t)length * sizeof *in);
    MPI_Datatype strided;
    MPI_Type_vector(length, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < 2 * length; i++)
        out[i] = me + i * 0.5, in[i] = -1;
    MPI_Status status;
    MPI_Sendrecv(out, 1, strided, to, 3, in, 1, strided, from, 3, comm, &status);
    MPI_Get_count(&status, strided, &values);
    CHECK(values == 1 && status.MPI_SOURCE == from);
    for (int i = 0; i < length; i += 1 + length / 100)
        CHECK(in[2 * i] == from + i && in[2 * i + 1] == -1);
    MPI_Request request;
    MPI_Message message;
    MPI_Isend(out, 2 * length, MPI_DOUBLE, to, 4, comm, &request);
    MPI_Mprobe(MPI_ANY_SOURCE, 4, comm, &message, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &values);
    CHECK(values == 2 * length && status.MPI_SOURCE == from);
    MPI_Mrecv(in, 2 * length, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[2 * length - 1] == from + (2 * length - 1) * 0.5);
    MPI_Sendrecv_replace(out, length, MPI_DOUBLE, from, 5, to, 5, comm, MPI_STATUS_IGNORE);
    CHECK(out[0] == to);
    MPI_Type_free(&strided);
    free(out), free(in);
}

/* Persistent requests to both neighbours, started several times; a receive that is cancelled. */
static void persistent(MPI_Comm comm) {
    int n, me, out[2], in[2], cancelled;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    int to = (me + 1) % n, from = (me + n - 1) % n;
    MPI_Request request[4], lost;
    MPI_Status status;
    MPI_Recv_init(&in[0], 1, MPI_INT, from, 11, comm, &request[0]);
    MPI_Recv_init(&in[1], 1, MPI_INT, to, 12, comm, &request[1]);
    MPI_Send_init(&out[0], 1, MPI_INT, to, 11, comm, &request[2]);
    MPI_Ssend_init(&out[1], 1, MPI_INT, from, 12, comm, &request[3]);
    for (int k = 0; k < 4; k++) {
        out[0] = out[1] = me * 10 + k;
        MPI_Startall(4, request);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
        CHECK(in[0] == from * 10 + k && in[1] == to * 10 + k);
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&request[i]);
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 999, comm, &lost);
    MPI_Cancel(&lost);
    MPI_Wait(&lost, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
}

static void not_commuting(void *left, void *right, int *count, MPI_Datatype *type) { /* affine maps: (a, b) after (c, d) */
    (void)type;
    long *x = left, *y = right;
    for (int i = 0; i < *count; i++, x += 2, y += 2)
        y[1] = (x[1] * y[0] + y[1]) % 1000003, y[0] = x[0] * y[0] % 1000003;
}

static void collectives(MPI_Comm comm) {
    int n, me, root;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    root = (int)draw((unsigned)n);
    int length = 1 + (int)draw(3000);
    long sum = 0, *mine = malloc((size_t)(length * n) * sizeof *mine), *all = malloc((size_t)(length * n) * sizeof *all);
    for (int i = 0; i < length; i++)
        mine[i] = me == root ? i * 7 : 0;
    MPI_Bcast(mine, length, MPI_LONG, root, comm);
    CHECK(mine[length - 1] == (length - 1) * 7L);
    for (int i = 0; i < length; i++)
        mine[i] = me + i;
    MPI_Request request[2];
    MPI_Iallreduce(mine, all, length, MPI_LONG, MPI_SUM, comm, &request[0]);
    long one = me + 1;
    MPI_Iscan(&one, &sum, 1, MPI_LONG, MPI_SUM, comm, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(all[length - 1] == n * (length - 1L) + n * (n - 1L) / 2 && sum == (me + 1L) * (me + 2) / 2);
    MPI_Allgather(mine, length, MPI_LONG, all, length, MPI_LONG, comm);
    for (int r = 0; r < n; r++)
        CHECK(all[r * length + length - 1] == r + length - 1);
    MPI_Gather(mine, length, MPI_LONG, all, length, MPI_LONG, root, comm);
    if (me == root)
        CHECK(all[(n - 1) * length] == n - 1);
    MPI_Scatter(all, length, MPI_LONG, me == root ? MPI_IN_PLACE : mine, length, MPI_LONG, root, comm);
    CHECK(mine[0] == me);
    for (int r = 0; r < n; r++)
        mine[r] = me * 100 + r;
    MPI_Alltoall(mine, 1, MPI_LONG, all, 1, MPI_LONG, comm);
    for (int r = 0; r < n; r++)
        CHECK(all[r] == r * 100 + me);
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(not_commuting, 0, &op);
    long map[2] = {me + 2, 3 * me + 1}, got[2], want[2] = {2, 1};
    for (int r = 1; r < n; r++) {
        long right[2] = {r + 2, 3 * r + 1};
        int number = 1;
        not_commuting(want, right, &number, &pair);
        memcpy(want, right, sizeof want);
    }
    MPI_Allreduce(map, got, 1, pair, op, comm);
    CHECK(got[0] == want[0] && got[1] == want[1]);
    MPI_Reduce(map, got, 1, pair, op, root, comm);
    CHECK(me != root || (got[0] == want[0] && got[1] == want[1]));
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    free(mine), free(all);
}

static void all_of(MPI_Comm comm) {
    storm(comm, 5 + (int)draw(60));
    MPI_Barrier(comm); /* what comes next must not meet receives of any tag */
    ring(comm);
    persistent(comm);
    collectives(comm);
    MPI_Barrier(comm);
}

int main(int words, char **word) {
    MPI_Init(&words, &word);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && words > 2)
        puts(word[2]), fflush(stdout);
    drawn = words > 1 ? strtoull(word[1], NULL, 10) : 1;
    all_of(MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++) {
        MPI_Comm part, copy;
        unsigned long long before = drawn;
        int colors = 1 + (int)draw(3), backwards = (int)draw(2), color = (rank + (int)draw(5)) % colors, total;
        MPI_Comm_split(MPI_COMM_WORLD, color, backwards ? -rank : rank, &part);
        MPI_Comm_dup(part, &copy);
        drawn = before + 17; /* the parts draw alike, too */
        all_of(copy);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&part);
        int one = 1;
        MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(total == size);
    }
    int all;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d failures\n", size, all);
    MPI_Finalize();
    return all != 0;
}
