// The kernels that torch has not: perceptrons, kernel values, and two sums.
//
// Kernel perceptrons on permutations are those of bayespoint/_core/perceptron.py. Labels are folded
// into the state: margins are t_i o_i, and counts are t_i alpha_i >= 0, so that a point is wrong
// where its margin (with the ridge's part) is not positive. A machine looks at many places of its
// permutation at once, corrects the first mistake, and goes on behind it: this is what one place
// after the other gives. Two kernels do so. In `advance_clusters` a cluster of blocks trains a
// machine, whose margins are in distributed shared memory; all kernel rows are there. In
// `advance_windows` a block takes a machine through the next places of its permutation, and kernel
// values among their points are all it has; `add_rows` then tells all other points, and `pass_by`
// leads machines on to their next mistakes. Kernel rows are float32 or float16 numbers.

typedef unsigned int u32;
typedef unsigned short u16;  // the bits of a float16 number
typedef signed char i8;

#ifndef CLUSTER
#define CLUSTER 8     // blocks of a cluster
#define THREADS 128   // threads of each of them: 32 warps in a cluster, one message for each lane
#define WIDE 1024     // threads of a block that takes a machine through a window
#endif

enum { POSITION, EPOCHS, EPOCH_MISTAKES, MISTAKES, STATE, N_COUNTERS };
enum { RUNNING, SEPARATED, GAVE_UP };
enum { ENDED = -1, PAUSED = -2 };  // why a machine has stopped
#define NOWHERE 0x7fffffff

#define ARGUMENTS(ROW)                                                                               \
    const int* __restrict__ orders,   /* (orders, m) permutations */                              \
    const i8* __restrict__ targets,   /* (tasks, stride) labels -1, +1 */                         \
    const float* __restrict__ step,   /* (m) how far a mistake moves a coefficient */             \
    const float* __restrict__ ridge,  /* (m) lambda of k_lambda at each point */                  \
    float* counts,                    /* (machines, stride) t_i alpha_i */                        \
    float* margins,                   /* (machines, stride) t_i o_i */                            \
    double* squares,                  /* (machines) |w|^2 */                                      \
    float* first,                     /* (machines, m - m / 2) margins / |w| at first visits */   \
    int* progress,                    /* (machines, N_COUNTERS) */                                \
    int* missing,                     /* (machines) why each has stopped */                       \
    const ROW* __restrict__ values,   /* kernel rows */                                           \
    int m, int stride, int n_tasks, int max_epochs, int has_ridge

