// SPDX-License-Identifier: GPL-2.0
/*
 * knobs.c - /sys/module/mmapra/parameters, checked before they take effect
 *
 * A value that is not allowed is refused with -EINVAL and a line that says
 * what is allowed; nothing changes then.  The kernel calls the setters one at
 * a time (kernel_param_lock()).
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "knobs.h"
#include "mmapra.h"

struct knobs knobs __read_mostly = {
	.restart	= true,
	.backward	= true,
	.stride		= true,
	.streams	= MMAPRA_DEF_STREAMS,
	.files		= MMAPRA_DEF_FILES,
};

/* Booleans: Y and N in all spellings that the kernel takes */

static int set_switch(const char *val, const struct kernel_param *kp)
{
	bool on;

	if (!val || kstrtobool(val, &on)) {
		pr_err("%s: only Y or N is allowed\n", kp->name);
		return -EINVAL;
	}
	WRITE_ONCE(*(bool *)kp->arg, on);
	return 0;
}

static const struct kernel_param_ops switch_ops = {
	.set = set_switch,
	.get = param_get_bool,
};

/*
 * restart=Y (default): read ahead again on sequential misses, however many
 * sparse ones came before.  N: a file that used up the credit of a fresh one
 * gets no forward windows.
 */
module_param_cb(restart, &switch_ops, &knobs.restart, 0644);
MODULE_PARM_DESC(restart, "read ahead again on sequential misses after sparse ones (Y)");

/* backward=Y (default): streams towards lower offsets get windows, too. */
module_param_cb(backward, &switch_ops, &knobs.backward, 0644);
MODULE_PARM_DESC(backward, "streams towards lower offsets (Y)");

/* stride=Y (default): pages or blocks at a constant distance are a stream. */
module_param_cb(stride, &switch_ops, &knobs.stride, 0644);
MODULE_PARM_DESC(stride, "streams with a constant step (Y)");

/* Numbers in a range */

static int set_number(const char *val, const struct kernel_param *kp,
		      unsigned int min, unsigned int max)
{
	unsigned int n;

	if (kstrtouint(val, 0, &n) || n < min || n > max) {
		pr_err("%s: only a number from %u to %u is allowed\n",
		       kp->name, min, max);
		return -EINVAL;
	}
	WRITE_ONCE(*(unsigned int *)kp->arg, n);
	return 0;
}

static int set_streams(const char *val, const struct kernel_param *kp)
{
	return set_number(val, kp, 1, MMAPRA_MAX_STREAMS);
}

static int set_window(const char *val, const struct kernel_param *kp)
{
	return set_number(val, kp, 0, MMAPRA_MAX_WINDOW_KB);
}

static int set_files(const char *val, const struct kernel_param *kp)
{
	return set_number(val, kp, 1, MMAPRA_MAX_FILES);
}

static const struct kernel_param_ops streams_ops = {
	.set = set_streams,
	.get = param_get_uint,
};

static const struct kernel_param_ops window_ops = {
	.set = set_window,
	.get = param_get_uint,
};

static const struct kernel_param_ops files_ops = {
	.set = set_files,
	.get = param_get_uint,
};

/* streams=8: streams remembered for an open file, 1 to 32. */
module_param_cb(streams, &streams_ops, &knobs.streams, 0644);
MODULE_PARM_DESC(streams, "streams remembered for an open file, 1 to 32 (8)");

/* max_window_kb=0: largest window in KiB; 0: the file's own readahead size. */
module_param_cb(max_window_kb, &window_ops, &knobs.max_window_kb, 0644);
MODULE_PARM_DESC(max_window_kb, "largest window in KiB, 0 for the file's own readahead size (0)");

/* files=1024: open files remembered; memory for them is taken at load. */
module_param_cb(files, &files_ops, &knobs.files, 0444);
MODULE_PARM_DESC(files, "open files remembered, fixed at load, 1 to 65536 (1024)");

/* random_hint: what MADV_RANDOM means */

static int set_random_hint(const char *val, const struct kernel_param *kp)
{
	if (sysfs_streq(val, "honor")) {
		WRITE_ONCE(knobs.verify_random, false);
	} else if (sysfs_streq(val, "verify")) {
		WRITE_ONCE(knobs.verify_random, true);
	} else {
		pr_err("%s: only honor or verify is allowed\n", kp->name);
		return -EINVAL;
	}
	return 0;
}

static int get_random_hint(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n",
			  knobs.verify_random ? "verify" : "honor");
}

static const struct kernel_param_ops random_hint_ops = {
	.set = set_random_hint,
	.get = get_random_hint,
};

/*
 * random_hint=honor (default): MADV_RANDOM mappings are left to the kernel,
 * which reads page by page.  verify: they get a window once their faults run
 * in a stream.
 */
module_param_cb(random_hint, &random_hint_ops, NULL, 0644);
MODULE_PARM_DESC(random_hint, "MADV_RANDOM mappings: honor or verify (honor)");

/* filesystems: which types are managed */

#define FS_DEFAULT	"all,-lustre,-fuse,-fuseblk,-virtiofs"
#define FS_TEXT		512	/* bytes */
#define FS_NAMES	64
#define FS_NAME_LEN	31

/**
 * struct fs_list - the parsed list
 * @rcu:	frees it
 * @text:	as written
 * @only:	only the types named are managed, else all but the excluded
 * @nr:		number of names
 * @names:	each with its sign: '+' or '-'
 */
struct fs_list {
	struct rcu_head rcu;
	char text[FS_TEXT];
	bool only;
	unsigned int nr;
	struct {
		char sign;
		char name[FS_NAME_LEN + 1];
	} names[FS_NAMES];
};

