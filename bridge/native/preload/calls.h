/* Where the values of a collective's call lie: see calls.c. `rank`: a rank, or the number of a neighbour. */
#ifndef STEPPE_BRIDGE_CALLS_H
#define STEPPE_BRIDGE_CALLS_H

#include "bridge.h"

MPI_Count call_send_count(const struct call *a, int rank);
MPI_Count call_receive_count(const struct call *a, int rank);
MPI_Datatype call_send_type(const struct call *a, int rank);
MPI_Datatype call_receive_type(const struct call *a, int rank);
const void *call_send_place(const struct call *a, int rank);
void *call_receive_place(const struct call *a, int rank);
int call_unpack(const struct call *a, int rank, const char *block, uint64_t bytes); /* an error if the call has no room for all */

struct values { /* a vector of values, owned: free(memory) */
    void *at, *memory;
};

struct values values_of(const char *packed, uint64_t bytes, const struct call *a);
void values_reduce(const void *left, void *right, const struct call *a); /* into the right one */
struct values values_combine(struct values *parts, int n, const struct call *a); /* frees the parts */
void values_put(struct values v, MPI_Count first, void *to, MPI_Count count, const struct call *a); /* those from `first` on; frees `v` */
MPI_Count call_whole(struct call *a, int size, int rank); /* a reduction without its scatter; returns where the part of a rank begins */

#endif
