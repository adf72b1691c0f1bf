/* A map from handles of the library to what the bridge knows of them: open addressing, at most half full. */
#include "bridge.h"

static size_t place(const struct map *map, uintptr_t key) {
    size_t i = (size_t)mix(key) & (map->capacity - 1);
    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return i;
}

void *map_get(const struct map *map, uintptr_t key) { return map->used ? map->slots[place(map, key)].value : NULL; }

void map_put(struct map *map, uintptr_t key, void *value) {
    if (2 * (map->used + 1) > map->capacity) {
        struct map grown = {.capacity = map->capacity ? 2 * map->capacity : 32};
        grown.slots = calloc(grown.capacity, sizeof *grown.slots);
        if (!grown.slots)
            stop("rank %d of the world has no memory for %zu handles.", world.rank, grown.capacity);
        for (size_t i = 0; i < map->capacity; i++)
            if (map->slots[i].key)
                map_put(&grown, map->slots[i].key, map->slots[i].value);
        free(map->slots);
        *map = grown;
    }
    size_t i = place(map, key);
    map->used += !map->slots[i].key;
    map->slots[i].key = key, map->slots[i].value = value;
}

void map_remove(struct map *map, uintptr_t key) {
    size_t i = map->used ? place(map, key) : 0;
    if (!map->used || !map->slots[i].key)
        return;
    map->slots[i].key = 0, map->slots[i].value = NULL;
    map->used--;
    for (i = (i + 1) & (map->capacity - 1); map->slots[i].key; i = (i + 1) & (map->capacity - 1)) {
        /* those behind it may have been pushed on by it */
        uintptr_t moved = map->slots[i].key;
        void *value = map->slots[i].value;
        map->slots[i].key = 0, map->slots[i].value = NULL;
        size_t to = place(map, moved);
        map->slots[to].key = moved, map->slots[to].value = value;
    }
}