// Four numbers of a row as they are kept, and as float32; one number.
__device__ float4 fetch(const float* row, int q) { return __ldg((const float4*)row + q); }
__device__ uint2 fetch(const u16* row, int q) { return __ldg((const uint2*)row + q); }
__device__ float widen(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
__device__ float widen(float value) { return value; }
__device__ float4 widen(float4 four) { return four; }
__device__ float4 widen(uint2 four) {
    return make_float4(widen((u16)four.x), widen((u16)(four.x >> 16)), widen((u16)four.y),
                       widen((u16)(four.y >> 16)));
}
__device__ u32 narrow(float low, float high) {
    u32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
__device__ void keep(float* row, int q, float4 v) { ((float4*)row)[q] = v; }
__device__ void keep(u16* row, int q, float4 v) {
    ((uint2*)row)[q] = make_uint2(narrow(v.x, v.y), narrow(v.z, v.w));
}

// What all threads of a machine know alike.
struct Machine {
    int position, epochs, epoch_mistakes, mistakes, state, work;
    double square;
};

__device__ Machine load(const int* counters, double square) {
    return {counters[POSITION], counters[EPOCHS], counters[EPOCH_MISTAKES], counters[MISTAKES],
            counters[STATE], 0, square};
}

__device__ void store(const Machine& a, int* counters) {
    counters[POSITION] = a.position;
    counters[EPOCHS] = a.epochs;
    counters[EPOCH_MISTAKES] = a.epoch_mistakes;
    counters[MISTAKES] = a.mistakes;
    counters[STATE] = a.state;
}

// The end of a pass; false if it was the last one.
__device__ bool next_pass(Machine& a, int max_epochs) {
    a.position = 0;
    a.epochs++;
    if (a.epoch_mistakes == 0) a.state = SEPARATED;
    a.epoch_mistakes = 0;
    if (a.state == RUNNING && a.epochs >= max_epochs) a.state = GAVE_UP;
    a.work++;
    return a.state == RUNNING;
}

// A mistake at a place: `margin` includes the ridge, `own` is k(x_i, x_i).
__device__ void correct(Machine& a, int place, float size, float margin, float own, float slack) {
    a.square += (double)size * (2.0 * margin + (double)size * ((double)own + slack));
    a.position = place + 1;
    a.epoch_mistakes++;
    a.mistakes++;
    a.work++;
}

__device__ float inverse_length(const Machine& a) {
    return a.square > 0 ? 1.0f / sqrtf((float)a.square) : 0.0f;
}

// The first place that is wrong, of those that the threads of a block look at. `found` has places
// for this scan, for the next one, and for the last one, which may still be read.
__device__ int first_wrong(bool wrong, int place, int* found, int turn) {
    const u32 votes = __ballot_sync(~0u, wrong);
    if (votes && threadIdx.x % 32 == 0) atomicMin(&found[turn], place + __ffs(votes) - 1);
    if (threadIdx.x == 0) found[(turn + 1) % 3] = NOWHERE;
    __syncthreads();
    return found[turn];
}

// Machines pass by points that are right: each then rests at a mistake, or has ended.
extern "C" __global__ void __launch_bounds__(WIDE) pass_by(ARGUMENTS(float)) {
    __shared__ int found[3];
    const int c = blockIdx.x, tid = threadIdx.x, half = m / 2;
    int* counters = progress + N_COUNTERS * c;
    Machine a = load(counters, squares[c]);
    const int* order = orders + (size_t)(c / n_tasks) * m;
    const float *margin = margins + (size_t)c * stride, *count = counts + (size_t)c * stride;
    if (tid < 3) found[tid] = NOWHERE;
    __syncthreads();
    for (int turn = 0; a.state == RUNNING; turn = (turn + 1) % 3) {
        const int place = a.position + tid;
        bool wrong = false;
        if (place < m) {
            const int i = order[place];
            const float s = margin[i];
            if (a.epochs == 0 && place >= half)
                first[(size_t)c * (m - half) + place - half] = s * inverse_length(a);
            wrong = s <= 0 && (!has_ridge || s + ridge[i] * count[i] <= 0);
        }
        const int at = first_wrong(wrong, place, found, turn);
        a.position = at == NOWHERE ? a.position + WIDE : at;
        if (at != NOWHERE) break;
        if (a.position >= m) next_pass(a, max_epochs);
    }
    if (tid == 0) {
        store(a, counters);
        missing[c] = a.state == RUNNING ? PAUSED : ENDED;
    }
}

// A window is some places of a permutation, from the first one on: (permutation, pass, first place).
// Machines of the permutation that are in this pass go through it, as far as there are kernel rows
// of the points that they err on. What they learn is noted, (windows, n_rows, n_tasks).
extern "C" __global__ void __launch_bounds__(WIDE)
advance_windows(ARGUMENTS(float),                 // values: (windows, n_rows, width)
                const int* __restrict__ windows,  // (windows, 3)
                const int* __restrict__ slots,    // (windows, width) row of a place, or -1
                float* changes, int width, int n_rows) {
    extern __shared__ float4 shared[];
    float* outputs = (float*)shared;        // (width) of the points of the window
    u32* minus = (u32*)(outputs + width);   // (width / 32) bits: where labels are -1
    __shared__ int found[3];
    const int task = blockIdx.x % n_tasks, window = blockIdx.x / n_tasks, tid = threadIdx.x;
    const int c = windows[3 * window] * n_tasks + task, begin = windows[3 * window + 2];
    const int end = min(begin + width, m), half = m / 2;
    int* counters = progress + N_COUNTERS * c;
    Machine a = load(counters, squares[c]);
    if (a.state != RUNNING || a.epochs != windows[3 * window + 1]) return;  // ended, or ahead
    const int* order = orders + (size_t)windows[3 * window] * m + begin;
    const i8* target = targets + (size_t)task * stride;
    float *count = counts + (size_t)c * stride, *visits = first + (size_t)c * (m - half);
    const float* margin = margins + (size_t)c * stride;
    for (int j = tid; j < width; j += WIDE) {
        const int i = begin + j < end ? order[j] : 0;
        const bool is_minus = target[i] < 0;
        outputs[j] = is_minus ? -margin[i] : margin[i];
        const u32 bits = __ballot_sync(~0u, is_minus);
        if (tid % 32 == 0) minus[j / 32] = bits;
    }
    if (tid < 3) found[tid] = NOWHERE;
    __syncthreads();
    for (int turn = 0; a.position < end; turn = (turn + 1) % 3) {
        const int place = a.position + tid;
        bool wrong = false;
        if (place < end) {
            const int j = place - begin;
            const float s = minus[j / 32] >> j % 32 & 1 ? -outputs[j] : outputs[j];
            if (a.epochs == 0 && place >= half) visits[place - half] = s * inverse_length(a);
            wrong = s <= 0 && (!has_ridge || s + ridge[order[j]] * __ldcg(count + order[j]) <= 0);
        }
        const int at = first_wrong(wrong, place, found, turn);
        a.position = at == NOWHERE ? min(a.position + WIDE, end) : at;
        if (at == NOWHERE) continue;
        const int j = at - begin, i = order[j], slot = slots[(size_t)window * width + j];
        if (slot < 0) break;
        const float* row = values + ((size_t)window * n_rows + slot) * width;
        const float size = has_ridge ? step[i] : 1.0f, slack = has_ridge ? ridge[i] : 0.0f;
        const float change = target[i] * size, own = target[i] * outputs[j];
        const float before = has_ridge ? own + slack * __ldcg(count + i) : own;
        __syncthreads();  // all have read the state of the point
        correct(a, at, size, before, row[j], slack);
        if (tid == 0) {
            __stcg(count + i, __ldcg(count + i) + size);
            changes[((size_t)window * n_rows + slot) * n_tasks + task] = change;
        }
        for (int q = j / 4 + tid; q < width / 4; q += WIDE) {  // places before are of no use now
            const float4 r = __ldg((const float4*)row + q);
            float4 o = shared[q];
            o.x += change * r.x;
            o.y += change * r.y;
            o.z += change * r.z;
            o.w += change * r.w;
            shared[q] = o;
        }
        __syncthreads();
    }
    if (tid == 0) {
        store(a, counters);
        squares[c] = a.square;
    }
}

#if __CUDA_ARCH__ >= 900
// Distributed shared memory: the same address in another block of the cluster, loads, stores.
__device__ u32 in_block(u32 address, u32 rank) {
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}
__device__ float load_from(u32 address) {
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}
__device__ void store_to(u32 address, int one, int two, float three) {
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %1};" ::"r"(address), "r"(one),
                 "r"(two), "r"(__float_as_int(three)) : "memory");
}
__device__ void synchronize_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ u32 shared_address(const void* pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// What a warp that has found a mistake tells all blocks.
struct Message {
    int place, point;
    float margin;  // with the part of the ridge
    int unused;
};

// Margins that a thread of a cluster corrects: up to 5 batches of 8 times 4, or 14 of them. The rows
// of a batch are loaded at once; labels are kept as bits.
#define BATCH 8

__device__ float flipped(u32 bits, u32 minus, int n) {
    return __uint_as_float(bits ^ (minus << (31 - n) & 0x80000000u));
}

// values: (m, stride), or (slots, stride) with the slot of each point, which is -1 if it has no row;
// of each slot it is noted when it was last used.
template <typename Row, int BATCHES>
__device__ void advance_machines(ARGUMENTS(Row), int most_work, int slice, const int* slots,
                                 int* slot_used, int now) {
    extern __shared__ float4 own[];  // margins of the points [rank * slice, (rank + 1) * slice)
    __shared__ __align__(16) Message mail[2][CLUSTER * THREADS / 32];
    const int c = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, tid = threadIdx.x;
    const int lane = tid % 32, half = m / 2;
    int* counters = progress + N_COUNTERS * c;
    Machine a = load(counters, squares[c]);
    if (a.state != RUNNING) {
        if (rank == 0 && tid == 0) missing[c] = ENDED;
        return;
    }
    const int* order = orders + (size_t)(c / n_tasks) * m;
    const i8* target = targets + (size_t)(c % n_tasks) * stride;
    float *count = counts + (size_t)c * stride, *margin = margins + (size_t)c * stride;
    float* visits = first + (size_t)c * (m - half);
    const int begin = rank * slice, n_own = max(0, min(slice, stride - begin)) / 4;
    const float4* kept = (const float4*)(margin + begin);
    for (int j = tid; j < n_own; j += THREADS) own[j] = kept[j];
    u32 minus[BATCHES] = {};  // where labels are -1
#pragma unroll
    for (int b = 0; b < BATCHES; b++)
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int j = tid + (b * BATCH + u) * THREADS;
            const char4 t = j < n_own ? ((const char4*)(target + begin))[j] : char4{1, 1, 1, 1};
            minus[b] |= (u32)((t.x < 0) | (t.y < 0) << 1 | (t.z < 0) << 2 | (t.w < 0) << 3)
                        << 4 * u;
        }
    const u32 margin_address = shared_address(own);
    const int ahead = rank * THREADS + tid;
    int place = a.position + ahead, point = place < m ? order[place] : 0;  // to be looked at next
    int result = PAUSED;
    synchronize_cluster();
    for (int turn = 0;; turn ^= 1) {
        float s = 1.0f, with_slack = 1.0f;
        if (place < m) {
            const u32 block = (u32)point / (u32)slice;
            s = load_from(in_block(margin_address + 4 * (point - block * slice), block));
            with_slack = s;
            if (a.epochs == 0 && place >= half) visits[place - half] = s * inverse_length(a);
            if (has_ridge && s <= 0) with_slack = s + ridge[point] * __ldcg(count + point);
        }
        const u32 votes = __ballot_sync(~0u, s <= 0 && with_slack <= 0);
        const int finder = votes ? __ffs(votes) - 1 : 0;
        Message mine;
        mine.place = votes ? __shfl_sync(~0u, place, finder) : NOWHERE;
        mine.point = __shfl_sync(~0u, point, finder);
        mine.margin = __shfl_sync(~0u, with_slack, finder);
        if (lane < CLUSTER) {
            const u32 there = in_block(
                shared_address(&mail[turn][rank * (THREADS / 32) + tid / 32]), (u32)lane);
            store_to(there, mine.place, mine.point, mine.margin);
        }
        synchronize_cluster();
        // Messages are in the order of places: the first that is one is the mistake to correct.
        const bool is_one =
            lane < CLUSTER * THREADS / 32 && mail[turn][lane].place != NOWHERE;
        const u32 ones = __ballot_sync(~0u, is_one);
        if (!ones) {
            a.position += CLUSTER * THREADS;
            if (a.position >= m) {
                if (!next_pass(a, max_epochs)) {
                    result = ENDED;
                    break;
                }
                if (a.work >= most_work) break;
            }
            place = a.position + ahead;
            point = place < m ? order[place] : 0;
            continue;
        }
        const Message mistake = mail[turn][__ffs(ones) - 1];
        const int i = mistake.point, slot = slots ? slots[i] : i;
        if (slot < 0) {
            a.position = mistake.place;
            result = i;
            break;
        }
        const Row* row = values + (size_t)slot * stride;
        if (slots && rank == 0 && tid == 0) slot_used[slot] = now;
        const float size = has_ridge ? step[i] : 1.0f, slack = has_ridge ? ridge[i] : 0.0f;
        const float change = target[i] * size;
        // What the next scan needs is fetched while the row is added.
        place = mistake.place + 1 + ahead;
        point = place < m ? order[place] : 0;
        const Row* part = row + begin;
        const u32 bits = __float_as_uint(change);
#pragma unroll
        for (int b = 0; b < BATCHES; b++)
            if (b * BATCH * THREADS < n_own) {
                u32 signs = minus[b];
                int last = n_own - 1;  // nothing here is to be computed before the loop, and kept
                asm volatile("" : "+r"(signs), "+r"(last));
                decltype(fetch(part, 0)) kept_as[BATCH];
#pragma unroll
                for (int u = 0; u < BATCH; u++) {
                    const int j = tid + (b * BATCH + u) * THREADS;
                    kept_as[u] = fetch(part, min(j, last));
                }
#pragma unroll
                for (int u = 0; u < BATCH; u++) {
                    const int j = tid + (b * BATCH + u) * THREADS;
                    if (j <= last) {
                        const float4 r = widen(kept_as[u]);
                        float4 s = own[j];
                        s.x += flipped(bits, signs, 4 * u) * r.x;
                        s.y += flipped(bits, signs, 4 * u + 1) * r.y;
                        s.z += flipped(bits, signs, 4 * u + 2) * r.z;
                        s.w += flipped(bits, signs, 4 * u + 3) * r.w;
                        own[j] = s;
                    }
                }
            }
        correct(a, mistake.place, size, mistake.margin, widen(__ldg(row + i)), slack);
        if (rank == 0 && tid == 0) __stcg(count + i, __ldcg(count + i) + size);
        synchronize_cluster();
        if (a.work >= most_work) break;
    }
    float4* back = (float4*)(margin + begin);
    for (int j = tid; j < n_own; j += THREADS) back[j] = own[j];
    if (rank == 0 && tid == 0) {
        store(a, counters);
        squares[c] = a.square;
        missing[c] = result;
    }
    synchronize_cluster();  // no block ends while others may read its memory
}

