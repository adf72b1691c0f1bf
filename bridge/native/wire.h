/* Frames of the bridge, protocol 1: between a rank and the gateway of its site, and between gateways.
 *
 *     rank ── HELLO ──> gateway ── SITE ──> gateway      who is there
 *     rank <── WORLD ── gateway <── READY ── gateway     all ranks of all sites have come
 *     rank ── MESSAGE, FRAGMENT, ACKNOWLEDGE, CREDIT ──> gateway ──> gateway ──> rank
 *     rank ── BYE ──> gateway ── BYE ──> gateway         MPI_Finalize
 *     ABORT                                              from anyone to everyone
 *
 * A frame is a header of 48 bytes and `length` bytes of payload, at most FRAME_PAYLOAD. All numbers are little-endian.
 * A message is one MESSAGE, which holds its envelope and first bytes, and as many FRAGMENTs as it needs; `id` joins them. The frames of one
 * (source, dest) pair keep their order on every link; frames of other pairs come between them.
 * Between gateways whole frames of one source may lie in a PARCEL: compressed, or with a number where a link has several connections or
 * may be resumed. A PARCEL that has come is TAKEN after the one of the same source before it.
 */
#ifndef STEPPE_BRIDGE_WIRE_H
#define STEPPE_BRIDGE_WIRE_H

#include <stdint.h>

#define WIRE_MAGIC 0x31425453u /* "STB1" */
#define WIRE_PROTOCOL 1
#define FRAME_PAYLOAD 65536
#define CHALLENGE 32

enum frame_type {
    FRAME_HELLO = 1,   /* rank: source = rank in its launch, dest = ranks of its launch, tag = protocol, payload = struct machine.
                          By TCP the gateway says it first, payload = CHALLENGE random bytes; to struct machine the rank then adds
                          HMAC-SHA256 of them, its key the SHA-256 of the file of the site's secret */
    FRAME_WORLD,       /* source = site, dest = world rank, tag = number of sites, total = world size, id = credit window of a pair [bytes of frames],
                          payload = int32 site of each world rank, then the names of the sites, each ended by a zero */
    FRAME_MESSAGE,     /* source, dest: world ranks; context, tag; total = bytes of the message; id = number of the message at its source */
    FRAME_FRAGMENT,    /* source, dest; id */
    FRAME_ACKNOWLEDGE, /* source, dest; id = a synchronous message that a receive has matched */
    FRAME_CREDIT,      /* source, dest; total = bytes of frames that dest may have sent to source since the start, headers too */
    FRAME_ABORT,       /* source = world rank or -1, tag = exit code, payload = a sentence */
    FRAME_BYE,         /* source = world rank (of a rank) or site (of a gateway) */
    FRAME_SITE,        /* gateways: gateway/ says what is in it */
    FRAME_READY,       /* source = site, all whose ranks have come */
    FRAME_PING,
    FRAME_PONG,
    FRAME_PARCEL, /* gateways: source = world rank or -1, tag = enum coding, context = its number on the link (from 1; 0: none), id = the
                     number before it of the same source (0: none to wait for; EVERY: all before it), total = bytes of the frames in it */
    FRAME_TAKEN,  /* gateways: id = all parcels up to this number have been taken */
};

enum frame_flag {
    FLAG_SYNCHRONOUS = 1, /* MESSAGE: to be acknowledged when it is matched */
};

enum coding { CODING_NONE, CODING_ZSTD }; /* FRAME_PARCEL; flags: bytes of a number whose bytes lie apart, 1, 4 or 8 */

#define EVERY UINT64_MAX

struct frame {
    uint32_t magic;
    uint16_t type, flags;
    int32_t source, dest;
    uint64_t context;
    int32_t tag;
    uint32_t length;
    uint64_t total;
    uint64_t id;
};

/* What the machines of all sites must have in common, since values cross as they lie in memory. */
struct machine {
    uint8_t little_endian, size_of_long, size_of_long_double, size_of_wide_char, size_of_pointer, size_of_bool, unused[2];
};

_Static_assert(sizeof(struct frame) == 48, "the header is part of the protocol");
_Static_assert(sizeof(struct machine) == 8, "the payload of HELLO is part of the protocol");

#endif
