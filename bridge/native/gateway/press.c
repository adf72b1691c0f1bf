/* Compression of what waits for a link: by zstd, where measurement says that more comes through with it.
 *
 * While frames wait, the rate of the link is measured over windows of WINDOW_MS, and one frame in SAMPLE is compressed for trial: as it is, and
 * with the first bytes of all numbers before their second ones, since the numbers of a field are alike in their first bytes.
 */
#include "gateway.h"

#include <time.h>

#if __has_include(<zstd.h>)
#include <zstd.h>

enum { WINDOW_MS = 100, SAMPLE = 64, LEAST = 8192, LEVEL = 1, RETRY = 64 };
static const double worthwhile = 1.1, fastest = 400e6; /* [bytes/s] of a link that a compressor could keep up with */
static const int widths[] = {1, 8, 4};

bool press_is_there(void) { return true; }

static double clock_s(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Behind the header of the frame: byte b of number i from [i][b] to [b][i], or back. */
static void turn(const uint8_t *from, size_t bytes, int width, bool back, uint8_t *to) {
    size_t w = (size_t)width, n = (bytes - sizeof(struct frame)) / w;
    memcpy(to, from, bytes);
    from += sizeof(struct frame), to += sizeof(struct frame);
    for (size_t b = 0; b < w; b++)
        for (size_t i = 0; i < n; i++)
            if (back)
                to[i * w + b] = from[b * n + i];
            else
                to[b * n + i] = from[i * w + b];
}

/* @return bytes, 0 where they are not fewer */
static size_t pack(struct link *link, const uint8_t *run, size_t bytes, int width, uint8_t *to) {
    static ZSTD_CCtx *context;
    uint8_t turned[RUN_MAX];
    double start = clock_s();
    if (!context && !(context = ZSTD_createCCtx()))
        return 0;
    if (width > 1)
        turn(run, bytes, width, false, turned);
    size_t packed = ZSTD_compressCCtx(context, to, RUN_MAX, width > 1 ? turned : run, bytes, LEVEL);
    packed = ZSTD_isError(packed) || packed > bytes ? bytes : packed;
    double ratio = (double)bytes / (double)packed, speed = (double)bytes / (clock_s() - start);
    struct press *p = &link->press;
    p->tried_ratio = ratio;
    p->tried_speed = speed;
    if (width == p->width) {
        p->ratio += (ratio - p->ratio) / 8;
        p->speed += (speed - p->speed) / 8;
    }
    return packed < bytes ? packed : 0;
}

static void try_widths(struct link *link, const uint8_t *run, size_t bytes, uint8_t *to) {
    struct press *p = &link->press;
    struct press best = {0};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        pack(link, run, bytes, widths[i], to);
        if (p->tried_ratio > 1.05 * best.ratio)
            best = (struct press){.width = widths[i], .ratio = p->tried_ratio, .speed = p->tried_speed};
    }
    if (best.width != p->width) {
        p->width = best.width;
        p->ratio = best.ratio;
        p->speed = best.speed;
    }
}

size_t press(struct link *link, const uint8_t *run, size_t bytes, uint8_t *to, uint16_t *width) {
    struct press *p = &link->press;
    if (!p->rate || p->rate > fastest || bytes < LEAST)
        return 0;
    if (p->frames++ % SAMPLE == 0)
        try_widths(link, run, bytes, to);
    *width = (uint16_t)p->width;
    return p->on ? pack(link, run, bytes, p->width, to) : 0;
}

static void decide(struct link *link, double rate) {
    struct press *p = &link->press;
    if (!p->on || rate > p->rate)
        p->rate = rate;
    bool pays = p->ratio > worthwhile && p->speed > worthwhile * p->rate;
    if (pays && !p->said) {
        p->said = true;
        event("{\"event\": \"compresses\", \"site\": \"%s\", \"ratio\": %.2f}", link->name, p->ratio);
    }
    p->on = pays && ++p->windows % RETRY; /* a window without, to measure the link itself */
}

/* Bytes have left for the wire: they count while others wait behind them. */
void press_measure(struct link *link, size_t on_wire) {
    struct press *p = &link->press;
    if (!link->presses)
        return;
    if (!p->since)
        p->since = g.now, p->bytes = 0;
    p->bytes += on_wire;
    if (g.now - p->since >= WINDOW_MS) {
        decide(link, (double)p->bytes * 1000 / (double)(g.now - p->since));
        p->since = 0;
    }
    if (!link->first)
        p->since = 0;
}

bool press_open(const struct frame *head, const uint8_t *from, uint8_t *to) {
    static ZSTD_DCtx *context;
    uint8_t turned[RUN_MAX];
    bool turns = head->flags == 4 || head->flags == 8;
    if ((!context && !(context = ZSTD_createDCtx())) || head->total < sizeof(struct frame) || head->total > RUN_MAX || (!turns && head->flags != 1))
        return false;
    if (ZSTD_decompressDCtx(context, turns ? turned : to, head->total, from, head->length) != head->total)
        return false;
    if (turns)
        turn(turned, head->total, head->flags, true, to);
    return true;
}

#else

bool press_is_there(void) { return false; }
size_t press(struct link *link, const uint8_t *run, size_t bytes, uint8_t *to, uint16_t *width) { return 0; }
void press_measure(struct link *link, size_t on_wire) {}
bool press_open(const struct frame *head, const uint8_t *from, uint8_t *to) { return false; }

#endif