#define VALUES                                                                                    \
    orders, targets, step, ridge, counts, margins, squares, first, progress, missing, values, m,  \
        stride, n_tasks, max_epochs, has_ridge, most_work, slice

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 6)
advance_clusters(ARGUMENTS(float), int most_work, int slice) {
    advance_machines<float, 5>(VALUES, nullptr, nullptr, 0);
}
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 2)
advance_half_clusters(ARGUMENTS(u16), int most_work, int slice, const int* slots, int* slot_used,
                      int now) {
    advance_machines<u16, 14>(VALUES, slots, slot_used, now);
}
#endif

// Kernel values from inner products, in place, for a block of rows: of powers
// (g a_i b_j + c_i d_j)^degree, of Gaussians (degree 0) exp(min(0, g a_i b_j - c_i - d_j)).
// The base of a power comes first, then all powers of several values: one branch for all.
__device__ float base_of(float g, float a, float b, float c, float d, int degree) {
    const float x = g * (a * b);
    return degree == 0 ? fminf(0.0f, x - (c + d)) : x + c * d;
}

template <int N>
__device__ void to_powers(float (&values)[N], int degree) {
    if (degree == 0) {
#pragma unroll
        for (int i = 0; i < N; i++) values[i] = expf(values[i]);
        return;
    }
    float base[N];
#pragma unroll
    for (int i = 0; i < N; i++) base[i] = values[i];
#pragma unroll 1
    for (int bit = 30 - __clz(degree); bit >= 0; bit--) {
#pragma unroll
        for (int i = 0; i < N; i++) values[i] *= values[i];
        if (degree >> bit & 1)
#pragma unroll
            for (int i = 0; i < N; i++) values[i] *= base[i];
    }
}

