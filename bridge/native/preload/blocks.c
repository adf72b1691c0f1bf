/* Blocks of bytes, one a rank, moved between all ranks of a communicator: what most collectives are made of.
 *
 * A block crosses the wide area once, in one message a site: [sizes of the blocks][blocks], in the order of the ranks of that site.
 */
#include <limits.h>

#include "blocks.h"

/* ---- within a site ---- */

int local_barrier(struct communicator *c) {
    return AWAITED(PMPI_Ibarrier(c->inner, &awaited), MPI_STATUS_IGNORE);
}

int local_broadcast(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int root) {
    return AWAITED(PMPI_Ibcast_c(buffer, count, type, root, c->inner, &awaited), MPI_STATUS_IGNORE);
}

/* So many bytes as values of a type whose number fits an int: Open MPI takes no more. Freed by free_bytes. */
static MPI_Datatype bytes_as(uint64_t bytes, int *count) {
    enum { PIECE = 1 << 20 };
    if (bytes <= INT_MAX)
        return *count = (int)bytes, MPI_BYTE;
    MPI_Datatype piece, all;
    PMPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    PMPI_Type_create_struct(2, (int[]){(int)(bytes / PIECE), (int)(bytes % PIECE)}, (MPI_Aint[]){0, (MPI_Aint)(bytes - bytes % PIECE)},
                            (MPI_Datatype[]){piece, MPI_BYTE}, &all);
    PMPI_Type_commit(&all);
    PMPI_Type_free(&piece);
    return *count = 1, all;
}

static void free_bytes(MPI_Datatype type) {
    if (type != MPI_BYTE)
        PMPI_Type_free(&type);
}

static void broadcast_bytes(struct communicator *c, void *data, uint64_t bytes) {
    int count;
    MPI_Datatype type = bytes_as(bytes, &count);
    local_broadcast(c, data, count, type, 0);
    free_bytes(type);
}

/* ---- bytes from any rank to any other, or to itself ---- */

void part_send(struct part *p, struct communicator *c, const void *data, uint64_t bytes, int peer, int tag) {
    int local = c->to_local[peer], count;
    *p = (struct part){.remote.done = local >= 0, .local = MPI_REQUEST_NULL};
    if (local < 0) {
        operation_begin(&p->remote, c);
        send_start(&p->remote, data, (MPI_Count)bytes, MPI_BYTE, peer, tag, c->context + 1, false);
        return;
    }
    MPI_Datatype type = bytes_as(bytes, &count);
    PMPI_Isend(data, count, type, local, tag, c->inner, &p->local);
    free_bytes(type);
}

/* Until the bytes may be changed. */
void parts_await(struct part *parts, int n) {
    for (int i = 0; i < n; i++) {
        await(&parts[i].remote, true);
        await_local(&parts[i].local, MPI_STATUS_IGNORE);
    }
    free(parts);
}

char *part_receive(struct communicator *c, int peer, int tag, uint64_t *bytes) {
    int local = c->to_local[peer], found = 0, count;
    MPI_Message message;
    MPI_Status status;
    MPI_Count length;
    if (local < 0)
        return receive_taken(c, peer, tag, bytes);
    AWAIT(found || PMPI_Improbe(local, tag, c->inner, &found, &message, &status) || found, false);
    PMPI_Get_elements_x(&status, MPI_BYTE, &length);
    char *data = grow(NULL, *bytes = (uint64_t)length);
    MPI_Datatype type = bytes_as(*bytes, &count);
    AWAITED(PMPI_Imrecv(data, count, type, &message, &awaited), MPI_STATUS_IGNORE);
    free_bytes(type);
    return data;
}

/* Sends the same bytes to the leaders of all other sites, with as many parts. */
struct part *send_to_leaders(struct communicator *c, const void *data, uint64_t bytes, int tag) {
    struct part *parts = grow(NULL, (size_t)c->sites * sizeof *parts), *next = parts;
    for (int s = 0; s < c->sites; s++)
        if (s != c->site)
            part_send(next++, c, data, bytes, c->leader[s], tag);
    return parts;
}

/* ---- blocks and packages ---- */

/* Whether a block is one of a site; null: of any. */
static bool is_at(const int *site_of, int r, int site) { return !site_of || site_of[r] == site; }

static size_t members_at(const struct blocks *b, const int *site_of, int site) {
    size_t n = 0;
    for (int r = 0; r < b->n; r++)
        n += is_at(site_of, r, site);
    return n;
}

struct blocks blocks_new(int n) {
    return (struct blocks){.n = n, .sizes = calloc((size_t)n, sizeof(uint64_t)), .at = calloc((size_t)n, sizeof(char *))};
}

char *blocks_own(struct blocks *b, char *memory) {
    return PUSH(b->memory, b->memories, memory);
}

void blocks_free(struct blocks *b) {
    for (int i = 0; i < b->memories; i++)
        free(b->memory[i]);
    free(b->memory), free(b->sizes), free(b->at);
    *b = (struct blocks){0};
}

/* What another site says of its blocks is not trusted. */
static void check(struct package p, size_t n) {
    bool sound = p.bytes >= n * sizeof(uint64_t);
    uint64_t left = p.bytes - n * sizeof(uint64_t);
    for (size_t i = 0; sound && i < n; left -= ((uint64_t *)p.data)[i++])
        sound = ((uint64_t *)p.data)[i] <= left;
    if (!sound)
        stop("rank %d of the world got a malformed part of a collective.", world.rank);
}

