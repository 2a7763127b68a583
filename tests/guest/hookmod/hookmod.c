// SPDX-License-Identifier: GPL-2.0
/*
 * hookmod - takes the one place for a redirecting ftrace hook on a function,
 * as a livepatch does, and redirects nothing
 */
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

static char *function = "filemap_fault";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "function to hook (filemap_fault)");

static void notrace callback(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops ops = {
	.func = callback,
	.flags = FTRACE_OPS_FL_IPMODIFY,
};

static int __init hookmod_init(void)
{
	int err;

#ifndef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
	ops.flags |= FTRACE_OPS_FL_SAVE_REGS;
#endif
	err = ftrace_set_filter(&ops, function, strlen(function), 1);
	if (!err)
		err = register_ftrace_function(&ops);
	if (err) {
		pr_err("hookmod: cannot hook %s, error %d\n", function, err);
		ftrace_free_filter(&ops);
	}
	return err;
}

static void __exit hookmod_exit(void)
{
	unregister_ftrace_function(&ops);
	ftrace_free_filter(&ops);
}

module_init(hookmod_init);
module_exit(hookmod_exit);
MODULE_DESCRIPTION("Takes the redirecting hook of a function, for tests");
MODULE_LICENSE("GPL");
