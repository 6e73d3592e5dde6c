/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the name of a sample in each line: train, val and test. A name is a key, or the path of an image
 * with its extension, below the folder of the images or with that folder in front; what follows a blank is
 * ignored where the whole line is not a name (lists of image and mask). Each sample gets the bits of the
 * lists that name it; those of the part stay. One thread, while a source opens. */
#include "source/part_lists.h"

#include "core/file.h"
#include "source/extension.h"
#include "source/layout_find.h"
#include "source/part_words.h"

#include <stdio.h>
#include <string.h>

typedef struct marking {
    stk__files *files;
    uint8_t *bits;       /* [count]: parts that name the sample */
    const char *prefix;  /* last name of the folder of the images */
    uint32_t given;      /* parts with a list */
    uint64_t unknown;    /* names without sample */
    char first[128];     /* one of them */
    char path[PATH_MAX]; /* of the list that has it */
} marking;

/* With and without its extension. */
static const stk__entry *find_name(const stk__catalog *catalog, const char *name, size_t length)
{
    const stk__entry *entry = stk__catalog_find(catalog, name, length);
    if (entry) return entry;
    const size_t stem = stk__extension_stem(name, length);
    return stem < length ? stk__catalog_find(catalog, name, stem) : NULL;
}

static const stk__entry *find_path(const marking *m, const char *name, size_t length)
{
    const stk__catalog *catalog = &m->files->catalog;
    for (; length && (*name == '/' || (length > 1 && name[0] == '.' && name[1] == '/')); length--)
        name++;
    const stk__entry *entry = find_name(catalog, name, length);
    const size_t prefix = strlen(m->prefix);
    if (!entry && prefix && length > prefix + 1 && memcmp(name, m->prefix, prefix) == 0 &&
        name[prefix] == '/')
        entry = find_name(catalog, name + prefix + 1, length - prefix - 1);
    return entry;
}

static void mark_line(marking *m, uint32_t part, const char *line, size_t length)
{
    while (length && (line[length - 1] == '\r' || line[length - 1] == ' ' || line[length - 1] == '\t'))
        length--;
    if (!length) return;
    const stk__entry *entry = find_path(m, line, length);
    size_t word = 0;
    while (word < length && line[word] != ' ' && line[word] != '\t' && line[word] != ',')
        word++;
    if (!entry && word && word < length) entry = find_path(m, line, word);
    if (entry)
        m->bits[entry - stk__catalog_at(&m->files->catalog, 0)] |= (uint8_t)part;
    else if (m->unknown++ == 0)
        snprintf(m->first, sizeof m->first, "%.*s", length < 100 ? (int)length : 100, line);
}

static stk_status read_list(marking *m, uint32_t part, stk_error *error)
{
    stk__buffer bytes = {0};
    stk_status status = stk__file_read(m->path, 0, &bytes, error);
    if (status == STK_ERROR_SAMPLE) { /* not a sample here */
        if (error) error->code = STK_ERROR_IO;
        status = STK_ERROR_IO;
    }
    const char *at = (const char *)bytes.data, *end = status == STK_OK ? at + bytes.size_bytes : at;
    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        mark_line(m, part, at, (size_t)((newline ? newline : end) - at));
        at = newline ? newline + 1 : end;
    }
    stk__buffer_fini(&bytes);
    m->given |= part;
    return status;
}

/* --- data.val_list ----------------------------------------------------------------------------------------
 */

static const char *option_list(const stk__source_options *o, uint32_t part)
{
    return part == STK_SOURCE_TRAIN ? o->train_list : part == STK_SOURCE_VAL ? o->val_list : o->test_list;
}

static stk_status refuse_unknown(const marking *m, uint32_t part, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "%llu name%s in '%s' %s not in the data set, '%s' first",
              (unsigned long long)m->unknown, stk__plural(m->unknown), m->path,
              m->unknown == 1 ? "is" : "are", m->first);
    stk__error_place(error, "%s", m->path);
    stk__error_hint(error,
                    "data.%s_list has one sample a line: its path below the folder of the images, with or "
                    "without extension",
                    stk__part_name(part));
    return STK_ERROR_DATA;
}

static stk_status read_option(marking *m, const stk__site *site, uint32_t part, stk_error *error)
{
    const char *name = option_list(site->options, part);
    if (!name) return STK_OK;
    char below[PATH_MAX];
    const bool inside = !stk__path_is_file(name) && name[0] != '/' &&
                        stk__path_join(below, site->options->root, name) && stk__path_is_file(below);
    snprintf(m->path, sizeof m->path, "%s", inside ? below : name);
    STK__TRY(read_list(m, part, error));
    return m->unknown ? refuse_unknown(m, part, error) : STK_OK;
}

/* --- VOC --------------------------------------------------------------------------------------------------
 */

