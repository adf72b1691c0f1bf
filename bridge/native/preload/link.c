/* The socket to the gateway: frames out and in.
 *
 *     link_send ──> a queue for each rank of the world ──┐
 *     link_control ──> one queue, which goes first ──────┴──> one frame at a time ──> socket
 *
 * Queues take turns frame by frame. A rank sends no more to another than that one has allowed (FRAME_CREDIT).
 */
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "bridge.h"

#define INPUT (256 << 10)
#define STRAIGHT (16 << 10) /* payload from here on is read straight to where it goes */

static int descriptor = -1;

static struct route {
    struct outgoing *first, *last;
    uint64_t sent, allowed;
    struct route *next; /* in the ring of those that can send */
    bool listed;
} *routes, *ring_first, *ring_last;

static struct outgoing *control_first, *control_last;
static int queued; /* messages in the routes: more than the ring shows, where credit is lacking */

static struct {
    struct outgoing *out; /* null: no frame is half written */
    struct frame head;
    size_t head_left;
    const char *payload;
    size_t left;
} now;

static struct {
    char bytes[INPUT];
    size_t start, end;
    struct frame head;
    size_t left; /* of the payload of `head` */
    struct message *message;
} in;

void link_open(int opened) { descriptor = opened; }
bool link_unsent(void) { return now.out || control_first || ring_first; }
bool link_waiting(void) { return link_unsent() || queued; }

void link_poll(bool unsent, long nanoseconds) {
    struct pollfd gateway = {descriptor, (short)(POLLIN | (unsent ? POLLOUT : 0)), 0};
    ppoll(&gateway, 1, &(struct timespec){0, nanoseconds}, NULL);
}

void link_hello(struct frame *frame, const void *payload, uint32_t length) {
    frame->magic = WIRE_MAGIC, frame->length = length;
    struct iovec parts[2] = {{frame, sizeof *frame}, {(void *)payload, length}};
    if (writev(descriptor, parts, 2) != (ssize_t)(sizeof *frame + length))
        stop("the gateway of this site has closed the connection.");
}

static bool read_all(void *to, size_t bytes) {
    for (char *p = to; bytes;) {
        ssize_t got = recv(descriptor, p, bytes, 0);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0)
            p += got, bytes -= (size_t)got;
    }
    return true;
}

int link_read_frame(struct frame *frame, void *payload, uint32_t room) {
    if (!read_all(frame, sizeof *frame) || frame->magic != WIRE_MAGIC || frame->length > room || !read_all(payload, frame->length))
        _exit(EXIT_BRIDGE); /* the gateway has ended, and has said why */
    return frame->type;
}

void link_start(int ranks, uint64_t window) {
    routes = calloc((size_t)ranks, sizeof *routes);
    for (int i = 0; i < ranks; i++)
        routes[i].allowed = window;
}

/* ---- out ---- */

static void list(struct route *r) {
    if (r->listed)
        return;
    r->listed = true;
    APPEND(ring_first, ring_last, r);
}

static struct route *unlist(void) {
    struct route *r = ring_first;
    ring_first = r->next, r->listed = false;
    return r;
}

static void begin_frame(struct outgoing *out, uint64_t bytes) {
    now.out = out;
    now.head = out->head;
    now.head.magic = WIRE_MAGIC;
    now.head.length = (uint32_t)bytes;
    if (out->started)
        now.head.type = FRAME_FRAGMENT;
    now.head_left = sizeof now.head;
    now.payload = out->data + out->sent;
    now.left = bytes;
    out->started = true;
}

/* Chooses what is written next; false if there is nothing, or no credit for it. */
static bool next_frame(void) {
    struct outgoing *out = control_first;
    if (out)
        return begin_frame(out, out->head.length), true;
    while (ring_first) {
        struct route *r = unlist();
        out = r->first;
        uint64_t bytes = out->head.total - out->sent, allowed = r->allowed - r->sent;
        if (allowed < sizeof out->head + (bytes != 0))
            continue; /* until more is allowed */
        if (bytes > FRAME_PAYLOAD)
            bytes = FRAME_PAYLOAD;
        if (bytes > allowed - sizeof out->head)
            bytes = allowed - sizeof out->head;
        r->sent += sizeof out->head + bytes;
        begin_frame(out, bytes);
        return true;
    }
    return false;
}

