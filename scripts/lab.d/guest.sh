# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# lab run: boot a kernel in QEMU and run one command in it.

run_usage="usage: lab run [options] KERNEL -- CMD ARGS...
  --mem SIZE         memory of the guest (3G)
  --smp N            processors (2)
  --timeout SEC      how long the command may take (900)
  --one-thread       without KVM, all processors take turns in one thread: slower, and right where the guest patches its
                     own code under load (QEMU with a thread for each may then run stale code: an int3 oops)
  --icount           guest time counts instructions: one processor, 1 ns is 1 instruction
  --disk SIZE[,FILE] a scratch disk: /dev/vda, /dev/vdb...; FILE keeps it
  --append STR       more kernel parameters
  --modules DIR      directory of mmapra.ko, seen as /modules (build/RELEASE of the repository)
  --out DIR          where results go, seen as /out (build/results/NAME)
  --name NAME        name of the run (the command's name and the kernel)
  --env K=V          environment variable for the command
  --expect-log RE    kernel log lines that may look like trouble
Exit status: the command's; 123 the kernel log has trouble, 124 timeout, 125 the guest died."

lab_run() {
	local mem=3G smp=2 limit=900 icount='' threads=multi append='' modules='' out='' name='' selector status=0 tries=0 i=0 disk
	local -a env=() disks=() expect=() qemu=() binds=()
	while [ $# -gt 0 ]; do
		case $1 in
		--mem) mem=$2; shift 2 ;;
		--smp) smp=$2; shift 2 ;;
		--timeout) limit=$2; shift 2 ;;
		--icount) icount=y; shift ;;
		--one-thread) threads=single; shift ;;
		--disk) disks+=("$2"); shift 2 ;;
		--append) append="$append $2"; shift 2 ;;
		--modules) modules=$(realpath -e -- "$2"); shift 2 ;;
		--out) out=$2; shift 2 ;;
		--name) name=$2; shift 2 ;;
		--env) env+=("$2"); shift 2 ;;
		--expect-log) expect+=("$2"); shift 2 ;;
		-h | --help) echo "$run_usage"; return ;;
		-*) die "unknown option $1
$run_usage" ;;
		*) break ;;
		esac
	done
	if [ $# -lt 3 ] || [ "$2" != -- ]; then
		echo "$run_usage" >&2
		exit 2
	fi
	selector=$1
	shift 2
	need_root
	kernel_use "$selector"
	name=${name:-$(basename "$1")-$selector}
	out=${out:-$repo/build/results/$name}
	mkdir -p "$out"
	out=$(realpath -e -- "$out")
	check_path "$repo"
	check_path "$out"
	guest_job "$@" > "$out/.job"

	# shellcheck disable=SC2207,SC2054 # options are split into words, and have commas
	qemu=(qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -m "$mem"
		-machine pc,hpet=off,i8042=off -kernel /lab/kernel -initrd /lab/initrd
		-chardev file,id=console,path=/lab/out/console -serial chardev:console
		-device virtio-serial-pci -chardev file,id=cmd,path=/proc/self/fd/1 -device virtserialport,chardev=cmd,name=lab.cmd
		-device virtio-rng-pci
		$(guest_share root /lab/root ro) $(guest_share repo /lab/repo ro)
		$(guest_share modules /lab/modules ro) $(guest_share out /lab/out rw))
	if [ -n "$icount" ]; then
		qemu+=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -cpu max -smp 1)
	else
		# shellcheck disable=SC2207,SC2054 # options are split into words, and have commas
		qemu+=($(accel_options | sed "s/thread=multi/thread=$threads/") -smp "$smp")
	fi
	binds=("$kernel_dir/vmlinux:/lab/kernel" "$initrd:/lab/initrd" "$(userland_dir trixie):/lab/root"
		"$repo:/lab/repo" "$kernel_dir/root/usr/lib/modules:/lab/modules" "$out:/lab/out")
	if [ -n "$modules" ]; then
		binds+=("$modules:/lab/ko")
		# shellcheck disable=SC2207,SC2054 # options are split into words, and have commas
		qemu+=($(guest_share ko /lab/ko ro))
		append="$append lab.ko"
	fi
	for disk in "${disks[@]}"; do
		guest_disk "$disk" "$i"
		i=$((i + 1))
	done
	# The guest ends a command that takes too long by itself, to leave a log with the blocked tasks. QEMU is stopped
	# a little later if that did not work. With icount the guest's clock is not ours.
	[ -n "$icount" ] || append="$append lab.limit=$limit"
	# panic=-1 with -no-reboot ends QEMU at once; an oops is a panic, since nothing after it can be trusted.
	qemu+=(-append "console=ttyS0 loglevel=5 panic=-1 oops=panic log_buf_len=4M tsc=reliable no_timer_check$append")

	# Without KVM a guest hangs now and then while it boots, on a busy host, for want of a timer interrupt: that says
	# nothing about the command, which has not started, so it is tried again.
	while :; do
		guest_boot
		[ -e "$out/.hung" ] || break
		tries=$((tries + 1))
		[ "$tries" -lt 3 ] || break
		say "the guest hung while booting, trying again"
	done
	rm -f "$out"/.disk*
	guest_verdict "$status"
}

