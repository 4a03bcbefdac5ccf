# Functions that load, check and remove a sched_ext scheduler in a guest, for its first process. POSIX shell, busybox.
#
#   scx_start PROGRAM ARGUMENT…  starts the program, and waits until the kernel has loaded the scheduler
#   scx_fault                    succeeds when the scheduler has a fault
#   scx_stop                     ends the program, and waits until the kernel has removed the scheduler
#   scx_ready                    makes sure that the scheduler of scx_wanted is loaded; restarts it after a fault
#
# $scx_reason has the reason of a failure or a fault. The end of the output is kept in $scx_folder/output.

: "${scx_root=}"                   # parent folder of /sys
: "${scx_folder=/run/sched_ext}"   # private folder
: "${scx_log=dmesg}"               # command that prints the kernel's log
: "${scx_start_seconds=30}" "${scx_last_words=5}" "${scx_grace=10}"
scx_own=
scx_reason=

scx_read() { cat "$scx_root/sys/kernel/sched_ext/$1" 2>/dev/null; }

# Number of schedulers loaded since boot; unknown in kernels with a backport from before 6.12.
scx_sequence() { scx_read enable_seq || echo unknown; }

# Whether the process has ended. kill -0 cannot be used: it succeeds for a child that was not waited for.
scx_ended() { [ -s "$scx_folder/exit" ]; }

scx_loaded() {
    [ "$(scx_read state)" = enabled ] && [ -n "$(scx_read root/ops)" ] || return 1
    [ "$scx_before" = unknown ] || [ "$(scx_sequence)" != "$scx_before" ]
}

scx_loaded_or_ended() { scx_ended || scx_loaded; }

# Whether no scheduler is loaded, or another one was loaded after this one.
scx_out() {
    [ "$(scx_read state)" = disabled ] || { [ -n "$scx_own" ] && [ "$(scx_sequence)" != "$scx_own" ]; }
}

# scx_within SECONDS COMMAND…: waits up to SECONDS until COMMAND succeeds. Uses the uptime: a guest's date may be fixed.
scx_within() {
    read -r scx_now scx_rest </proc/uptime
    scx_end=$((${scx_now%%.*} + $1 + 1))
    shift
    until "$@"; do
        read -r scx_now scx_rest </proc/uptime
        [ "${scx_now%%.*}" -lt "$scx_end" ] || return 1
        sleep 0.05
    done
}

scx_told() { $scx_log 2>/dev/null | grep 'sched_ext:'; }

# scx_explain WHAT: sets the reason, with the messages of the kernel and the program.
scx_explain() {
    scx_within 1 scx_ended
    scx_reason="sched_ext: '$scx_line' $1"
    scx_ended && scx_reason="$scx_reason; its process has ended (status $(cat "$scx_folder/exit"))"
    scx_said=$(scx_told | tail -n +$((scx_lines + 1)) | sed 's/.*sched_ext:/sched_ext:/')
    [ -n "$scx_said" ] && scx_reason="$scx_reason; the kernel says: $scx_said"
    scx_said=$(tail -n 8 "$scx_folder/output" | tail -c 1000)
    scx_reason="$scx_reason; it printed: ${scx_said:-nothing}"
}

# Keeps only the last 64 KiB of a large output, once a second while the process lives. Most of these programs print
# statistics without end, which would fill the guest's memory.
scx_bound() {
    while scx_mine=$(cat "$scx_folder/pid" 2>/dev/null) && [ "$scx_mine" = "$1" ] && ! scx_ended; do
        if [ "$(wc -c <"$scx_folder/output")" -gt 1048576 ]; then
            tail -c 65536 "$scx_folder/output" >"$scx_folder/end"
            cat "$scx_folder/end" >"$scx_folder/output"
        fi
        sleep 1
    done
}

scx_start() {
    scx_line=$* scx_own= scx_name= scx_reason=
    scx_before=$(scx_sequence)
    case $(scx_read state) in
    disabled) ;;
    '') scx_reason="sched_ext: this kernel ($(uname -r)) has none" && return 1 ;;
    *) scx_reason="sched_ext: '$(scx_read root/ops)' is loaded already" && return 1 ;;
    esac
    rm -rf "$scx_folder"
    mkdir -p "$scx_folder"
    : >"$scx_folder/output"
    scx_lines=$(scx_told | wc -l)
    # A new session, whose number is the process's. Append mode, so that the output can be truncated.
    {
        setsid sh -c 'echo $$ >"$0"; exec "$@"' "$scx_folder/pid" "$@"
        echo $? >"$scx_folder/exit"
    } </dev/null >>"$scx_folder/output" 2>&1 &
    scx_within "$scx_start_seconds" scx_loaded_or_ended
    if scx_loaded; then
        scx_own=$(scx_sequence)
        scx_name=$(scx_read root/ops)
        scx_bound "$(cat "$scx_folder/pid")" </dev/null >/dev/null 2>&1 &
        return 0
    fi
    scx_explain "was not loaded"
    scx_first=$scx_reason
    scx_stop && scx_reason=$scx_first
    return 1
}

scx_fault() {
    [ -n "$scx_own" ] || return 0
    scx_reason=
    if [ "$(scx_read state)" != enabled ]; then
        scx_explain "is no longer loaded (state '$(scx_read state)'): ejected by the kernel, or ended by itself"
    elif [ "$(scx_sequence)" != "$scx_own" ] || [ "$(scx_read root/ops)" != "$scx_name" ]; then
        scx_explain "was ejected or ended, and '$(scx_read root/ops)' is loaded"
    elif scx_ended; then
        scx_explain "is loaded without it"
    else
        return 1
    fi
}

# SIGTERM, which these programs treat like SIGINT: a shell starts background processes with SIGINT ignored.
scx_stop() {
    scx_reason=
    [ -d "$scx_folder" ] || return 0
    for scx_signal in TERM KILL; do
        scx_ended && break
        kill "-$scx_signal" "-$(cat "$scx_folder/pid")" 2>/dev/null
        scx_within "$scx_last_words" scx_ended
    done
    if ! scx_within "$scx_grace" scx_out; then
        scx_reason="sched_ext: '$(scx_read root/ops)' is still loaded after the end of '$scx_line'"
        return 1
    fi
    scx_own=
    rm -rf "$scx_folder"
}

scx_ready() {
    [ -n "$scx_own" ] && ! scx_fault && return 0
    scx_stop && scx_wanted
}
