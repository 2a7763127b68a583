// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - counts for each CPU, shown as /sys/module/mmapra/stats/NAME
 *
 * Counters only go up, from the load of the module on.  They are written
 * without a lock by the CPU they belong to, and added up when read.
 */
#include <linux/kobject.h>
#include <linux/sysfs.h>
#include "files.h"
#include "stats.h"

DEFINE_PER_CPU(struct mmapra_stats, mmapra_stats);

static struct kobject *stats_dir;

static ssize_t show_sum(char *buf, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((char *)per_cpu_ptr(&mmapra_stats,
							       cpu) + offset));
	return sysfs_emit(buf, "%llu\n", sum);
}

#define STAT_ATTR(name)							\
static ssize_t name##_show(struct kobject *kobj,			\
			   struct kobj_attribute *attr, char *buf)	\
{									\
	return show_sum(buf, offsetof(struct mmapra_stats, name));	\
}									\
static struct kobj_attribute name##_attr = __ATTR_RO(name);

MMAPRA_STATS(STAT_ATTR)

static ssize_t streams_in_use_show(struct kobject *kobj,
				   struct kobj_attribute *attr, char *buf)
{
	unsigned int files, streams;

	openfiles_count(&files, &streams);
	return sysfs_emit(buf, "%u\n", streams);
}

static ssize_t files_in_use_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	unsigned int files, streams;

	openfiles_count(&files, &streams);
	return sysfs_emit(buf, "%u\n", files);
}

static struct kobj_attribute streams_in_use_attr = __ATTR_RO(streams_in_use);
static struct kobj_attribute files_in_use_attr = __ATTR_RO(files_in_use);

#define STAT_POINTER(name)	&name##_attr.attr,

static struct attribute *stats_attrs[] = {
	&streams_in_use_attr.attr,
	&files_in_use_attr.attr,
	MMAPRA_STATS(STAT_POINTER)
	NULL
};

static const struct attribute_group stats_group = {
	.attrs = stats_attrs,
};

int stats_init(void)
{
	int err;

	stats_dir = kobject_create_and_add("stats", &THIS_MODULE->mkobj.kobj);
	if (!stats_dir)
		return -ENOMEM;
	err = sysfs_create_group(stats_dir, &stats_group);
	if (err)
		kobject_put(stats_dir);
	return err;
}

void stats_exit(void)
{
	sysfs_remove_group(stats_dir, &stats_group);
	kobject_put(stats_dir);
}
