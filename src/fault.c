// SPDX-License-Identifier: GPL-2.0
/*
 * fault.c - the two wrappers: a fault in, a decision out
 *
 * filemap_map_pages() maps what is cached around a fault; if the fault's page
 * was among it, the fault is done.  Else filemap_fault() finds the page or
 * reads it.  Both are hooked at their entry.
 *
 * Nearly all faults are on cached pages.  The hooks' callbacks tell these
 * apart without a lock, a reference or a write, and let them go on to the
 * original as if there were no hook.  Only the others are sent to a wrapper:
 *
 *   map_pages	if the range to be mapped touches a zone (see engine.c): the
 *		wrapper leaves the zone out of the range, and maps nothing if
 *		the fault itself is in the zone, so that it comes to
 *   fault	which is wrapped if the page is missing, on its way, in a zone,
 *		carries the readahead mark, or is part of a large folio whose
 *		read failed.
 *		The wrapper asks the engine, starts the reads, and lets the
 *		original find the page.
 *
 * The fault lock (mmap_lock or the VMA's) is dropped for the read when and how
 * filemap_fault() does it, with one exception (see unlock_for_io()); the return
 * codes are its own.
 *
 * Leaving.  The fault wrapper sleeps, so it runs inside an SRCU read-side
 * section that fault_disarm() waits for.  What is executed outside of it, and
 * the other wrapper, never sleep voluntarily: synchronize_rcu_tasks() waits
 * for that.
 *
 * This object is built without tail calls, see hook.h.
 */
#include <linux/blkdev.h>
#include <linux/dax.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/vmstat.h>
#include "fault.h"
#include "files.h"
#include "hook.h"
#include "knobs.h"
#include "stats.h"
#include "window.h"

/* Steps of a page cache walk under an entry's lock, some 10 microseconds */
#define RUN_LIMIT	1024UL

DEFINE_STATIC_SRCU(fault_srcu);

/*
 * The proof of the hooks: a fault on page 0 of an empty file, made up here.
 * The originals find nothing in it (SIGBUS, no page mapped); a hook that works
 * redirects it to the wrapper, which notes it.
 */
struct proof {
	struct vm_area_struct vma;
	struct file file;
	struct address_space mapping;
	struct inode inode;
};

static struct vm_fault *proof_fault;	/* NULL but during a proof */
static bool proven;

/* The callbacks: is there anything to do? */

/**
 * enum page_state - what a fault will find
 * @PAGE_CACHED:	the page
 * @PAGE_PENDING:	its read under way
 * @PAGE_MISSING:	nothing
 * @PAGE_MARKED:	the page, with the readahead mark
 * @PAGE_FAILED:	a large folio that could not be read
 */
enum page_state {
	PAGE_CACHED,
	PAGE_PENDING,
	PAGE_MISSING,
	PAGE_MARKED,
	PAGE_FAILED,
};

static __always_inline enum page_state
page_state(struct address_space *mapping, pgoff_t index)
{
	enum page_state state = PAGE_CACHED;
	struct folio *folio;

	rcu_read_lock();
	folio = xa_load(&mapping->i_pages, index);
	/* It may be freed and reused by now; struct pages stay readable. */
	if (!folio || xa_is_value(folio))
		state = PAGE_MISSING;
	else if (folio_test_readahead(folio))
		state = PAGE_MARKED;
	else if (likely(folio_test_uptodate(folio)))
		state = PAGE_CACHED;
	else if (folio_test_locked(folio))
		state = PAGE_PENDING;
	else if (folio_test_large(folio) && window_read_failed(folio))
		state = PAGE_FAILED;
	rcu_read_unlock();
	return state;
}

static __always_inline bool want_fault(const struct vm_fault *vmf)
{
	const struct file *file = vmf->vma->vm_file;
	enum page_state state = page_state(file->f_mapping, vmf->pgoff);
	struct file_entry *entry;

	if (unlikely(vmf->flags & FAULT_FLAG_TRIED)) {
		/* The read was made, and its page is gone again. */
		if (state == PAGE_MISSING)
			stats_inc(fallback_retried);
		return state == PAGE_FAILED;
	}
	if (state != PAGE_CACHED && state != PAGE_PENDING)
		return true;
	entry = openfiles_peek(file);
	return entry && (state == PAGE_PENDING ||
			 engine_zone_contains(&entry->engine, vmf->pgoff));
}

