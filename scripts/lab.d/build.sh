# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# lab build: compile the module for a kernel, outside of the source tree.

build_usage="usage: lab build [-o OUTDIR] [--src DIR] [KERNEL] [make arguments...]"

lab_build() {
	local src=$repo out='' selector=newest status=0
	local -a what=()
	while [ $# -gt 0 ]; do
		case $1 in
		-o) out=${2:?$build_usage}; shift 2 ;;
		--src) src=$(realpath -e -- "${2:?$build_usage}"); shift 2 ;;
		-h | --help) echo "$build_usage"; return ;;
		-*) break ;;
		*) break ;;
		esac
	done
	case ${1:-} in
	newest* | [1-9]*.[0-9]*) selector=$1; shift ;;
	esac
	need_root
	kernel_use "$selector"
	if [ -z "$out" ]; then
		out=$repo/build/$release
		[ "$src" = "$repo" ] || out=$out.$(basename "$src")
	fi
	mkdir -p "$out"
	out=$(realpath -e -- "$out")
	check_path "$src"
	check_path "$out"
	# From the repository only what makes the module; another directory is taken whole.
	if [ "$src" = "$repo" ]; then
		what=(/Kbuild /Makefile /src /include /scripts)
	else
		what=(/)
	fi
	(
		flock 8
		userland_enter "$(userland_dir "$family" "$version")" "$kernel_dir/root" / \
			"$src:/lab/src" "$out:$out" "$lab_d/build-in-userland:/lab/build" -- \
			/lab/build "$out" "$release" "${what[*]}" "$@"
	) 8> "$out/.lock" || status=$?
	[ "$status" -eq 0 ] || { say "build failed for $release ($out)"; return "$status"; }
	say "built for $release in $out"
}