template <typename Row>
__device__ void finish_rows(const float* values, Row* out, const long long* slots, const float* a,
                            const float* b, const float* c, const float* d, int n_rows, int n_each,
                            long long stride, long long out_stride, int n_columns, int degree) {
    for (int row = blockIdx.y; row < n_rows; row += gridDim.y) {
        Row* goal = out + (slots ? slots[row] : row) * out_stride;
        const float4* line = (const float4*)(values + row * stride);
        const size_t group = (size_t)(row / n_each) * n_columns;  // columns of their own
        for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n_columns / 4;
             j += gridDim.x * blockDim.x) {
            const float4 g = line[j], right = ((const float4*)(b + group))[j];
            const float4 side = ((const float4*)(d + group))[j];
            float v[4] = {base_of(g.x, a[row], right.x, c[row], side.x, degree),
                          base_of(g.y, a[row], right.y, c[row], side.y, degree),
                          base_of(g.z, a[row], right.z, c[row], side.z, degree),
                          base_of(g.w, a[row], right.w, c[row], side.w, degree)};
            to_powers(v, degree);
            keep(goal, j, make_float4(v[0], v[1], v[2], v[3]));
        }
    }
}

#define FINISH(NAME, ROW)                                                                         \
    extern "C" __global__ void NAME(                                                              \
        const float* values, ROW* out, const long long* __restrict__ slots,                       \
        const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,    \
        const float* __restrict__ d, int n_rows, int n_each, long long stride,                    \
        long long out_stride, int n_columns, int degree) {                                        \
        finish_rows(values, out, slots, a, b, c, d, n_rows, n_each, stride, out_stride,           \
                    n_columns, degree);                                                           \
    }