static __always_inline bool want_map_pages(const struct vm_fault *vmf,
					   pgoff_t first, pgoff_t last)
{
	struct file_entry *entry;

	entry = openfiles_peek(vmf->vma->vm_file);
	return entry && engine_zone_near(&entry->engine, first, last);
}

static vm_fault_t wrap_fault(struct vm_fault *vmf);
static vm_fault_t wrap_map_pages(struct vm_fault *vmf, pgoff_t first,
				 pgoff_t last);

static void notrace on_fault(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct vm_fault *vmf = (void *)hook_argument(fregs, 0);

	if (hook_from_module(parent_ip) ? vmf == READ_ONCE(proof_fault) :
	    want_fault(vmf))
		hook_redirect(fregs, wrap_fault);
}

static void notrace on_map_pages(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops,
				 struct ftrace_regs *fregs)
{
	struct vm_fault *vmf = (void *)hook_argument(fregs, 0);

	if (hook_from_module(parent_ip) ? vmf == READ_ONCE(proof_fault) :
	    want_map_pages(vmf, hook_argument(fregs, 1),
			   hook_argument(fregs, 2)))
		hook_redirect(fregs, wrap_map_pages);
}

/*
 * The end of an open file, before its memory can become another's.  Runs for
 * each file that is closed; costs a look at one cache line for most.
 */
static void notrace on_fput(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	openfiles_forget((const struct file *)hook_argument(fregs, 0));
}

/* What the engine wants to know */

static unsigned long cached_run(void *priv, unsigned long page, int step,
				unsigned long max)
{
	struct address_space *mapping = priv;
	unsigned long run;

	max = min(max, RUN_LIMIT);
	rcu_read_lock();
	/* both return a page outside the range if none is missing */
	if (step > 0)
		run = page_cache_next_miss(mapping, page, max) - page;
	else
		run = page - page_cache_prev_miss(mapping, page, max);
	rcu_read_unlock();
	return min(run, max);
}

/* Pages in a huge page, if the mapping wants and the file can have them */
static unsigned long huge_pages(const struct vm_fault *vmf, unsigned int order)
{
	if (!IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) ||
	    !(vmf->vma->vm_flags & VM_HUGEPAGE))
		return 0;
	/* like filemap_fault(), none above 2 MiB */
	order = min_t(unsigned int, order, get_order(SZ_2M));
	return order ? 1UL << order : 0;
}

/*
 * Fill in what a decision depends on; false if the fault is the kernel's to
 * handle.
 */
static bool look_around(const struct vm_fault *vmf, struct engine_env *env)
{
	const struct file *file = vmf->vma->vm_file;
	struct address_space *mapping = file->f_mapping;
	struct inode *inode = mapping->host;
	const unsigned long flags = vmf->vma->vm_flags;
	unsigned int kb = READ_ONCE(knobs.max_window_kb);

	if (flags & VM_EXEC || IS_DAX(inode)) {
		stats_inc(fallback_special);
		return false;
	}
	env->random = flags & VM_RAND_READ;
	if (env->random && !READ_ONCE(knobs.verify_random)) {
		stats_inc(fallback_random);
		return false;
	}
	if (!knobs_manage(inode->i_sb->s_type) ||
	    (!mapping->a_ops->readahead && !mapping->a_ops->read_folio)) {
		stats_inc(fallback_filesystem);
		return false;
	}
	if (!file->f_ra.ra_pages) {
		stats_inc(fallback_off);
		return false;
	}
	env->max_order = compat_max_folio_order(mapping);
	env->huge_pages = huge_pages(vmf, env->max_order);
	if (env->huge_pages && !window_can_choose_order()) {
		stats_inc(fallback_huge);
		return false;
	}
	env->file_pages = DIV_ROUND_UP(i_size_read(inode), PAGE_SIZE);
	if (vmf->pgoff >= env->file_pages)
		return false;	/* the kernel knows how to say SIGBUS */
	env->max_pages = kb ? max(kb >> (PAGE_SHIFT - 10), 1U) :
			      file->f_ra.ra_pages;
	env->streams = READ_ONCE(knobs.streams);
	env->sequential = flags & VM_SEQ_READ;
	env->bulk = !(vmf->flags & FAULT_FLAG_USER);
	env->restart = READ_ONCE(knobs.restart);
	env->backward = READ_ONCE(knobs.backward);
	env->stride = READ_ONCE(knobs.stride);
	env->cached_run = cached_run;
	env->priv = mapping;
	return true;
}

