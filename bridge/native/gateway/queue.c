/* Memory; and bytes that wait, in chunks of 64 KiB: a queue of any length wastes less than one chunk, and gives back what was read. */
#include "gateway.h"

struct chunk {
    struct chunk *next;
    size_t start, end;
    uint8_t data[CHUNK];
};

void *grow(void *memory, size_t bytes) {
    if (!(memory = realloc(memory, bytes)))
        fail("The machine of site %s has no memory left.", g.name);
    return memory;
}

void *room(size_t n, size_t size) { return memset(grow(NULL, n * size), 0, n * size); }

void queue_push(struct queue *queue, const void *data, size_t bytes) {
    const uint8_t *from = data;
    queue->bytes += bytes;
    while (bytes) {
        if (!queue->last || queue->last->end == CHUNK) {
            struct chunk *chunk = grow(NULL, sizeof *chunk);
            chunk->next = NULL;
            chunk->start = chunk->end = 0;
            *(queue->last ? &queue->last->next : &queue->first) = chunk;
            queue->last = chunk;
        }
        size_t room = CHUNK - queue->last->end, part = bytes < room ? bytes : room;
        memcpy(queue->last->data + queue->last->end, from, part);
        queue->last->end += part;
        from += part;
        bytes -= part;
    }
}

size_t queue_copy(const struct queue *queue, void *to, size_t bytes) {
    size_t done = 0;
    for (const struct chunk *chunk = queue->first; chunk && done < bytes; chunk = chunk->next) {
        size_t there = chunk->end - chunk->start, part = bytes - done < there ? bytes - done : there;
        memcpy((uint8_t *)to + done, chunk->data + chunk->start, part);
        done += part;
    }
    return done;
}

int queue_vector(const struct queue *queue, struct iovec *pieces, int most) {
    int n = 0;
    for (struct chunk *chunk = queue->first; chunk && n < most; chunk = chunk->next)
        pieces[n++] = (struct iovec){chunk->data + chunk->start, chunk->end - chunk->start};
    return n;
}

void queue_drop(struct queue *queue, size_t bytes) {
    queue->bytes -= bytes;
    while (queue->first && (bytes || !queue->bytes)) {
        struct chunk *chunk = queue->first;
        size_t there = chunk->end - chunk->start;
        if (bytes < there) {
            chunk->start += bytes;
            return;
        }
        bytes -= there;
        queue->first = chunk->next;
        if (!queue->first)
            queue->last = NULL;
        free(chunk);
    }
}

void queue_append(struct queue *queue, struct queue behind) {
    if (!behind.first)
        return;
    *(queue->last ? &queue->last->next : &queue->first) = behind.first;
    queue->last = behind.last;
    queue->bytes += behind.bytes;
}
