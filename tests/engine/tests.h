/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tests.h - what engine_test runs
 */
#ifndef MMAPRA_TESTS_TESTS_H
#define MMAPRA_TESTS_TESTS_H

#include "trace.h"

/* From the engine's header comment */
#define WINDOW_FIRST	4u
#define WINDOWS_FULL	24u
#define WAITS_MANY	16u
#define STEPS_FEW	3u
#define LONGER_LIMIT	6u

/* Lists of properties end with one that has no name. */
extern const struct property invariant_properties[];
extern const struct property regret_properties[];

/* Prints lines of KTAP and returns the number of failures. */
unsigned int test_cases(void);
/* Promises not kept: none of these is a failure. */
void test_known(void);

/* The largest window that an env permits. */
static inline unsigned long largest_window(const struct engine_env *env)
{
	unsigned long n = env->max_pages > env->huge_pages ? env->max_pages :
							     env->huge_pages;

	return n ? n : 1;
}

#endif