static void count_window(const struct engine_window *w)
{
	stats_inc(windows);
	stats_add(pages_read, w->pages * w->len);
	if (w->step == -1)
		stats_inc(backward_windows);
	else if (w->step != 1)
		stats_inc(strided_windows);
	if (w->why == ENGINE_FIRST)
		stats_inc(first_touches);
	else if (w->why == ENGINE_START)
		stats_inc(restarts);
	else if (w->why == ENGINE_AHEAD)
		stats_inc(boundaries);
}

/*
 * Drop the fault lock for the time of a read, as maybe_unlock_mmap_for_io() in
 * mm/internal.h does: on the first try, where the caller can try again.
 * Returns the open file with a reference if the lock was dropped: vmf->vma
 * must not be touched any more then.
 *
 * With one exception: a fault by the kernel on behalf of a program, as from
 * get_user_pages(), on a page that is there (@ahead).  Under mmap_lock a fault
 * that is tried again counts as a major one, whatever it says itself, and here
 * nobody waits.  Such callers hold the lock for many pages anyway.
 */
static struct file *unlock_for_io(struct vm_fault *vmf, bool ahead)
{
	struct file *file;

	if (!fault_flag_allow_retry_first(vmf->flags) ||
	    vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return NULL;
	if (ahead && !(vmf->flags & (FAULT_FLAG_USER | FAULT_FLAG_VMA_LOCK)))
		return NULL;
	file = get_file(vmf->vma->vm_file);
	release_fault_lock(vmf);
	return file;
}

/* Wait for a page's read, so that the second try need not, with the lock. */
static void wait_for_page(struct address_space *mapping, pgoff_t index,
			  unsigned int flags)
{
	struct folio *folio = compat_get_folio(mapping, index);

	if (!folio)
		return;
	if (flags & FAULT_FLAG_KILLABLE)
		folio_wait_locked_killable(folio);
	else
		folio_wait_locked(folio);
	folio_put(folio);
}

static vm_fault_t original_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = filemap_fault(vmf);

	return ret;
}

/* Nobody decides for this file any more: no zone must divert its faults. */
static vm_fault_t hand_back(struct vm_fault *vmf)
{
	if (!(vmf->vma->vm_flags & (VM_EXEC | VM_RAND_READ)))
		openfiles_forget(vmf->vma->vm_file);
	return original_fault(vmf);
}

/*
 * One bad page makes a large folio unreadable, and the original would give up
 * all of its pages.  Read alone, only the bad one is lost.
 */
static vm_fault_t read_alone(struct vm_fault *vmf)
{
	struct file *file = vmf->vma->vm_file;

	if (window_drop_folio(file->f_mapping, vmf->pgoff)) {
		const struct engine_window w = {
			.start = vmf->pgoff, .pages = 1, .step = 1, .len = 1,
		};

		stats_inc(failed_folios);
		window_read(file, &w);
	}
	return original_fault(vmf);
}

static vm_fault_t handle_fault(struct vm_fault *vmf)
{
	struct file *file = vmf->vma->vm_file, *pinned;
	struct address_space *mapping = file->f_mapping;
	const pgoff_t index = vmf->pgoff;
	vm_fault_t major = 0, ret;
	struct file_entry *entry;
	struct engine_window w;
	enum page_state state;
	struct engine_env env;
	bool missing;

	if (!look_around(vmf, &env))
		return hand_back(vmf);

	state = page_state(mapping, index);
	if (state == PAGE_FAILED)
		return read_alone(vmf);
	if (vmf->flags & FAULT_FLAG_TRIED)
		return original_fault(vmf);
	missing = state == PAGE_MISSING;
	entry = openfiles_lock(file, missing || state == PAGE_MARKED);
	if (!entry) {
		/* a hit for a file that is gone, or no room for a miss */
		if (missing)
			stats_inc(fallback_busy);
		return original_fault(vmf);
	}
	if (missing)
		engine_miss(&entry->engine, &env, index, &w);
	else
		engine_hit(&entry->engine, &env, index, state == PAGE_MARKED,
			   state == PAGE_PENDING, &w);
	openfiles_unlock(entry);

	if (missing) {
		/* The original will find the page and not count it. */
		count_vm_event(PGMAJFAULT);
		major = VM_FAULT_MAJOR;
		stats_inc(misses);
	} else if (state == PAGE_MARKED) {
		/* It would read ahead there by the file's own state. */
		window_clear_mark(mapping, index);
	}
	if (!w.pages)
		return original_fault(vmf);
	count_window(&w);

	pinned = unlock_for_io(vmf, !missing);
	window_read(file, &w);
	if (pinned) {
		wait_for_page(mapping, index, vmf->flags);
		fput(pinned);
		return major | VM_FAULT_RETRY;
	}
	ret = original_fault(vmf);
	/* as the original: no major bit beside an error */
	if (!(ret & VM_FAULT_ERROR))
		ret |= major;
	return ret;
}

