/* Where the values of a collective's call lie, and vectors of values that are combined. */
#include "calls.h"

static bool has(struct vector v) { return v.narrow || v.wide; }

MPI_Count side_count(const struct side *s, int rank) { return has(s->counts) ? at(s->counts, rank) : s->count; }
MPI_Datatype side_type(const struct side *s, int rank) { return s->types ? s->types[rank] : s->type; }

static char *place(const struct side *s, int rank) {
    MPI_Count values = has(s->places) ? at(s->places, rank) : rank * s->count;
    return (char *)s->buffer + values * (s->types ? 1 : type_extent(s->type));
}

char *side_pack(const struct side *s, int rank, uint64_t *bytes) {
    return type_pack(place(s, rank), side_count(s, rank), side_type(s, rank), bytes);
}

struct blocks side_blocks(const struct side *s, int n) {
    struct blocks b = blocks_new(n);
    for (int r = 0; r < n; r++)
        b.at[r] = blocks_own(&b, side_pack(s, r, &b.sizes[r]));
    return b;
}

int side_unpack(const struct side *s, int rank, const char *block, uint64_t bytes) {
    return type_unpack(block, bytes, place(s, rank), side_count(s, rank), side_type(s, rank));
}

struct values values_of(const char *packed, uint64_t bytes, const struct call *a) {
    struct values v;
    v.at = type_allocate(a->receive.count, a->receive.type, &v.memory);
    type_unpack(packed, bytes, v.at, a->receive.count, a->receive.type);
    return v;
}

void values_reduce(const void *left, void *right, const struct call *a) {
    if (PMPI_Reduce_local_c(left, right, a->receive.count, a->receive.type, a->op))
        stop("rank %d of the world cannot combine %lld values.", world.rank, (long long)a->receive.count);
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

struct values values_combined(const struct blocks *b, int first, int n, const struct call *a) {
    struct values *parts = grow(NULL, (size_t)n * sizeof *parts);
    for (int r = 0; r < n; r++)
        parts[r] = values_of(b->at[first + r], b->sizes[first + r], a);
    return values_combine(parts, n, a);
}

void values_put(struct values v, MPI_Count first, void *to, MPI_Count count, const struct call *a) {
    type_copy((char *)v.at + first * type_extent(a->receive.type), count, a->receive.type, to);
    free(v.memory);
}

MPI_Count call_whole(struct call *a, int size, int rank) {
    MPI_Count before = 0, total = 0;
    for (int r = 0; r < size; r++) {
        before += r < rank ? side_count(&a->receive, r) : 0;
        total += side_count(&a->receive, r);
    }
    a->receive.count = total;
    return before;
}
