/* Values of datatypes as the bytes that are sent. */
#include <limits.h>

#include "bridge.h"

void *grow(void *memory, size_t bytes) {
    void *grown = realloc(memory, bytes ? bytes : 1);
    if (!grown)
        stop("rank %d of the world has no memory for %zu bytes.", world.rank, bytes);
    return grown;
}

static bool is_named(MPI_Datatype type) {
    int integers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

MPI_Count type_size(MPI_Datatype type) {
    MPI_Count size;
    PMPI_Type_size_x(type, &size);
    return size;
}

MPI_Count type_extent(MPI_Datatype type) {
    MPI_Count lower, extent;
    return type == MPI_DATATYPE_NULL || PMPI_Type_get_extent_x(type, &lower, &extent) ? 0 : extent;
}

/* Named types are never freed, so what is known of the last ones stays true. */
bool type_is_dense(MPI_Datatype type, MPI_Count *size) {
    static struct { MPI_Datatype type; MPI_Count size; bool dense, known; } cache[32];
    if (type == MPI_DATATYPE_NULL) /* beside a count of 0 */
        return *size = 0, true;
    unsigned i = ((uintptr_t)type >> 4 ^ (uintptr_t)type) % 32;
    if (!cache[i].known || cache[i].type != type) {
        if (!is_named(type))
            return *size = type_size(type), false;
        MPI_Count lower, extent;
        PMPI_Type_get_extent_x(type, &lower, &extent);
        cache[i].type = type, cache[i].known = true;
        cache[i].size = type_size(type);
        cache[i].dense = lower == 0 && extent == cache[i].size;
    }
    *size = cache[i].size;
    return cache[i].dense;
}

MPI_Datatype type_keep(MPI_Datatype type, bool *own) {
    MPI_Count size;
    if (type_is_dense(type, &size) || is_named(type))
        return *own = false, type;
    *own = true;
    MPI_Datatype copy;
    PMPI_Type_dup(type, &copy);
    return copy;
}

static int pack_all(char *buffer, MPI_Count count, MPI_Datatype type, char *packed, bool back);

/* MPICH packs nothing from MPI_BOTTOM: the same values are named from another origin. */
static int pack_from_bottom(MPI_Count count, MPI_Datatype type, char *packed, bool back) {
    static char origin;
    MPI_Aint place;
    MPI_Datatype moved;
    PMPI_Get_address(&origin, &place);
    PMPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){-place}, type, &moved);
    PMPI_Type_commit(&moved);
    int error = pack_all(&origin, count, moved, packed, back);
    PMPI_Type_free(&moved);
    return error;
}

/* In pieces whose bytes fit an int: Open MPI takes no more. */
static int pack_all(char *buffer, MPI_Count count, MPI_Datatype type, char *packed, bool back) {
    if (buffer == MPI_BOTTOM && count)
        return pack_from_bottom(count, type, packed, back);
    MPI_Count size = type_size(type), extent = type_extent(type), most = size < INT_MAX ? INT_MAX / size : 1;
    int error = MPI_SUCCESS;
    for (MPI_Count done = 0, n; done < count && !error; done += n) {
        MPI_Count place = 0;
        char *values = buffer + done * extent, *bytes = packed + done * size;
        n = count - done < most ? count - done : most;
        error = back ? PMPI_Unpack_c(bytes, n * size, &place, values, n, type, MPI_COMM_SELF)
                     : PMPI_Pack_c(values, n, type, bytes, n * size, &place, MPI_COMM_SELF);
    }
    return error;
}

char *type_pack(const void *buffer, MPI_Count count, MPI_Datatype type, uint64_t *bytes) {
    MPI_Count size;
    bool dense = type_is_dense(type, &size);
    *bytes = (uint64_t)(size * count);
    char *packed = grow(NULL, *bytes);
    if (dense)
        memcpy(packed, buffer, *bytes);
    else if (*bytes && pack_all((char *)(uintptr_t)buffer, count, type, packed, false))
        stop("rank %d of the world cannot pack %lld values.", world.rank, (long long)count);
    return packed;
}

/* What comes may end within a value: the rest of that value stays as it is in the buffer. What is longer than the buffer is an error. */
int type_unpack(const char *packed, uint64_t bytes, void *buffer, MPI_Count count, MPI_Datatype type) {
    MPI_Count size;
    bool dense = type_is_dense(type, &size), fits = bytes <= (uint64_t)(size * count);
    bytes = fits ? bytes : (uint64_t)(size * count);
    if (dense)
        memcpy(buffer, packed, bytes);
    if (dense || !bytes)
        return fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    MPI_Count whole = (MPI_Count)bytes / size, rest = (MPI_Count)bytes % size;
    int error = pack_all(buffer, whole, type, (char *)(uintptr_t)packed, true);
    if (rest && whole < count && !error) {
        char *last = (char *)buffer + whole * type_extent(type);
        uint64_t filled;
        char *value = type_pack(last, 1, type, &filled);
        memcpy(value, packed + whole * size, (size_t)rest);
        error = pack_all(last, 1, type, value, true);
        free(value);
    }
    if (error)
        stop("rank %d of the world cannot unpack %llu bytes.", world.rank, (unsigned long long)bytes);
    return fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

void type_copy(const void *from, MPI_Count count, MPI_Datatype type, void *to) {
    uint64_t bytes;
    char *packed = type_pack(from, count, type, &bytes);
    type_unpack(packed, bytes, to, count, type);
    free(packed);
}

void *type_duplicate(const void *values, MPI_Count count, MPI_Datatype type, void **memory) {
    void *copy = type_allocate(count, type, memory);
    type_copy(values, count, type, copy);
    return copy;
}

void *type_allocate(MPI_Count count, MPI_Datatype type, void **memory) {
    MPI_Count lower, extent, true_lower, true_extent;
    PMPI_Type_get_extent_x(type, &lower, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
    MPI_Count span = true_extent + (count > 0 ? count - 1 : 0) * (extent < 0 ? -extent : extent);
    *memory = grow(NULL, (size_t)span);
    return (char *)*memory - true_lower + (extent < 0 ? (1 - count) * extent : 0);
}
