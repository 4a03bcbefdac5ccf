/* SPDX-License-Identifier: MIT */
/*
 * A global first-in, first-out queue as a sched_ext scheduler, for Linux 6.13 and later. Only the kernel types that it
 * uses are declared here: libbpf finds members by name in the running kernel's BTF.
 */
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define SCX_DSQ_GLOBAL ((1ULL << 63) | 1) /* include/linux/sched/ext.h */
#define MISSING_DSQ 4711
#define SLICE_NS 20000000ULL

struct task_struct {
	int pid;
};

struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, __u64 enq_flags);
	__u32 timeout_ms;
	char name[128];
};

extern void scx_bpf_dsq_insert(struct task_struct *p, __u64 dsq_id, __u64 slice, __u64 enq_flags) __ksym;

/* Set by the loader: after this many inserted tasks a task goes to a queue that does not exist. 0: never. */
const volatile __u64 fail_after = 0;
__u64 inserted;

SEC("struct_ops/fifo_enqueue")
int BPF_PROG(fifo_enqueue, struct task_struct *p, __u64 enq_flags)
{
	__u64 queue = SCX_DSQ_GLOBAL;

	if (fail_after && __sync_fetch_and_add(&inserted, 1) >= fail_after)
		queue = MISSING_DSQ;
	scx_bpf_dsq_insert(p, queue, SLICE_NS, enq_flags);
	return 0;
}

SEC(".struct_ops")
struct sched_ext_ops fifo = {
	.enqueue = (void *)fifo_enqueue,
	.timeout_ms = 10000,
	.name = "schedlab_fifo",
};
