/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - the only file that knows kernel versions
 *
 * Force-included in every object of the module.  Each helper has the name of
 * the newest kernel's function or says what it stands for.  What a kernel of
 * this module needs and does not have is an #error here.
 */
#ifndef MMAPRA_COMPAT_H
#define MMAPRA_COMPAT_H

#include <linux/version.h>
#include <linux/kconfig.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "mmapra needs Linux 6.1 or newer"
#endif
#ifndef CONFIG_DYNAMIC_FTRACE
#error "mmapra needs a kernel with CONFIG_DYNAMIC_FTRACE"
#endif
#ifndef CONFIG_TASKS_RCU
#error "mmapra needs a kernel with CONFIG_TASKS_RCU"
#endif
#if !defined(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS) && \
	!defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
#error "mmapra needs a kernel whose ftrace can redirect functions"
#endif

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>

/*
 * Since 6.2 a callback reads arguments and sets the instruction pointer from
 * the few registers that ftrace saves anyway.  Before, that takes all of them.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) && \
	defined(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS)

#define COMPAT_FTRACE_FLAGS	0

static __always_inline unsigned long
compat_ftrace_argument(struct ftrace_regs *fregs, unsigned int n)
{
	return ftrace_regs_get_argument(fregs, n);
}

static __always_inline void
compat_ftrace_redirect(struct ftrace_regs *fregs, unsigned long ip)
{
	ftrace_regs_set_instruction_pointer(fregs, ip);
}

#else

#define COMPAT_FTRACE_FLAGS	FTRACE_OPS_FL_SAVE_REGS

static __always_inline unsigned long
compat_ftrace_argument(struct ftrace_regs *fregs, unsigned int n)
{
	return regs_get_kernel_argument(ftrace_get_regs(fregs), n);
}

static __always_inline void
compat_ftrace_redirect(struct ftrace_regs *fregs, unsigned long ip)
{
	instruction_pointer_set(ftrace_get_regs(fregs), ip);
}

#endif

/* Is an address in this module's code?  Code of __init is not meant. */
static __always_inline bool compat_in_module_text(unsigned long addr)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return addr - (unsigned long)THIS_MODULE->mem[MOD_TEXT].base <
	       THIS_MODULE->mem[MOD_TEXT].size;
#else
	return addr - (unsigned long)THIS_MODULE->core_layout.base <
	       THIS_MODULE->core_layout.text_size;
#endif
}

/* Per-VMA locks came with 6.4, their use for file faults with 6.6. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define FAULT_FLAG_VMA_LOCK	0
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
static inline void release_fault_lock(struct vm_fault *vmf)
{
	mmap_read_unlock(vmf->vma->vm_mm);
}
#endif

/* A page that is not there is NULL before 6.3, an ERR_PTR since. */
static inline struct folio *compat_get_folio(struct address_space *mapping,
					     pgoff_t index)
{
	struct folio *folio = filemap_get_folio(mapping, index);

	return IS_ERR_OR_NULL(folio) ? NULL : folio;
}

/* log2 of the pages in the largest folio that the file system takes */
static inline unsigned int compat_max_folio_order(struct address_space *mapping)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return mapping_large_folio_support(mapping) ?
	       mapping_max_folio_order(mapping) : 0;
#else
	/* MAX_PAGECACHE_ORDER is the kernel's own; 2 MiB is below it */
	return mapping_large_folio_support(mapping) ? 21 - PAGE_SHIFT : 0;
#endif
}

/*
 * page_cache_async_ra() takes the order of the folios it builds from the
 * file_ra_state since 6.17, before that from the folio passed to it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define COMPAT_RA_HAS_ORDER	1
#define COMPAT_RA_SET_ORDER(ra, o)	((ra)->order = (o))
#else
#define COMPAT_RA_HAS_ORDER	0
#define COMPAT_RA_SET_ORDER(ra, o)	((void)(o))
#endif

#endif
