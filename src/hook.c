// SPDX-License-Identifier: GPL-2.0
/*
 * hook.c - ftrace hooks: attach, prove that they fire, detach
 *
 * All ops are PERMANENT: writing 0 to kernel.ftrace_enabled then fails instead
 * of removing the hooks silently, and attaching while it is 0 fails instead
 * of doing nothing.
 */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include "hook.h"

#define TRIES	5	/* a BPF program on the same function may need a moment */

static int set_filter(struct hook *h)
{
	int err;

	if (h->addr)
		err = ftrace_set_filter_ip(&h->ops, h->addr, 0, 0);
	else
		err = ftrace_set_filter(&h->ops, (unsigned char *)h->name,
					strlen(h->name), 0);
	if (err == -EINVAL)
		err = -ENOENT;
	return err;
}

static int attach(struct hook *h)
{
	int err, try;

	/* ops that were registered before carry state: start from new ones */
	memset(&h->ops, 0, sizeof(h->ops));
	h->ops.func = h->callback;
	h->ops.flags = FTRACE_OPS_FL_PERMANENT | COMPAT_FTRACE_FLAGS;
	if (h->redirects)
		h->ops.flags |= FTRACE_OPS_FL_IPMODIFY;

	err = set_filter(h);
	for (try = 1; !err; try++) {
		err = register_ftrace_function(&h->ops);
		if (!err) {
			h->attached = true;
			return 0;
		}
		if (err != -EAGAIN || try == TRIES)
			break;
		err = 0;
		msleep(20);
	}
	ftrace_free_filter(&h->ops);
	return err;
}

static void explain(const struct hook *h, int err)
{
	if (err == -EBUSY && h->redirects)
		pr_err("%s is redirected already, by a livepatch or another module\n",
		       h->name);
	else if (err == -EBUSY)
		pr_err("ftrace is switched off: kernel.ftrace_enabled is 0\n");
	else if (err == -ENODEV)
		pr_err("ftrace has shut itself off, see the log before this\n");
	else if (err == -ENOENT)
		pr_err("%s cannot be hooked: ftrace does not know it on this kernel\n",
		       h->name);
	else
		pr_err("%s cannot be hooked, error %d\n", h->name, err);
}

int hook_attach(struct hook *hooks, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		err = attach(&hooks[i]);
		if (err) {
			explain(&hooks[i], err);
			goto out;
		}
	}
	for (i = 0; i < nr; i++) {
		if (hooks[i].fires && !hooks[i].fires()) {
			pr_err("the hook on %s is attached but does not fire\n",
			       hooks[i].name);
			err = -ENODEV;
			goto out;
		}
	}
	return 0;
out:
	hook_detach(hooks, nr);
	return err;
}

int hook_detach(struct hook *hooks, unsigned int nr)
{
	int err, first = 0;

	while (nr--) {
		struct hook *h = &hooks[nr];

		if (!h->attached)
			continue;
		err = unregister_ftrace_function(&h->ops);
		if (err) {
			first = first ?: err;
			continue;
		}
		h->attached = false;
		ftrace_free_filter(&h->ops);
	}
	return first;
}
