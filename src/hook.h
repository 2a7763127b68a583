/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hook.h - ftrace hooks: attach, prove that they fire, detach
 *
 * A hook's callback runs at the entry of a kernel function and may send the
 * call to a function of this module instead (hook_redirect()).  That function
 * may call the original: the callback, called again, sees that the call comes
 * from this module (hook_from_module()) and lets it pass.
 *
 * A function of this module that calls the original must not do so by a tail
 * call: a jmp leaves the kernel's return address on the stack, the callback
 * does not recognise the call, and the CPU redirects forever.  The build
 * fails where such a call could be (scripts/check-tail-calls).
 */
#ifndef MMAPRA_HOOK_H
#define MMAPRA_HOOK_H

#include <linux/ftrace.h>

/**
 * struct hook - one hook
 * @name:	the kernel function's name, also for messages
 * @addr:	its address, 0: to be found by name
 * @callback:	runs at its entry, notrace, must not sleep
 * @redirects:	the callback uses hook_redirect()
 * @fires:	proves that the callback is called and its redirection works;
 *		may sleep; NULL: no proof
 * @ops:	used by hook.c
 * @attached:	used by hook.c
 */
struct hook {
	const char *name;
	unsigned long addr;
	ftrace_func_t callback;
	bool redirects;
	bool (*fires)(void);
	struct ftrace_ops ops;
	bool attached;
};

/* Does a call come from this module's code?  For callbacks. */
#define hook_from_module(parent_ip)	compat_in_module_text(parent_ip)

/* Argument @n of the hooked function's call.  For callbacks. */
#define hook_argument(fregs, n)		compat_ftrace_argument(fregs, n)

/* Let the call go to @function instead.  For callbacks. */
#define hook_redirect(fregs, function)	\
	compat_ftrace_redirect(fregs, (unsigned long)(function))

/**
 * hook_attach() - attach hooks, all or none
 * @hooks:	the hooks
 * @nr:		their number
 *
 * May sleep.  Writes a line to the log that says what is in the way if it
 * fails.
 *
 * Return: 0; -EBUSY if ftrace is switched off or the function redirected by
 * someone else; -ENODEV if ftrace shut itself off or the hook does not fire;
 * -ENOENT if the function is not traceable; -ENOMEM
 */
int hook_attach(struct hook *hooks, unsigned int nr);

/**
 * hook_detach() - detach hooks
 * @hooks:	the hooks
 * @nr:		their number
 *
 * May sleep.  On return no callback runs and none will, but tasks may still
 * be in functions that calls were redirected to.
 *
 * Return: 0, or -ENODEV if ftrace shut itself off: the kernel may go on
 * calling the callbacks, whose code must therefore stay
 */
int hook_detach(struct hook *hooks, unsigned int nr);

#endif
