// A C++ program that uses the library: opens a loader on made data, reads an epoch, shows a setting. Exit status 1:
// something was not as promised.
#include <stoker/stoker.h>

#include <cstdio>
#include <cstring>
#include <memory>

struct CloseLoader {
    void operator()(stk_loader *loader) const { stk_loader_close(&loader); }
};

static int complain(const stk_error &error)
{
    std::fprintf(stderr, "%s\n%s\n", error.message, error.hint);
    return 1;
}

int main()
{
    stk_error error = {};
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    options.root = "make:gray?count=20";
    options.batch_size = 8;
    options.epochs = 1;
    options.exif = STK_SWITCH_OFF;
    options.part = STK_PART_ALL;

    stk_loader *opened = nullptr;
    if (stk_loader_open(&opened, &options, &error) != STK_OK) return complain(error);
    const std::unique_ptr<stk_loader, CloseLoader> loader(opened);

    int64_t samples = 0, batches = 0;
    stk_batch *batch = nullptr;
    stk_status status;
    while ((status = stk_loader_next(loader.get(), &batch, &error)) == STK_OK) {
        if (batch->images.dtype != STK_DTYPE_U8 || stk_tensor_bytes(&batch->images) <= 0) return 1;
        samples += batch->count;
        batches++;
        stk_batch_release(batch);
    }
    if (status != STK_END) return complain(error);

    stk_option_info info = STK_OPTION_INFO_INIT;
    if (stk_option_describe("data", 0, &info, &error) != STK_OK) return complain(error);
    std::printf("stoker %s: %lld samples in %lld batches; data.%s: %s\n", stk_version(),
                static_cast<long long>(samples), static_cast<long long>(batches), info.name, info.help);
    return samples == 20 && batches == 3 && std::strcmp(info.name, "root") == 0 ? 0 : 1;
}
