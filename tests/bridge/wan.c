/* A wide area network for tests: a TCP proxy with a delay, a rate, and accidents.
 *
 *     wan LISTEN_PORT TARGET_PORT DELAY_NS RATE EACH     RATE in bytes/s of each direction, 0 = none; EACH = 1: of each connection
 *
 * Prints its port. Commands come on stdin, one a line, and are answered by the same line: "stall" (no bytes pass, connections stay), "drop"
 * (bytes vanish), "cut" (closes all, and new ones at once), "go" (as in the beginning). It ends with its stdin.
 * With a rate it takes bytes only as fast as they leave, and has small buffers: what is sent too fast waits at the sender, as before a real link.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 256, PIECE = 65536, PIECE_LEAST = 2048, LATE_MOST = 1 << 20, SMALL_BUFFER = 65536, LEAST_BUFFER = 20000 };

/* A process that is not scheduled for so long does not lose rate. */
static const int64_t catch_up = 4000000;

struct piece {
    struct piece *next;
    int64_t due;
    size_t start, end;
    char data[];
};

struct way {
    int from, to;
    bool ended, told; /* the sender has closed; the receiver knows */
    struct piece *first, *last;
    size_t late; /* bytes that are due and that the receiver has not taken */
    int64_t free_at;
};

static struct way ways[2 * PAIRS]; /* of a pair: there, back */
static int n_ways;
static int64_t delay, shared_free_at[2];
static double rate;
static size_t piece_most = PIECE;
static int buffer = SMALL_BUFFER;
static bool each, stalled, drops, is_cut;

static int64_t clock_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}

static void close_pair(struct way *pair) {
    close(pair[0].from);
    close(pair[0].to);
    for (int i = 0; i < 2; i++) {
        for (struct piece *piece; (piece = pair[i].first);) {
            pair[i].first = piece->next;
            free(piece);
        }
    }
    n_ways -= 2;
    struct way *last = &ways[n_ways];
    if (pair != last)
        memcpy(pair, last, 2 * sizeof *pair);
}

static void tune(int fd) {
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (rate > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void take_connection(int listener, int target_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)target_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int from = accept(listener, NULL, NULL), to = socket(AF_INET, SOCK_STREAM, 0);
    if (from < 0 || to < 0 || is_cut || n_ways == 2 * PAIRS || connect(to, (struct sockaddr *)&address, sizeof address)) {
        close(from);
        close(to);
        return;
    }
    tune(from);
    tune(to);
    ways[n_ways++] = (struct way){.from = from, .to = to};
    ways[n_ways++] = (struct way){.from = to, .to = from};
}

static int64_t *free_at(struct way *way) { return each ? &way->free_at : &shared_free_at[(way - ways) % 2]; }

static void take(struct way *way, int64_t now) {
    struct piece *piece = malloc(sizeof *piece + piece_most);
    ssize_t got = piece ? read(way->from, piece->data, piece_most) : 0;
    if (got <= 0 || drops) {
        way->ended |= got == 0 || (got < 0 && errno != EAGAIN);
        free(piece);
        return;
    }
    int64_t leaves = now;
    if (rate > 0) {
        int64_t *free_from = free_at(way);
        leaves = (*free_from > now - catch_up ? *free_from : now) + (int64_t)((double)got / rate * 1e9);
        *free_from = leaves;
        leaves = leaves > now ? leaves : now;
    }
    *piece = (struct piece){.due = leaves + delay, .end = (size_t)got};
    *(way->last ? &way->last->next : &way->first) = piece;
    way->last = piece;
    way->late += (size_t)got;
}

static void deliver(struct way *way, int64_t now) {
    for (struct piece *piece; (piece = way->first) && piece->due <= now;) {
        ssize_t sent = send(way->to, piece->data + piece->start, piece->end - piece->start, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) /* it has closed: what is under way to it is of no use */
            sent = (ssize_t)(piece->end - piece->start);
        if (sent <= 0)
            return;
        way->late -= (size_t)sent;
        piece->start += (size_t)sent;
        if (piece->start < piece->end)
            return;
        way->first = piece->next;
        way->last = way->first ? way->last : NULL;
        free(piece);
    }
    if (way->ended && !way->first && !way->told && !drops) {
        way->told = true;
        shutdown(way->to, SHUT_WR);
    }
}

static void obey(void) {
    char line[32];
    if (!fgets(line, sizeof line, stdin))
        exit(0);
    bool goes = !strncmp(line, "go", 2);
    stalled = !goes && (stalled || !strncmp(line, "stall", 5));
    drops = !goes && (drops || !strncmp(line, "drop", 4));
    is_cut = !goes && (is_cut || !strncmp(line, "cut", 3));
    while (is_cut && n_ways)
        close_pair(&ways[n_ways - 2]);
    fputs(line, stdout);
}

int main(int count, char **words) {
    if (count != 6)
        return 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    delay = atoll(words[3]);
    rate = atof(words[4]);
    each = atoi(words[5]);
    if (rate > 0) { /* pieces of 0.2 ms, a buffer of 1 ms, of which the system takes twice */
        piece_most = rate * 2e-4 < PIECE_LEAST ? PIECE_LEAST : rate * 2e-4 > PIECE ? PIECE : (size_t)(rate * 2e-4);
        int small = each || rate < 20e6 ? SMALL_BUFFER : LEAST_BUFFER; /* with less, loopback's large segments close the window of a slow one */
        buffer = rate * 1e-3 > small ? (int)(rate * 1e-3) : small;
    }
    prctl(PR_SET_TIMERSLACK, 1000);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (rate > 0)
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer); /* before a connection exists, or the window is large */
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) {
        perror("wan");
        return 1;
    }
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    for (int64_t now = clock_ns();;) {
        struct pollfd wanted[2 + 4 * PAIRS] = {{.fd = 0, .events = POLLIN}, {.fd = stalled ? -1 : listener, .events = POLLIN}};
        int64_t next = now + 1000000000;
        for (int i = 0; i < n_ways; i++) {
            struct way *way = &ways[i];
            bool paced = rate > 0 && *free_at(way) > now, full = way->late > LATE_MOST && way->first->due <= now;
            bool due = way->first && way->first->due <= now;
            wanted[2 + 2 * i] = (struct pollfd){.fd = stalled || way->ended || paced || full ? -1 : way->from, .events = POLLIN};
            wanted[3 + 2 * i] = (struct pollfd){.fd = due && !stalled ? way->to : -1, .events = POLLOUT};
            if (paced && !stalled && *free_at(way) < next)
                next = *free_at(way);
            if (way->first && !due && !stalled && way->first->due < next)
                next = way->first->due;
        }
        int64_t rest = next > now ? next - now : 0;
        ppoll(wanted, (nfds_t)(2 + 2 * n_ways), &(struct timespec){rest / 1000000000, rest % 1000000000}, NULL);
        now = clock_ns();
        int polled = n_ways;
        for (int k = 0, from = (int)(now / 1000 % (polled ? polled : 1)); k < polled && !stalled; k++) { /* nobody is always the first */
            int i = (from + k) % polled;
            if (wanted[2 + 2 * i].revents && (rate <= 0 || *free_at(&ways[i]) <= now))
                take(&ways[i], now);
            deliver(&ways[i], now);
        }
        for (int i = polled - 2; i >= 0; i -= 2)
            if (ways[i].told && ways[i + 1].told)
                close_pair(&ways[i]);
        if (wanted[1].revents)
            take_connection(listener, atoi(words[2]));
        if (wanted[0].revents)
            obey();
    }
}
