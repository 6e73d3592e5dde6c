/* fuzz_NAME SECONDS FILE...: the files as they are, then random changes of them. The same changes each time;
 * an input that ends the program is left in fuzz_NAME.input of the working directory. */
#include "fuzz.h"

#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEEDS_MOST = 64, INPUT_BYTES = 1 << 16, CHANGES_MOST = 6 };

typedef struct text {
    uint8_t data[INPUT_BYTES];
    size_t size;
} text;

static text seeds[SEEDS_MOST], input;
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

/* Replaces `removed` bytes at `at`. What does not fit is cut off. */
static void replace(text *t, size_t at, size_t removed, const void *data, size_t size)
{
    if (removed > t->size - at) removed = t->size - at;
    if (size > INPUT_BYTES - (t->size - removed)) size = INPUT_BYTES - (t->size - removed);
    memmove(t->data + at + size, t->data + at + removed, t->size - at - removed);
    if (size) memcpy(t->data + at, data, size);
    t->size += size - removed;
}

/* The line that has this place in it. */
static size_t line_start(const text *t, size_t at)
{
    while (at > 0 && t->data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_size(const text *t, size_t start)
{
    size_t end = start;
    while (end < t->size && t->data[end++] != '\n') {
    }
    return end - start;
}

static void change(text *t)
{
    static uint8_t copy[INPUT_BYTES];
    const size_t at = draw(t->size + 1), line = line_start(t, draw(t->size + 1)), size = line_size(t, line);
    const uint8_t byte = (uint8_t)draw(256);
    const char *word = fuzz_words[draw((size_t)word_count)];
    const text *other = &seeds[draw((size_t)seed_count)];
    const size_t from = draw(other->size), length = draw(other->size - from < 200 ? other->size - from : 200);
    switch (draw(8)) {
    case 0: /* a byte */
        replace(t, at, 1, &byte, 1);
        break;
    case 1: /* a hole */
        replace(t, at, draw(12), NULL, 0);
        break;
    case 2: /* a line less */
        replace(t, line, size, NULL, 0);
        break;
    case 3: /* a line more */
        memcpy(copy, t->data + line, size);
        replace(t, line_start(t, at), 0, copy, size);
        break;
    case 4: /* a piece of another seed */
        replace(t, at, draw(40), other->data + from, length);
        break;
    case 5: /* a digit */
        if (at < t->size && t->data[at] >= '0' && t->data[at] <= '9')
            t->data[at] = (uint8_t)('0' + byte % 10);
        break;
    default:
        replace(t, at, draw(3) ? 0 : draw(20), word, strlen(word));
    }
}

static void run(void)
{
    rewind(last_input);
    if (ftruncate(fileno(last_input), 0) == 0) fwrite(input.data, 1, input.size, last_input);
    fflush(last_input);
    LLVMFuzzerTestOneInput(input.data, input.size);
}

static bool read_seed(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == SEEDS_MOST) return false;
    text *seed = &seeds[seed_count++];
    seed->size = fread(seed->data, 1, INPUT_BYTES, file);
    return fclose(file) == 0;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long fuzz(double seconds)
{
    long runs = 0;
    for (int i = 0; i < seed_count; i++, runs++) {
        input = seeds[i];
        run();
    }
    for (const double end = now_s() + seconds; now_s() < end; runs++) {
        input = seeds[draw((size_t)seed_count)];
        for (size_t changes = 1 + draw(CHANGES_MOST); changes > 0; changes--)
            change(&input);
        run();
    }
    return runs;
}

int main(int count, char **arguments)
{
    char path[256];
    for (int i = 2; i < count; i++)
        if (!read_seed(arguments[i])) return fprintf(stderr, "cannot read %s\n", arguments[i]), 2;
    if (!seed_count) return fprintf(stderr, "usage: fuzz_NAME SECONDS FILE...\n"), 2;
    while (fuzz_words[word_count])
        word_count++;
    snprintf(path, sizeof path, "%s.input", basename(arguments[0]));
    last_input = fopen(path, "w+b");
    if (!last_input) return fprintf(stderr, "cannot write %s\n", path), 2;
    printf("%ld inputs\n", fuzz(atof(arguments[1])));
    return fclose(last_input) == 0 && unlink(path) == 0 ? 0 : 1;
}