static struct fs_list __rcu *fs_list;

static bool add_name(struct fs_list *list, const char *word)
{
	char sign = *word == '-' ? '-' : '+';
	const char *c;

	if (!strcmp(word, "all"))
		return true;
	if (sign == '-')
		word++;
	if (!*word || strlen(word) > FS_NAME_LEN || list->nr == FS_NAMES)
		return false;
	for (c = word; *c; c++)
		if (!isalnum(*c) && !strchr("._-", *c))
			return false;
	list->names[list->nr].sign = sign;
	strscpy(list->names[list->nr].name, word, FS_NAME_LEN + 1);
	list->nr++;
	if (sign == '+')
		list->only = true;
	return true;
}

static struct fs_list *parse_list(const char *val)
{
	struct fs_list *list;
	char *copy, *rest, *word;
	bool all = false, any = false, ok = true;

	if (strlen(val) >= FS_TEXT)
		return ERR_PTR(-EINVAL);
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	copy = kstrdup(val, GFP_KERNEL);
	if (!list || !copy) {
		kfree(list);
		kfree(copy);
		return ERR_PTR(-ENOMEM);
	}
	strscpy(list->text, strim(copy), FS_TEXT);
	rest = copy;
	while (ok && (word = strsep(&rest, ", \t\n"))) {
		if (!*word)
			continue;
		any = true;
		all |= !strcmp(word, "all");
		ok = add_name(list, word);
	}
	if (all)
		list->only = false;
	kfree(copy);
	if (!ok || !any) {
		kfree(list);
		return ERR_PTR(-EINVAL);
	}
	return list;
}

static int use_list(struct fs_list *list)
{
	if (IS_ERR(list))
		return PTR_ERR(list);
	/* setters run one at a time, and not before the module's start */
	list = rcu_replace_pointer(fs_list, list, true);
	if (list)
		kfree_rcu(list, rcu);
	return 0;
}

static int set_filesystems(const char *val, const struct kernel_param *kp)
{
	struct fs_list *list = parse_list(val);

	if (list == ERR_PTR(-EINVAL))
		pr_err("%s: only names of types or all, separated by commas, -name to leave one out, are allowed\n",
		       kp->name);
	return use_list(list);
}

static int get_filesystems(char *buf, const struct kernel_param *kp)
{
	const struct fs_list *list;
	int n;

	rcu_read_lock();
	list = rcu_dereference(fs_list);
	n = sysfs_emit(buf, "%s\n", list ? list->text : FS_DEFAULT);
	rcu_read_unlock();
	return n;
}

/* Called when the module is gone, or its load failed. */
static void free_filesystems(void *arg)
{
	kfree(rcu_dereference_protected(fs_list, true));
}

static const struct kernel_param_ops filesystems_ops = {
	.set = set_filesystems,
	.get = get_filesystems,
	.free = free_filesystems,
};

/*
 * filesystems: names of types, separated by commas; with "-" before it a type
 * is left out.  Names without "-" mean: only these; "all" all others as well.
 * Left out by default: lustre, whose pages outside its own locks must not be
 * read, and those whose reads wait for a process in user space or another
 * host's file cache.
 */
module_param_cb(filesystems, &filesystems_ops, NULL, 0644);
MODULE_PARM_DESC(filesystems, "file system types to manage (" FS_DEFAULT ")");

bool knobs_manage(const struct file_system_type *type)
{
	const struct fs_list *list;
	bool manage;
	unsigned int i;

	rcu_read_lock();
	list = rcu_dereference(fs_list);
	manage = !list->only;
	for (i = 0; i < list->nr; i++) {
		if (strcmp(list->names[i].name, type->name))
			continue;
		manage = list->names[i].sign == '+';
		if (!manage)
			break;
	}
	rcu_read_unlock();
	return manage;
}

/* enabled: hooks attached or not */

static DEFINE_MUTEX(enabled_lock);	/* for all three below */
static bool enabled = true;
static bool stopped;
static int (*switch_hooks)(bool on);

static int set_enabled(const char *val, const struct kernel_param *kp)
{
	bool on;
	int err = 0;

	if (!val || kstrtobool(val, &on)) {
		pr_err("%s: only Y or N is allowed\n", kp->name);
		return -EINVAL;
	}
	mutex_lock(&enabled_lock);
	if (stopped)
		err = -ENODEV;
	else if (switch_hooks && on != enabled)
		err = switch_hooks(on);
	if (!err)
		enabled = on;
	mutex_unlock(&enabled_lock);
	return err;
}

static const struct kernel_param_ops enabled_ops = {
	.set = set_enabled,
	.get = param_get_bool,
};

/*
 * enabled=Y (default): the hooks are attached.  N: they are detached and no
 * task is left in them, the stock kernel is in charge; state is forgotten.
 */
module_param_cb(enabled, &enabled_ops, &enabled, 0644);
MODULE_PARM_DESC(enabled, "hooks attached (Y)");

int knobs_start(int (*switch_to)(bool on))
{
	int err = 0;

	if (!rcu_access_pointer(fs_list))
		err = use_list(parse_list(FS_DEFAULT));
	if (err)
		return err;
	mutex_lock(&enabled_lock);
	switch_hooks = switch_to;
	if (enabled)
		err = switch_to(true);
	stopped = err;
	mutex_unlock(&enabled_lock);
	return err;
}

int knobs_stop(void)
{
	int err = 0;

	mutex_lock(&enabled_lock);
	stopped = true;
	if (enabled)
		err = switch_hooks(false);
	if (!err)
		enabled = false;
	mutex_unlock(&enabled_lock);
	return err;
}
