/* Blocks of bytes, one a rank, moved between all ranks of a communicator: what most collectives are made of.
 *
 * A block crosses the wide area once, in one message a site: [sizes of the blocks][blocks], in the order of the ranks of that site.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* ---- within a site ---- */

int local_barrier(struct communicator *c) {
    if (c->inner == MPI_COMM_NULL)
        return MPI_SUCCESS;
    MPI_Request request;
    int error = PMPI_Ibarrier(c->inner, &request);
    return error ? error : await_local(&request, MPI_STATUS_IGNORE);
}

int local_broadcast(struct communicator *c, void *buffer, MPI_Count count, MPI_Datatype type, int root) {
    if (c->inner == MPI_COMM_NULL)
        return MPI_SUCCESS;
    MPI_Request request;
    int error = PMPI_Ibcast_c(buffer, count, type, root, c->inner, &request);
    return error ? error : await_local(&request, MPI_STATUS_IGNORE);
}

/* So many bytes as values of a type whose number fits an int: Open MPI takes no more. The caller frees a type that is not MPI_BYTE. */
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

MPI_Request local_start(struct communicator *c, void *data, uint64_t bytes, int peer, int tag, bool out) {
    MPI_Request request = MPI_REQUEST_NULL;
    int count;
    MPI_Datatype type = bytes_as(bytes, &count);
    if (out)
        PMPI_Isend(data, count, type, peer, tag, c->inner, &request);
    else
        PMPI_Irecv(data, count, type, peer, tag, c->inner, &request);
    if (type != MPI_BYTE)
        PMPI_Type_free(&type);
    return request;
}

static void broadcast_bytes(struct communicator *c, void *data, uint64_t bytes) {
    int count;
    MPI_Datatype type = bytes_as(bytes, &count);
    local_broadcast(c, data, count, type, 0);
    if (type != MPI_BYTE)
        PMPI_Type_free(&type);
}

/* Where the block of a rank of this site lies in a package. */
static char *local_blocks(char *package, int n, int rank) {
    char *block = package + (size_t)n * sizeof(uint64_t);
    for (int i = 0; i < rank; i++)
        block += ((uint64_t *)package)[i];
    return block;
}

/* The blocks of a package go to their ranks, or come from them; the one of `root` itself stays. */
static void local_exchange(struct communicator *c, char *package, void *block, uint64_t bytes, int root, int tag, bool out) {
    int n = c->local_size, used = 0;
    MPI_Request *requests = grow(NULL, (size_t)n * sizeof *requests);
    char *its = package + (size_t)n * sizeof(uint64_t);
    for (int i = 0; c->local_rank == root && i < n; its += ((uint64_t *)package)[i++]) {
        if (i != root)
            requests[used++] = local_start(c, its, ((uint64_t *)package)[i], i, tag, out);
    }
    if (c->local_rank != root)
        requests[used++] = local_start(c, block, bytes, root, tag, !out);
    await_locals(used, requests);
    free(requests);
}

/* Brings the blocks of this site to one of its ranks, behind their sizes; returns null at the others. */
static struct package local_gather(struct communicator *c, const char *block, uint64_t bytes, int root, int tag) {
    struct package p = {0};
    int n = c->local_size;
    uint64_t *sizes = grow(NULL, (size_t)n * sizeof *sizes);
    MPI_Request request;
    sizes[c->local_rank] = bytes;
    if (n > 1) {
        PMPI_Igather_c(&bytes, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, root, c->inner, &request);
        await_local(&request, MPI_STATUS_IGNORE);
    }
    if (c->local_rank == root) {
        p.bytes = (uint64_t)n * sizeof *sizes;
        for (int i = 0; i < n; i++)
            p.bytes += sizes[i];
        p.data = grow(NULL, p.bytes);
        memcpy(p.data, sizes, (size_t)n * sizeof *sizes);
        memcpy(local_blocks(p.data, n, root), block, bytes);
    }
    local_exchange(c, p.data, (void *)(uintptr_t)block, bytes, root, tag, false);
    free(sizes);
    return p;
}

/* ---- between sites ---- */

void post_bytes(struct operation *o, struct communicator *c, const void *data, uint64_t bytes, int peer, int tag) {
    operation_begin(o, c);
    send_start(o, data, (MPI_Count)bytes, MPI_BYTE, peer, tag, c->context + 1, false);
}

/* Sends the same bytes to the leaders of all other sites; await_all waits until they may be changed. */
struct operation *post_to_leaders(struct communicator *c, const void *data, uint64_t bytes, int tag) {
    struct operation *sends = grow(NULL, (size_t)c->sites * sizeof *sends);
    for (int s = 0; s < c->sites; s++)
        if (s != c->site)
            post_bytes(&sends[s], c, data, bytes, c->leader[s], tag);
    return sends;
}

void await_to_leaders(struct communicator *c, struct operation *sends) {
    for (int s = 0; s < c->sites; s++)
        if (s != c->site)
            await(&sends[s], true);
    free(sends);
}

/* ---- blocks and packages ---- */

