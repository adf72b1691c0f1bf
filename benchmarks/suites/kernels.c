/* The loops of `steppe measure kernels` as a C compiler makes them: what the compiled Python is held against. */
#include <stddef.h>
#include <stdint.h>

void copy(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++) a[i] = b[i];
}

void scale(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++) a[i] = 3.0 * b[i];
}

void add(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] = b[i] + c[i];
}

void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}

int64_t chase(const int64_t (*links)[8], int64_t line, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++) line = links[line][0];
    return line;
}

int64_t gather(const int64_t (*links)[8], uint64_t state, int64_t reads, uint64_t lines)
{
    int64_t total = 0;
    for (int64_t i = 0; i < reads; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        total += links[(state >> 33) & (lines - 1)][0];
    }
    return total;
}

#define FOUR(v) v = v * a + b; v = v * a + b; v = v * a + b; v = v * a + b
#define MULTIPLY_ADD(name, real)                          \
    void name(real *x, size_t n, real a, real b, size_t sweeps) \
    {                                                     \
        for (size_t s = 0; s < sweeps; s++)               \
            for (size_t i = 0; i < n; i++) {              \
                real v = x[i];                            \
                FOUR(v);                                  \
                FOUR(v);                                  \
                x[i] = v;                                 \
            }                                             \
    }
MULTIPLY_ADD(multiply_add_double, double)
MULTIPLY_ADD(multiply_add_single, float)
