/* Where the values of a collective's call lie: see calls.c. `rank`: a rank, or the number of a neighbour. */
#ifndef STEPPE_BRIDGE_CALLS_H
#define STEPPE_BRIDGE_CALLS_H

#include "blocks.h"

MPI_Count side_count(const struct side *s, int rank);
MPI_Datatype side_type(const struct side *s, int rank);
char *side_pack(const struct side *s, int rank, uint64_t *bytes); /* the caller frees */
struct blocks side_blocks(const struct side *s, int n); /* of the first `n` ranks */
int side_unpack(const struct side *s, int rank, const char *block, uint64_t bytes); /* an error if there is no room for all */

struct values { /* a vector of values, owned: free(memory) */
    void *at, *memory;
};

struct values values_of(const char *packed, uint64_t bytes, const struct call *a);
void values_reduce(const void *left, void *right, const struct call *a); /* into the right one */
struct values values_combine(struct values *parts, int n, const struct call *a); /* frees the parts */
struct values values_combined(const struct blocks *b, int first, int n, const struct call *a); /* of `n` blocks */
void values_put(struct values v, MPI_Count first, void *to, MPI_Count count, const struct call *a); /* those from `first` on; frees `v` */
MPI_Count call_whole(struct call *a, int size, int rank); /* a reduction without its scatter; returns where the part of a rank begins */

#endif
