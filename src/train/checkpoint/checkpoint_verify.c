/* SPDX-License-Identifier: Apache-2.0 */
/* Is a checkpoint complete and unchanged? Every file is hashed and compared with the list of sums. From
 * that: the newest valid checkpoint, and the best valid one by its metric. */
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/checkpoint_tensors.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/hash.h"
#include "train/checkpoint/checkpoint_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SUMS_LIMIT_BYTES = 1 << 16,
    READ_BYTES = 1 << 20,
    DIGITS = STK_DIGEST_TEXT_BYTES - 1,
    LAST_LINE_BYTES = DIGITS + 3 /* "# " and the end of the line */
};

typedef struct verifier {
    const char *path;
    stk__hash *hash;
    uint8_t *chunk; /* [READ_BYTES] */
    stk__buffer sums;
    bool has_model, has_state;
} verifier;

static bool parse_digest(const uint8_t *text, stk__digest *digest)
{
    char copy[STK_DIGEST_TEXT_BYTES];
    memcpy(copy, text, DIGITS);
    copy[DIGITS] = '\0';
    return stk__digest_parse(copy, digest);
}

static bool same_digest(stk__digest a, stk__digest b)
{
    return a.high == b.high && a.low == b.low;
}

static stk_status hash_file(verifier *v, const char *path, stk__digest *digest, stk_error *error)
{
    struct stat facts;
    ssize_t got = -1;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return stk__fail_errno(error, errno, "cannot open it");
    stk__hash_reset(v->hash);
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
        errno = EISDIR;
    else
        while ((got = read(file, v->chunk, READ_BYTES)) > 0 || (got < 0 && errno == EINTR))
            if (got > 0) stk__hash_update(v->hash, v->chunk, (size_t)got);
    const int failed = got < 0 ? errno : 0;
    close(file);
    *digest = stk__hash_digest(v->hash);
    return failed ? stk__fail_errno(error, failed, "cannot read it") : STK_OK;
}

static stk_status check_file(verifier *v, const char *name, stk__digest wanted, stk_error *error)
{
    char path[PATH_MAX];
    stk__digest digest;
    stk_error why = {0};
    STK__TRY(stk__durable_join(path, sizeof path, v->path, name, error));
    if (hash_file(v, path, &digest, &why) != STK_OK)
        return stk__fail(error, STK_ERROR_DATA, "%s: %s", name, why.message);
    if (!same_digest(digest, wanted))
        return stk__fail(error, STK_ERROR_DATA, "%s is corrupt: it does not match SUMS", name);
    v->has_model |= strcmp(name, stk__checkpoint_files[STK_CHECKPOINT_MODEL]) == 0;
    v->has_state |= strcmp(name, STK_CHECKPOINT_STATE) == 0;
    return STK_OK;
}

static stk_status refuse_sums(stk_error *error)
{
    return stk__fail(error, STK_ERROR_DATA, "SUMS is corrupt");
}

/* One line, "DIGEST  NAME\n"; *used gets its length. */
static stk_status check_line(verifier *v, const uint8_t *line, size_t room, size_t *used, stk_error *error)
{
    char name[NAME_MAX + 1];
    stk__digest wanted;
    const uint8_t *end = memchr(line, '\n', room);
    if (!end || end - line < DIGITS + 3 || end - line - DIGITS - 2 > NAME_MAX) return refuse_sums(error);
    if (!parse_digest(line, &wanted) || memcmp(line + DIGITS, "  ", 2) != 0) return refuse_sums(error);
    *used = (size_t)(end - line) + 1;
    const size_t length = *used - DIGITS - 3;
    memcpy(name, line + DIGITS + 2, length);
    name[length] = '\0';
    if (name[0] == '.' || strlen(name) != length || strchr(name, '/')) return refuse_sums(error);
    return check_file(v, name, wanted, error);
}

