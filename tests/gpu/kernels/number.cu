// One small kernel, of which tests/gpu and bench/ make a thousand modules: the number is found by its bytes and replaced.
__device__ unsigned long long slt_number = 0x79617770696c7321ull;
extern "C" __global__ void number(unsigned long long *out, unsigned long long add) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = slt_number + add;
}
