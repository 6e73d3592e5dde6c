/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes, error details and classes of damage: what every fallible function of Stoker hands back. */
#ifndef STOKER_STATUS_H
#define STOKER_STATUS_H

#include "stoker/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stk_status {
    STK_OK = 0,
    STK_END = 1,                /* not an error: nothing more to come (end of an epoch) */
    STK_AGAIN = 2,              /* not an error: nothing yet (stk_loader_next_within) */
    STK_ERROR_ARGUMENT = -1,    /* the caller asked for something that makes no sense */
    STK_ERROR_CONFIG = -2,      /* a setting is unknown, malformed or out of range */
    STK_ERROR_MEMORY = -3,      /* an allocation failed */
    STK_ERROR_THREAD = -4,      /* a thread could not be started */
    STK_ERROR_IO = -5,          /* the operating system refused a file operation */
    STK_ERROR_DATA = -6,        /* a data set as a whole cannot be used */
    STK_ERROR_SAMPLE = -7,      /* one sample is damaged; see stk_error.damage */
    STK_ERROR_TIMEOUT = -8,     /* something did not answer in time */
    STK_ERROR_INTERRUPTED = -9, /* stopped on request */
    STK_ERROR_STATE = -10,      /* a saved state does not belong to this data set */
    STK_ERROR_UNSUPPORTED = -11 /* known, but not possible here */
} stk_status;

/* An options struct that may grow begins with its size, so that a program and a newer or older library agree
 * on what is in it:
 *
 *     stk_loader_options options = STK_LOADER_OPTIONS_INIT;       // C and C++
 *     stk_loader_options options = {.struct_size = sizeof options, .root = "faces"};   // C
 *
 * 0 means the struct as it was in 0.1, so {0} works as long as no later field is needed. A size beyond the
 * library's is good while everything behind what it knows is zero; else STK_ERROR_ARGUMENT. */
#ifdef __cplusplus
#define STK_INIT(type)                                                                                       \
    ([] {                                                                                                    \
        type made = {};                                                                                      \
        made.struct_size = sizeof made;                                                                      \
        return made;                                                                                         \
    }())
#else
#define STK_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

/* Classes of damage a sample can have: identifier, the word in ledgers, the sentence for people.
 * WRONG_EXTENSION is not produced any more: such files are decoded and counted
 * (stk_loader_stats.misnamed_files). */
#define STK_DAMAGE_LIST(X)                                                                                   \
    X(NONE, "none", "no damage")                                                                             \
    X(MISSING, "missing", "the file is missing")                                                             \
    X(DANGLING_LINK, "dangling_link", "a symbolic link that leads nowhere")                                  \
    X(NO_PERMISSION, "no_permission", "the file may not be read")                                            \
    X(NOT_A_FILE, "not_a_file", "a directory, pipe, socket or device instead of a file")                     \
    X(READ_ERROR, "read_error", "the storage reported an error")                                             \
    X(EMPTY, "empty", "the file has no bytes")                                                               \
    X(TOO_MANY_BYTES, "too_many_bytes", "the file is larger than limits.bytes")                              \
    X(NOT_AN_IMAGE, "not_an_image", "the content is not a supported image format")                           \
    X(WRONG_EXTENSION, "wrong_extension", "the content is not the format of the file name")                  \
    X(BAD_HEADER, "bad_header", "the header is malformed")                                                   \
    X(TRUNCATED, "truncated", "the file ends too early")                                                     \
    X(CORRUPT, "corrupt", "the compressed data is damaged")                                                  \
    X(BAD_CHECKSUM, "bad_checksum", "a checksum does not match")                                             \
    X(ZERO_SIZE, "zero_size", "width or height is 0")                                                        \
    X(TOO_MANY_PIXELS, "too_many_pixels", "more pixels than limits.pixels")                                  \
    X(TOO_MANY_SCANS, "too_many_scans", "more scans than limits.scans")                                      \
    X(TOO_SLOW, "too_slow", "decoding took more CPU time than limits.time")                                  \
    X(UNSUPPORTED, "unsupported", "a valid file of a kind that is not supported")                            \
    X(MASK_MISSING, "mask_missing", "the image has no mask")                                                 \
    X(MASK_SIZE, "mask_size", "the mask is not as large as its image")                                       \
    X(MASK_IDS, "mask_ids", "the mask has ids outside the classes")                                          \
    X(MASK_FORMAT, "mask_format", "the mask is not an image of class ids")                                   \
    X(BAD_ROW, "bad_row", "a row of the list is malformed")                                                  \
    X(BAD_VALUES, "bad_values", "NaN or infinite values")                                                    \
    X(MEMBER_KIND, "member_kind", "a link, device, pipe or sparse file where a shard should have a file")    \
    X(BAD_NAME, "bad_name", "a name in a shard that is malformed, too long or not UTF-8")                    \
    X(FIELD_TWICE, "field_twice", "a field occurs twice in the sample")                                      \
    X(SCATTERED, "scattered", "the fields of the sample are not adjacent in the shard")                      \
    X(NO_IMAGE, "no_image", "the sample has no image")                                                       \
    X(BAD_FIELD, "bad_field", "a field of the sample is missing or malformed")                               \
    X(SHARD_CHANGED, "shard_changed", "the shard is not the one that was indexed")

typedef enum stk_damage {
#define STK_DAMAGE_ENUM(id, word, sentence) STK_DAMAGE_##id,
    STK_DAMAGE_LIST(STK_DAMAGE_ENUM)
#undef STK_DAMAGE_ENUM
        STK_DAMAGE_COUNT
} stk_damage;

/* Length of public arrays with a number per class; later classes have room in it. */
enum { STK_DAMAGE_CAPACITY = 64 };

/* Details of a failure, in the caller's memory. Every function that takes one also accepts NULL. */
typedef struct stk_error {
    stk_status code;
    stk_damage damage; /* set when code is STK_ERROR_SAMPLE */
    char message[384]; /* what failed, on what, why; one line, lower case */
    char place[4224];  /* a file with its whole path, file:line:column, or empty */
    char hint[256];    /* what to do next, or empty */
} stk_error;

/* Static texts: "timeout"; "bad_checksum"; "a checksum does not match". "unknown" for numbers that this
 * version does not have. Threads: any. */
STK_API const char *stk_status_name(stk_status status);
STK_API const char *stk_damage_name(stk_damage damage);
STK_API const char *stk_damage_phrase(stk_damage damage);

#ifdef __cplusplus
}
#endif

#endif
