/* What messages cost, for benchmarks/bridge.py. Measurements are done in the order of the words; each prints "NAME VALUE".

   pingpong A B BYTES ROUNDS EACH   one way [us], the median of ROUNDS means over EACH round trips; the other ranks wait
   bandwidth A B BYTES COUNT        COUNT messages sent at once, answered by one byte [MB/s]
   barrier COUNT, allreduce COUNT   of 8 bytes, the mean [us]
   broadcast BYTES COUNT            to the last rank: half of a broadcast from rank 0 and the answer of the last rank, median [us]
   overlap SECONDS COUNT            a non-blocking allreduce beside work of so long, over that work alone
   beside SECONDS                   ranks 1 and 3 ping-pong while 0 streams to 2: a round trip, the median [us]; streamed [MB/s]
   smooth, noise                    what is sent from here on: doubles of a field without jumps, or (from the start) noise
   started                          CLOCK_MONOTONIC [s] at which the last rank had left MPI_Init

   "tcp PORT THROUGH" as the first words: no MPI; rank 1 listens at PORT, rank 0 connects to THROUGH, which leads there. */
#include <math.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, STREAMED = 1 << 20, BUFFER = 8 << 20, WORDS = 5 };

static int rank, size, fd = -1;
static char *buffer;
static double samples[MOST];

