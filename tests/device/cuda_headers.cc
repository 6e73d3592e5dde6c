// Our own prototypes of CUDA's driver and of NVRTC against the toolkit's: compiled by test_cuda_headers.py,
// never run. C++, because its templates can take a function's type to pieces.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda.h>
#include <nvrtc.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

namespace ours
{
#include CUDA_API_H // src/device/cuda/cuda_api.h, or a copy with a mistake in it
#include "fake/cuda/fake_cuda.h"
} // namespace ours

// What a type is for the one who calls: a handle is a pointer to something unknown, an enum is an int, and
// integers of one size and sign are the same.
template <typename T, typename = void> struct plain {
    using type = T;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_enum<T>::value>> {
    static_assert(sizeof(T) == sizeof(int), "an enum is no int");
    using type = int;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_integral<T>::value && sizeof(T) == 8>> {
    using type = std::conditional_t<std::is_signed<T>::value, long long, unsigned long long>;
};
template <typename T>
struct plain<const T, std::enable_if_t<!std::is_pointer<T>::value && !std::is_integral<T>::value &&
                                       !std::is_class<T>::value>> {
    using type = const typename plain<T>::type;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_class<T>::value>> {
    using type = void; // CUctx_st, CUstream_st …: only ever behind a pointer
};
template <typename T> struct plain<T *, std::enable_if_t<!std::is_function<T>::value>> {
    using type = typename plain<T>::type *;
};
template <typename R, typename... P> struct plain<R(P...), void> {
    using type = typename plain<R>::type(typename plain<P>::type...);
};

template <typename Ours, typename Theirs> constexpr bool agree()
{
    return std::is_same<typename plain<std::remove_pointer_t<Ours>>::type,
                        typename plain<Theirs>::type>::value;
}

#define SAME(name, parameters)                                                                               \
    static_assert(agree<decltype(ours::stk__cuda_api::name), decltype(::name)>(),                            \
                  "the prototype of " #name " differs");
STK_CUDA_CALLS(SAME)
#undef SAME
#define SAME(name, parameters)                                                                               \
    static_assert(agree<decltype(ours::stk__nvrtc_api::name), decltype(::name)>(),                           \
                  "the prototype of " #name " differs");
STK_NVRTC_CALLS(SAME)
#undef SAME

static_assert(sizeof(ours::stk__cu_pointer) == sizeof(CUdeviceptr), "device pointers differ");
static_assert(sizeof(ours::stk__cu_handle) == sizeof(CUcontext) && sizeof(CUcontext) == sizeof(CUstream) &&
                  sizeof(CUstream) == sizeof(CUevent) && sizeof(CUevent) == sizeof(CUmodule) &&
                  sizeof(CUmodule) == sizeof(CUfunction),
              "handles differ");
static_assert(sizeof(ours::stk__cu_uuid) == sizeof(CUuuid), "names of GPUs differ");
static_assert(sizeof(ours::stk__nvrtc_program) == sizeof(nvrtcProgram), "programs differ");
static_assert(sizeof(CUdevice) == sizeof(int) && sizeof(CUresult) == sizeof(int) &&
                  sizeof(nvrtcResult) == sizeof(int),
              "codes differ");

#define FAKE_CODE(name, code, text) static_assert(::name == code, "the fake has another " #name);
FAKE_CODES(FAKE_CODE)
#undef FAKE_CODE
#define FAKE_CODE(name, code) static_assert(::name == code, "the fake has another " #name);
FAKE_NVRTC_CODES(FAKE_CODE)
#undef FAKE_CODE

#include "enumerators.h" // made by the test: a static_assert for each of ours
