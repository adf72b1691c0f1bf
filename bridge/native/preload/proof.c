/* The proof that a rank of another machine knows the secret of its site: HMAC-SHA256 (FIPS 180-4, RFC 2104), so that libc is enough. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"

enum { BLOCK = 64, DIGEST = 32, SECRET_MOST = 4096 };

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* The first 32 bits behind the point of a root of a prime, which is what the constants of SHA-256 are. */
static uint32_t fraction(unsigned prime, int root) {
    unsigned __int128 found = 0, limit = (unsigned __int128)prime << 32 * root;
    for (int bit = 36; bit >= 0; bit--) {
        unsigned __int128 tried = found | (unsigned __int128)1 << bit;
        if (tried * tried * (root == 3 ? tried : 1) <= limit)
            found = tried;
    }
    return (uint32_t)found;
}

static void compress(uint32_t state[8], const uint8_t *block) {
    static uint32_t k[64];
    uint32_t w[64], v[8];
    unsigned prime = 2;
    for (int i = 0; !k[63]; prime++) {
        bool is_prime = true;
        for (unsigned d = 2; d * d <= prime; d++)
            is_prime &= prime % d != 0;
        if (is_prime)
            k[i++] = fraction(prime, 3);
    }
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t t2 = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1, v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static void digest(const uint8_t *data, size_t bytes, uint8_t out[DIGEST]) {
    static const unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    uint32_t state[8];
    uint8_t last[2 * BLOCK] = {0};
    size_t rest = bytes % BLOCK, end = rest < 56 ? BLOCK : 2 * BLOCK;
    for (int i = 0; i < 8; i++)
        state[i] = fraction(primes[i], 2);
    for (size_t at = 0; at + BLOCK <= bytes; at += BLOCK)
        compress(state, data + at);
    memcpy(last, data + bytes - rest, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[end - 1 - (size_t)i] = (uint8_t)((uint64_t)bytes * 8 >> 8 * i);
    for (size_t at = 0; at < end; at += BLOCK)
        compress(state, last + at);
    for (int i = 0; i < DIGEST; i++)
        out[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void prove(const void *challenge, size_t bytes, uint8_t proof[DIGEST]) {
    const char *path = getenv("STEPPE_BRIDGE_SECRET");
    uint8_t secret[SECRET_MOST], key[DIGEST], inner[BLOCK + DIGEST], outer[BLOCK + DIGEST];
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = file < 0 ? -1 : read(file, secret, sizeof secret);
    if (length < 0 || bytes != DIGEST)
        stop("a rank cannot read the secret of its site in %s.", path ? path : "STEPPE_BRIDGE_SECRET, which is not set");
    close(file);
    digest(secret, (size_t)length, key);
    memset(inner, 0x36, BLOCK), memset(outer, 0x5c, BLOCK);
    for (int i = 0; i < DIGEST; i++)
        inner[i] ^= key[i], outer[i] ^= key[i];
    memcpy(inner + BLOCK, challenge, DIGEST);
    digest(inner, sizeof inner, outer + BLOCK);
    digest(outer, sizeof outer, proof);
}