static stk_status read_voc(marking *m, const stk__reading *reading, stk_error *error)
{
    static const struct {
        const char *name;
        uint32_t part;
    } files[] = {{"train.txt", STK_SOURCE_TRAIN},
                 {"val.txt", STK_SOURCE_VAL},
                 {"test.txt", STK_SOURCE_TEST},
                 {"trainval.txt", STK_SOURCE_TRAIN}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const bool whole = files[i].part == STK_SOURCE_TRAIN && i > 0;
        if (whole && m->given & STK_SOURCE_TRAIN) continue; /* train and val in one list */
        if (stk__path_join(m->path, reading->lists, files[i].name) && stk__path_is_file(m->path))
            STK__TRY(read_list(m, files[i].part, error));
    }
    stk__left_out_add(&m->files->source.info, "names in ImageSets without an image", m->unknown, m->first);
    /* trainval.txt beside val.txt alone: what val has is not trained on */
    for (uint64_t i = 0; i < stk__catalog_count(&m->files->catalog); i++)
        if (m->bits[i] & (STK_SOURCE_VAL | STK_SOURCE_TEST)) m->bits[i] &= (uint8_t)~STK_SOURCE_TRAIN;
    return STK_OK;
}

/* --- which stay -------------------------------------------------------------------------------------------
 */

/* Of a sample that several parts name. */
static stk_status refuse_both(const marking *m, uint64_t id, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the sample '%s' is in more than one of the lists of parts",
              stk__catalog_key(&m->files->catalog, stk__catalog_at(&m->files->catalog, id)));
    stk__error_place(error, "%s", m->path);
    stk__error_hint(error, "a sample is in one of data.train_list, data.val_list and data.test_list");
    return STK_ERROR_DATA;
}

static stk_status complete_bits(marking *m, stk_error *error)
{
    for (uint64_t i = 0; i < stk__catalog_count(&m->files->catalog); i++) {
        if (m->bits[i] & (m->bits[i] - 1)) return refuse_both(m, i, error);
        if (!(m->given & STK_SOURCE_TRAIN) && !m->bits[i]) m->bits[i] = STK_SOURCE_TRAIN;
    }
    m->given |= STK_SOURCE_TRAIN;
    return STK_OK;
}

static stk_status refuse_part(const marking *m, const char *part, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "no list names a part '%s' of the data set", part);
    stk__error_place(error, "%s", m->path);
    stk__error_hint(error, "set data.%s_list", part);
    return STK_ERROR_CONFIG;
}

static stk_status keep_part(marking *m, const stk__site *site, stk_error *error)
{
    stk__catalog *catalog = &m->files->catalog;
    uint32_t part = stk__part_bit(site->options->part);
    if (part == STK_SOURCE_VAL && !(m->given & part)) part = STK_SOURCE_TRAIN; /* the loader splits it */
    if (part && !(m->given & part)) return refuse_part(m, site->options->part, error);
    uint64_t kept = 0, unlisted = 0;
    char example[160] = "";
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++) {
        if (!m->bits[i] && unlisted++ == 0)
            snprintf(example, sizeof example, "%.150s",
                     stk__catalog_key(catalog, stk__catalog_at(catalog, i)));
        if (part ? m->bits[i] == part : m->bits[i])
            *stk__catalog_at(catalog, kept++) = *stk__catalog_at(catalog, i);
    }
    catalog->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
    m->files->source.info.parts = m->given;
    stk__left_out_add(&m->files->source.info, "images that no list of a part names", unlisted, example);
    if (kept) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "the part '%s' has no samples", part ? stk__part_name(part) : "all");
    stk__error_place(error, "%s", m->path);
    stk__error_hint(error, "look at its list of names");
    return STK_ERROR_DATA;
}

static stk_status apply(marking *m, const stk__site *site, stk_error *error)
{
    if (*site->reading->lists) {
        STK__TRY(read_voc(m, site->reading, error));
        return keep_part(m, site, error);
    }
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        STK__TRY(read_option(m, site, part, error));
    STK__TRY(complete_bits(m, error));
    return keep_part(m, site, error);
}

bool stk__part_lists_given(const stk__site *site)
{
    const stk__source_options *o = site->options;
    return o->train_list || o->val_list || o->test_list || (site->reading && *site->reading->lists);
}

stk_status stk__part_lists_apply(stk__files *files, const stk__site *site, stk_error *error)
{
    if (!stk__part_lists_given(site)) return STK_OK;
    const uint64_t count = stk__catalog_count(&files->catalog);
    const char *slash = strrchr(files->images, '/');
    marking m = {.files = files, .prefix = slash ? slash + 1 : files->images, .bits = stk__alloc(count + 1)};
    if (!m.bits) return stk__fail_memory(error, count, "the parts of a data set");
    const stk_status status = apply(&m, site, error);
    stk__free(m.bits);
    return status;
}
