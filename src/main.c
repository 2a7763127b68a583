// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - load, arm, disarm, unload
 */
#include <linux/delay.h>
#include <linux/module.h>
#include "fault.h"
#include "files.h"
#include "knobs.h"
#include "mmapra.h"
#include "stats.h"
#include "window.h"

static int switch_hooks(bool on)
{
	int err = on ? fault_arm() : fault_disarm();

	if (!err)
		pr_info("%s\n", on ? "on" : "off");
	else if (!on)
		pr_err("ftrace has shut itself off: the hooks cannot be detached\n");
	return err;
}

/*
 * While hooks cannot be detached the kernel may call into this module.  To stay
 * is all that can be done; a reboot is the way out.
 */
static void leave(int (*detach)(void))
{
	while (detach())
		msleep(60 * MSEC_PER_SEC);
}

static int __init mmapra_init(void)
{
	unsigned int nr;
	size_t bytes;
	int err;

	err = openfiles_init(knobs.files);
	if (err)
		return err;
	err = window_init();
	if (err)
		goto out_files;
	err = stats_init();
	if (err)
		goto out_window;
	err = knobs_start(switch_hooks);
	if (err)
		goto out_stats;
	bytes = openfiles_size(&nr);
	pr_info("version %s, %zu KiB for %u open files\n", MMAPRA_VERSION,
		bytes >> 10, nr);
	return 0;

out_stats:
	leave(fault_disarm);
	stats_exit();
out_window:
	window_exit();
out_files:
	openfiles_exit();
	return err;
}

static void __exit mmapra_exit(void)
{
	leave(knobs_stop);
	stats_exit();
	window_exit();
	openfiles_exit();
}

module_init(mmapra_init);
module_exit(mmapra_exit);

MODULE_DESCRIPTION("Readahead for faults on mapped files");
MODULE_AUTHOR("The mmapra authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(MMAPRA_VERSION);
