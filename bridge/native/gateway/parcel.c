/* Parcels that come: each is taken once, and after the one of its source before it, whichever connection brings them. */
#include "gateway.h"

enum { TELL = 32 };

void link_tell(struct link *link) {
    link->told = link->taken;
    link_send_own(link, (struct frame){.type = FRAME_TAKEN, .source = -1, .id = link->taken}, NULL);
}

static bool is_taken(const struct link *link, uint64_t number) {
    return number <= link->taken || (link->beyond[number % PARCELS / 8] >> number % 8 & 1);
}

static bool may_be_taken(const struct link *link, const struct frame *head) {
    return head->id == EVERY ? link->taken + 1 == head->context : is_taken(link, head->id);
}

/* Twice what credits allow to be under way between two halves of the world. */
static uint64_t most_held(void) { return (uint64_t)g.world * (uint64_t)g.world / 2 * g.window; }

/* @return false: malformed */
static bool hold(struct link *link, const struct frame *head, const uint8_t *frames) {
    struct parcel **place = head->id == EVERY ? &link->held_for_every : &link->held[head->id % PARCELS];
    while (*place && head->id == EVERY && (*place)->head.context != head->context)
        place = &(*place)->next;
    if (*place)
        return (*place)->head.context == head->context; /* it came twice */
    *place = room(1, sizeof **place + head->length);
    (*place)->head = *head;
    memcpy((*place)->frames, frames, head->length);
    link->held_bytes += head->length;
    return link->held_bytes <= most_held();
}

static struct parcel *unhold(struct link *link, uint64_t after) {
    struct parcel **place = &link->held[after % PARCELS], *found = *place;
    if (!found || found->head.id != after)
        for (place = &link->held_for_every; (found = *place) && found->head.context != link->taken + 1;)
            place = &found->next;
    if (found) {
        *place = found->next;
        link->held_bytes -= found->head.length;
    }
    return found;
}

/* @return false: malformed */
static bool take(struct connection *lane, const struct frame *head, const uint8_t *frames) {
    struct link *link = lane->link;
    uint8_t opened[RUN_MAX];
    if (head->tag != CODING_NONE) {
        if (head->tag != CODING_ZSTD || !press_open(head, frames, opened))
            return false;
        frames = opened;
    } else if (head->total != head->length) {
        return false;
    }
    if (take_frames(lane, frames, head->total, true) != head->total)
        return false;
    if (head->context) {
        link->beyond[head->context % PARCELS / 8] |= (uint8_t)(1 << head->context % 8);
        for (uint64_t n; n = link->taken + 1, link->beyond[n % PARCELS / 8] >> n % 8 & 1; link->taken = n)
            link->beyond[n % PARCELS / 8] &= (uint8_t)~(1 << n % 8);
    }
    return true;
}

bool link_take(struct connection *lane, const struct frame *head, const uint8_t *frames) {
    struct link *link = lane->link;
    uint64_t number = head->context;
    if (!number)
        return take(lane, head, frames);
    if (!link->held || number > link->taken + PARCELS || (head->id >= number && head->id != EVERY))
        return false;
    if (!is_taken(link, number)) {
        if (!may_be_taken(link, head))
            return hold(link, head, frames);
        if (!take(lane, head, frames))
            return false;
        bool sound = true;
        for (struct parcel *next; sound && lane->fd >= 0 && (next = unhold(link, number)); free(next)) {
            number = next->head.context;
            sound = take(lane, &next->head, next->frames);
        }
        if (!sound)
            return false;
    }
    if (link->taken >= link->told + TELL || head->id == EVERY)
        link_tell(link);
    return true;
}

bool link_acknowledged(struct link *link, uint64_t number) {
    if (number > link->sent)
        return false;
    if (number <= link->acknowledged)
        return true;
    link->acknowledged = number;
    for (struct parcel *kept; (kept = link->kept_first) && kept->head.context <= number; free(kept)) {
        link->kept_first = kept->next;
        link->kept_bytes -= sizeof *kept + kept->head.length;
        if (link->resend == kept)
            link->resend = kept->next;
    }
    for (int i = 0; i < link->n_lanes; i++)
        flush(link->lanes[i]);
    return true;
}
