# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the parts share variables
# The Debian archive: where it is, what it has, how to get a package from it. Everything goes through the host's
# apt with a state directory of its own, so the host's sources, lists and installed packages are never touched.

# A family is a userland's suite with what is added to it. Kernels of a family are built in its userland.
families="trixie bookworm sid"
family_suites() {
	case $1 in
	trixie) echo trixie trixie-updates trixie-backports ;;
	bookworm) echo bookworm bookworm-updates ;;
	sid) echo sid ;;
	*) die "unknown suite $1 (known: $families)" ;;
	esac
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The address of the archive with the label $1 that the machine itself uses
# shellcheck disable=SC2016 # expanded by apt
archive_of_apt() {
	apt-get indextargets --format '$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)' "Created-By: Packages" 2>/dev/null |
		awk -v label="$1" '$1 == "Debian" && $2 == label && $3 == "main" && !n++ { print $4 }'
}

archive_mirror() { echo "${MMAPRA_MIRROR:-$(archive_of_apt Debian)}"; }

# The security archive lives at another address. Optional: without it the suites' own kernels are used.
archive_security() { echo "${MMAPRA_MIRROR_SECURITY:-$(archive_of_apt Debian-Security)}"; }

# deb lines of a family
archive_sources() {
	local family=$1 suite mirror security
	mirror=$(archive_mirror)
	if [ -z "$mirror" ]; then
		# a machine that never ran it: what apt has configured is named in the lists only
		apt-get -qq update > /dev/null 2>&1 || true
		mirror=$(archive_mirror)
	fi
	[ -n "$mirror" ] ||
		die "apt knows no Debian archive, or apt-get update fails (no network?); MMAPRA_MIRROR=URL names one"
	[ -r "$keyring" ] || die "no $keyring: this is not Debian, or the package debian-archive-keyring is missing"
	for suite in $(family_suites "$family"); do
		echo "deb [signed-by=$keyring] $mirror $suite main"
	done
	security=$(archive_security)
	if [ -n "$security" ] && [ "$family" != sid ]; then
		echo "deb [signed-by=$keyring] $security $family-security main"
	fi
}

# run an apt tool on the family's private state
archive_apt() {
	local family=$1 tool=$2
	shift 2
	"$tool" -o "Dir=$cache/apt/$family" -o Dir::State::status="$cache/apt/$family/status" \
		-o APT::Sandbox::User=root -o APT::Architecture=amd64 -o APT::Architectures::=amd64 \
		-o Acquire::Languages=none -o Acquire::Retries=1 -o Acquire::http::Timeout=10 \
		-o APT::Update::Error-Mode=any -o Debug::NoLocking=1 "$@"
}

# Set once the network was seen to be down, so that its time limit is waited for only once
archive_down=

# Bring the family's package lists up to date unless they are younger than $2 minutes. False if that failed.
archive_update() {
	local family=$1 age=$2 dir=$cache/apt/$1
	younger "$dir/updated" "$age" && return 0
	[ -z "$archive_down" ] || return 1
	mkdir -p "$dir/etc/apt/apt.conf.d" "$dir/etc/apt/preferences.d" "$dir/var/lib/apt/lists/partial" \
		"$dir/var/cache/apt/archives/partial"
	: > "$dir/status"
	archive_sources "$family" > "$dir/etc/apt/sources.list"
	say "reading the package lists of $family"
	if archive_apt "$family" apt-get -qq update > "$dir/log" 2>&1; then
		touch "$dir/updated"
		return
	fi
	say "cannot reach the archive: $(grep -m 1 '^[EW]:' "$dir/log")"
	! grep -qiE 'resolv|connect|unreachable|timed out' "$dir/log" || archive_down=y
	return 1
}

# All versions of a package in a family: "VERSION SUITE", newest first
archive_versions() {
	archive_apt "$1" apt-cache madison "$2" 2>/dev/null |
		awk -F ' *[|] *' '{ split($3, a, " "); sub("/.*", "", a[2]); print $2, a[2] }'
}

# One field of one package in one version
archive_field() {
	local family=$1 package=$2 version=$3 field=$4
	archive_apt "$family" apt-cache show "$package=$version" 2>/dev/null |
		sed -n "s/^$field: //p" | head -n 1
}

# Fetch packages (NAME=VERSION...) into the current directory; checksums are apt's business.
archive_download() {
	local family=$1
	shift
	archive_apt "$family" apt-get -qq download "$@"
}
