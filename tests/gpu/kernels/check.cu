// What tests/gpu and bench/ load. The double of libcuda computes first, second and saxpy as these do, and answers every
// other kernel with a checksum of what it was given.
__device__ unsigned long long slt_seen = 7;

extern "C" __global__ void first(unsigned long long *sum) {
    if (threadIdx.x == 0) atomicAdd(sum, (unsigned long long)blockIdx.x + 1ull);
}
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
// The last bytes of what was asked for are written and read back.
extern "C" __global__ void shared_of_the_launch(unsigned long long *out, unsigned bytes) {
    extern __shared__ unsigned long long row[];
    __shared__ unsigned long long one[2];
    if (threadIdx.x < 2) one[threadIdx.x] = threadIdx.x;
    for (unsigned i = threadIdx.x; i < bytes / 8; i += blockDim.x) row[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) *out = row[bytes / 8 - 1] + one[1];
}
// Busy for so many nanoseconds, then writes.
extern "C" __global__ void spin(unsigned long long *out, unsigned long long ns) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < ns);
    if (threadIdx.x == 0) *out = 1;
}
extern "C" __global__ void empty() {}
extern "C" __global__ void __launch_bounds__(128) bounded(unsigned long long *out, int n) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = (unsigned long long)n;
}
// One kernel counts in a table, the other reads it: they need one module (pitfall 15).
extern "C" __global__ void put(unsigned long long *out, unsigned long long value) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = slt_seen = value;
}
extern "C" __global__ void get(unsigned long long *out, int n) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = slt_seen + n;
}
extern "C" __global__ void aligned(unsigned long long *out, char c, double2 d, short s) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = (unsigned long long)(c + d.x + d.y + s);
}
