/* Intercommunicators. Behind each stands a communicator of both groups, the one with the lowest world rank first.
 *
 * Their collectives collect what all ranks of both groups give, and each takes what is its own: simple, and right for the few there are.
 */
#include "calls.h"

#define LEADERS_TAG (TAG_LIMIT + 1) /* of messages between the leaders, beyond those of programs and of collectives */

static int lowest(int n, const int *ranks) {
    int low = ranks[0];
    for (int i = 1; i < n; i++)
        low = ranks[i] < low ? ranks[i] : low;
    return low;
}

/* Both groups, in the order of the communicator behind an intercommunicator. */
static int *both(int n, const int *own, int m, const int *remote, bool *own_first) {
    int *all = grow(NULL, (size_t)(n + m) * sizeof(int));
    *own_first = lowest(n, own) < lowest(m, remote);
    memcpy(*own_first ? all : all + m, own, (size_t)n * sizeof(int));
    memcpy(*own_first ? all + n : all, remote, (size_t)m * sizeof(int));
    return all;
}

void inter_merge(struct communicator *c, MPI_Comm here, MPI_Comm inner) {
    bool own_first;
    int *all = both(c->size, c->world, c->peers, c->peer_world, &own_first);
    c->merged = communicator_enter(here, inner, c->size + c->peers, all, mix(c->context) & ~(uint64_t)1);
    c->own_first = own_first ? 0 : c->peers;
    c->peers_first = own_first ? c->size : 0;
    free(all);
}

/* ---- how one is made ---- */

struct greeting {
    uint64_t salt, ranks;
};

/* The leaders tell each other their groups, by a communicator that holds both. */
static int *leaders_meet(MPI_Comm peer, int remote_leader, int tag, const int *own, int n, int *m, uint64_t *context) {
    static uint64_t made;
    struct communicator *p = bridge_spans(peer);
    struct greeting mine = {mix(mix((uint64_t)world.rank) ^ ++made), (uint64_t)n}, its;
    int *remote;
    if (p && p->to_local[remote_leader] < 0) {
        int number = LEADERS_TAG + (tag & TAG_LIMIT);
        uint64_t bytes;
        struct part *sends = grow(NULL, 2 * sizeof *sends);
        part_send(&sends[0], p, &mine, sizeof mine, remote_leader, number);
        part_send(&sends[1], p, own, (uint64_t)n * sizeof(int), remote_leader, number);
        char *got = receive_taken(p, remote_leader, number, &bytes);
        bool sound = bytes == sizeof its;
        if (sound)
            memcpy(&its, got, sizeof its);
        free(got);
        remote = (int *)receive_taken(p, remote_leader, number, &bytes);
        sound = sound && its.ranks <= (uint64_t)world.size && bytes == its.ranks * sizeof(int);
        for (uint64_t i = 0; sound && i < its.ranks; i++)
            sound = remote[i] >= 0 && remote[i] < world.size;
        if (!sound)
            stop("rank %d of the world got a malformed group from rank %d.", world.rank, p->peer_world[remote_leader]);
        parts_await(sends, 2);
    } else {
        MPI_Comm handle = p ? p->handle : peer;
        int leader = p ? p->to_local[remote_leader] : remote_leader;
        plain_Sendrecv(&mine, sizeof mine, MPI_BYTE, leader, tag, &its, sizeof its, MPI_BYTE, leader, tag, handle, MPI_STATUS_IGNORE);
        remote = grow(NULL, its.ranks * sizeof(int));
        plain_Sendrecv(own, n, MPI_INT, leader, tag, remote, (MPI_Count)its.ranks, MPI_INT, leader, tag, handle, MPI_STATUS_IGNORE);
    }
    *m = (int)its.ranks;
    *context = mix(mine.salt ^ its.salt) & ~(uint64_t)1;
    return remote;
}

static bool is_member(MPI_Comm handle, int rank) {
    struct communicator *c = bridge_spans(handle);
    int size = 0;
    if (c)
        size = c->peers;
    else
        PMPI_Comm_size(handle, &size);
    return rank >= 0 && rank < size;
}

static int tell(MPI_Comm local, struct communicator *l, void *buffer, int bytes, int root) {
    const struct call call = {.receive = {.buffer = buffer, .count = bytes, .type = MPI_BYTE}, .root = root};
    return l ? collective_run(l, bcast, &call) : HELPED(PMPI_Bcast(buffer, bytes, MPI_BYTE, root, local));
}