static int members_at(const struct communicator *c, int site) {
    int n = 0;
    for (int r = 0; r < c->size; r++)
        n += c->site_of[r] == site;
    return n;
}

void blocks_allocate(struct blocks *b, int n) {
    b->n = n;
    b->sizes = calloc((size_t)n, sizeof *b->sizes);
    b->at = calloc((size_t)n, sizeof *b->at);
}

void blocks_free(struct blocks *b) {
    for (int i = 0; i < b->packages; i++)
        free(b->package[i]);
    free(b->package), free(b->sizes), free(b->at);
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

static void unwrap(struct communicator *c, struct blocks *b, int site, struct package p) {
    size_t n = (size_t)members_at(c, site), i = 0;
    char *package = p.data, *block = package + n * sizeof(uint64_t);
    check(p, n);
    for (int r = 0; r < c->size; r++)
        if (c->site_of[r] == site) {
            memcpy(&b->sizes[r], package + i++ * sizeof(uint64_t), sizeof(uint64_t));
            b->at[r] = block;
            block += b->sizes[r];
        }
    b->package = grow(b->package, (size_t)(b->packages + 1) * sizeof *b->package);
    b->package[b->packages++] = package;
}

/* Collects the blocks of all ranks at `root`; elsewhere the result is empty. */
struct blocks blocks_gather(struct communicator *c, const char *block, uint64_t bytes, int root, int tag) {
    struct blocks b = {0};
    bool here = c->site_of[root] == c->site;
    struct package p = local_gather(c, block, bytes, here ? c->to_local[root] : 0, tag);
    if (c->rank == root) {
        blocks_allocate(&b, c->size);
        for (int s = 0; s < c->sites; s++) {
            struct package q = p;
            if (s != c->site)
                q.data = receive_taken(c, c->leader[s], tag, &q.bytes);
            unwrap(c, &b, s, q);
        }
    } else if (!here && c->local_rank == 0)
        send_owned(c, p.data, p.bytes, root, tag, c->context + 1);
    return b;
}

/* Collects the blocks of all ranks at all ranks. */
struct blocks blocks_allgather(struct communicator *c, const char *block, uint64_t bytes, int tag) {
    struct blocks b = {0};
    blocks_allocate(&b, c->size);
    struct package p = local_gather(c, block, bytes, 0, tag);
    struct operation *sends = c->local_rank == 0 ? post_to_leaders(c, p.data, p.bytes, tag) : NULL;
    for (int s = 0; s < c->sites; s++) {
        struct package q = p;
        if (c->local_rank == 0 && s != c->site)
            q.data = receive_taken(c, c->leader[s], tag, &q.bytes);
        local_broadcast(c, &q.bytes, 1, MPI_UINT64_T, 0);
        if (c->local_rank != 0)
            q.data = grow(NULL, q.bytes);
        broadcast_bytes(c, q.data, q.bytes);
        unwrap(c, &b, s, q);
    }
    if (sends)
        await_to_leaders(c, sends);
    return b;
}

static struct package wrap(struct communicator *c, const struct blocks *b, int site) {
    size_t n = (size_t)members_at(c, site), i = 0;
    struct package p = {.bytes = n * sizeof(uint64_t)};
    for (int r = 0; r < c->size; r++)
        if (c->site_of[r] == site)
            p.bytes += b->sizes[r];
    p.data = grow(NULL, p.bytes);
    char *block = p.data + n * sizeof(uint64_t);
    for (int r = 0; r < c->size; r++)
        if (c->site_of[r] == site) {
            memcpy(p.data + i++ * sizeof(uint64_t), &b->sizes[r], sizeof(uint64_t));
            memcpy(block, b->at[r], b->sizes[r]);
            block += b->sizes[r];
        }
    return p;
}

/* Hands each rank its block out of those that `root` has. */
struct package blocks_scatter(struct communicator *c, const struct blocks *b, int root, int tag) {
    bool here = c->site_of[root] == c->site;
    int from = here ? c->to_local[root] : 0, n = c->local_size;
    struct package all = {0}, mine = {0};
    if (c->rank == root) {
        for (int s = 0; s < c->sites; s++)
            if (s != c->site) {
                struct package p = wrap(c, b, s);
                send_owned(c, p.data, p.bytes, c->leader[s], tag, c->context + 1);
            }
        all = wrap(c, b, c->site);
    } else if (!here && c->local_rank == 0) {
        all.data = receive_taken(c, root, tag, &all.bytes);
        check(all, (size_t)n);
    }
    bool gives = c->local_rank == from;
    mine.bytes = gives ? ((uint64_t *)all.data)[from] : 0;
    if (n > 1) {
        MPI_Request request;
        PMPI_Iscatter_c(all.data, 1, MPI_UINT64_T, &mine.bytes, 1, MPI_UINT64_T, from, c->inner, &request);
        await_local(&request, MPI_STATUS_IGNORE);
    }
    mine.data = grow(NULL, mine.bytes);
    if (gives)
        memcpy(mine.data, local_blocks(all.data, n, from), mine.bytes);
    local_exchange(c, all.data, mine.data, mine.bytes, from, tag, true);
    free(all.data);
    return mine;
}
