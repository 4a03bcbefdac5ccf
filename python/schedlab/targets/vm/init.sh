#!/bin/sh
# First process of a guest: mounts file systems, lets schedlab's agent answer the requests of /jobs/requests through the
# second serial port, and switches the machine off.

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
agent=/bin/schedload
if [ -f /jobs/host_files ]; then
    if ! mount -t virtiofs -o ro host /host; then
        echo "schedlab: the host's files cannot be mounted: this kernel needs CONFIG_VIRTIO_FS and CONFIG_VIRTIO_PCI"
        poweroff -f
    fi
    for top in dev proc run sys tmp; do
        mount -o rbind "/$top" "/host/$top"
    done
    cp /bin/schedload /run/schedload
    agent="chroot /host /run/schedload"
fi

# A sched_ext scheduler: each line of /run/scx.ask is a function without its prefix scx_, which sets scx_reason to the
# reason of a fault. A line of /run/scx.answer follows.
if [ -f /jobs/sched_ext ]; then
    . /jobs/sched_ext
    mkfifo /run/scx.ask /run/scx.answer
    # Opened once: the end of a child would interrupt the opening of a fifo.
    while :; do
        read -r step <&3 || continue
        "scx_$step"
        printf '%s\n' "$scx_name" >/run/scx.name
        printf '%s' "$scx_reason" >/run/scx.reason
        echo >&4
    done 3<>/run/scx.ask 4<>/run/scx.answer &
fi

dmesg >/run/dmesg
cd /tmp || poweroff -f
$agent agent --batch </jobs/requests >$port
poweroff -f
