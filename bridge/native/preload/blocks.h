/* Blocks of bytes, one a rank, and bytes from rank to rank: see blocks.c. */
#ifndef STEPPE_BRIDGE_BLOCKS_H
#define STEPPE_BRIDGE_BLOCKS_H

#include "bridge.h"

struct part { /* bytes that leave */
    struct operation remote;
    MPI_Request local;
};

struct package {
    char *data;
    uint64_t bytes;
};

struct blocks {
    int n;
    uint64_t *sizes;
    const char **at; /* rank -> its block */
    char **memory;   /* of the blocks */
    int memories;
};

void part_send(struct part *p, struct communicator *c, const void *data, uint64_t bytes, int peer, int tag);
void parts_await(struct part *parts, int n); /* frees them */
char *part_receive(struct communicator *c, int peer, int tag, uint64_t *bytes); /* the caller frees */
struct part *send_to_leaders(struct communicator *c, const void *data, uint64_t bytes, int tag); /* c->sites - 1 parts */

struct blocks blocks_gather(struct communicator *c, const char *block, uint64_t bytes, int root, int tag);
struct blocks blocks_allgather(struct communicator *c, const char *block, uint64_t bytes, int tag);
struct package blocks_scatter(struct communicator *c, const struct blocks *all, int root, int tag);
struct blocks blocks_new(int n);
struct package blocks_wrap(const struct blocks *b, const int *site_of, int site); /* those of a site; of all where `site_of` is null */
char *blocks_own(struct blocks *b, char *memory); /* freed with them */
void blocks_free(struct blocks *b);

#endif
