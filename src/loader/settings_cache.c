/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory decoded images may take, and why. */
#include "loader/pump.h"
#include "loader/sample_plan.h"

#include "core/option.h"
#include "core/ram.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum wish { WISH_NONE, WISH_AUTO, WISH_SIZE } wish;

/* What there is to keep, by the common size, and what there is to keep it in. */
typedef struct outlook {
    stk__cache_options options;
    int32_t w, h;
    uint64_t count, sample_bytes, all_bytes;
    stk__ram ram;
    uint64_t left_bytes; /* of the memory available, beside the batches and other caches */
} outlook;

static bool is_word_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(text, *words) == 0) return true;
    return false;
}

static stk_status read_wish(const char *text, wish *wanted, uint64_t *bytes, stk_error *error)
{
    static const char *const none[] = {"none", "false", "off", "no", NULL}, *const automatic[] = {
                                                                                "auto", "true", "on", "yes",
                                                                                NULL};
    static const stk__option size = {.name = "cache", .type = STK_OPTION_BYTES, .most = 1e15};
    *wanted = is_word_of(text, automatic) ? WISH_AUTO : WISH_NONE;
    if (*wanted == WISH_AUTO || is_word_of(text, none)) return STK_OK;
    if (stk__option_parse(&size, text, bytes, NULL) != STK_OK) {
        stk__fail(error, STK_ERROR_CONFIG, "data.cache = '%.80s' is neither none, auto nor a size", text);
        stk__error_hint(error, "such as data.cache=auto or data.cache=8G");
        return STK_ERROR_CONFIG;
    }
    if (*bytes) *wanted = WISH_SIZE;
    return STK_OK;
}

static outlook look_out(const stk_loader *loader)
{
    const stk__source_info *info = &loader->source->info;
    outlook out = {.options = {.sample_count = info->count,
                               .channels = loader->recipe.layout.channels,
                               .masks = info->masks},
                   .w = loader->common.w,
                   .h = loader->common.h,
                   .count = loader->stream.count,
                   .ram = stk__ram_read(NULL)};
    const stk__extent size = stk__decoded_extent(&loader->recipe, (stk__extent){out.w, out.h});
    out.w = size.w;
    out.h = size.h;
    out.sample_bytes = stk__cache_sample_bytes(&out.options, out.w, out.h);
    out.all_bytes = out.count * out.sample_bytes;
    const uint64_t taken =
        loader->info.slot_bytes * (uint64_t)loader->slot_count + stk__cache_promised_bytes();
    if (out.ram.available_bytes > taken) out.left_bytes = out.ram.available_bytes - taken;
    return out;
}

/* Half of what is left: files in the page cache, the network and others need some, too. Ranks may all run on
 * this machine. In whole MiB, which people can read. */
static uint64_t choose_size(const stk_loader *loader, const outlook *out)
{
    const uint64_t unit = UINT64_C(1) << 20;
    const uint64_t share = out->left_bytes / 2 / loader->stream.ranks / unit * unit,
                   all = (out->all_bytes + unit - 1) / unit * unit;
    const uint64_t size = share < all ? share : all;
    return size < out->sample_bytes ? 0 : size;
}

static void print_gigabytes(uint64_t bytes, char text[24])
{
    const double gigabytes = (double)bytes * 1e-9;
    snprintf(text, 24, gigabytes < 10 ? "%.2g GB" : "%.0f GB", gigabytes);
}

typedef struct reason {
    char text[160];
    size_t used;
} reason;

static void add(reason *why, const char *format, ...) STK__PRINTF(2, 3);

static void add(reason *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(why->text + why->used, sizeof why->text - why->used, format, arguments);
    va_end(arguments);
    why->used += length > 0 ? (size_t)length : 0;
    if (why->used >= sizeof why->text) why->used = sizeof why->text - 1;
}

static void add_room(reason *why, const outlook *out)
{
    const unsigned long long fit = out->options.budget_bytes / out->sample_bytes, count = out->count;
    if (fit >= count)
        add(why, "room for all %llu sample%s of %dx%d", count, stk__plural(count), out->w, out->h);
    else
        add(why, "room for %llu of %llu sample%s of %dx%d", fit, count, stk__plural(count), out->w, out->h);
}