FINISH(finish, float)  // values may be where they were, unless rows go to slots
FINISH(finish_half, u16)

// The same for the upper triangle of a symmetric matrix, in tiles of 32 x 32 that are also written
// transposed. Blocks: tiles of columns x tiles of the rows [first_row, first_row + 32 gridDim.y).
extern "C" __global__ void finish_symmetric(float* values, const float* __restrict__ a,
                                            const float* __restrict__ c, long long stride,
                                            int n, int first_row, int degree) {
    __shared__ float tile[32][33];
    const int row = first_row + 32 * blockIdx.y, column = first_row + 32 * blockIdx.x;
    if (column < row) return;
    const int x = threadIdx.x, j = column + x;
    float* at = values + (row + threadIdx.y) * stride + j;
    float g[4] = {};
#pragma unroll
    for (int u = 0; u < 4; u++)
        if (row + threadIdx.y + 8 * u < n && j < n) g[u] = at[8 * u * stride];
    const float right = j < n ? a[j] : 0.0f, side = j < n ? c[j] : 0.0f;
#pragma unroll
    for (int u = 0; u < 4; u++) {
        const int i = min(row + threadIdx.y + 8 * u, n - 1);
        g[u] = base_of(g[u], a[i], right, c[i], side, degree);
    }
    to_powers(g, degree);
#pragma unroll
    for (int u = 0; u < 4; u++)
        if (row + threadIdx.y + 8 * u < n && j < n)
            tile[threadIdx.y + 8 * u][x] = at[8 * u * stride] = g[u];
    __syncthreads();
    if (column == row) return;
    float* mirrored = values + (column + threadIdx.y) * stride + row + x;
#pragma unroll
    for (int u = 0; u < 4; u++)
        if (column + threadIdx.y + 8 * u < n && row + x < n)
            mirrored[8 * u * stride] = tile[x][threadIdx.y + 8 * u];
}

// What machines have learned in windows: margins become t_i (o_i + sum_j value_ji change_jt), for
// the rows j of changes, which are in slots. Blocks are parts of 1024 points x windows x parts of
// the tasks.
#define SUMS 12
#define AT_ONCE 8

template <typename Row>
__device__ void add(const Row* values, const int* slots, const float* changes, const int* starts,
                    const int* windows, const i8* targets, float* margins, int stride,
                    int n_tasks) {
    __shared__ __align__(16) float weights[64][SUMS];
    __shared__ const Row* rows[64];
    const int at = 4 * (blockIdx.x * 256 + threadIdx.x), begin = blockIdx.z * SUMS;
    const int end = starts[blockIdx.y + 1], q = min(at, stride - 4) / 4;
    float sums[SUMS][4] = {};
    for (int some = starts[blockIdx.y]; some < end; some += 64) {
        __syncthreads();
        for (int e = threadIdx.x; e < 64 * SUMS; e += 256) {
            const int j = some + e / SUMS, t = begin + e % SUMS;
            weights[e / SUMS][e % SUMS] =
                j < end && t < n_tasks ? changes[(size_t)j * n_tasks + t] : 0.0f;
        }
        if (threadIdx.x < 64)
            rows[threadIdx.x] = values + (size_t)slots[min(some + (int)threadIdx.x, end - 1)] * stride;
        __syncthreads();
        for (int j = 0; j < min(64, end - some); j += AT_ONCE) {
            decltype(fetch(values, 0)) kept_as[AT_ONCE];
#pragma unroll
            for (int r = 0; r < AT_ONCE; r++) kept_as[r] = fetch(rows[j + r], q);
#pragma unroll
            for (int r = 0; r < AT_ONCE; r++) {
                const float4 v = widen(kept_as[r]);
#pragma unroll
                for (int t = 0; t < SUMS; t++) {
                    const float weight = weights[j + r][t];
                    sums[t][0] += weight * v.x;
                    sums[t][1] += weight * v.y;
                    sums[t][2] += weight * v.z;
                    sums[t][3] += weight * v.w;
                }
            }
        }
    }
    if (at >= stride) return;
#pragma unroll
    for (int t = 0; t < SUMS; t++) {
        if (begin + t >= n_tasks) break;
        const size_t task = begin + t;
        const char4 y = *(const char4*)(targets + task * stride + at);
        float4* own = (float4*)(margins + (windows[3 * blockIdx.y] * n_tasks + task) * stride + at);
        float4 o = *own;
        o.x += y.x * sums[t][0];
        o.y += y.y * sums[t][1];
        o.z += y.z * sums[t][2];
        o.w += y.w * sums[t][3];
        *own = o;
    }
}

#define ADD(NAME, ROW)                                                                            \
    extern "C" __global__ void __launch_bounds__(256, 2)                                          \
    NAME(const ROW* __restrict__ values, const int* __restrict__ slots,                           \
         const float* __restrict__ changes, const int* __restrict__ starts,                       \
         const int* __restrict__ windows, const i8* __restrict__ targets, float* margins,         \
         int stride, int n_tasks) {                                                               \
        add(values, slots, changes, starts, windows, targets, margins, stride, n_tasks);          \
    }
ADD(add_rows, float)
ADD(add_half_rows, u16)

