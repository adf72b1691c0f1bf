/* Topologies of communicators that span sites. The library knows nothing of them; ranks are never reordered. */
#include <limits.h>

#include "topology.h"

static struct topology *make(int kind, size_t numbers) {
    struct topology *t = calloc(1, sizeof *t + numbers * sizeof(int));
    t->kind = kind, t->numbers = numbers;
    return t;
}

void topology_copy(struct communicator *to, const struct communicator *from) {
    if (!from->topology)
        return;
    size_t bytes = sizeof *from->topology + from->topology->numbers * sizeof(int);
    to->topology = memcpy(grow(NULL, bytes), from->topology, bytes);
}

static int lacks(struct communicator *c, int kind) {
    const char *name = kind == MPI_CART ? "Cartesian" : kind == MPI_GRAPH ? "graph" : "distributed graph";
    bool has = c->topology && c->topology->kind == kind;
    return has ? MPI_SUCCESS : fail(c, MPI_ERR_TOPOLOGY, "the communicator has no %s topology.", name);
}

/* A communicator of the members of a color, and its topology, which is one of the library if they are all at one site. */
static int attach(struct communicator *c, bool member, int color, struct topology *t, MPI_Comm *new) {
    MPI_Comm part;
    int error = bridge_Comm_split(c, member ? color : MPI_UNDEFINED, c->rank, &part);
    struct communicator *d = error || !member ? NULL : bridge_spans(part);
    *new = part;
    if (d)
        return d->topology = t, MPI_SUCCESS;
    if (!error && member) {
        error = t->kind == MPI_CART ? PMPI_Cart_create(part, t->n, t->data, t->data + t->n, 0, new)
                                    : PMPI_Graph_create(part, t->n, t->data, t->data + t->n, 0, new);
        PMPI_Comm_free(&part);
    }
    free(t);
    return error;
}

int bridge_Topo_test(struct communicator *c, int *kind) { return *kind = c->topology ? c->topology->kind : MPI_UNDEFINED, MPI_SUCCESS; }

/* ---- Cartesian: dims, periods ---- */

static long cells(int n, const int *dims) {
    long product = 1;
    for (int i = 0; i < n && product <= INT_MAX; i++)
        product *= dims[i];
    return product;
}

static void coordinates(const struct topology *t, int rank, int *place) {
    for (int i = t->n - 1; i >= 0; rank /= t->data[i], i--)
        place[i] = rank % t->data[i];
}

/* The rank at a place; beyond an edge that is not periodic, MPI_PROC_NULL. */
static int rank_at(const struct topology *t, const int *place) {
    int rank = 0;
    for (int i = 0; i < t->n; i++) {
        int size = t->data[i], x = place[i];
        if (!t->data[t->n + i] && (x < 0 || x >= size))
            return MPI_PROC_NULL;
        rank = rank * size + ((x % size) + size) % size;
    }
    return rank;
}

int bridge_Cart_create(struct communicator *c, int n, const int dims[], const int periods[], int reorder, MPI_Comm *new) {
    long used = cells(n, dims);
    if (n < 0)
        return fail(c, MPI_ERR_DIMS, "a Cartesian topology of %d dimensions.", n);
    for (int i = 0; i < n; i++)
        if (dims[i] <= 0)
            return fail(c, MPI_ERR_DIMS, "the dimension %d of a Cartesian topology is %d.", i, dims[i]);
    if (used > c->size)
        return fail(c, MPI_ERR_DIMS, "a Cartesian topology of %ld ranks does not fit into a communicator of %d.", used, c->size);
    struct topology *t = make(MPI_CART, 2 * (size_t)n);
    t->n = n;
    memcpy(t->data, dims, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++)
        t->data[n + i] = periods[i] != 0;
    return attach(c, c->rank < used, 0, t, new);
}

int bridge_Cartdim_get(struct communicator *c, int *n) {
    OR_RETURN(lacks(c, MPI_CART));
    return *n = c->topology->n, MPI_SUCCESS;
}

