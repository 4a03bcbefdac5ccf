"""A remote machine for tests: a Debian guest under QEMU with its own boot loader, disk and SSH server.

It is emulated and answers on a port of this machine's loopback address. Its disks are made once, in the cache. Each
guest works on temporary copies. A guest continues through restarts, as a machine does. It starts through a BIOS and
GRUB, or through UEFI firmware and systemd-boot, from a second disk with a boot partition.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from schedlab.files import cache

RELEASE = "bookworm"
KERNEL = "linux-image-cloud-amd64"
PACKAGES = (
    "systemd-sysv", "udev", "openssh-server", "initramfs-tools", "grub-pc", "systemd-boot", "efibootmgr", "kmod",
    "iproute2", "zstd", KERNEL,
)  # fmt: skip
TOOLS = (
    "unshare", "mmdebstrap", "mke2fs", "sfdisk", "mformat", "mmd", "mcopy", "qemu-system-x86_64", "ssh", "ssh-keygen",
    "depmod",
)  # fmt: skip
"""Programs of this machine that make and run the test machine."""

FIRMWARE = Path("/usr/share/OVMF")
CODE, VARIABLES = FIRMWARE / "OVMF_CODE_4M.fd", FIRMWARE / "OVMF_VARS_4M.fd"
"""UEFI firmware for guests, and its variables before the first boot, of the package ``ovmf``."""

FORMAT = "2"
"""Part of the disks' name in the cache; to be raised when this file begins to make other disks."""

HERE = Path(__file__).parent
PATH = "/usr/sbin:/sbin:/usr/bin:/bin"

NETWORK_CARD = "net0"
"""QEMU's name of the network card."""

MIB = 1 << 20
SIZE, BOOT_SIZE = 1500 * MIB, 300 * MIB

LINE = "console=ttyS0 quiet rw no_timer_check net.ifnames=0 norandmaps init=/sbin/light-init"
"""Command line. An emulated kernel on a busy machine takes late timer interrupts for a broken timer.

QEMU translates a program again for each address at which it runs, and keeps all translations of a page of memory. With
random addresses, the next kernel takes minutes to overwrite the pages of programs that were run a thousand times.
"""

GRUB = f"""GRUB_TIMEOUT=0
GRUB_DISABLE_OS_PROBER=true
GRUB_TERMINAL=console
GRUB_CMDLINE_LINUX_DEFAULT=
GRUB_CMDLINE_LINUX="{LINE}"
"""
"""Settings of GRUB."""

ENTRY = f"title Debian\nlinux /image\ninitrd /initrd\noptions root=/dev/vda1 {LINE}\n"
"""The only entry of systemd-boot, so the default entry: no configuration names it."""

NETWORK = "[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\n"
"""Network under systemd, which a test may choose as init."""

INSTALLING = 600.0
BOOTING = 900.0
"""Limits in seconds for the installation of the boot loader and for a boot, on a busy machine without KVM."""


def missing_tools() -> list[str]:
    """Return the programs that this machine lacks."""
    return [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]


def made() -> Path:
    """Return the folder with the test machine's disks and key; make it in the cache if it is not there."""
    sources = [*PACKAGES, GRUB, ENTRY, NETWORK, *(path.read_text() for path in sorted(HERE.glob("*-init")))]
    key = hashlib.sha256("\0".join([FORMAT, *sources]).encode()).hexdigest()[:16]
    folder = cache.folder() / "test-machine" / key
    cache.made_once(folder, _make)
    return folder