/* One that spans sites; `members`: of both groups, at this site. */
static int create_across(MPI_Comm members, int n, const int *own, int m, const int *remote, uint64_t context, MPI_Comm *new) {
    MPI_Comm handle;
    OR_RETURN(PMPI_Comm_dup(members, &handle));
    inter_merge(communicator_enter_inter(handle, n, own, m, remote, context), members, communicator_inner(members));
    return *new = handle, MPI_SUCCESS;
}

int bridge_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *new) {
    struct communicator *l = bridge_spans(local), at_one_site = {.handle = local}, *raises = l ? l : &at_one_site;
    MPI_Group group;
    int *own, *remote = NULL, n, m = 0, error;
    uint64_t header[2] = {0};
    if ((error = l ? bridge_Comm_group(l, &group) : PMPI_Comm_group(local, &group)))
        return error;
    n = group_members(group, &own);
    bool leads = place_of(own, n, world.rank) == local_leader;
    bridge_Group_free(&group);
    if ((error = ranks_checked(raises, 1, &local_leader, n)))
        return free(own), error;
    if (leads && is_member(peer, remote_leader))
        remote = leaders_meet(peer, remote_leader, tag, own, n, &m, &header[0]);
    header[1] = (uint64_t)m;
    tell(local, l, header, sizeof header, local_leader);
    m = (int)header[1];
    if (!m)
        return free(own), fail(raises, MPI_ERR_RANK, "the remote leader is not one of the peer communicator.");
    remote = remote ? remote : grow(NULL, (size_t)m * sizeof(int));
    tell(local, l, remote, m * (int)sizeof(int), local_leader);
    bool own_first;
    int *all = both(n, own, m, remote, &own_first);
    if (spans(n + m, all)) {
        MPI_Group here = group_here(n + m, all);
        MPI_Comm members;
        error = HELPED(PMPI_Comm_create_group(MPI_COMM_WORLD, here, tag, &members));
        error = error ? error : create_across(members, n, own, m, remote, header[0], new);
        PMPI_Group_free(&here);
        if (!error)
            inherit_handler(local, *new);
    } else {
        struct communicator *p = leads ? bridge_spans(peer) : NULL;
        MPI_Comm handle = p ? p->handle : peer;
        int leader = p ? p->to_local[remote_leader] : remote_leader;
        error = HELPED(PMPI_Intercomm_create(local, local_leader, handle, leader, tag, new));
    }
    free(own), free(remote), free(all);
    return error;
}

/* The library's own intercommunicator, of members that are all at this site. */
static int create_here(MPI_Comm members, bool first, int remote_leader, MPI_Comm *new) {
    MPI_Comm group;
    int rank;
    PMPI_Comm_rank(members, &rank);
    int error = PMPI_Comm_split(members, first, rank, &group);
    error = error ? error : PMPI_Intercomm_create(group, 0, members, remote_leader, 0, new);
    PMPI_Comm_free(&group);
    PMPI_Comm_free(&members);
    return error;
}

/* MPI_Comm_split, and MPI_Comm_create, where the color says whether a rank is a member: null where a group has no member of the color. */
int inter_split(struct communicator *c, int color, int key, MPI_Comm *new) {
    struct communicator *all = c->merged;
    collectives_end(c); /* a duplicate counts as a child, too */
    int mine[2] = {color, key}, n, m, *pairs = grow(NULL, 2 * (size_t)all->size * sizeof(int));
    gather_ints(all, mine, 2, pairs);
    uint64_t context = communicator_new_context(c, mix((uint64_t)(uint32_t)color));
    int *own = members_of(all, pairs, c->own_first, c->size, color, &n), *remote = members_of(all, pairs, c->peers_first, c->peers, color, &m);
    bool member = color != MPI_UNDEFINED && m, own_first = false;
    int *ranks = member ? both(n, own, m, remote, &own_first) : NULL;
    MPI_Comm members;
    local_barrier(all); /* none waits in the library while another site needs it */
    int error = PMPI_Comm_split(all->handle, member ? color : MPI_UNDEFINED, ranks ? place_of(ranks, n + m, world.rank) : 0, &members);
    *new = MPI_COMM_NULL;
    if (!error && member && !spans(n + m, ranks))
        error = create_here(members, own_first, own_first ? n : 0, new);
    else if (!error && member)
        error = create_across(members, n, own, m, remote, context, new);
    if (*new != MPI_COMM_NULL)
        inherit_handler(c->handle, *new);
    free(pairs), free(own), free(remote), free(ranks);
    return error;
}

