/* Where the values of a collective's call lie, and vectors of values that are combined. */
#include <stdlib.h>

#include "calls.h"

static void *place(const void *buffer, MPI_Count values, MPI_Datatype type) { return (char *)(uintptr_t)buffer + values * type_extent(type); }

MPI_Count call_receive_count(const struct call *a, int rank) {
    return a->receive_counts.narrow || a->receive_counts.wide ? at(a->receive_counts, rank) : a->receive_count;
}

MPI_Count call_send_count(const struct call *a, int rank) {
    return a->send_counts.narrow || a->send_counts.wide ? at(a->send_counts, rank) : a->send_count;
}

MPI_Datatype call_receive_type(const struct call *a, int rank) { return a->receive_types ? a->receive_types[rank] : a->receive_type; }
MPI_Datatype call_send_type(const struct call *a, int rank) { return a->send_types ? a->send_types[rank] : a->send_type; }

void *call_receive_place(const struct call *a, int rank) {
    bool places = a->receive_places.narrow || a->receive_places.wide;
    MPI_Count values = places ? at(a->receive_places, rank) : rank * a->receive_count;
    return a->bytes_places ? (char *)a->receive + values : place(a->receive, values, call_receive_type(a, rank));
}

const void *call_send_place(const struct call *a, int rank) {
    bool places = a->send_places.narrow || a->send_places.wide;
    MPI_Count values = places ? at(a->send_places, rank) : rank * a->send_count;
    return a->bytes_places ? (const char *)a->send + values : place(a->send, values, call_send_type(a, rank));
}

int call_unpack(const struct call *a, int rank, const char *block, uint64_t bytes) {
    return type_unpack(block, bytes, call_receive_place(a, rank), call_receive_count(a, rank), call_receive_type(a, rank));
}

struct values values_of(const char *packed, uint64_t bytes, const struct call *a) {
    struct values v;
    v.at = type_allocate(a->receive_count, a->receive_type, &v.memory);
    type_unpack(packed, bytes, v.at, a->receive_count, a->receive_type);
    return v;
}

void values_reduce(const void *left, void *right, const struct call *a) {
    if (PMPI_Reduce_local_c(left, right, a->receive_count, a->receive_type, a->op))
        stop("rank %d of the world cannot combine %lld values.", world.rank, (long long)a->receive_count);
}

/* parts[0] op parts[1] op ...: from the last to the first, since MPI_Reduce_local keeps its right operand. Frees all but the result. */
struct values values_combine(struct values *parts, int n, const struct call *a) {
    struct values result = parts[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        values_reduce(parts[i].at, result.at, a);
        free(parts[i].memory);
    }
    free(parts);
    return result;
}

void values_put(struct values v, MPI_Count first, void *to, MPI_Count count, const struct call *a) {
    type_copy(place(v.at, first, a->receive_type), count, a->receive_type, to);
    free(v.memory);
}

MPI_Count call_whole(struct call *a, int size, int rank) {
    MPI_Count before = 0, total = 0;
    for (int r = 0; r < size; r++) {
        before += r < rank ? call_receive_count(a, r) : 0;
        total += call_receive_count(a, r);
    }
    a->receive_count = total;
    return before;
}