def _make(folder: Path) -> None:
    root = folder / "root"
    include, leave_out = ",".join(PACKAGES), ("doc", "locale", "man")
    modules = "virtio_pci virtio_blk ext4 virtio_net"
    # The initial file system is made during the installation: its settings precede the packages.
    settings = (
        'mkdir -p "$1/etc/initramfs-tools/conf.d"; echo MODULES=list > "$1/etc/initramfs-tools/conf.d/modules"; '
        f'printf "%s\\n" {modules} > "$1/etc/initramfs-tools/modules"'
    )
    # mmdebstrap's mounts end with it, even if it is killed.
    _run(
        "unshare", "--mount", "mmdebstrap", "--quiet", "--variant=minbase", f"--include={include}",
        f"--essential-hook={settings}",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in leave_out), RELEASE, str(root),
    )  # fmt: skip
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / "key"))
    (root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
    shutil.copy(folder / "key.pub", root / "root/.ssh/authorized_keys")
    (root / "etc/hostname").write_text("test-machine\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost test-machine\n")
    (root / "etc/fstab").write_text("/dev/vda1 / ext4 defaults 0 1\n")
    (root / "etc/default/grub").write_text(GRUB)
    (root / "etc/systemd/network/10.network").write_text(NETWORK)
    for script in HERE.glob("*-init"):
        shutil.copy(script, root / "sbin" / script.name)
        (root / "sbin" / script.name).chmod(0o755)
    _run("chroot", str(root), "systemctl", "-q", "enable", "systemd-networkd", "ssh")
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(SIZE)
    subprocess.run(["sfdisk", "-q", "--label", "dos", disk], input="2048,,L,*\n", text=True, check=True)
    # Older versions of GRUB do not read a file system with the option metadata_csum_seed.
    _run("mke2fs", "-q", "-t", "ext4", "-O", "^metadata_csum_seed", "-d", str(root), "-E", f"offset={MIB}", str(disk),
         f"{(SIZE - MIB) >> 10}k")  # fmt: skip
    _make_boot_disk(folder, root)
    _install(folder, root)
    shutil.rmtree(root)


def _make_boot_disk(folder: Path, root: Path) -> None:
    """Make a disk with a boot partition (EFI system partition), which firmware starts by the path of BOOTX64.EFI."""
    disk = folder / "boot"
    with disk.open("wb") as file:
        file.truncate(BOOT_SIZE)
    subprocess.run(["sfdisk", "-q", "--label", "gpt", disk], input="2048,,U\n", text=True, check=True)
    (entry := folder / "entry").write_text(ENTRY)
    partition = ("-i", f"{disk}@@{MIB}")
    # The disk ends with a copy of the partition table.
    _run("mformat", *partition, "-F", "-T", str((BOOT_SIZE - 2 * MIB) >> 9), "::")
    _run("mmd", *partition, "::/EFI", "::/EFI/BOOT", "::/loader", "::/loader/entries")
    files = {
        "EFI/BOOT/BOOTX64.EFI": root / "usr/lib/systemd/boot/efi/systemd-bootx64.efi",
        "image": next((root / "boot").glob("vmlinuz-*")),
        "initrd": next((root / "boot").glob("initrd.img-*")),
        "loader/entries/debian.conf": entry,
    }
    for name, source in files.items():
        _run("mcopy", *partition, str(source), f"::/{name}")
    entry.unlink()


def _install(folder: Path, root: Path) -> None:
    """Boot the disk once without a boot loader, to install one."""
    boot = root / "boot"
    line = "root=/dev/vda1 console=ttyS0 quiet no_timer_check panic=-1 init=/sbin/install-init"
    start = ["-kernel", *map(str, boot.glob("vmlinuz-*")), "-initrd", *map(str, boot.glob("initrd.img-*"))]
    console = folder / "install.log"
    argv = [*_qemu(folder / "disk", console), "-no-reboot", *start, "-append", line]
    subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=INSTALLING, check=True)
    if "test machine: installed" not in console.read_text(errors="replace"):
        raise RuntimeError(f"the boot loader was not installed:\n{console.read_text(errors='replace')[-2000:]}")


def _run(*argv: str) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]} failed: {done.stderr[-2000:]}")


