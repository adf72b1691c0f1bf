/* Communicators that span sites: their table, and how new ones are made. No context needs communication: it follows from the parent's. */
#include "bridge.h"

static struct map table;

uint64_t mix(uint64_t x) { /* splitmix64 (Steele, Lea & Flood 2014) */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct communicator *bridge_spans(MPI_Comm handle) { return map_get(&table, (uintptr_t)handle); }

uint64_t communicator_new_context(struct communicator *c, uint64_t salt) { return mix(mix(c->context ^ ++c->children) ^ salt) & ~(uint64_t)1; }

bool spans(int n, const int *world_ranks) {
    for (int i = 1; i < n; i++)
        if (world.site_of[world_ranks[i]] != world.site_of[world_ranks[0]])
            return true;
    return false;
}

int *copy_ints(const int *from, int n) {
    int *to = grow(NULL, (size_t)n * sizeof *to);
    return memcpy(to, from, (size_t)n * sizeof *to);
}

/* The sites of the own group, and whether site order is rank order. */
static void find_sites(struct communicator *c) {
    c->site_of = grow(NULL, (size_t)c->size * sizeof(int));
    c->leader = grow(NULL, (size_t)world.sites * sizeof(int));
    int *index = grow(NULL, (size_t)world.sites * sizeof(int));
    memset(index, -1, (size_t)world.sites * sizeof(int));
    c->ordered = true;
    for (int r = 0; r < c->size; r++) {
        int site = world.site_of[c->world[r]];
        if (index[site] < 0)
            c->leader[index[site] = c->sites++] = r;
        else if (c->site_of[r - 1] != index[site])
            c->ordered = false;
        c->site_of[r] = index[site];
        if (c->world[r] == world.rank)
            c->rank = r;
    }
    c->site = index[world.site];
    free(index);
}

/* Where the peers are: by world rank, and those of this site by their ranks in the handle. */
static void find_peers(struct communicator *c) {
    MPI_Group group;
    PMPI_Comm_group(c->handle, &group);
    c->by_world = grow(NULL, (size_t)world.size * sizeof(int));
    c->to_local = grow(NULL, (size_t)c->peers * sizeof(int));
    c->from_local = grow(NULL, (size_t)c->local_size * sizeof(int));
    memset(c->by_world, -1, (size_t)world.size * sizeof(int));
    memset(c->to_local, -1, (size_t)c->peers * sizeof(int));
    memset(c->from_local, -1, (size_t)c->local_size * sizeof(int));
    for (int p = 0; p < c->peers; p++) {
        int w = c->peer_world[p];
        c->by_world[w] = p;
        if (world.site_of[w] != world.site)
            continue;
        PMPI_Group_translate_ranks(world.local, 1, &world.local_of[w], group, &c->to_local[p]);
        c->from_local[c->to_local[p]] = p;
    }
    c->identity = true;
    for (int i = 0; i < c->local_size; i++)
        c->identity &= c->from_local[i] == i;
    PMPI_Group_free(&group);
}

struct communicator *communicator_enter_inter(MPI_Comm handle, int size, const int *own, int peers, const int *remote, uint64_t context) {
    struct communicator *c = calloc(1, sizeof *c);
    c->handle = handle, c->inner = MPI_COMM_NULL, c->context = context, c->uses = 1;
    c->size = size, c->world = copy_ints(own, size);
    c->peers = peers, c->peer_world = remote == own ? c->world : copy_ints(remote, peers);
    PMPI_Comm_size(handle, &c->local_size);
    PMPI_Comm_rank(handle, &c->local_rank);
    find_sites(c);
    find_peers(c);
    map_put(&table, (uintptr_t)handle, c);
    return c;
}

struct communicator *communicator_enter(MPI_Comm handle, MPI_Comm inner, int size, const int *world_ranks, uint64_t context) {
    struct communicator *c = communicator_enter_inter(handle, size, world_ranks, size, world_ranks, context);
    c->inner = inner;
    return c;
}

/* Its members come straight from making the handle: none waits for another here. Its errors are raised through the handle. */
MPI_Comm communicator_inner(MPI_Comm handle) {
    MPI_Comm inner;
    int rank;
    PMPI_Comm_rank(handle, &rank);
    PMPI_Comm_split(handle, 0, rank, &inner);
    PMPI_Comm_set_errhandler(inner, MPI_ERRORS_RETURN);
    return inner;
}

MPI_Comm communicator_alone(void) {
    static MPI_Comm alone;
    if (!alone)
        alone = communicator_inner(MPI_COMM_SELF);
    return alone;
}

/* While the library frees the handle, the program's functions for its attributes may use the communicator as before. */
void communicator_release(struct communicator *c) {
    MPI_Comm handle = c->handle;
    if (c->uses > 1 || c->holds) {
        c->uses--;
        return;
    }
    if (handle != MPI_COMM_WORLD)
        PMPI_Comm_free(&handle);
    map_remove(&table, (uintptr_t)c->handle);
    if (c->inner != MPI_COMM_NULL)
        PMPI_Comm_free(&c->inner);
    if (c->merged)
        communicator_release(c->merged);
    if (c->peer_world != c->world)
        free(c->peer_world);
    free(c->topology), free(c->world), free(c->to_local), free(c->from_local), free(c->site_of), free(c->leader), free(c->by_world), free(c);
}

void communicator_let_go(struct communicator *c) {
    c->uses++, c->holds--;
    communicator_release(c);
}

int bridge_Comm_size(struct communicator *c, int *size) { return *size = c->size, MPI_SUCCESS; }
int bridge_Comm_rank(struct communicator *c, int *rank) { return *rank = c->rank, MPI_SUCCESS; }

/* Messages under way keep what they need until they end. */
static int release(MPI_Comm *handle, bool wait) {
    struct communicator *c = bridge_spans(*handle);
    if (!c)
        return wait ? HELPED(PMPI_Comm_disconnect(handle)) : PMPI_Comm_free(handle);
    if (*handle == MPI_COMM_WORLD)
        return fail(c, MPI_ERR_COMM, "MPI_COMM_WORLD cannot be freed.");
    AWAIT(!wait || c->uses <= 1, false);
    while (c->first) /* the library's part of a collective would outlive its communicator */
        progress();
    communicator_release(c);
    *handle = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int bridge_Comm_free(MPI_Comm *handle) { return release(handle, false); }
int bridge_Comm_disconnect(MPI_Comm *handle) { return release(handle, true); }

/* ---- new communicators ---- */

/* Before a blocking call of the library all members at this site have come, so that none waits in it while another site needs it. */
static void meet(struct communicator *c) {
    collectives_end(c);
    local_barrier(c->merged ? c->merged : c);
}

/* By non-blocking calls alone: tasks of several communicators may come here in any order. */
static MPI_Comm copy_here(MPI_Comm handle) {
    MPI_Comm new = MPI_COMM_NULL;
    AWAITED(PMPI_Comm_idup(handle, &new, &awaited), MPI_STATUS_IGNORE);
    return new;
}

/* The same ranks with a context of their own, by a handle that the entry takes over. */
static struct communicator *enter_like(struct communicator *c, MPI_Comm handle, uint64_t context) {
    struct communicator *d = communicator_enter_inter(handle, c->size, c->world, c->peers, c->peer_world, context);
    if (c->merged)
        inter_merge(d, copy_here(c->merged->handle), copy_here(c->merged->inner));
    else
        d->inner = copy_here(c->inner);
    topology_copy(d, c);
    return d;
}

int duplicate(struct communicator *c, const struct call *call, int tag) {
    MPI_Comm handle = c->handle, *new = call->new_communicator;
    uint64_t context = communicator_new_context(c, 0);
    OR_RETURN(AWAITED(call->with_info ? PMPI_Comm_idup_with_info(handle, call->info, new, &awaited) : PMPI_Comm_idup(handle, new, &awaited),
                      MPI_STATUS_IGNORE));
    enter_like(c, *new, context);
    return MPI_SUCCESS;
}

/* Without the program's attributes: what belongs together there meets in any order. */
struct communicator *communicator_private(struct communicator *c) {
    collectives_end(c);
    MPI_Comm handle = copy_here(c->inner);
    inherit_handler(c->handle, handle);
    return enter_like(c, handle, communicator_new_context(c, 0));
}

int bridge_Comm_dup(struct communicator *c, MPI_Comm *new) { return collective_run(c, duplicate, &(struct call){.new_communicator = new}); }

int bridge_Comm_dup_with_info(struct communicator *c, MPI_Info info, MPI_Comm *new) {
    return collective_run(c, duplicate, &(struct call){.new_communicator = new, .info = info, .with_info = true});
}

int bridge_Comm_idup(struct communicator *c, MPI_Comm *new, MPI_Request *request) {
    return collective_start(c, duplicate, &(struct call){.new_communicator = new}, request);
}

int bridge_Comm_idup_with_info(struct communicator *c, MPI_Info info, MPI_Comm *new, MPI_Request *request) {
    return collective_start(c, duplicate, &(struct call){.new_communicator = new, .info = info, .with_info = true}, request);
}

struct member {
    int key, rank;
};

static int by_key(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank - y->rank;
}

int *members_of(const struct communicator *c, const int *pairs, int first, int size, int color, int *n) {
    struct member *members = grow(NULL, (size_t)size * sizeof *members);
    *n = 0;
    for (int r = first; r < first + size; r++)
        if (pairs[2 * r] == color)
            members[(*n)++] = (struct member){pairs[2 * r + 1], r};
    qsort(members, (size_t)*n, sizeof *members, by_key);
    int *ranks = grow(NULL, (size_t)*n * sizeof(int));
    for (int i = 0; i < *n; i++)
        ranks[i] = c->world[members[i].rank];
    free(members);
    return ranks;
}

int place_of(const int *ranks, int n, int rank) {
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            return i;
    return MPI_UNDEFINED;
}

/* Enters a new communicator of the library if its ranks, which are freed, span sites; null and an error stay what they are. */
static int adopt(int error, MPI_Comm new, int n, int *ranks, uint64_t context) {
    if (!error && new != MPI_COMM_NULL && spans(n, ranks))
        communicator_enter(new, communicator_inner(new), n, ranks, context);
    free(ranks);
    return error;
}

int bridge_Comm_split(struct communicator *c, int color, int key, MPI_Comm *new) {
    if (color < 0 && color != MPI_UNDEFINED)
        return fail(c, MPI_ERR_ARG, "the color %d of MPI_Comm_split is negative.", color);
    if (c->merged)
        return inter_split(c, color, key, new);
    int mine[2] = {color, key}, n = 0, *pairs = grow(NULL, 2 * (size_t)c->size * sizeof(int));
    gather_ints(c, mine, 2, pairs);
    uint64_t context = communicator_new_context(c, mix((uint64_t)(uint32_t)color));
    int *ranks = color == MPI_UNDEFINED ? NULL : members_of(c, pairs, 0, c->size, color, &n);
    meet(c);
    int error = PMPI_Comm_split(c->handle, color, ranks ? place_of(ranks, n, world.rank) : 0, new);
    free(pairs);
    return adopt(error, *new, n, ranks, context);
}

/* All kinds of MPI_Comm_split_type are parts of one machine or less. */
int bridge_Comm_split_type(struct communicator *c, int type, int key, MPI_Info info, MPI_Comm *new) {
    meet(c);
    return PMPI_Comm_split_type(c->handle, type, key, info, new);
}

static uint64_t mix_all(uint64_t x, int n, const int *ranks) {
    for (int i = 0; i < n; i++)
        x = mix(x ^ (uint64_t)ranks[i]);
    return x;
}

int bridge_Comm_create(struct communicator *c, MPI_Group group, MPI_Comm *new) {
    int *ranks, n = group_members(group, &ranks);
    if (c->merged) {
        int key = place_of(ranks, n, world.rank);
        free(ranks);
        return inter_split(c, key == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, new);
    }
    meet(c);
    uint64_t context = communicator_new_context(c, mix_all(0, n, ranks));
    MPI_Group here = group_here(n, ranks);
    int error = PMPI_Comm_create(c->handle, here, new);
    PMPI_Group_free(&here);
    return adopt(error, *new, n, ranks, context);
}

/* Only the members call it: how often they have, with this tag and group, is counted, so that contexts differ. */
static uint64_t count_of(uint64_t key) {
    static struct map counts;
    uint64_t count = (uint64_t)(uintptr_t)map_get(&counts, key | 1) + 1;
    map_put(&counts, key | 1, (void *)(uintptr_t)count);
    return count;
}

int bridge_Comm_create_group(struct communicator *c, MPI_Group group, int tag, MPI_Comm *new) {
    int *ranks, n = group_members(group, &ranks);
    uint64_t key = mix_all(mix(c->context ^ (uint64_t)tag), n, ranks);
    if (place_of(ranks, n, world.rank) == MPI_UNDEFINED) {
        *new = MPI_COMM_NULL;
        free(ranks);
        return MPI_SUCCESS;
    }
    MPI_Group here = group_here(n, ranks);
    int error = HELPED(PMPI_Comm_create_group(c->handle, here, tag, new));
    PMPI_Group_free(&here);
    return adopt(error, *new, n, ranks, mix(key ^ count_of(key)) & ~(uint64_t)1);
}

int bridge_Comm_group(struct communicator *c, MPI_Group *group) { return group_make(c->size, c->world, group); }

int bridge_Comm_compare(MPI_Comm one, MPI_Comm other, int *result) {
    struct communicator *a = bridge_spans(one), *b = bridge_spans(other);
    if (!a && !b)
        return PMPI_Comm_compare(one, other, result);
    if (one == other)
        return *result = MPI_IDENT, MPI_SUCCESS;
    *result = MPI_UNEQUAL;
    if (!a || !b || a->size != b->size || a->peers != b->peers || (a->world == a->peer_world) != (b->world == b->peer_world))
        return MPI_SUCCESS;
    bool congruent = !memcmp(a->world, b->world, (size_t)a->size * sizeof(int)) && !memcmp(a->peer_world, b->peer_world, (size_t)a->peers * sizeof(int));
    bool similar = true;
    for (int p = 0; p < a->peers; p++)
        similar &= b->by_world[a->peer_world[p]] >= 0;
    *result = congruent ? MPI_CONGRUENT : similar ? MPI_SIMILAR : MPI_UNEQUAL;
    return MPI_SUCCESS;
}

int bridge_Comm_test_inter(struct communicator *c, int *flag) { return *flag = c->peer_world != c->world, MPI_SUCCESS; }

/* What the library says of its own world is said of the whole one. */
int bridge_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag) {
    static int tag_limit = TAG_LIMIT, not_global = 0, site;
    int *own = key == MPI_TAG_UB ? &tag_limit : key == MPI_WTIME_IS_GLOBAL ? &not_global : key == MPI_UNIVERSE_SIZE ? &world.size
               : key == MPI_APPNUM ? &site : NULL;
    site = world.site;
    if (!own)
        return PMPI_Comm_get_attr(comm, key, value, flag);
    *(int **)value = own;
    return *flag = 1, MPI_SUCCESS;
}

int bridge_Attr_get(MPI_Comm comm, int key, void *value, int *flag) { return bridge_Comm_get_attr(comm, key, value, flag); }