// Sums over kernel values: out_it = sum_j value_ij w_jt, for up to 16 columns of w from column
// `first` on, w being transposed. Blocks are parts of 32 rows x parts of n_each columns j, each
// with sums of its own; a warp sums up four rows, with weights that all warps share.
#define SUM_ROWS 32
#define OWN_ROWS 4
#define SUM_COLUMNS 16
#define SUM_POINTS 128

extern "C" __global__ void __launch_bounds__(256, 2)
multiply(const float* __restrict__ values, const float* __restrict__ a,
         const float* __restrict__ b, const float* __restrict__ c, const float* __restrict__ d,
         const float* __restrict__ weights, float* out, int n_rows, long long stride,
         int n_columns, int degree, int n_weights, int first, int n_each) {
    __shared__ float shared[SUM_COLUMNS][SUM_POINTS];
    const int lane = threadIdx.x % 32, n_here = min(SUM_COLUMNS, n_weights - first);
    const int begin = blockIdx.x * SUM_ROWS + OWN_ROWS * (threadIdx.x / 32);
    const int end = min(n_columns, (int)(blockIdx.y + 1) * n_each);
    float total[OWN_ROWS][SUM_COLUMNS] = {}, left[OWN_ROWS], below[OWN_ROWS];
    const float* lines[OWN_ROWS];
#pragma unroll
    for (int r = 0; r < OWN_ROWS; r++) {
        const int i = min(begin + r, n_rows - 1);
        lines[r] = values + i * stride;
        left[r] = a[i];
        below[r] = c[i];
    }
    for (int j = blockIdx.y * n_each; j < end; j += SUM_POINTS) {
        __syncthreads();
        for (int e = threadIdx.x; e < SUM_COLUMNS * SUM_POINTS; e += 256) {
            const int t = e / SUM_POINTS, point = j + e % SUM_POINTS;
            shared[t][e % SUM_POINTS] =
                t < n_here && point < end ? weights[(size_t)(first + t) * n_columns + point] : 0.0f;
        }
        __syncthreads();
        float g[SUM_POINTS / 32 * OWN_ROWS];  // all are loaded before the first is used
#pragma unroll
        for (int u = 0; u < SUM_POINTS / 32; u++)
#pragma unroll
            for (int r = 0; r < OWN_ROWS; r++)
                g[OWN_ROWS * u + r] = lines[r][min(j + 32 * u + lane, end - 1)];
#pragma unroll
        for (int u = 0; u < SUM_POINTS / 32; u++) {
            const int point = min(j + 32 * u + lane, end - 1);
            const float right = b[point], side = d[point];
#pragma unroll
            for (int r = 0; r < OWN_ROWS; r++) {
                float& value = g[OWN_ROWS * u + r];
                value = base_of(value, left[r], right, below[r], side, degree);
            }
        }
        to_powers(g, degree);
#pragma unroll
        for (int u = 0; u < SUM_POINTS / 32; u++)
#pragma unroll
            for (int t = 0; t < SUM_COLUMNS; t++) {
                if (t % 4 == 0 && t >= n_here) break;  // a branch for every column would be slower
                const float weight = shared[t][32 * u + lane];
#pragma unroll
                for (int r = 0; r < OWN_ROWS; r++) total[r][t] += g[OWN_ROWS * u + r] * weight;
            }
    }
    out += (size_t)blockIdx.y * n_rows * n_weights;
#pragma unroll
    for (int r = 0; r < OWN_ROWS; r++)
#pragma unroll
        for (int t = 0; t < SUM_COLUMNS; t++) {
            float sum = total[r][t];
            for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
            if (lane == 0 && t < n_here && begin + r < n_rows)
                out[(size_t)(begin + r) * n_weights + first + t] = sum;
        }
}

// Multiples of a step as float16 numbers; `off` is raised where an entry is none, or beyond
// `largest`. Rows of k entries, of which those from n_columns on are 0.
extern "C" __global__ void to_grid(const float* __restrict__ X, unsigned short* high, float step,
                                   float near, float largest, int* off, int n_rows,
                                   long long stride, int n_columns, int k) {
    bool is_off = false;
    for (int row = blockIdx.x; row < n_rows; row += gridDim.x)
        for (int j = threadIdx.x; j < k; j += blockDim.x) {
            float whole = 0.0f;
            if (j < n_columns) {
                const float place = X[row * stride + j] / step;
                whole = rintf(place);
                is_off |= !(fabsf(place - whole) <= near * fabsf(whole) && fabsf(whole) <= largest);
            }
            unsigned short half;
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(whole));
            high[(size_t)row * k + j] = half;
        }
    if (is_off) *off = 1;
}

// For scores s = scale * outputs, (n, t), of a softmax: sums over a block's points of the mean
// output under p, and of its variance. A single task has a second class, whose output is 0.
extern "C" __global__ void __launch_bounds__(256)
scale_sums(const double* __restrict__ outputs, const double* __restrict__ copies, double* sums,
           double scale, int n, int t) {
    __shared__ double of_warps[8][2];
    const int tid = threadIdx.x;
    double along = 0.0, spread = 0.0;
    for (int i = blockIdx.x * 256 + tid; i < n; i += gridDim.x * 256) {
        const double* own = outputs + (size_t)i * t;
        double top = t == 1 ? 0.0 : -1e300;
        for (int r = 0; r < t; r++) top = fmax(top, scale * own[r]);
        double total = t == 1 ? exp(-top) : 0.0, mean = 0.0, square = 0.0;
        for (int r = 0; r < t; r++) {
            const double p = exp(scale * own[r] - top);
            total += p;
            mean += p * own[r];
            square += p * own[r] * own[r];
        }
        mean /= total;
        along += copies[i] * mean;
        spread += copies[i] * (square / total - mean * mean);
    }
    for (int step = 16; step; step /= 2) {
        along += __shfl_xor_sync(~0u, along, step);
        spread += __shfl_xor_sync(~0u, spread, step);
    }
    if (tid % 32 == 0) {
        of_warps[tid / 32][0] = along;
        of_warps[tid / 32][1] = spread;
    }
    __syncthreads();
    if (tid < 2) {
        double sum = 0.0;
        for (int warp = 0; warp < 8; warp++) sum += of_warps[warp][tid];
        sums[2 * blockIdx.x + tid] = sum;
    }
}

