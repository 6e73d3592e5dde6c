/* SPDX-License-Identifier: Apache-2.0 */
/* Which Stoker this is, and what marks a public function. docs/api.md has the compatibility promise and the
 * thread rules that the remarks `Threads:` of all headers refer to. */
#ifndef STOKER_VERSION_H
#define STOKER_VERSION_H

#if defined(STK_BUILD)
#define STK_API __attribute__((visibility("default")))
#else
#define STK_API
#endif

/* The version of these headers, for #if: STK_VERSION_NUMBER is 10000 major + 100 minor + patch. */
#define STK_VERSION_MAJOR  0
#define STK_VERSION_MINOR  1
#define STK_VERSION_PATCH  0
#define STK_VERSION_NUMBER (10000 * STK_VERSION_MAJOR + 100 * STK_VERSION_MINOR + STK_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs: "0.1.0". Threads: any. */
STK_API const char *stk_version(void);

#ifdef __cplusplus
}
#endif

#endif
