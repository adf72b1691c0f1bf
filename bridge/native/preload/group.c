/* Groups that span sites: a real group of the library stands for each, a list of world ranks behind it. All others are the library's. */
#include "bridge.h"

struct group {
    int n;
    int ranks[];
};

static struct map table;

static struct group *find(MPI_Group handle) { return map_get(&table, (uintptr_t)handle); }
bool group_spans(MPI_Group handle) { return find(handle); }

int group_members(MPI_Group handle, int **world_ranks) {
    struct group *g = find(handle);
    int n = 0;
    if (g)
        return *world_ranks = copy_ints(g->ranks, g->n), g->n;
    PMPI_Group_size(handle, &n);
    *world_ranks = grow(NULL, (size_t)n * sizeof(int));
    int *all = grow(NULL, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++)
        all[i] = i;
    PMPI_Group_translate_ranks(handle, n, all, world.local, *world_ranks);
    for (int i = 0; i < n; i++)
        (*world_ranks)[i] = world.world_of[(*world_ranks)[i]];
    free(all);
    return n;
}

MPI_Group group_here(int n, const int *world_ranks) {
    int here = 0, *ranks = grow(NULL, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++)
        if (world.site_of[world_ranks[i]] == world.site)
            ranks[here++] = world.local_of[world_ranks[i]];
    MPI_Group group; /* the empty one too comes from the library, which may count how often it is given out */
    PMPI_Group_incl(world.local, here, ranks, &group);
    free(ranks);
    return group;
}

int group_make(int n, const int *world_ranks, MPI_Group *handle) {
    bool here = true;
    for (int i = 0; i < n; i++)
        here &= world.site_of[world_ranks[i]] == world.site;
    if (here)
        return *handle = group_here(n, world_ranks), MPI_SUCCESS;
    PMPI_Group_incl(world.local, 1, (int[]){0}, handle); /* a handle of its own */
    struct group *g = grow(NULL, sizeof *g + (size_t)n * sizeof(int));
    g->n = n;
    memcpy(g->ranks, world_ranks, (size_t)n * sizeof(int));
    map_put(&table, (uintptr_t)*handle, g);
    return MPI_SUCCESS;
}

int bridge_Group_free(MPI_Group *handle) {
    free(find(*handle));
    map_remove(&table, (uintptr_t)*handle);
    return PMPI_Group_free(handle);
}

int bridge_Group_size(MPI_Group handle, int *size) { return *size = find(handle)->n, MPI_SUCCESS; }

int bridge_Group_rank(MPI_Group handle, int *rank) {
    struct group *g = find(handle);
    return *rank = place_of(g->ranks, g->n, world.rank), MPI_SUCCESS;
}

int bridge_Group_translate_ranks(MPI_Group from, int n, const int ranks[], MPI_Group to, int translated[]) {
    int *a, *b, size = group_members(from, &a), other = group_members(to, &b), error = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        if (ranks[i] != MPI_PROC_NULL && (ranks[i] < 0 || ranks[i] >= size))
            error = fail(NULL, MPI_ERR_RANK, "the rank %d is not one of a group of %d.", ranks[i], size);
        else
            translated[i] = ranks[i] == MPI_PROC_NULL ? MPI_PROC_NULL : place_of(b, other, a[ranks[i]]);
    }
    free(a), free(b);
    return error;
}

int bridge_Group_compare(MPI_Group one, MPI_Group other, int *result) {
    int *a, *b, n = group_members(one, &a), m = group_members(other, &b), common = 0;
    for (int i = 0; i < n; i++)
        common += place_of(b, m, a[i]) != MPI_UNDEFINED;
    bool same = n == m && !memcmp(a, b, (size_t)n * sizeof(int));
    *result = same ? MPI_IDENT : n == m && common == n ? MPI_SIMILAR : MPI_UNEQUAL;
    free(a), free(b);
    return MPI_SUCCESS;
}

/* ---- groups out of groups ---- */

enum set { UNION, INTERSECTION, DIFFERENCE };

static int combine(MPI_Group one, MPI_Group other, enum set what, MPI_Group *new) {
    int *a, *b, n = group_members(one, &a), m = group_members(other, &b), size = 0;
    int *ranks = grow(NULL, (size_t)(n + m) * sizeof(int));
    for (int i = 0; i < n; i++)
        if (what == UNION || (place_of(b, m, a[i]) != MPI_UNDEFINED) == (what == INTERSECTION))
            ranks[size++] = a[i];
    for (int i = 0; what == UNION && i < m; i++)
        if (place_of(a, n, b[i]) == MPI_UNDEFINED)
            ranks[size++] = b[i];
    int error = group_make(size, ranks, new);
    free(a), free(b), free(ranks);
    return error;
}

int bridge_Group_union(MPI_Group one, MPI_Group other, MPI_Group *new) { return combine(one, other, UNION, new); }
int bridge_Group_intersection(MPI_Group one, MPI_Group other, MPI_Group *new) { return combine(one, other, INTERSECTION, new); }
int bridge_Group_difference(MPI_Group one, MPI_Group other, MPI_Group *new) { return combine(one, other, DIFFERENCE, new); }

static int select_ranks(MPI_Group handle, int n, const int *ranks, bool include, MPI_Group *new) {
    const struct group *g = find(handle);
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= g->n || place_of(ranks, i, ranks[i]) != MPI_UNDEFINED)
            return fail(NULL, MPI_ERR_RANK, "the rank %d is not one of a group of %d, or is named twice.", ranks[i], g->n);
    int size = 0, *chosen = grow(NULL, (size_t)(g->n + n) * sizeof(int));
    for (int i = 0; include && i < n; i++)
        chosen[size++] = g->ranks[ranks[i]];
    for (int i = 0; !include && i < g->n; i++)
        if (place_of(ranks, n, i) == MPI_UNDEFINED)
            chosen[size++] = g->ranks[i];
    int error = group_make(size, chosen, new);
    free(chosen);
    return error;
}

static int select_ranges(MPI_Group handle, int n, int ranges[][3], bool include, MPI_Group *new) {
    int size = 0, *ranks = NULL;
    for (int i = 0; i < n; i++) {
        int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (!stride)
            return free(ranks), fail(NULL, MPI_ERR_ARG, "the stride of a range of ranks is 0.");
        int length = (last - first) / stride + 1;
        for (int k = 0; k < length && (last - first) * (long)stride >= 0; k++)
            PUSH(ranks, size, first + k * stride);
    }
    int error = select_ranks(handle, size, ranks, include, new);
    free(ranks);
    return error;
}

int bridge_Group_incl(MPI_Group g, int n, const int ranks[], MPI_Group *new) { return select_ranks(g, n, ranks, true, new); }
int bridge_Group_excl(MPI_Group g, int n, const int ranks[], MPI_Group *new) { return select_ranks(g, n, ranks, false, new); }
int bridge_Group_range_incl(MPI_Group g, int n, int ranges[][3], MPI_Group *new) { return select_ranges(g, n, ranges, true, new); }
int bridge_Group_range_excl(MPI_Group g, int n, int ranges[][3], MPI_Group *new) { return select_ranges(g, n, ranges, false, new); }