static void note_automatic(stk_loader *loader, const outlook *out)
{
    char left[24], size[STK_OPTION_TEXT_BYTES];
    reason why = {0};
    print_gigabytes(out->left_bytes, left);
    if (!out->options.budget_bytes) {
        stk__loader_note(loader, "data.cache", "none", "auto: %s has only %s left after the batches",
                         out->ram.whose, left);
        return;
    }
    add(&why, "auto: ");
    add_room(&why, out);
    add(&why, "; at most half of the %s that %s has left", left, out->ram.whose);
    if (loader->stream.ranks > 1) add(&why, ", for %llu ranks", (unsigned long long)loader->stream.ranks);
    if (loader->epochs == 1) add(&why, "; of use from the second epoch on");
    const stk__option bytes = {.name = "cache", .type = STK_OPTION_BYTES};
    stk__option_print(&bytes, &out->options.budget_bytes, size, sizeof size);
    stk__loader_note(loader, "data.cache", size, "%s", why.text);
}

static void note_size(stk_loader *loader, const char *asked, const outlook *out)
{
    char left[24];
    reason why = {0};
    print_gigabytes(out->left_bytes, left);
    add_room(&why, out);
    if (out->ram.known && out->options.budget_bytes > out->left_bytes)
        add(&why, "; more than the %s that %s has left", left, out->ram.whose);
    if (loader->epochs == 1) add(&why, "; of use from the second epoch on");
    stk__loader_note(loader, "data.cache", asked, "%s", why.text);
}

static stk_status make_cache(stk_loader *loader, const outlook *out, stk_error *error)
{
    loader->cache_options = out->options;
    if (loader->held)
        stk__cache_promise((int64_t)out->options.budget_bytes); /* others must not count on it */
    else
        STK__TRY(stk__cache_create(&loader->recipe.cache, &out->options, error));
    const uint64_t budget = out->options.budget_bytes;
    loader->info.cache_bytes = budget < out->all_bytes ? budget : out->all_bytes;
    return STK_OK;
}

stk_status stk__loader_make_cache(stk_loader *loader, stk_error *error)
{
    const stk__cache_options *options = &loader->cache_options;
    if (!options->budget_bytes) return STK_OK;
    stk__cache_promise(-(int64_t)options->budget_bytes);
    const stk_status status = stk__cache_create(&loader->recipe.cache, options, error);
    if (status != STK_OK) stk__error_hint(error, "lower data.cache, or use data.cache=none");
    return status;
}

/* Any obstacle is reported as an effect, and the cache is left out. */
static void choose_automatic(stk_loader *loader, outlook *out)
{
    if (!out->ram.known) {
        stk__loader_note(loader, "data.cache", "none", "auto: the available memory is unknown");
        return;
    }
    out->options.budget_bytes = choose_size(loader, out);
    if (out->options.budget_bytes && make_cache(loader, out, NULL) != STK_OK)
        stk__loader_note(loader, "data.cache", "none", "auto: %llu bytes could not be reserved",
                         (unsigned long long)out->options.budget_bytes);
    else
        note_automatic(loader, out);
}

stk_status stk__loader_choose_cache(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    wish wanted;
    uint64_t bytes = 0;
    STK__TRY(read_wish(o->cache, &wanted, &bytes, error));
    if (wanted == WISH_NONE) return STK_OK;
    if (!loader->source->info.images) {
        stk__loader_note(loader, "data.cache", "", "not used here: there are no images");
        return STK_OK;
    }
    outlook out = look_out(loader);
    if (wanted == WISH_AUTO) {
        choose_automatic(loader, &out);
        return STK_OK;
    }
    out.options.budget_bytes = bytes;
    if (make_cache(loader, &out, error) != STK_OK) {
        stk__error_hint(error, "lower data.cache, or use data.cache=auto");
        return STK_ERROR_MEMORY;
    }
    note_size(loader, o->cache, &out);
    return STK_OK;
}