static struct package package_receive(struct communicator *c, int peer, int tag) {
    struct package p;
    p.data = part_receive(c, peer, tag, &p.bytes);
    return p;
}

static void unwrap(struct communicator *c, struct blocks *b, int site, struct package p) {
    size_t n = members_at(b, c->site_of, site), i = 0;
    char *package = blocks_own(b, p.data), *block = package + n * sizeof(uint64_t);
    check(p, n);
    for (int r = 0; r < c->size; r++)
        if (c->site_of[r] == site) {
            memcpy(&b->sizes[r], package + i++ * sizeof(uint64_t), sizeof(uint64_t));
            b->at[r] = block;
            block += b->sizes[r];
        }
}

struct package blocks_wrap(const struct blocks *b, const int *site_of, int site) {
    size_t n = members_at(b, site_of, site), i = 0;
    struct package p = {.bytes = n * sizeof(uint64_t)};
    for (int r = 0; r < b->n; r++)
        if (is_at(site_of, r, site))
            p.bytes += b->sizes[r];
    p.data = grow(NULL, p.bytes);
    char *block = p.data + n * sizeof(uint64_t);
    for (int r = 0; r < b->n; r++)
        if (is_at(site_of, r, site)) {
            memcpy(p.data + i++ * sizeof(uint64_t), &b->sizes[r], sizeof(uint64_t));
            memcpy(block, b->at[r], b->sizes[r]);
            block += b->sizes[r];
        }
    return p;
}

/* The blocks of this site come to one of its ranks, whose own one stays where it is. */
static void gather_here(struct communicator *c, struct blocks *b, const char *block, uint64_t bytes, int root, int tag) {
    if (c->rank != root) {
        struct part *part = grow(NULL, sizeof *part);
        part_send(part, c, block, bytes, root, tag);
        parts_await(part, 1);
        return;
    }
    b->at[root] = block, b->sizes[root] = bytes;
    for (int r = 0; r < c->size; r++)
        if (r != root && c->site_of[r] == c->site)
            b->at[r] = blocks_own(b, part_receive(c, r, tag, &b->sizes[r]));
}

/* Collects the blocks of all ranks at `root`; elsewhere the result is empty. */
struct blocks blocks_gather(struct communicator *c, const char *block, uint64_t bytes, int root, int tag) {
    int collects = c->site_of[root] == c->site ? root : c->leader[c->site];
    struct blocks b = c->rank == collects ? blocks_new(c->size) : (struct blocks){0};
    gather_here(c, &b, block, bytes, collects, tag);
    for (int s = 0; c->rank == root && s < c->sites; s++)
        if (s != c->site)
            unwrap(c, &b, s, package_receive(c, c->leader[s], tag));
    if (c->rank == collects && c->rank != root) {
        struct package p = blocks_wrap(&b, c->site_of, c->site);
        send_owned(c, p.data, p.bytes, root, tag);
        blocks_free(&b);
    }
    return b;
}

/* Collects the blocks of all ranks at all ranks. */
struct blocks blocks_allgather(struct communicator *c, const char *block, uint64_t bytes, int tag) {
    struct blocks b = blocks_new(c->size);
    bool leads = c->local_rank == 0;
    struct package here = {0};
    struct part *parts = NULL;
    gather_here(c, &b, block, bytes, c->leader[c->site], tag);
    if (leads) {
        here = blocks_wrap(&b, c->site_of, c->site);
        parts = send_to_leaders(c, here.data, here.bytes, tag);
    }
    for (int s = 0; s < c->sites; s++) {
        struct package p = leads && s != c->site ? package_receive(c, c->leader[s], tag) : here;
        local_broadcast(c, &p.bytes, 1, MPI_UINT64_T, 0);
        if (!leads)
            p.data = grow(NULL, p.bytes);
        broadcast_bytes(c, p.data, p.bytes);
        unwrap(c, &b, s, p);
    }
    parts_await(parts, leads ? c->sites - 1 : 0);
    return b;
}

/* Hands each rank its block out of those that `root` has. */
struct package blocks_scatter(struct communicator *c, const struct blocks *all, int root, int tag) {
    struct blocks b = {0};
    int gives = c->site_of[root] == c->site ? root : c->leader[c->site], n = 0;
    if (c->rank != gives)
        return package_receive(c, gives, tag);
    for (int s = 0; c->rank == root && s < c->sites; s++)
        if (s != c->site) {
            struct package p = blocks_wrap(all, c->site_of, s);
            send_owned(c, p.data, p.bytes, c->leader[s], tag);
        }
    if (c->rank != root) {
        b = blocks_new(c->size);
        unwrap(c, &b, c->site, package_receive(c, root, tag));
        all = &b;
    }
    struct part *parts = grow(NULL, (size_t)c->local_size * sizeof *parts);
    for (int r = 0; r < c->size; r++)
        if (c->site_of[r] == c->site)
            part_send(&parts[n++], c, all->at[r], all->sizes[r], r, tag);
    struct package mine = package_receive(c, gives, tag);
    parts_await(parts, n);
    blocks_free(&b);
    return mine;
}
