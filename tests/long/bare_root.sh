#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/long/bare_root.sh [NAME...]: `make test`, `make demo` and `.ci/run`, or the named ones of them, each as the
# only command in a fresh clone on a bare Debian (or Ubuntu) root that has nothing but `make`. Release and mirror are
# those of this machine's own apt settings. Containers often have no /sys, and there PoCL aborts: the tests run once
# with it (in .ci/run) and once without. The logs stay in build/bare_root.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"

# Name, /sys, command.
rows='test  without  make test
demo  without  make demo
ci    with     dpkg --purge make && .ci/run' # a machine of CI may not even have make

skip() {
    echo "skipped: $1"
    exit 77
}

# All mounts are made in a mount namespace of our own: they vanish with it, before the folder is removed.
if [ "${1-}" != inside ]; then
    for name; do
        grep -q "^$name " <<<"$rows" || { echo "bare_root.sh: no row '$name'; there are test, demo, ci" >&2; exit 2; }
    done
    [ "$(id -u)" = 0 ] || skip "chroot needs root"
    command -v apt-get >/dev/null || skip "this is no system with apt"
    chroot / true 2>/dev/null || skip "chroot is not permitted"
    unshare --mount true 2>/dev/null || skip "mounts are not permitted"
    folder=$(mktemp -d)
    trap 'rm -rf --one-file-system "$folder"' EXIT
    status=0
    unshare --mount --propagation private "$0" inside "$folder" "$@" || status=$?
    exit $status
fi

folder=$2
shift 2
wanted=" ${*:-test demo ci} "
tree=$(cd "$(dirname "$0")/../.." && pwd)
logs="$tree/build/bare_root"
mkdir -p "$logs"
. /etc/os-release

# "URI release component settings-file:entry" of each package index of apt, whatever the form of its settings
indexes=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(SOURCESENTRY)' 'Identifier: Packages')
own=$(awk -v release="${VERSION_CODENAME-}" '$2 == release && $3 == "main"' <<<"$indexes" | head -n 1)
read -r mirror release _ entry <<<"$own" || true
[ -n "${mirror-}" ] || skip "apt's settings name no mirror of ${VERSION_CODENAME-this release}"
components=$(awk -v m="$mirror" -v r="$release" '$1 == m && $2 == r { print $3 }' <<<"$indexes" | sort -u)
keyring=$(grep -i 'signed-by' "${entry%:*}" | grep -o '/[^] ,]*\.gpg' | head -n 1 || true)

proxy_of() { # http or https, as apt has it
    apt-config shell value "Acquire::$1::Proxy" | sed -n "s/^value='\(.*\)'$/\1/p" | grep -v DIRECT || true
}
for scheme in http https; do
    proxy=$(proxy_of $scheme)
    if [ -n "$proxy" ]; then export "${scheme}_proxy=$proxy"; fi
done

copy_in() { # FILE OR FOLDER...: to the same place below $folder/bare
    local path
    for path; do
        [ -e "$path" ] || continue
        mkdir -p "$folder/bare/$(dirname "$path")"
        cp -aLT "$path" "$folder/bare/$path"
    done
}

make_bare() {
    debootstrap --variant=minbase --include=make ${keyring:+"--keyring=$keyring"} \
        "$release" "$folder/bare" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
        { tail -n 5 "$folder/debootstrap.log"; return 1; }
    echo "deb ${keyring:+[signed-by=$keyring] }$mirror $release" $components >"$folder/bare/etc/apt/sources.list"
    # How this machine reaches its mirror: proxies, certificates, timeouts; and the files these settings name.
    apt-config dump | grep '^Acquire::' | grep -v '::cdrom' >"$folder/bare/etc/apt/apt.conf.d/90machine"
    if [ -n "${PIP_CERT-}" ]; then cp -L "$PIP_CERT" "$folder/bare/etc/machine.crt"; fi # where no package puts its own
    copy_in $keyring /etc/resolv.conf /etc/hosts /etc/ssl/certs /etc/apt/trusted.gpg.d \
        $(sed -n 's/.* "\(\/[^"]*[^"/]\)";$/\1/p' "$folder/bare/etc/apt/apt.conf.d/90machine")
}

run_in_bare() { # NAME with|without COMMAND: in a fresh clone in a fresh copy of the bare root
    local root="$folder/root" log="$logs/$1.log" start=$SECONDS status=0
    cp -a "$folder/bare" "$root"
    git clone --quiet --no-hardlinks "$tree" "$root/stoker"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts" # pseudo terminals, as every machine has them
    ln -sf pts/ptmx "$root/dev/ptmx"
    if [ "$2" = with ]; then mount -t sysfs -o ro sysfs "$root/sys"; fi
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin CI=true ${http_proxy:+"http_proxy=$http_proxy"} \
        ${https_proxy:+"https_proxy=$https_proxy"} ${PIP_CERT:+"PIP_CERT=/etc/machine.crt"} chroot "$root" sh -c "cd /stoker && $3" >"$log" 2>&1 </dev/null ||
        status=$?
    if [ "$2" = with ]; then umount "$root/sys"; fi
    umount "$root/dev/pts" "$root/dev/shm" "$root/proc"
    rm -rf --one-file-system "$root"
    grep '^setup:' "$log" || true
    tail -n $((status == 0 ? 1 : 30)) "$log"
    echo "$1 on bare $release $2 /sys: status $status after $((SECONDS - start)) s"
    return $status
}

make_bare
while read -r name sys command; do
    case "$wanted" in *" $name "*) run_in_bare "$name" "$sys" "$command" ;; esac
done <<<"$rows"