static stk_status check_sums(verifier *v, stk_error *error)
{
    char path[PATH_MAX];
    stk_error why = {0};
    stk__digest wanted;
    STK__TRY(stk__durable_join(path, sizeof path, v->path, STK_CHECKPOINT_SUMS, error));
    const stk_status status = stk__file_read(path, SUMS_LIMIT_BYTES, &v->sums, &why);
    if (status == STK_ERROR_MEMORY) return stk__fail(error, status, "%s", why.message);
    if (status != STK_OK) return stk__fail(error, STK_ERROR_DATA, "SUMS: %s", why.message);
    if (v->sums.size_bytes <= LAST_LINE_BYTES) return refuse_sums(error);
    const size_t size = v->sums.size_bytes - LAST_LINE_BYTES;
    const uint8_t *last = v->sums.data + size;
    if (memcmp(last, "# ", 2) != 0 || last[LAST_LINE_BYTES - 1] != '\n' || !parse_digest(last + 2, &wanted))
        return refuse_sums(error);
    if (!same_digest(stk__digest_of(v->sums.data, size), wanted)) return refuse_sums(error);
    for (size_t at = 0, used = 0; at < size; at += used)
        STK__TRY(check_line(v, v->sums.data + at, size - at, &used, error));
    if (!v->has_model || !v->has_state)
        return stk__fail(error, STK_ERROR_DATA, "SUMS does not list the model and its state");
    return STK_OK;
}

stk_status stk__checkpoint_verify(const char *path, stk_error *error)
{
    verifier v = {.path = path};
    stk_status status = stk__hash_create(&v.hash, error);
    if (status == STK_OK && !(v.chunk = stk__alloc(READ_BYTES)))
        status = stk__fail_memory(error, READ_BYTES, "reading a checkpoint");
    if (status == STK_OK) status = check_sums(&v, error);
    if (status == STK_ERROR_DATA) stk__error_place(error, "%s", path);
    stk__buffer_fini(&v.sums);
    stk__free(v.chunk);
    stk__hash_destroy(&v.hash);
    return status;
}

/* --- finding ------------------------------------------------------------------------------------------- */

/* Tries the entries in their order. */
static stk_status find_valid(const stk__checkpoint_list *list, const char *folder,
                             stk__checkpoint_found *found, stk_error *error)
{
    for (int i = 0; i < list->count; i++) {
        stk_error why = {0};
        STK__TRY(stk__durable_join(found->path, sizeof found->path, folder, list->entries[i].name, error));
        const stk_status status = stk__checkpoint_verify(found->path, &why);
        if (status == STK_OK) return STK_OK;
        if (status != STK_ERROR_DATA) return stk__fail(error, status, "%s", why.message);
        if (found->skipped++ == 0)
            snprintf(found->first_reason, sizeof found->first_reason, "%s: %.150s", list->entries[i].name,
                     why.message);
    }
    found->path[0] = '\0';
    if (list->count == 0) return STK_END;
    stk__fail(error, STK_ERROR_DATA, "no valid checkpoint of %d; %s", list->count, found->first_reason);
    stk__error_place(error, "%s", folder);
    return STK_ERROR_DATA;
}

bool stk__checkpoint_is_there(const char *folder)
{
    stk__checkpoint_list list;
    const bool there = stk__checkpoint_list_read(&list, folder, NULL) == STK_OK && list.count > 0;
    stk__buffer_fini(&list.memory);
    return there;
}

stk_status stk__checkpoint_newest(const char *folder, stk__checkpoint_found *found, stk_error *error)
{
    stk__checkpoint_list list;
    *found = (stk__checkpoint_found){0};
    stk_status status = stk__checkpoint_list_read(&list, folder, error);
    if (status == STK_OK) status = find_valid(&list, folder, found, error);
    stk__buffer_fini(&list.memory);
    return status;
}

/* The order of the list is by age; insertion keeps this free of a sort with a context. */
static void sort_by_metric(stk__checkpoint_list *list, bool best_is_low)
{
    for (int i = 1; i < list->count; i++)
        for (int k = i; k > 0; k--) {
            stk__checkpoint_entry *entries = &list->entries[k - 1];
            if (!stk__checkpoint_better(&entries[1], &entries[0], best_is_low)) break;
            const stk__checkpoint_entry swapped = entries[0];
            entries[0] = entries[1];
            entries[1] = swapped;
        }
}

stk_status stk__checkpoint_best(const char *folder, bool best_is_low, stk__checkpoint_found *found,
                                stk_error *error)
{
    stk__checkpoint_list list;
    *found = (stk__checkpoint_found){0};
    stk_status status = stk__checkpoint_list_read(&list, folder, error);
    if (status == STK_OK) status = stk__checkpoint_list_states(&list, folder, error);
    if (status == STK_OK) sort_by_metric(&list, best_is_low);
    if (status == STK_OK) status = find_valid(&list, folder, found, error);
    stk__buffer_fini(&list.memory);
    return status;
}
