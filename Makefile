# SPDX-License-Identifier: GPL-2.0
#
# Makefile - what a person calls. The module itself is described in Kbuild, which the kernel's build system reads;
# make -C /lib/modules/V/build M=$PWD modules works without this file.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

# Where make install puts the module: below DESTDIR (or INSTALL_MOD_PATH, the kernel's word for it), / if unset
INSTALL_MOD_PATH ?= $(DESTDIR)
updates := $(INSTALL_MOD_PATH)/lib/modules/$(KVER)/updates
installed := $(updates)/mmapra.ko

kbuild = $(MAKE) -C $(KDIR) M=$(CURDIR)

# Options and names for the test command: make check TESTS="--kernel 6.12 reload"
TESTS ?=

modules: headers
	$(kbuild) modules

headers:
	@test -e $(KDIR)/Makefile || { \
		echo "No headers of kernel $(KVER) in $(KDIR)." >&2; \
		echo "On Debian: apt install linux-headers-$(KVER). Another kernel: make KVER=V" >&2; exit 1; }

# No modules_install without a build: root would own the objects of a user's tree
install: headers
	@test -e mmapra.ko || { echo "There is no mmapra.ko: make first." >&2; exit 1; }
	$(kbuild) INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) INSTALL_MOD_DIR=updates modules_install
	$(depmod)

# With the suffixes that kernels add when they compress modules
uninstall:
	rm -f $(installed) $(installed).gz $(installed).xz $(installed).zst
	rmdir --ignore-fail-on-non-empty $(updates) 2>/dev/null || true
	$(depmod)

# The kernel's own modules_install cannot be relied on for this: it wants a System.map that distributions do not ship.
# A staging directory without a kernel in it (packaging) gets no module index.
define depmod
@if test -e $(INSTALL_MOD_PATH)/lib/modules/$(KVER)/modules.order; then \
	echo "  DEPMOD  $(INSTALL_MOD_PATH)/lib/modules/$(KVER)"; \
	PATH="$$PATH:/usr/sbin:/sbin" depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(KVER); fi
endef

# By name and not by the kernel's clean target, so that it works when the headers are gone
clean:
	rm -rf .tmp_versions
	rm -f *.o *.ko *.mod *.mod.c .*.cmd .*.o .*.d modules.order Module.symvers
	rm -f src/*.o src/.*.cmd src/.*.d src/*.checked

# What the tests and the lab built or wrote down is in build/; what they fetched is removed by scripts/lab clean.
distclean: clean
	rm -rf build

demo:
	scripts/demo

check:
	tests/check $(TESTS)

check-all:
	tests/check --all $(TESTS)

check-engine:
	tests/check engine

check-static:
	tests/check static

help:
	@echo 'mmapra: readahead for mapped files, as a module for stock kernels'
	@echo
	@echo 'The module, for the kernel that runs ($(KVER)) or another one (KVER=V):'
	@echo '  make                 build mmapra.ko; wants linux-headers of that kernel'
	@echo '  insmod mmapra.ko     use it until the next boot; rmmod mmapra takes it out'
	@echo '  make install         put it where modprobe finds it (KVER, DESTDIR)'
	@echo '  make uninstall       take that away again'
	@echo '  make clean           remove what was built; distclean: and test results in build/'
	@echo 'With DKMS, which builds again after each kernel update, use dkms instead: see README.md.'
	@echo
	@echo 'See it work, on any Debian 12 or 13 machine, as root. All runs in virtual machines;'
	@echo 'the first time fetches kernels and tools into $${XDG_CACHE_HOME:-~/.cache}/mmapra:'
	@echo '  make demo            a table of loads with and without the module'
	@echo '  make check           all tests, guests on the newest kernel'
	@echo '  make check-all       and guests on the others, and DKMS of Debian 12'
	@echo '  make check-engine    the engine in user space, seconds'
	@echo '  make check-static    builds without warnings, sparse, checkpatch, shellcheck, docs'
	@echo '  make check TESTS="--kernel 6.12 reload"    some of them: tests/check --list'
	@echo '  scripts/lab          the virtual machines themselves: boot a kernel, run a command in it'
	@echo
	@echo 'Results and kernel logs: build/results/'

.PHONY: modules headers install uninstall clean distclean demo check check-all check-engine check-static help
