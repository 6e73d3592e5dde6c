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
. "$(dirname "$0")/bare_debian"

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

make_bare make
reach_mirror
while read -r name sys command; do
    case "$wanted" in *" $name "*) run_in_bare "$name" "$sys" "$command" ;; esac
done <<<"$rows"
