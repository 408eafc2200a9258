// Clusters, sm_90 and newer.
extern "C" __global__ void __cluster_dims__(2, 1, 1) of_two(unsigned long long *out, int n) {
    if (threadIdx.x == 0) atomicAdd(out, (unsigned long long)n);
}
extern "C" __global__ void free_size(unsigned long long *out, int n) {
    if (threadIdx.x == 0) atomicAdd(out, (unsigned long long)n);
}
