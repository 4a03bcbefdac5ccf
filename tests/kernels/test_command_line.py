"""The command line of a kernel under test."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schedlab.kernels.parameters import NONCE, PANIC, merged, name, nonce_of

RUNNING = "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=ab ro console=tty0 console=ttyS0,115200 quiet"


def test_an_addition_replaces_the_same_parameter_and_adds_other_parameters() -> None:
    assert merged("root=/dev/sda1 mitigations=auto quiet", "mitigations=off nohz_full=1-3") == (
        "root=/dev/sda1 quiet mitigations=off nohz_full=1-3"
    )


def test_words_of_the_boot_loader_are_dropped() -> None:
    line = merged(f"{RUNNING} initrd=\\efi\\initrd rdinit=/schedlab/guard {NONCE}=old")
    assert line == "root=UUID=ab ro console=tty0 console=ttyS0,115200 quiet"


def test_dashes_and_underscores_are_equal_in_names() -> None:
    assert merged("log-buf-len=1M", "log_buf_len=2M") == "log_buf_len=2M"


def test_an_addition_may_give_a_parameter_twice() -> None:
    assert merged(RUNNING, "console=a console=b").split()[-2:] == ["console=a", "console=b"]


def test_later_additions_win() -> None:
    assert merged("panic=0", "panic=-1", PANIC) == "panic=10"


def test_arguments_of_init_stay_at_the_end() -> None:
    assert merged("quiet -- single", "nosmt", f"{NONCE}=7") == f"quiet nosmt {NONCE}=7 -- single"


def test_quoted_spaces_do_not_separate_words() -> None:
    assert merged('dyndbg="file a.c +p" quiet', "quiet") == 'dyndbg="file a.c +p" quiet'


def test_a_nonce_names_the_boot_that_it_was_given_to() -> None:
    assert nonce_of(f"quiet {NONCE}=abc") == "abc"
    assert nonce_of("quiet") is None
    assert nonce_of(f"quiet -- {NONCE}=abc") is None
    assert nonce_of("schedlab.bootx=1") is None


@given(st.lists(st.from_regex(r"[a-z_]{1,6}(=[a-z0-9,]{0,4})?", fullmatch=True)), st.text("ab=_- ", max_size=12))
def test_merging_twice_changes_nothing_more(running: list[str], addition: str) -> None:
    once = merged(" ".join(running), addition)
    if "--" not in addition.split():
        assert merged(once, addition) == once
        assert {name(word) for word in addition.split()} <= {name(word) for word in once.split()} | {"rdinit"}
