#!/bin/sh
# First process of a guest: mounts file systems, sets the tunables of /jobs/tunables, runs the jobs in order, sends a
# record of each through the second serial port, and switches the machine off.
#
# A record is a line "schedlab KIND NUMBER BYTES SHA256", the given number of bytes, and a line break.

PATH=/bin:/usr/bin:/sbin:/usr/sbin
export PATH
/bin/busybox --install -s /bin 2>/dev/null
port=/dev/ttyS1

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts 2>/dev/null
[ -n "$(ls -A /tmp)" ] || mount -t tmpfs tmpfs /tmp   # not over programs that were copied to /tmp
mount -t tmpfs tmpfs /run
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
ln -s /proc/self/fd /dev/fd 2>/dev/null
ip link set lo up
chmod 1777 /tmp /dev/shm

if ! stty -F $port raw -echo; then
    echo "schedlab: no second serial port: this kernel needs CONFIG_SERIAL_8250 with two ports"
    poweroff -f
fi

# Some kernels cannot put their CPUs online at boot while QEMU counts instructions.
if [ -f /jobs/late_cpus ]; then
    for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
        echo 1 >"$cpu"
    done
fi

# The host's whole file tree, read-only, except for this guest's own kernel files and scratch folders.
if [ -f /jobs/host_files ]; then
    if ! mount -t virtiofs -o ro host /host; then
        echo "schedlab: the host's files cannot be mounted: this kernel needs CONFIG_VIRTIO_FS and CONFIG_VIRTIO_PCI"
        poweroff -f
    fi
    for top in dev proc run sys tmp; do
        mount -o rbind "/$top" "/host/$top"
    done
    cp /bin/schedload /run/schedload
fi

# send KIND NUMBER FILE: sends a record.
send() {
    size=$(wc -c <"$3")
    sum=$(sha256sum <"$3")
    { echo "schedlab $1 $2 $size ${sum%% *}"; cat "$3"; echo; } >$port
}

# keep FOLDER FILES...: copies existing files below FOLDER, with one process.
keep() {
    folder=$1
    shift
    mkdir -p "$folder"
    cp --parents "$@" "$folder" 2>/dev/null
}

# Sets tunables and prints a line for each: name, place, path, error of the write, content afterwards.
# The places of a tunable in different kernels follow each other: the first existing file is written.
tunables() {
    taken=
    while IFS='	' read -r name place pattern text; do
        [ "$name" = "$taken" ] && continue
        for path in $pattern; do
            [ -e "$path" ] || continue
            taken=$name
            why=$( { printf '%s' "$text" >"$path"; } 2>&1 ) && why=
            why=$(printf '%s' "$why" | tr '\t\n' '  ')
            printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$place" "$path" "$why" "$(cat "$path" 2>&1 | tr '\t\n' '  ')"
        done
    done
}

watched=$(cat /jobs/watched)
facts=$(cat /jobs/facts)
pause=$(cat /jobs/pause)
: >/run/nothing
mkdir /run/ready

tunables </jobs/tunables >/run/ready/tunables
while IFS='	' read -r trigger histogram; do
    echo "$histogram" 2>/dev/null >"$trigger"
done </jobs/traced 2>/dev/null
# Not quoted: the shell expands these patterns.
keep /run/ready $facts
dmesg >/run/ready/dmesg
tar -C /run/ready -czf /run/ready.tar .
send ready 0 /run/ready.tar

# A sched_ext scheduler: functions whose names begin with scx_, and the reason of a fault in scx_reason.
scx_reason=
if [ -f /jobs/sched_ext ]; then
    . /jobs/sched_ext
else
    scx_ready() { :; }
    scx_fault() { return 1; }
fi

cd /tmp || poweroff -f
number=1
while [ -f "/jobs/$number" ]; do
    result=/run/$number
    mkdir "$result"
    [ "$pause" = 0 ] || sleep "$pause"
    send begin "$number" /run/nothing
    scx_ready
    keep "$result/before" $watched
    if [ -z "$scx_reason" ]; then
        sh "/jobs/$number" >"$result/stdout" 2>"$result/stderr" </dev/null
        echo $? >"$result/status"
    fi
    keep "$result/after" $watched
    [ -n "$scx_reason" ] || scx_fault
    printf '%s' "$scx_reason" >"$result/sched_ext.reason"
    printf '%s' "$scx_name" >"$result/sched_ext.name"
    tar -C "$result" -czf "$result.tar" .
    rm -rf "$result"
    send result "$number" "$result.tar"
    rm -f "$result.tar"
    number=$((number + 1))
done
send end 0 /run/nothing
poweroff -f
