"""A source tree that builds like a kernel, but fast: Makefile, Kconfig, ``O=``, objects, an image with a header."""

from __future__ import annotations

import subprocess
from pathlib import Path

MAKEFILE = r"""
# The goals of a kernel build, for three files of C.
SRC := $(CURDIR)
RELEASE := 6.99.0$(LOCALVERSION)
OBJECTS := $(O)/kernel/core.o $(O)/kernel/fair.o

tinyconfig:
	@printf 'CONFIG_TINY=y\n# CONFIG_SMP is not set\nCONFIG_HZ=100\n' >$(O)/.config

# An option that no Kconfig declares is dropped, as kconfig does.
olddefconfig:
	@names=$$(sed -n 's/^config //p' Kconfig | paste -sd'|'); \
	grep -E "CONFIG_($$names)(=| )" $(O)/.config >$(O)/.config.new; mv $(O)/.config.new $(O)/.config

mrproper:
	@rm -rf .config include/config; echo cleaned

$(O)/%.o: %.c $(O)/.config
	@mkdir -p $(dir $@)
	@echo "  CC      $*.o"
	@$(or $(CC),gcc) -c -o $@ $(SRC)/$<

$(O)/release: FORCE
	@echo '$(RELEASE)' | cmp -s - $@ || echo '$(RELEASE)' >$@

bzImage: $(OBJECTS) $(O)/release
	@if [ -e .config ]; then echo 'error: the source is not clean'; exit 1; fi
	@mkdir -p $(O)/arch/x86/boot
	@{ head -c 510 /dev/zero; printf '\125\252\0\0HdrS'; head -c 8 /dev/zero; printf '\200\0'; head -c 112 /dev/zero; \
	printf '%s (tiny) #1\0' '$(RELEASE)'; cat $(OBJECTS); } >$(O)/arch/x86/boot/bzImage
	@echo 'Kernel: arch/x86/boot/bzImage is ready'

FORCE:
.PHONY: FORCE tinyconfig olddefconfig mrproper bzImage
"""

CORE = """int core(void)
{
\treturn 1;
}
"""

FAIR = """static int cost = 500000;

int fair(void)
{
\treturn cost;
}
"""

OPTIONS = ("TINY", "SMP", "HZ", "NUMA", "SERIAL_8250_CONSOLE")


def tiny_tree(folder: Path) -> Path:
    """Write the source tree into a folder and return the folder."""
    (folder / "kernel").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "Kconfig").write_text("".join(f"config {name}\n\tbool\n" for name in OPTIONS))
    (folder / "kernel/core.c").write_text(CORE)
    (folder / "kernel/fair.c").write_text(FAIR)
    return folder


class Repository:
    """The same tree under git."""

    def __init__(self, folder: Path) -> None:
        self.folder = tiny_tree(folder)
        self.git("init", "-q")
        self.base = self.commit("base")

    def git(self, *words: str) -> str:
        """Run git in the repository."""
        person = ("-c", "user.name=n", "-c", "user.email=n@n", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *person, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, title: str, **files: str) -> str:
        """Write these files of ``kernel/`` (names without ``.c``) and commit them; return the new commit."""
        for name, text in files.items():
            (self.folder / f"kernel/{name}.c").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", title)
        return self.git("rev-parse", "HEAD")

    def patches(self, folder: Path) -> Path:
        """Write the output of ``git format-patch`` for the commits after the base, and return its folder."""
        folder.mkdir()
        self.git("format-patch", "-q", "--cover-letter", "-o", str(folder), self.base)
        return folder


def repository_with_series(folder: Path) -> Repository:
    """Return a repository with three commits: a changed default, a commit that does not compile, and its correction."""
    repository = Repository(folder)
    repository.commit("sched/fair: cost more", fair=FAIR.replace("500000", "5000000"))
    repository.commit("sched: return what is not there", core=CORE.replace("1;", "nothing;"))
    repository.commit("sched: return two", core=CORE.replace("1;", "2;"))
    return repository