// Loss of multinomial logistic regression, its slope and its curvature, summed over a piece of the
// points: blocks are pieces x problems. Coefficients are (t, k), points (n, k) with t k <= 112 and
// t k + k <= 128. With v = sqrt(c) p (x) x and w = sqrt(c) x, `squares` becomes sum v (v, w)^T.
// Eight threads prepare a point; then all threads add up products of 32 points.
#define POINTS 32
#define LANES 8
#define LEFT 112
#define RIGHT 128

extern "C" __global__ void __launch_bounds__(256)
logistic_sums(const double* __restrict__ features, const long long* __restrict__ codes,
              const double* __restrict__ copies, const double* __restrict__ coefficients,
              double* losses, double* slopes, float* squares, int n, int n_pieces, int t, int k) {
    __shared__ float both[POINTS][RIGHT];
    __shared__ double wrong[POINTS][16], x[POINTS][16], at[LEFT], of_warps[8];
    const int piece = blockIdx.x, problem = blockIdx.y, tid = threadIdx.x;
    const int tk = t * k, point = tid / LANES, lane = tid % LANES;
    const int size = (n + n_pieces - 1) / n_pieces, begin = piece * size;
    const int end = min(begin + size, n);
    const int row = 7 * (tid / 16), column = tid % 16;
    float sums[7][8] = {};
    double slope = 0.0, loss = 0.0;
    for (int j = tid; j < POINTS * RIGHT; j += 256) ((float*)both)[j] = 0.0f;
    if (tid < tk) at[tid] = coefficients[(size_t)problem * tk + tid];
    __syncthreads();
    for (int first = begin; first < end; first += POINTS) {
        const bool is_there = first + point < end;
        const size_t place = (size_t)problem * n + (is_there ? first + point : begin);
        const double c = is_there ? copies[place] : 0.0;
        const float root = sqrtf((float)c);
        const int code = (int)codes[place];
        for (int j = lane; j < k; j += LANES) {
            x[point][j] = features[place * k + j];
            both[point][tk + j] = root * (float)x[point][j];
        }
        __syncwarp();
        double scores[2] = {}, top = -1e300, total = 0.0, own = 0.0;
        for (int q = 0, r = lane; r < t; q++, r += LANES) {
            for (int j = 0; j < k; j++) scores[q] += at[r * k + j] * x[point][j];
            top = fmax(top, scores[q]);
            if (r == code) own = scores[q];
        }
        for (int step = LANES / 2; step; step /= 2) {
            top = fmax(top, __shfl_xor_sync(~0u, top, step));
            own += __shfl_xor_sync(~0u, own, step);
        }
        for (int q = 0, r = lane; r < t; q++, r += LANES) total += scores[q] = exp(scores[q] - top);
        for (int step = LANES / 2; step; step /= 2) total += __shfl_xor_sync(~0u, total, step);
        if (lane == 0) loss += c * (log(total) + top - own);
        for (int q = 0, r = lane; r < t; q++, r += LANES) {
            const double p = scores[q] / total;
            wrong[point][r] = c * (p - (r == code));
            for (int j = 0; j < k; j++) both[point][r * k + j] = (float)p * both[point][tk + j];
        }
        __syncthreads();
        if (tid < tk)
            for (int p = 0; p < POINTS; p++) slope += wrong[p][tid / k] * x[p][tid % k];
        for (int p = 0; p < POINTS; p++) {
            float left[7];
#pragma unroll
            for (int i = 0; i < 7; i++) left[i] = both[p][row + i];
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const float right = both[p][column + 16 * j];
#pragma unroll
                for (int i = 0; i < 7; i++) sums[i][j] += left[i] * right;
            }
        }
        __syncthreads();
    }
    const size_t place = (size_t)problem * n_pieces + piece;
    if (tid < tk) slopes[place * tk + tid] = slope;
    for (int step = 16; step; step /= 2) loss += __shfl_xor_sync(~0u, loss, step);
    if (tid % 32 == 0) of_warps[tid / 32] = loss;
    __syncthreads();
    if (tid == 0) {
        double sum = 0.0;
        for (int warp = 0; warp < 8; warp++) sum += of_warps[warp];
        losses[place] = sum;
    }
#pragma unroll
    for (int i = 0; i < 7; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            squares[(place * LEFT + row + i) * RIGHT + column + 16 * j] = sums[i][j];
}