static double seconds(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static double median(int n) {
    qsort(samples, (size_t)n, sizeof *samples, by_value);
    return samples[n / 2];
}

static void say(int who, const char *name, double value) {
    if (rank == who)
        printf("%s %.9g\n", name, value), fflush(stdout);
}

static void fill(int smooth) {
    uint64_t noise = 88172645463325252;
    for (size_t i = 0; i < BUFFER / 8; i++) {
        noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
        double value = 280 + 12 * sin((double)i / 9000) + 1e-9 * (double)(noise % 1000);
        memcpy(buffer + 8 * i, smooth ? (void *)&value : (void *)&noise, 8);
    }
}

static void put(int to, int bytes) {
    if (fd < 0)
        MPI_Send(buffer, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
    else if (send(fd, buffer, (size_t)bytes, 0) != bytes)
        exit(1);
}

static void get(int from, int bytes) {
    if (fd < 0)
        MPI_Recv(buffer, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (recv(fd, buffer, (size_t)bytes, MSG_WAITALL) != bytes)
        exit(1);
}

static void trip(int a, int b, int bytes) {
    if (rank == a)
        put(b, bytes), get(b, bytes);
    else
        get(a, bytes), put(a, bytes);
}

static void pingpong(int a, int b, int bytes, int rounds, int each) {
    for (int i = -1; i < rounds; i++) {
        double begin = seconds();
        for (int k = 0; k < each; k++)
            trip(a, b, bytes);
        samples[i < 0 ? 0 : i] = (seconds() - begin) / each / 2 * 1e6;
    }
    say(a, "pingpong", median(rounds));
}

static void bandwidth(int a, int b, int bytes, int count) {
    MPI_Request all[64];
    trip(a, b, 1);
    double begin = seconds();
    for (int k = 0; k < count; k++) {
        if (fd >= 0)
            rank == a ? put(b, bytes) : get(a, bytes);
        else if (rank == a)
            MPI_Isend(buffer, bytes, MPI_BYTE, b, 2, MPI_COMM_WORLD, &all[k]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, a, 2, MPI_COMM_WORLD, &all[k]); /* all into one place: only the time counts */
    }
    if (fd < 0)
        MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
    rank == a ? get(b, 1) : put(a, 1);
    say(a, "bandwidth", (double)bytes * count / (seconds() - begin) / 1e6);
}

static void together(const char *name, int count) {
    double one = 1, sum = 0, begin = 0;
    for (int k = -4; k < count; k++) {
        begin = k ? begin : seconds();
        name[0] == 'b' ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    say(0, name, (seconds() - begin) / count * 1e6);
}

static void broadcast(int bytes, int count) {
    for (int k = -1; k < count; k++) {
        double begin = seconds();
        MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rank == size - 1)
            put(0, 1);
        if (rank == 0)
            get(size - 1, 1);
        samples[k < 0 ? 0 : k] = (seconds() - begin) / 2 * 1e6;
    }
    say(0, "broadcast", median(count));
}

static double work(double turns) {
    static volatile double kept = 1;
    double begin = seconds(), x = kept;
    for (long k = 0; k < (long)turns; k++)
        x = x * 0.999999 + 1e-6;
    kept = x;
    return seconds() - begin;
}

static void overlap(double time, int count) {
    double one = 1, sum, turns = 1e6;
    for (int k = 0; k < 3; k++)
        turns *= time / work(turns);
    MPI_Bcast(&turns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int k = 0; k < count; k++) {
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        double alone = work(turns);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = seconds();
        MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        work(turns);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        samples[k] = (seconds() - begin) / alone;
    }
    say(0, "overlap", median(count));
}

static void beside(double time) {
    double begin = seconds(), now = begin;
    int n = 0;
    if (rank == 0) {
        MPI_Request two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        for (int k = 0; k < 2 || seconds() - begin < time; k++) {
            MPI_Wait(&two[k % 2], MPI_STATUS_IGNORE);
            MPI_Isend(buffer, STREAMED, MPI_BYTE, 2, 1, MPI_COMM_WORLD, &two[k % 2]);
        }
        MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
        put(2, 0);
    } else if (rank == 2) {
        for (int got = 1; got; n += got > 0) {
            MPI_Status status;
            MPI_Recv(buffer, STREAMED, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &got);
        }
        say(2, "streamed", n * (double)STREAMED / (seconds() - begin) / 1e6);
    } else {
        for (buffer[0] = 1; buffer[0];) { /* rank 1 says 0 in its last one */
            now = seconds();
            buffer[0] = rank == 1 ? now - begin < 0.9 * time : buffer[0];
            trip(1, 3, 8);
            if (now - begin > 0.2 * time && n < MOST) /* the stream flows by then */
                samples[n++] = (seconds() - now) * 1e6;
        }
        say(1, "beside", median(n));
    }
}

static void connect_pair(int port, int through) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1))
        perror("listen"), exit(1);
    rank = fork() == 0;
    address.sin_port = htons((uint16_t)through);
    fd = rank ? accept(listener, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);
    if (!rank && connect(fd, (struct sockaddr *)&address, sizeof address))
        perror("connect"), exit(1);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int main(int argc, char **words) {
    double started, last;
    int tcp = argc > 3 && !strcmp(words[1], "tcp");
    buffer = malloc(BUFFER);
    fill(0);
    if (tcp)
        connect_pair(atoi(words[2]), atoi(words[3]));
    else
        MPI_Init(&argc, &words), started = seconds(), MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (char **next = words + (tcp ? 4 : 1); *next;) {
        const char *name = *next++;
        double number[WORDS] = {0};
        for (int k = 0; k < WORDS && *next && **next <= '9'; k++)
            number[k] = atof(*next++);
        int pair = !strcmp(name, "pingpong") || !strcmp(name, "bandwidth"), takes_part = !pair || rank == (int)number[0] || rank == (int)number[1];
        if (!tcp)
            MPI_Barrier(MPI_COMM_WORLD);
        if (pair && takes_part)
            name[0] == 'p' ? pingpong((int)number[0], (int)number[1], (int)number[2], (int)number[3], (int)number[4])
                           : bandwidth((int)number[0], (int)number[1], (int)number[2], (int)number[3]);
        else if (!strcmp(name, "broadcast"))
            broadcast((int)number[0], (int)number[1]);
        else if (!strcmp(name, "overlap"))
            overlap(number[0], (int)number[1]);
        else if (!strcmp(name, "beside"))
            beside(number[0]);
        else if (!strcmp(name, "smooth") || !strcmp(name, "noise"))
            fill(name[0] == 's');
        else if (!strcmp(name, "started"))
            MPI_Reduce(&started, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD), say(0, name, last);
        else if (takes_part)
            together(name, (int)number[0]);
    }
    return tcp ? 0 : MPI_Finalize();
}
