#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The hooks are taken, or ftrace is off: loading fails with one clear line, and nothing is left behind.
# MMAPRA_HOOKMOD: hookmod.ko, built from tests/guest/hookmod
# lab: --disk 4G --timeout 120
# kernels: all
set -u
. "$(dirname "$0")/lib.sh"
ktap_plan 16

hookmod=${MMAPRA_HOOKMOD:-$here/../../build/$(uname -r).hookmod/hookmod.ko}
[ -e "$hookmod" ] || bail "no $hookmod: build tests/guest/hookmod"

# refused ERROR CMD...: fails, and says this errno's text
refused() {
	local error=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "did not fail"
		return 1
	fi
	echo "$output"
	grep -q "$error" <<< "$output"
}

for function in filemap_fault filemap_map_pages; do
	check "hookmod takes $function" insmod "$hookmod" "function=$function"
	log_mark
	check "then loading fails with EBUSY" refused "resource busy" module_load
	check "the line names the function" log_since "mmapra: .*$function"
	check "nothing is left behind" test ! -d /sys/module/mmapra
	rmmod hookmod
done

check "the module loads after that" module_load
check "then hookmod fails with EBUSY" refused "resource busy" insmod "$hookmod"
check "ftrace cannot be switched off under the module" refused "" sysctl -q -w kernel.ftrace_enabled=0
check "it unloads" module_unload

if sysctl -q -w kernel.ftrace_enabled=0 2> /dev/null && [ "$(sysctl -n kernel.ftrace_enabled)" = 0 ]; then
	log_mark
	check "ftrace is off: loading fails" refused "" module_load
	check "the line says so" log_since "mmapra: .*ftrace"
	check "nothing is left behind" test ! -d /sys/module/mmapra
	sysctl -q -w kernel.ftrace_enabled=1
else
	skip "ftrace is off: loading fails" "this kernel does not let it be switched off"
	skip "the line says so" "as above"
	skip "nothing is left behind" "as above"
fi
check "loads and unloads after all that" eval 'module_load && module_unload'
