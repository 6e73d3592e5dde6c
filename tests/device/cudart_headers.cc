// The dry runtime's prototypes and structs (tests/fake/cudart) against the toolkit's: compiled by
// test_cudart_headers.py, never run.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stdint.h>

#undef cudaStreamGetCaptureInfo // CUDA 12 has another one behind this name

namespace ours
{
#include "cudart_device.h" // of tests/fake/cudart, or a copy with a mistake in it
} // namespace ours

struct extent; // dim3, by value

// What a type is for the one who calls: handles and structs are only behind pointers, an enum is an int.
template <typename T, typename = void> struct plain {
    using type = T;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_enum<T>::value>> {
    using type = int;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_integral<T>::value && sizeof(T) == 8>> {
    using type = std::conditional_t<std::is_signed<T>::value, long long, unsigned long long>;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_class<T>::value && !std::is_const<T>::value>> {
    using type = std::conditional_t<std::is_same<T, dim3>::value || std::is_same<T, ours::dry_dim3>::value,
                                    extent *, void>;
};
template <typename T> struct plain<const T, std::enable_if_t<std::is_class<T>::value>> {
    using type = const void;
};
template <typename T> struct plain<T *, void> {
    using type = typename plain<T>::type *;
};
template <typename T> struct plain<T *const, void> {
    using type = typename plain<T>::type *const;
};
template <typename R, typename... P> struct plain<R(P...), void> {
    using type = typename plain<R>::type(typename plain<P>::type...);
};

#define SAME(name)                                                                                           \
    static_assert(std::is_same<plain<decltype(ours::name)>::type, plain<decltype(::name)>::type>::value,     \
                  "the prototype of " #name " differs");
#include "calls.h" // made by the test: SAME(…) of those that this toolkit has

constexpr bool is_13 = CUDART_VERSION >= 13000;
#define FACT(attribute, field, at13, at12, bytes, value)                                                     \
    static_assert(offsetof(cudaDeviceProp, field) == (is_13 ? at13 : at12), #field " is elsewhere");         \
    static_assert(sizeof(((cudaDeviceProp *)nullptr)->field) == bytes, #field " has another size");
DRY_FACTS(FACT)
static_assert(sizeof(cudaDeviceProp) == size_t(is_13 ? ours::DRY_PROPERTIES_13 : ours::DRY_PROPERTIES_12),
              "properties differ");

static_assert(offsetof(cudaFuncAttributes, maxThreadsPerBlock) ==
                  offsetof(ours::cudart_function, max_threads),
              "threads");
static_assert(offsetof(cudaFuncAttributes, binaryVersion) == offsetof(ours::cudart_function, binary),
              "version");
static_assert(offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes) ==
                  offsetof(ours::cudart_function, max_dynamic_shared),
              "shared");
static_assert(offsetof(cudaPointerAttributes, devicePointer) ==
                  offsetof(ours::cudart_pointer, device_pointer),
              "pointer");
static_assert(offsetof(cudaPointerAttributes, hostPointer) == offsetof(ours::cudart_pointer, host_pointer),
              "pointer");
static_assert(offsetof(cudaLaunchConfig_t, dynamicSmemBytes) == offsetof(ours::cudart_config, shared_bytes),
              "shared");
static_assert(offsetof(cudaLaunchConfig_t, stream) == offsetof(ours::cudart_config, stream), "stream");
static_assert(sizeof(dim3) == sizeof(ours::dry_dim3), "dim3");
static_assert(int(cudaErrorInvalidConfiguration) == ours::CUDART_INVALID_CONFIGURATION &&
                  int(cudaErrorMemoryAllocation) == ours::CUDART_MEMORY_ALLOCATION &&
                  int(cudaErrorNoDevice) == ours::CUDART_NO_DEVICE &&
                  int(cudaErrorInvalidDevice) == ours::CUDART_INVALID_DEVICE &&
                  int(cudaErrorNotReady) == ours::CUDART_NOT_READY &&
                  int(cudaErrorNotSupported) == ours::CUDART_NOT_SUPPORTED &&
                  int(cudaErrorInvalidValue) == ours::CUDART_INVALID_VALUE,
              "codes differ");