int bridge_Comm_remote_size(struct communicator *c, int *size) {
    return c->merged ? (*size = c->peers, MPI_SUCCESS) : fail(c, MPI_ERR_COMM, "the communicator is not an intercommunicator.");
}

int bridge_Comm_remote_group(struct communicator *c, MPI_Group *group) {
    return c->merged ? group_make(c->peers, c->peer_world, group) : fail(c, MPI_ERR_COMM, "the communicator is not an intercommunicator.");
}

/* Those who say `high` come behind; if both groups say the same, the order is that of the communicator behind. */
int bridge_Intercomm_merge(struct communicator *c, int high, MPI_Comm *new) {
    if (!c->merged)
        return fail(c, MPI_ERR_COMM, "the communicator is not an intercommunicator.");
    struct communicator *all = c->merged;
    int *highs = grow(NULL, (size_t)all->size * sizeof(int)), *ranks = grow(NULL, (size_t)all->size * sizeof(int)), size = 0;
    high = high != 0;
    gather_ints(all, &high, 1, highs);
    for (int round = 0; round < 2; round++)
        for (int r = 0; r < all->size; r++)
            if (highs[r] == round)
                ranks[size++] = r;
    int error = bridge_Comm_split(all, 0, place_of(ranks, size, all->rank), new);
    if (!error)
        inherit_handler(c->handle, *new);
    free(highs), free(ranks);
    return error;
}

/* ---- collectives ---- */

/* What a rank gives to those of the other group: one block for all, or one each behind their sizes. */
static char *one_each(struct communicator *c, const struct call *a, uint64_t *bytes) {
    struct blocks each = side_blocks(&a->send, c->peers);
    struct package all = blocks_wrap(&each, NULL, 0);
    blocks_free(&each);
    return *bytes = all.bytes, all.data;
}

/* The block for this rank among those that a rank of the other group gives. */
static const char *mine_of(struct communicator *c, const char *given, uint64_t *bytes) {
    const char *block = given + (size_t)c->size * sizeof(uint64_t);
    for (int r = 0;; r++) {
        memcpy(bytes, given + (size_t)r * sizeof *bytes, sizeof *bytes);
        if (r == c->rank)
            return block;
        block += *bytes;
    }
}

int inter_run(struct communicator *c, collective *run, const struct call *a, int tag) {
    if (run == barrier || run == duplicate)
        return run(run == barrier ? c->merged : c, a, tag);
    bool from_root = run == bcast || run == scatter, to_root = run == gather || run == reduce, each = run == scatter || run == alltoall;
    bool reduces = to_root ? run == reduce : run == allreduce || run == reduce_scatter;
    bool root = a->root == MPI_ROOT, member = a->root >= 0;
    bool gives = from_root ? root : !to_root || member, takes = from_root ? member : !to_root || root;
    struct call whole = *a;
    MPI_Count before = run == reduce_scatter ? call_whole(&whole, c->size, c->rank) : 0;
    uint64_t bytes = 0;
    char *given = !gives             ? NULL
                  : each             ? one_each(c, a, &bytes)
                  : run == bcast ? type_pack(a->receive.buffer, a->receive.count, a->receive.type, &bytes)
                  : reduces          ? type_pack(a->send.buffer, whole.receive.count, a->receive.type, &bytes)
                                     : type_pack(a->send.buffer, a->send.count, a->send.type, &bytes);
    struct blocks b = blocks_allgather(c->merged, given, bytes, tag);
    int error = MPI_SUCCESS;
    for (int p = from_root ? a->root : 0; takes && !reduces && p < (from_root ? a->root + 1 : c->peers); p++) {
        const char *block = b.at[c->peers_first + p];
        bytes = b.sizes[c->peers_first + p];
        if (each)
            block = mine_of(c, block, &bytes);
        error |= side_unpack(&a->receive, from_root ? 0 : p, block, bytes);
    }
    if (takes && reduces)
        values_put(values_combined(&b, c->peers_first, c->peers, &whole), before, a->receive.buffer, side_count(&a->receive, c->rank), a);
    blocks_free(&b), free(given);
    return error;
}