// The sums of all pieces of each problem: loss, slope (t k) and curvature (t k, t k), which is
// sum c (diag(p) - p p^T) (x) x x^T. Eight warps share the pieces of 32 entries.
extern "C" __global__ void __launch_bounds__(256)
logistic_total(const double* __restrict__ losses, const double* __restrict__ slopes,
               const float* __restrict__ squares, double* out, int n_pieces, int t, int k) {
    __shared__ double of_warps[8][32];
    const int tk = t * k, size = 1 + tk + tk * tk, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int entry = blockIdx.x * 32 + lane, problem = blockIdx.y;
    const int i = (entry - 1 - tk) / tk, j = (entry - 1 - tk) % tk;
    double total = 0.0;
    if (entry < size)
        for (int piece = warp; piece < n_pieces; piece += 8) {
            const size_t place = (size_t)problem * n_pieces + piece;
            const float* sums = squares + (place * LEFT + i) * RIGHT;
            if (entry == 0)
                total += losses[place];
            else if (entry <= tk)
                total += slopes[place * tk + entry - 1];
            else
                total += (i / k == j / k ? sums[tk + j % k] : 0.0f) - (double)sums[j];
        }
    of_warps[warp][lane] = total;
    __syncthreads();
    if (warp > 0 || entry >= size) return;
    for (int other = 1; other < 8; other++) total += of_warps[other][lane];
    out[(size_t)problem * size + entry] = total;
}

// A Newton step for the n chosen coefficients of each problem, a block each: `sums` are those of
// logistic_total, `prior` centres and precisions. Writes the coefficients after the step, the loss
// before it, and what the step would gain if the loss were quadratic.
//
// Thread (y, x) holds the entries (y + 16 u, x + 16 v) of the curvature, of which only those in the
// lower triangle are right, and row n, the slope. Column after column of the Cholesky factor goes
// to all threads through shared memory; the slope is divided by the factor on the way.
#define TILES (LEFT / 16)

extern "C" __global__ void __launch_bounds__(256)
newton_step(const double* __restrict__ sums, const double* __restrict__ at,
            const double* __restrict__ centre, const double* __restrict__ precision,
            const int* __restrict__ chosen, double* ahead, double* numbers, int size, int n) {
    extern __shared__ double factor[];  // lower triangle, with inverse pivots; row n: the slope
    __shared__ double column[2][LEFT], least[LEFT];  // without rounding, pivots are not smaller
    const int tid = threadIdx.x, y = tid / 16, x = tid % 16, problem = blockIdx.x, stride = n | 1;
    const double* own = sums + (size_t)problem * (1 + size + size * size);
    const double* curvature = own + 1 + size;
    double* slope = factor + n * stride;
    at += (size_t)problem * size;
    ahead += (size_t)problem * size;
    double entry[TILES][TILES];
#pragma unroll
    for (int u = 0; u < TILES; u++)
#pragma unroll
        for (int v = 0; v <= u; v++) {
            const int i = y + 16 * u, j = x + 16 * v;
            entry[u][v] = 0.0;
            if (i > n || j >= n) continue;
            const int c = chosen[j];
            if (i == n)
                entry[u][v] = own[1 + c] + precision[c] * (at[c] - centre[c]);
            else
                entry[u][v] = curvature[(size_t)chosen[i] * size + c] +
                              (i == j ? precision[c] : 0.0);
        }
    for (int j = tid; j < size; j += 256) ahead[j] = at[j];
    for (int j = tid; j < n; j += 256) least[j] = precision[chosen[j]];
#pragma unroll
    for (int w = 0; w < TILES; w++)
        for (int k = 16 * w; k < min(16 * w + 16, n); k++) {
            double* here = column[k % 2];  // the other one may still be read
            if (x == k % 16)
#pragma unroll
                for (int u = w; u < TILES; u++) here[y + 16 * u] = entry[u][w];
            __syncthreads();
            const double inverse = rsqrt(fmax(here[k], least[k]));
            double across[TILES];
#pragma unroll
            for (int v = w; v < TILES; v++) across[v] = here[x + 16 * v] * inverse;
#pragma unroll
            for (int u = w; u < TILES; u++) {
                const int i = y + 16 * u;
                const double down = here[i] * inverse;
                if (x == 0 && i >= k && i <= n) factor[i * stride + k] = i == k ? inverse : down;
#pragma unroll
                for (int v = w; v <= u; v++) entry[u][v] -= down * across[v];
            }
        }
    __syncthreads();
    if (tid >= 32) return;
    double gain = 0.0, loss = 0.0;
    for (int j = tid; j < n; j += 32) gain += slope[j] * slope[j];
    for (int j = tid; j < size; j += 32)
        loss += precision[j] * (at[j] - centre[j]) * (at[j] - centre[j]);
    for (int step = 16; step; step /= 2) {
        gain += __shfl_xor_sync(~0u, gain, step);
        loss += __shfl_xor_sync(~0u, loss, step);
    }
    for (int k = n - 1; k >= 0; k--) {  // divided by the transposed factor
        const double found = slope[k] * factor[k * stride + k];
        __syncwarp();
        if (tid == 0) slope[k] = found;
        for (int j = tid; j < k; j += 32) slope[j] -= factor[k * stride + j] * found;
        __syncwarp();
    }
    for (int j = tid; j < n; j += 32) ahead[chosen[j]] -= slope[j];
    if (tid == 0) {
        numbers[2 * problem] = own[0] + loss / 2;
        numbers[2 * problem + 1] = gain / 2;
    }
}