# One boot of the guest. Sets status.
guest_boot() {
	local pipe pid cat_pid boot_limit=60
	[ -z "$icount" ] || boot_limit=180
	rm -f "$out"/{status,timeout,dmesg,console,qemu.log,.started,.hung}
	status=0
	# The output goes through a cat: QEMU opens its end anew, which neither truncates a file nor fails on a socket.
	exec {pipe}> >(exec cat)
	cat_pid=$!
	userland_exec "$(userland_dir trixie)" "" / "${binds[@]}" -- \
		timeout --foreground -k 10 $((limit + boot_limit + 15)) "${qemu[@]}" \
		< /dev/null 1>&"$pipe" 2> "$out/qemu.log" &
	pid=$!
	exec {pipe}>&-
	trap 'kill "$pid" 2>/dev/null; wait "$pid"; rm -f "$out"/.disk*; exit 130' INT TERM HUP
	guest_watch_boot "$pid" "$boot_limit" > /dev/null 2>&1 &
	wait "$pid" || status=$?
	wait "$cat_pid" || true
	trap - INT TERM HUP
}

# Stop QEMU if the command has not started in time
guest_watch_boot() {
	local pid=$1 left=$2
	while [ "$left" -gt 0 ] && [ ! -e "$out/.started" ]; do
		sleep 1
		kill -0 "$pid" || return 0
		left=$((left - 1))
	done
	[ ! -e "$out/.started" ] || return 0
	: > "$out/.hung"
	kill "$pid"
}

# the job as a script that guest-job runs
guest_job() {
	local pair ko=/mmapra/build/$release/mmapra.ko
	[ -z "$modules" ] || ko=/modules/mmapra.ko
	printf 'export MMAPRA_KO=%q\n' "$ko"
	for pair in "${env[@]}"; do
		printf 'export %s=%q\n' "${pair%%=*}" "${pair#*=}"
	done
	printf 'cd /mmapra && exec'
	printf ' %q' "$@"
	printf '\n'
}

guest_share() {
	local ro=
	[ "$3" = rw ] || ro=,readonly=on
	echo "-fsdev local,id=$1,path=$2,security_model=none,multidevs=remap$ro -device virtio-9p-pci,fsdev=$1,mount_tag=lab.$1"
}

# One disk: a sparse file. Not synced to the host's disk: it need not outlive a crash of the host.
guest_disk() {
	local size=${1%%,*} file=$out/.disk$2
	case $1 in
	*,*)
		file=${1#*,}
		mkdir -p "$(dirname "$file")"
		file=$(realpath -m -- "$file") ;;
	*) rm -f "$file" ;;
	esac
	[ -e "$file" ] || truncate -s "$size" "$file"
	check_path "$file"
	binds+=("$file:/lab/disk$2")
	qemu+=(-drive "if=virtio,format=raw,cache=unsafe,discard=unmap,file=/lab/disk$2")
}

# Silence is failure: only a status written by the guest counts.
guest_verdict() {
	local qemu_status=$1 status
	if [ -s "$out/status" ]; then
		status=$(cat "$out/status")
	elif [ -e "$out/timeout" ]; then
		say "timeout: the command ran for $limit s (blocked tasks: $out/dmesg)"
		status=124
	elif [ -e "$out/.hung" ]; then
		say "the guest did not get to start the command (console: $out/console)"
		status=125
	elif [ "$qemu_status" -eq 124 ] || [ "$qemu_status" -eq 137 ]; then
		say "timeout: the guest was stopped after $limit s (console: $out/console)"
		status=124
	else
		say "the guest died before the command ended (QEMU: $qemu_status, console: $out/console)"
		{ grep -v '^$' "$out/qemu.log" | tail -n 5 | sed 's/^/lab: qemu: /' >&2; } || true
		tail -n 5 "$out/console" 2>/dev/null | tr -d '\r' | sed 's/^/lab: console: /' >&2
		status=125
	fi
	if ! log_scan "$out" "${expect[@]}"; then
		[ "$status" -ne 0 ] || status=123
	fi
	return "$status"
}