static vm_fault_t wrap_fault(struct vm_fault *vmf)
{
	vm_fault_t ret;
	int srcu;

	srcu = srcu_read_lock(&fault_srcu);
	if (unlikely(vmf == READ_ONCE(proof_fault))) {
		WRITE_ONCE(proven, true);
		ret = VM_FAULT_SIGBUS;
	} else {
		ret = handle_fault(vmf);
	}
	srcu_read_unlock(&fault_srcu, srcu);
	return ret;
}

/* Called under rcu_read_lock() on 6.12 and later: must not sleep. */
static vm_fault_t wrap_map_pages(struct vm_fault *vmf, pgoff_t first,
				 pgoff_t last)
{
	const unsigned long flags = vmf->vma->vm_flags;
	struct file_entry *entry;
	vm_fault_t ret;

	if (unlikely(vmf == READ_ONCE(proof_fault))) {
		WRITE_ONCE(proven, true);
		return 0;
	}
	entry = openfiles_peek(vmf->vma->vm_file);
	if (entry && !(flags & VM_EXEC) &&
	    (!(flags & VM_RAND_READ) || READ_ONCE(knobs.verify_random))) {
		if (engine_zone_contains(&entry->engine, vmf->pgoff))
			return 0;
		engine_zone_clip(&entry->engine, vmf->pgoff, &first, &last);
	}
	ret = filemap_map_pages(vmf, first, last);
	return ret;
}

/* The proof */

static bool prove(vm_fault_t (*call)(struct vm_fault *vmf))
{
	struct proof *p = kzalloc(sizeof(*p), GFP_KERNEL);
	bool fires;

	if (!p)
		return false;
	p->vma.vm_file = &p->file;
	p->file.f_mapping = &p->mapping;
	p->file.f_inode = &p->inode;
	p->mapping.host = &p->inode;
	p->inode.i_mapping = &p->mapping;
	xa_init_flags(&p->mapping.i_pages, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	{
		struct vm_fault vmf = { .vma = &p->vma };

		WRITE_ONCE(proven, false);
		WRITE_ONCE(proof_fault, &vmf);
		call(&vmf);
		WRITE_ONCE(proof_fault, NULL);
	}
	fires = READ_ONCE(proven);
	kfree(p);
	return fires;
}

static vm_fault_t call_map_pages(struct vm_fault *vmf)
{
	vm_fault_t ret = filemap_map_pages(vmf, 0, 0);

	return ret;
}

static bool fault_fires(void)
{
	return prove(original_fault);
}

static bool map_pages_fires(void)
{
	return prove(call_map_pages);
}

static struct hook hooks[] = {
	{
		/* first: no state without its end being seen */
		.name		= "__fput",
		.callback	= on_fput,
	}, {
		.name		= "filemap_map_pages",
		.addr		= (unsigned long)filemap_map_pages,
		.callback	= on_map_pages,
		.redirects	= true,
		.fires		= map_pages_fires,
	}, {
		.name		= "filemap_fault",
		.addr		= (unsigned long)filemap_fault,
		.callback	= on_fault,
		.redirects	= true,
		.fires		= fault_fires,
	},
};

int fault_arm(void)
{
	int err = hook_attach(hooks, ARRAY_SIZE(hooks));

	/* a hook may have fired before a later one failed */
	if (err)
		fault_disarm();
	return err;
}

int fault_disarm(void)
{
	int err = hook_detach(hooks, ARRAY_SIZE(hooks));

	if (err)
		return err;
	/* those on their way into a wrapper, those in it, those on the way out */
	synchronize_rcu_tasks();
	synchronize_srcu(&fault_srcu);
	synchronize_rcu_tasks();
	openfiles_forget_all();
	return 0;
}