int bridge_Cart_get(struct communicator *c, int room, int dims[], int periods[], int place[]) {
    OR_RETURN(lacks(c, MPI_CART));
    const struct topology *t = c->topology;
    int *all = grow(NULL, (size_t)t->n * sizeof(int));
    coordinates(t, c->rank, all);
    for (int i = 0; i < t->n && i < room; i++)
        dims[i] = t->data[i], periods[i] = t->data[t->n + i], place[i] = all[i];
    free(all);
    return MPI_SUCCESS;
}

int bridge_Cart_rank(struct communicator *c, const int place[], int *rank) {
    OR_RETURN(lacks(c, MPI_CART));
    *rank = rank_at(c->topology, place);
    return *rank == MPI_PROC_NULL ? fail(c, MPI_ERR_ARG, "the coordinates lie outside of the Cartesian topology.") : MPI_SUCCESS;
}

int bridge_Cart_coords(struct communicator *c, int rank, int room, int place[]) {
    OR_RETURN(lacks(c, MPI_CART));
    if (rank < 0 || rank >= c->size || room < c->topology->n)
        return fail(c, MPI_ERR_RANK, "the rank %d is not one of a Cartesian topology of %d.", rank, c->size);
    coordinates(c->topology, rank, place);
    return MPI_SUCCESS;
}

int bridge_Cart_shift(struct communicator *c, int direction, int steps, int *source, int *dest) {
    OR_RETURN(lacks(c, MPI_CART));
    const struct topology *t = c->topology;
    if (direction < 0 || direction >= t->n)
        return fail(c, MPI_ERR_ARG, "the direction %d is not one of a Cartesian topology of %d dimensions.", direction, t->n);
    int *place = grow(NULL, (size_t)t->n * sizeof(int));
    coordinates(t, c->rank, place);
    place[direction] -= steps;
    *source = rank_at(t, place);
    place[direction] += 2 * steps;
    *dest = rank_at(t, place);
    free(place);
    return MPI_SUCCESS;
}

int bridge_Cart_sub(struct communicator *c, const int remain[], MPI_Comm *new) {
    OR_RETURN(lacks(c, MPI_CART));
    const struct topology *t = c->topology;
    struct topology *part = make(MPI_CART, 2 * (size_t)t->n);
    int *place = grow(NULL, (size_t)t->n * sizeof(int)), color = 0, k = 0;
    coordinates(t, c->rank, place);
    for (int i = 0; i < t->n; i++)
        part->n += remain[i] != 0;
    for (int i = 0; i < t->n; i++)
        if (remain[i])
            part->data[k] = t->data[i], part->data[part->n + k++] = t->data[t->n + i];
        else
            color = color * t->data[i] + place[i];
    free(place);
    return attach(c, true, color, part, new);
}

int bridge_Cart_map(struct communicator *c, int n, const int dims[], const int periods[], int *rank) {
    return *rank = c->rank < cells(n, dims) ? c->rank : MPI_UNDEFINED, MPI_SUCCESS;
}

/* ---- graphs: index, edges ---- */

int bridge_Graph_create(struct communicator *c, int n, const int index[], const int edges[], int reorder, MPI_Comm *new) {
    if (n < 0 || n > c->size)
        return fail(c, MPI_ERR_ARG, "a graph of %d ranks does not fit into a communicator of %d.", n, c->size);
    int m = n ? index[n - 1] : 0, error = ranks_checked(c, m, edges, n);
    if (n == 0 || error)
        return *new = MPI_COMM_NULL, error;
    struct topology *t = make(MPI_GRAPH, (size_t)(n + m));
    t->n = n, t->m = m;
    memcpy(t->data, index, (size_t)n * sizeof(int));
    memcpy(t->data + n, edges, (size_t)m * sizeof(int));
    return attach(c, c->rank < n, 0, t, new);
}