static void end_frame(void) {
    struct outgoing *out = now.out;
    now.out = NULL;
    out->sent += now.head.length;
    if (out->dest < 0) {
        control_first = out->next;
        free(out->owned), free(out);
        return;
    }
    struct route *r = &routes[out->dest];
    bool all = out->sent == out->head.total;
    if (all)
        r->first = out->next, queued--;
    if (r->first)
        list(r);
    if (!all)
        return;
    if (out->counted)
        buffered_sent(out->sent);
    if (out->operation)
        send_part_done(out->operation);
    free(out->owned), free(out);
}

void link_write(void) {
    while (now.out || next_frame()) {
        struct iovec parts[2] = {{(char *)&now.head + sizeof now.head - now.head_left, now.head_left}, {(void *)now.payload, now.left}};
        struct msghdr what = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t wrote = sendmsg(descriptor, &what, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (wrote < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN)
                link_read(), _exit(EXIT_BRIDGE); /* an ABORT may have come before the end */
            return;
        }
        size_t head = (size_t)wrote < now.head_left ? (size_t)wrote : now.head_left;
        now.head_left -= head;
        now.payload += (size_t)wrote - head;
        now.left -= (size_t)wrote - head;
        if (!now.head_left && !now.left)
            end_frame();
    }
}

void link_send(struct outgoing *out) {
    struct route *r = &routes[out->dest];
    queued++;
    if (!r->first)
        list(r);
    APPEND(r->first, r->last, out);
    link_write();
}

void link_control(uint16_t type, int dest, int tag, uint64_t total, uint64_t id, const void *payload, uint32_t length) {
    struct outgoing *out = calloc(1, sizeof *out);
    out->head = (struct frame){.type = type, .source = world.rank, .dest = dest, .tag = tag, .total = total, .id = id, .length = length};
    out->dest = -1;
    if (length) {
        out->data = out->owned = grow(NULL, length);
        memcpy(out->owned, payload, length);
    }
    APPEND(control_first, control_last, out);
    link_write();
}

void link_credit(int dest, uint64_t allowed) { link_control(FRAME_CREDIT, dest, 0, allowed, 0, NULL, 0); }

void link_drain(void) { AWAIT(!link_unsent(), true); }

/* ---- in ---- */

static void begin_payload(void) {
    const struct frame *h = &in.head;
    if (h->magic != WIRE_MAGIC || h->length > FRAME_PAYLOAD)
        stop("rank %d got bytes from its gateway that are no frame.", world.rank);
    in.left = h->length;
    in.message = NULL;
    if (h->type == FRAME_MESSAGE)
        in.message = message_arrived(h);
    else if (h->type == FRAME_FRAGMENT)
        in.message = message_under_way(h);
}

static void end_payload(void) {
    const struct frame *h = &in.head;
    switch (h->type) {
    case FRAME_MESSAGE:
    case FRAME_FRAGMENT:
        message_received(in.message, h->length);
        break;
    case FRAME_ACKNOWLEDGE:
        send_acknowledged(h->id);
        break;
    case FRAME_CREDIT:
        if (routes[h->source].allowed < h->total)
            routes[h->source].allowed = h->total;
        if (routes[h->source].first && !(now.out && now.out == routes[h->source].first))
            list(&routes[h->source]);
        link_write();
        break;
    case FRAME_ABORT:
        _exit(h->tag);
    }
}

static void take_payload(const char *bytes, size_t n) {
    if (in.message) {
        memcpy(in.message->target + in.message->got, bytes, n);
        in.message->got += n;
    }
    in.left -= n;
}

static void take_input(void) {
    for (;;) {
        size_t ready = in.end - in.start;
        if (in.left) {
            size_t n = ready < in.left ? ready : in.left;
            if (!n)
                break;
            take_payload(in.bytes + in.start, n);
            in.start += n;
        } else {
            if (ready < sizeof in.head)
                break;
            memcpy(&in.head, in.bytes + in.start, sizeof in.head);
            in.start += sizeof in.head;
            begin_payload();
        }
        if (!in.left)
            end_payload();
    }
    if (in.start)
        memmove(in.bytes, in.bytes + in.start, in.end - in.start);
    in.end -= in.start, in.start = 0;
}

void link_read(void) {
    for (;;) {
        bool straight = in.message && in.left >= STRAIGHT && in.end == 0;
        char *to = straight ? in.message->target + in.message->got : in.bytes + in.end;
        size_t room = straight ? in.left : INPUT - in.end;
        ssize_t got = recv(descriptor, to, room, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            _exit(EXIT_BRIDGE); /* the gateway has ended, and has said why */
        if (straight) {
            in.message->got += (size_t)got;
            in.left -= (size_t)got;
            if (!in.left)
                end_payload();
        } else {
            in.end += (size_t)got;
            take_input();
        }
        if ((size_t)got < room)
            return;
    }
}
