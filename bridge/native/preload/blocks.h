/* Blocks of bytes, one a rank: see blocks.c. */
#ifndef STEPPE_BRIDGE_BLOCKS_H
#define STEPPE_BRIDGE_BLOCKS_H

#include "bridge.h"

struct package {
    char *data;
    uint64_t bytes;
};

struct blocks {
    int n;
    uint64_t *sizes;
    const char **at; /* rank -> its block */
    char **package;  /* memory of the blocks */
    int packages;
};

struct blocks blocks_gather(struct communicator *c, const char *block, uint64_t bytes, int root, int tag);
struct blocks blocks_allgather(struct communicator *c, const char *block, uint64_t bytes, int tag);
struct package blocks_scatter(struct communicator *c, const struct blocks *b, int root, int tag);
void blocks_allocate(struct blocks *b, int n);
void blocks_free(struct blocks *b);

MPI_Request local_start(struct communicator *c, void *data, uint64_t bytes, int peer, int tag, bool out); /* to or from a rank in `inner` */
void post_bytes(struct operation *o, struct communicator *c, const void *data, uint64_t bytes, int peer, int tag);
struct operation *post_to_leaders(struct communicator *c, const void *data, uint64_t bytes, int tag);
void await_to_leaders(struct communicator *c, struct operation *sends);

#endif
