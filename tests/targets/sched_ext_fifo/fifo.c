/* SPDX-License-Identifier: MIT */
/* fifo [FAIL_AFTER]: load the scheduler of fifo.bpf.c until a signal, or until the kernel ejects the scheduler. */
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fifo.skel.h"

static volatile sig_atomic_t ended;

static void end(int signal)
{
	ended = signal;
}

/* Whether the kernel runs a BPF scheduler. */
static int enabled(void)
{
	char state[32] = "";
	FILE *file = fopen("/sys/kernel/sched_ext/state", "r");

	if (!file)
		return 0;
	if (!fgets(state, sizeof(state), file))
		state[0] = 0;
	fclose(file);
	return !strncmp(state, "enab", 4); /* enabled or enabling */
}

int main(int count, char **words)
{
	struct fifo *skeleton = fifo__open();
	struct bpf_link *link;

	if (!skeleton)
		return 1;
	skeleton->rodata->fail_after = count > 1 ? strtoull(words[1], NULL, 10) : 0;
	if (fifo__load(skeleton))
		return 1;
	link = bpf_map__attach_struct_ops(skeleton->maps.fifo);
	if (!link)
		return 1;
	signal(SIGINT, end);
	signal(SIGTERM, end);
	printf("loaded\n");
	fflush(stdout);
	while (!ended && enabled())
		usleep(100000);
	bpf_link__destroy(link);
	fifo__destroy(skeleton);
	return ended ? 0 : 1;
}