def _disk(path: Path, number: int, *, keep: bool) -> list[str]:
    """Return QEMU's arguments for a disk, which the guest knows as ``vda``, ``vdb``, … in the order of the numbers."""
    drive = f"file={path},id=disk{number},if=none,format=raw,cache=unsafe,snapshot={'off' if keep else 'on'}"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive=disk{number},addr={0x10 + number:#x}"]


def _firmware(variables: Path, boot_disk: Path) -> list[str]:
    """Return QEMU's arguments for UEFI firmware that starts a disk; the firmware changes its variables' file."""
    shutil.copy(VARIABLES, variables)
    boot = _disk(boot_disk, 1, keep=False)
    flash = [f"if=pflash,format=raw,unit=0,readonly=on,file={CODE}", f"if=pflash,format=raw,unit=1,file={variables}"]
    return [*(word for drive in flash for word in ("-drive", drive)), *boot[:-1], f"{boot[-1]},bootindex=0"]


def _qemu(disk: Path, console: Path, port: int | None = None, *, keep: bool = True) -> list[str]:
    forward = f",hostfwd=tcp:127.0.0.1:{port}-:22" if port else ""
    return [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", "768",
        "-display", "none", "-monitor", "none", "-serial", f"file:{console}", *_disk(disk, 0, keep=keep),
        "-nic", f"user,id={NETWORK_CARD},model=virtio-net-pci,restrict=on{forward}",
    ]  # fmt: skip


@dataclass
class TestMachine:
    """A running test machine. ``config`` is an OpenSSH configuration that knows it as ``test-machine``."""

    __test__ = False

    folder: Path
    config: Path
    console: Path
    qmp: Path

    def printed(self) -> str:
        """Return everything that the machine has printed on its console."""
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def wait_for(self, text: str, count: int = 1, seconds: float = BOOTING) -> None:
        """Wait until the console shows a text so many times."""
        deadline = time.monotonic() + seconds
        while self.printed().count(text) < count:
            assert time.monotonic() < deadline, f"no {text!r} on the console:\n{self.printed()[-2000:]}"
            time.sleep(0.2)

    def reset(self) -> None:
        """Press the reset button."""
        self._control("system_reset")

    def link(self, *, up: bool) -> None:
        """Plug the cable of the network in, or pull it out."""
        self._control("set_link", name=NETWORK_CARD, up=up)

    def _control(self, command: str, **arguments: object) -> None:
        """Send a command to QEMU (QEMU QMP Reference Manual)."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.qmp))
            replies = control.makefile("rb")
            for words in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                control.sendall(json.dumps(words).encode() + b"\n")
                while (reply := json.loads(replies.readline())).keys().isdisjoint({"return", "error"}):
                    pass
                assert "return" in reply, reply

    def ssh(self, *words: str) -> str:
        """Run a command on the machine, and return its output."""
        argv: Sequence[str] = ["ssh", "-F", str(self.config), "test-machine", *words]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=True)
        return done.stdout


@contextmanager
def running(disk_folder: Path, *, uefi: bool = False) -> Iterator[TestMachine]:
    """Start a machine with a copy of the disks, wait until it is up, and end it at the exit."""
    with TemporaryDirectory(prefix="schedlab-machine-") as name:
        folder = Path(name)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        key = folder / "key"
        shutil.copy(disk_folder / "key", key)
        key.chmod(0o600)
        config = folder / "ssh_config"
        config.write_text(
            f"Host test-machine\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {key}\n"
            " IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
        )
        machine = TestMachine(folder, config, folder / "console", folder / "qmp")
        argv = [*_qemu(disk_folder / "disk", machine.console, port, keep=False)]
        argv += ["-qmp", f"unix:{machine.qmp},server=on,wait=off"]
        if uefi:
            argv += _firmware(folder / "variables", disk_folder / "boot")
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        try:
            machine.wait_for("test machine: ready")
            yield machine
        finally:
            process.kill()
            process.wait()