int bridge_Graphdims_get(struct communicator *c, int *n, int *m) {
    OR_RETURN(lacks(c, MPI_GRAPH));
    return *n = c->topology->n, *m = c->topology->m, MPI_SUCCESS;
}

int bridge_Graph_get(struct communicator *c, int room_index, int room_edges, int index[], int edges[]) {
    OR_RETURN(lacks(c, MPI_GRAPH));
    const struct topology *t = c->topology;
    memcpy(index, t->data, (size_t)(room_index < t->n ? room_index : t->n) * sizeof(int));
    memcpy(edges, t->data + t->n, (size_t)(room_edges < t->m ? room_edges : t->m) * sizeof(int));
    return MPI_SUCCESS;
}

int bridge_Graph_map(struct communicator *c, int n, const int index[], const int edges[], int *rank) {
    return *rank = c->rank < n ? c->rank : MPI_UNDEFINED, MPI_SUCCESS;
}

static int graph_neighbors(const struct topology *t, int rank, const int **first) {
    int start = rank ? t->data[rank - 1] : 0;
    *first = t->data + t->n + start;
    return t->data[rank] - start;
}

int bridge_Graph_neighbors_count(struct communicator *c, int rank, int *count) {
    const int *first;
    OR_RETURN(lacks(c, MPI_GRAPH));
    if (rank < 0 || rank >= c->size)
        return fail(c, MPI_ERR_RANK, "the rank %d is not one of a graph of %d.", rank, c->size);
    return *count = graph_neighbors(c->topology, rank, &first), MPI_SUCCESS;
}

int bridge_Graph_neighbors(struct communicator *c, int rank, int room, int neighbors[]) {
    int n;
    const int *first;
    OR_RETURN(bridge_Graph_neighbors_count(c, rank, &n));
    graph_neighbors(c->topology, rank, &first);
    memcpy(neighbors, first, (size_t)(room < n ? room : n) * sizeof(int));
    return MPI_SUCCESS;
}

/* ---- distributed graphs: sources, their weights, destinations, their weights ---- */

static void put(int *to, const int *from, int n, bool weighted) {
    for (int i = 0; i < n; i++)
        to[i] = weighted ? from[i] : 1;
}

int bridge_Dist_graph_create_adjacent(struct communicator *c, int n, const int sources[], const int source_weights[], int m, const int dests[],
                                      const int dest_weights[], MPI_Info info, int reorder, MPI_Comm *new) {
    OR_RETURN(ranks_checked(c, n, sources, c->size));
    OR_RETURN(ranks_checked(c, m, dests, c->size));
    struct topology *t = make(MPI_DIST_GRAPH, 2 * (size_t)(n + m));
    t->n = n, t->m = m, t->weighted = source_weights != MPI_UNWEIGHTED;
    put(t->data, sources, n, true);
    put(t->data + n, source_weights, n, t->weighted);
    put(t->data + 2 * n, dests, m, true);
    put(t->data + 2 * n + m, dest_weights, m, t->weighted);
    return attach(c, true, 0, t, new);
}

