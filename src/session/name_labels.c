/* SPDX-License-Identifier: Apache-2.0 */
/* What is in front of a number at the end of a name is a label if there are few of them: two or more, and
 * four images or more for each on average. Looks at the first samples; one thread. */
#include "session/name_labels.h"

#include "core/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 1000, LABELS_MOST = SAMPLES / 4 };

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Of "cat.0.jpg" 3: without the extension, the number, and what stands between; 0: no number, or no letter.
 */
static size_t label_length(const char *file)
{
    const char *dot = strrchr(file, '.');
    size_t end = dot && dot != file ? (size_t)(dot - file) : strlen(file);
    end -= end && file[end - 1] == ')';
    const size_t stem = end;
    while (end && isdigit((unsigned char)file[end - 1]))
        end--;
    if (end == stem) return 0;
    while (end && strchr("._- (", file[end - 1]))
        end--;
    for (size_t i = 0; i < end; i++)
        if (isalpha((unsigned char)file[i])) return end;
    return 0;
}

/* "25_0_2_20170116.jpg.chip.jpg": three numbers or more with '_' between them. */
static bool is_numbers(const char *file)
{
    int numbers = 0;
    for (; isdigit((unsigned char)*file); numbers++) {
        file += strspn(file, "0123456789");
        if (*file != '_') return *file == '.' && numbers >= 2;
        file++;
    }
    return false;
}

bool stk__name_labels_find(const stk_loader *loader, stk__name_labels *found)
{
    const int64_t count = stk_loader_describe(loader)->dataset_count;
    uint64_t labels[LABELS_MOST];
    int64_t looked = 0, numbers = 0;
    char path[4096];
    *found = (stk__name_labels){.different = 0};
    for (; looked < count && looked < SAMPLES; looked++) {
        if (stk_loader_sample_path(loader, looked, path, sizeof path, NULL) != STK_OK) return false;
        const char *file = file_of(path);
        const size_t length = label_length(file);
        numbers += is_numbers(file);
        if (looked == 0) {
            snprintf(found->folder, sizeof found->folder, "%.*s", (int)(file - path), path);
            snprintf(found->file, sizeof found->file, "%s", file);
            snprintf(found->label, sizeof found->label, "%.*s", (int)length, file);
        }
        if (!length) continue;
        const uint64_t hash = stk__digest_of(file, length).low;
        int at = 0;
        while (at < found->different && labels[at] != hash)
            at++;
        if (at < found->different) continue;
        if (at == LABELS_MOST) return false;
        labels[found->different++] = hash;
    }
    if (looked && numbers == looked) {
        found->different = 0;
        return true;
    }
    return found->label[0] && found->different > 1 && found->different * 4 <= looked;
}
