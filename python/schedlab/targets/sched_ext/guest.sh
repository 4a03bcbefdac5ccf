# Functions that load, check and remove a sched_ext scheduler in a guest, for its first process. POSIX shell, busybox.
#
#   scx_start PROGRAM ARGUMENT…  starts the program, and waits until the kernel has loaded the scheduler
#   scx_fault                    succeeds when the scheduler has a fault
#   scx_stop                     ends the program, and waits until the kernel has removed the scheduler
#   scx_ready                    makes sure that the scheduler of scx_wanted is loaded; restarts it after a fault
#
# $scx_reason has the reason of a failure or a fault. The end of the output is kept in $scx_folder/output.
# protocol.py declares the files, limits and messages before this text, and states the rules.

scx_root=                   # parent folder of /sys
scx_folder=/run/sched_ext   # private folder
scx_log=dmesg               # command that prints the kernel's log
scx_sequence_loaded=       # scx_sequence after this scheduler was loaded; empty without a loaded scheduler
scx_reason=

scx_read() { cat "$scx_root/$scx_files/$1" 2>/dev/null; }

scx_state() { scx_read state || echo gone; }

# The loaded scheduler's name, in quotation marks.
scx_ops() {
    scx_text=$(scx_read root/ops)
    if [ -n "$scx_text" ]; then echo "'$scx_text'"; else echo "a scheduler without a name ($(scx_state))"; fi
}

# scx_say FORMAT TEXT…: sets the reason.
scx_say() { scx_reason="$scx_mark $(printf "$@")"; }

# Number of schedulers loaded since boot; unknown in kernels with a backport from before 6.12.
scx_sequence() { scx_read enable_seq || echo unknown; }

# Whether the process has ended. kill -0 cannot be used: it succeeds for a child that was not waited for.
scx_ended() { [ -s "$scx_folder/exit" ]; }

scx_loaded() {
    [ "$(scx_read state)" = enabled ] && [ -n "$(scx_read root/ops)" ] || return 1
    [ "$scx_before" = unknown ] || [ "$(scx_sequence)" != "$scx_before" ]
}

scx_loaded_or_ended() { scx_ended || scx_loaded; }

# Whether no scheduler is loaded, or another scheduler was loaded after this run's scheduler.
scx_removed() {
    [ "$(scx_read state)" = disabled ] && return
    [ -n "$scx_sequence_loaded" ] && [ "$(scx_sequence)" != "$scx_sequence_loaded" ]
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

scx_messages() { $scx_log 2>/dev/null | grep "$scx_mark"; }

# scx_explain FORMAT TEXT…: sets the reason, with the messages of the kernel and the program.
scx_explain() {
    scx_within 1 scx_ended
    scx_reason="$scx_mark '$scx_line' $(printf "$@")"
    scx_ended && scx_reason="$scx_reason; its process has ended (status $(cat "$scx_folder/exit"))"
    scx_text=$(scx_messages | tail -n +$((scx_lines + 1)) | grep -v "$scx_enabled\$" | sed "s/.*$scx_mark/$scx_mark/; \$!s/\$/;/" | tr '\n' ' ')
    [ -n "$scx_text" ] && scx_reason="$scx_reason; message of the kernel: ${scx_text% }"
    scx_text=$(tail -n "$scx_shown_lines" "$scx_folder/output" | tail -c "$scx_shown")
    scx_reason="$scx_reason; the program printed: ${scx_text:-nothing}"
}

# Keeps only the end of a large output, once a second while the process lives: the guest's memory must not fill up.
scx_bound() {
    while scx_process=$(cat "$scx_folder/pid" 2>/dev/null) && [ "$scx_process" = "$1" ] && ! scx_ended; do
        if [ "$(wc -c <"$scx_folder/output")" -gt "$scx_largest_output" ]; then
            tail -c "$scx_kept_output" "$scx_folder/output" >"$scx_folder/end"
            cat "$scx_folder/end" >"$scx_folder/output"
        fi
        sleep 1
    done
}

scx_start() {
    scx_line=$* scx_sequence_loaded= scx_name= scx_reason=
    scx_before=$(scx_sequence)
    case $(scx_state) in
    disabled) ;;
    gone) scx_say "$scx_absent" && return 1 ;;
    *) scx_say "$scx_busy" "$(scx_ops)" && return 1 ;;
    esac
    rm -rf "$scx_folder"
    mkdir -p "$scx_folder"
    : >"$scx_folder/output"
    scx_lines=$(scx_messages | wc -l)
    # A new session, whose number is the process's. Append mode, so that the output can be truncated.
    {
        setsid sh -c 'echo $$ >"$0"; exec "$@"' "$scx_folder/pid" "$@"
        echo $? >"$scx_folder/exit"
    } </dev/null >>"$scx_folder/output" 2>&1 &
    scx_within "$scx_start_seconds" scx_loaded_or_ended
    if scx_loaded; then
        scx_sequence_loaded=$(scx_sequence)
        scx_name=$(scx_read root/ops)
        scx_bound "$(cat "$scx_folder/pid")" </dev/null >/dev/null 2>&1 &
        return 0
    fi
    if scx_ended; then
        scx_explain "$scx_refused"
    else
        scx_explain "$scx_not_loaded" "$scx_start_seconds" "'$(scx_state)'"
    fi
    scx_first=$scx_reason
    scx_stop && scx_reason=$scx_first
    return 1
}

scx_fault() {
    [ -n "$scx_sequence_loaded" ] || return 0
    scx_reason=
    if [ "$(scx_state)" != enabled ]; then
        scx_explain "$scx_gone" "'$(scx_state)'"
    elif [ "$(scx_sequence)" != "$scx_sequence_loaded" ] || [ "$(scx_read root/ops)" != "$scx_name" ]; then
        scx_explain "$scx_replaced" "$(scx_ops)"
    elif scx_ended; then
        scx_explain "$scx_orphaned"
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
    if ! scx_within "$scx_grace" scx_removed; then
        scx_say "$scx_kept" "$(scx_ops)" "$scx_grace" "'$scx_line'"
        return 1
    fi
    scx_sequence_loaded=
    rm -rf "$scx_folder"
}

scx_ready() {
    [ -n "$scx_sequence_loaded" ] && ! scx_fault && return 0
    scx_stop && scx_wanted
}
