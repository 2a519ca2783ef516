// The loops that `evaluate.rs` compares with: each map as one writes it by hand in C, from rows to rows.
#include <stddef.h>
#include <stdint.h>

static inline int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

#define D floor_div
#define M floor_mod
#define LOOP(name, n_dims, n_results, ...)                                                                             \
    void name(size_t n, const int64_t *restrict rows, int64_t *restrict out) {                                         \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const int64_t *d = rows + i * n_dims;                                                                      \
            int64_t *r = out + i * n_results;                                                                          \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

LOOP(transpose, 3, 3, {
    r[0] = d[2];
    r[1] = d[0];
    r[2] = d[1];
})

LOOP(reshape, 2, 3, {
    int64_t x = d[0] * 1000 + d[1];
    r[0] = D(x, 25000);
    r[1] = M(D(x, 200), 125);
    r[2] = M(x, 200);
})

LOOP(tiled, 2, 1, { r[0] = D(d[0], 8) * 4096 + D(d[1], 128) * 1024 + M(d[0], 8) * 128 + M(d[1], 128); })

LOOP(remainders, 2, 2, {
    r[0] = D(M(M(d[0] * 7 + d[1], 1001), 77), 5);
    r[1] = M(D(d[0] - d[1] * 3, 7), 13);
})

LOOP(wide, 2, 2, {
    int64_t x = d[0] * 1000 + d[1];
    r[0] = D(x, 1000003);
    r[1] = M(x, 1000003);
})

LOOP(widest, 2, 2, {
    int64_t x = d[0] * 1000 + d[1];
    r[0] = D(x, 1000003);
    r[1] = M(x, 1000003);
})

LOOP(four, 4, 4, {
    r[0] = D(d[0], 8) * 4096 + D(d[1], 128) * 1024 + M(d[0], 8) * 128 + M(d[1], 128);
    r[1] = D(d[2] * 16 + d[3], 24) * 3 + M(d[0], 5);
    r[2] = M(d[0] * -11 - d[1] + d[2] * 7 + 109, 13);
    r[3] = D(d[1] * 2 + D(d[0], 16), 3) + M(d[2] * 2 + D(d[3], 8), 3) * 256;
})
