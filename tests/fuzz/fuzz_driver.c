/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_NAME [-max_total_time=S] [-runs=N] [-dict=FILE] FILE|FOLDER...: libFuzzer's place where it is not
 * there. Runs the files as they are, then random changes of them, for S seconds or N runs; other options are
 * ignored. The same changes each time; an input that ends the program is left in fuzz_NAME.input of the
 * working directory. */
#include "fuzz.h"

#include <assert.h>
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#pragma weak LLVMFuzzerCustomMutator

enum { SEEDS_MOST = 4096, WORDS_MOST = 512, INPUT_BYTES = 1 << 16, CHANGES_MOST = 6 };

typedef struct text {
    uint8_t *data;
    size_t size;
} text;

static text seeds[SEEDS_MOST], words[WORDS_MOST];
static int seed_count, word_count;
static uint64_t state = 88172645463325252u;
static FILE *last_input;

static size_t draw(size_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (size_t)(state >> 11) % below : 0;
}

/* --- changes ------------------------------------------------------------------------------------------- */

typedef struct draft {
    uint8_t *data;
    size_t size, most;
} draft;

/* Replaces `removed` bytes at `at`. What does not fit is cut off. */
static void replace(draft *d, size_t at, size_t removed, const void *data, size_t size)
{
    if (removed > d->size - at) removed = d->size - at;
    if (size > d->most - (d->size - removed)) size = d->most - (d->size - removed);
    memmove(d->data + at + size, d->data + at + removed, d->size - at - removed);
    if (size) memcpy(d->data + at, data, size);
    d->size += size - removed;
}

/* The line that has this place in it. */
static size_t line_start(const draft *d, size_t at)
{
    while (at > 0 && d->data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_size(const draft *d, size_t start)
{
    size_t end = start;
    while (end < d->size && d->data[end++] != '\n') {
    }
    return end - start;
}

static void change(draft *d)
{
    static uint8_t copy[INPUT_BYTES];
    const size_t at = draw(d->size + 1), line = line_start(d, draw(d->size + 1)), size = line_size(d, line);
    const uint8_t byte = (uint8_t)draw(256);
    const text *other = &seeds[draw((size_t)seed_count)], *word = &words[draw((size_t)word_count)];
    const size_t from = draw(other->size), length = draw(other->size - from < 200 ? other->size - from : 200);
    switch (draw(8)) {
    case 0: /* a byte */
        replace(d, at, 1, &byte, 1);
        break;
    case 1: /* a hole */
        replace(d, at, draw(12), NULL, 0);
        break;
    case 2: /* a line less */
        replace(d, line, size, NULL, 0);
        break;
    case 3: /* a line more */
        memcpy(copy, d->data + line, size);
        replace(d, line_start(d, at), 0, copy, size);
        break;
    case 4: /* a piece of another seed */
        replace(d, at, draw(40), other->data + from, length);
        break;
    case 5: /* a digit */
        if (at < d->size && d->data[at] >= '0' && d->data[at] <= '9')
            d->data[at] = (uint8_t)('0' + byte % 10);
        break;
    default:
        replace(d, at, draw(3) ? 0 : draw(20), word->data, word->size);
    }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    draft d = {data, size, most < INPUT_BYTES ? most : INPUT_BYTES};
    if (d.size > d.most) d.size = d.most;
    for (size_t changes = 1 + draw(CHANGES_MOST); changes > 0; changes--)
        change(&d);
    return d.size;
}

/* --- files --------------------------------------------------------------------------------------------- */

static bool read_file(const char *path, text *to)
{
    FILE *file = fopen(path, "rb");
    *to = (text){.data = malloc(INPUT_BYTES)};
    if (!file || !to->data) return false;
    to->size = fread(to->data, 1, INPUT_BYTES, file);
    return fclose(file) == 0;
}

static bool read_seeds(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) return false;
    if (!S_ISDIR(facts.st_mode)) return seed_count < SEEDS_MOST && read_file(path, &seeds[seed_count++]);
    struct dirent **entries;
    const int count = scandir(path, &entries, NULL, alphasort);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        char below[PATH_MAX + 256];
        snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') good = good && read_seeds(below);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return good;
}

/* What stands between the quotes of a line; \\, \" and \xNN stand for a byte. */
static size_t unquote(char *line)
{
    char *from = strchr(line, '"'), *to = line;
    if (!from || line[0] == '#') return 0;
    for (from++; *from && *from != '"'; from++) {
        unsigned byte = (unsigned char)*from;
        if (*from == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1)
            from += 3;
        else if (*from == '\\')
            byte = (unsigned char)*++from;
        *to++ = (char)byte;
    }
    return (size_t)(to - line);
}

static bool read_words(const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    while (file && word_count < WORDS_MOST && fgets(line, sizeof line, file)) {
        const size_t size = unquote(line);
        if (size) words[word_count++] = (text){fuzz_copy((const uint8_t *)line, size, 0), size};
    }
    return file && fclose(file) == 0;
}

/* --- the run ------------------------------------------------------------------------------------------- */

static void run(const uint8_t *data, size_t size)
{
    rewind(last_input);
    if (ftruncate(fileno(last_input), 0) == 0) fwrite(data, 1, size, last_input);
    fflush(last_input);
    uint8_t *exact = fuzz_copy(data, size, 0);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long fuzz(double seconds, long runs_most)
{
    static uint8_t input[INPUT_BYTES];
    long runs = 0;
    for (; runs < seed_count; runs++)
        run(seeds[runs].data, seeds[runs].size);
    for (const double end = now_s() + seconds; now_s() < end && runs < runs_most; runs++) {
        const text *seed = &seeds[draw((size_t)seed_count)];
        memcpy(input, seed->data, seed->size);
        const size_t size = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(input, seed->size, INPUT_BYTES,
                                                                              (unsigned)draw(1 << 30))
                                                    : LLVMFuzzerMutate(input, seed->size, INPUT_BYTES);
        run(input, size);
    }
    return runs;
}

int main(int count, char **arguments)
{
    char path[256];
    double seconds = 0;
    long runs_most = LONG_MAX;
    for (int i = 1; i < count; i++) {
        const char *word = arguments[i];
        bool good = true;
        if (sscanf(word, "-max_total_time=%lf", &seconds) == 1 || sscanf(word, "-runs=%ld", &runs_most) == 1)
            continue;
        if (strncmp(word, "-dict=", 6) == 0)
            good = read_words(word + 6);
        else if (word[0] != '-')
            good = read_seeds(word);
        if (!good) return fprintf(stderr, "cannot read %s\n", word), 2;
    }
    if (!seed_count) return fprintf(stderr, "usage: fuzz_NAME [OPTION...] FILE|FOLDER...\n"), 2;
    if (!word_count) words[word_count++] = (text){(uint8_t *)path, 0};
    snprintf(path, sizeof path, "%s.input", basename(arguments[0]));
    last_input = fopen(path, "w+b");
    if (!last_input) return fprintf(stderr, "cannot write %s\n", path), 2;
    const double start = now_s();
    const long runs = fuzz(seconds, runs_most);
    printf("Done %ld runs in %.0f second(s)\n", runs, now_s() - start);
    return fclose(last_input) == 0 && unlink(path) == 0 ? 0 : 1;
}