/* Every rank learns all edges, and keeps those that touch it, in the order of the ranks that named them. */
int bridge_Dist_graph_create(struct communicator *c, int n, const int sources[], const int degrees[], const int dests[], const int weights[],
                             MPI_Info info, int reorder, MPI_Comm *new) {
    bool weighted = weights != MPI_UNWEIGHTED;
    int mine = 0, edge = 0, total = 0;
    OR_RETURN(ranks_checked(c, n, sources, c->size));
    for (int i = 0; i < n; i++)
        mine += degrees[i];
    OR_RETURN(ranks_checked(c, mine, dests, c->size));
    int *own = grow(NULL, 3 * (size_t)mine * sizeof(int));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, edge++)
            own[3 * edge] = sources[i], own[3 * edge + 1] = dests[edge], own[3 * edge + 2] = weighted ? weights[edge] : 1;
    int *counts = grow(NULL, 2 * (size_t)c->size * sizeof(int)), *places = counts + c->size, size = 3 * mine;
    gather_ints(c, &size, 1, counts);
    for (int r = 0; r < c->size; total += counts[r++])
        places[r] = total;
    int *all = grow(NULL, (size_t)total * sizeof(int)), *lists = grow(NULL, 4 * (size_t)(total / 3 + 1) * sizeof(int)), in = 0, out = 0;
    const struct call call = {.send = {.buffer = own, .count = size, .type = MPI_INT},
                              .receive = {.buffer = all, .type = MPI_INT, .counts.narrow = counts, .places.narrow = places}};
    collective_run(c, allgather, &call);
    int stride = total / 3 + 1, *from = lists, *from_weights = lists + stride, *to = lists + 2 * stride, *to_weights = lists + 3 * stride;
    for (int i = 0; i < total; i += 3) {
        if (all[i + 1] == c->rank)
            from[in] = all[i], from_weights[in++] = all[i + 2];
        if (all[i] == c->rank)
            to[out] = all[i + 1], to_weights[out++] = all[i + 2];
    }
    int error = bridge_Dist_graph_create_adjacent(c, in, from, weighted ? from_weights : MPI_UNWEIGHTED, out, to,
                                                  weighted ? to_weights : MPI_UNWEIGHTED, info, reorder, new);
    free(own), free(counts), free(all), free(lists);
    return error;
}

int bridge_Dist_graph_neighbors_count(struct communicator *c, int *n, int *m, int *weighted) {
    OR_RETURN(lacks(c, MPI_DIST_GRAPH));
    return *n = c->topology->n, *m = c->topology->m, *weighted = c->topology->weighted, MPI_SUCCESS;
}

int bridge_Dist_graph_neighbors(struct communicator *c, int room_in, int sources[], int source_weights[], int room_out, int dests[], int dest_weights[]) {
    OR_RETURN(lacks(c, MPI_DIST_GRAPH));
    const struct topology *t = c->topology;
    int n = room_in < t->n ? room_in : t->n, m = room_out < t->m ? room_out : t->m;
    put(sources, t->data, n, true);
    put(dests, t->data + 2 * t->n, m, true);
    if (t->weighted && source_weights != MPI_UNWEIGHTED)
        put(source_weights, t->data + t->n, n, true);
    if (t->weighted && dest_weights != MPI_UNWEIGHTED)
        put(dest_weights, t->data + 2 * t->n + t->m, m, true);
    return MPI_SUCCESS;
}

/* ---- neighbours, for collectives ---- */

int topology_degrees(struct communicator *c, int *dests) {
    const struct topology *t = c->topology;
    const int *first;
    int n = t->kind == MPI_CART ? 2 * t->n : t->kind == MPI_GRAPH ? graph_neighbors(t, c->rank, &first) : t->n;
    *dests = t->kind == MPI_DIST_GRAPH ? t->m : n;
    return n;
}

int topology_neighbors(struct communicator *c, int **sources, int **dests, int *n_dests) {
    const struct topology *t = c->topology;
    const int *first = NULL;
    int m, n = topology_degrees(c, &m);
    if (t->kind == MPI_GRAPH)
        graph_neighbors(t, c->rank, &first);
    *sources = grow(NULL, (size_t)n * sizeof(int)), *dests = grow(NULL, (size_t)m * sizeof(int)), *n_dests = m;
    for (int i = 0; t->kind == MPI_CART && i < t->n; i++) {
        bridge_Cart_shift(c, i, 1, &(*sources)[2 * i], &(*sources)[2 * i + 1]);
        (*dests)[2 * i] = (*sources)[2 * i], (*dests)[2 * i + 1] = (*sources)[2 * i + 1];
    }
    if (first)
        put(*sources, first, n, true), put(*dests, first, n, true);
    else if (t->kind == MPI_DIST_GRAPH)
        put(*sources, t->data, n, true), put(*dests, t->data + 2 * t->n, m, true);
    return n;
}
