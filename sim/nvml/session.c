#include "session.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

struct nvmlDevice_st {
	int slot; /* place in the control file */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int references; /* guarded by lock, as all below */
static unsigned count;
static struct nvmlDevice_st devices[MAX_GPUS];

static const struct hang *find_hang(const struct hangs *hangs, const char *call)
{
	for (int i = 0; i < hangs->count; i++)
		if (!strcmp(hangs->list[i].call, call) || !strcmp(hangs->list[i].call, "*"))
			return &hangs->list[i];
	return NULL;
}

/* The hang that meets this call now; slot -1 is a call on no GPU. */
static bool hang_seconds(const char *call, int slot, double *seconds)
{
	struct node node;
	if (!control_read(&node))
		return false;
	const struct hang *h = find_hang(&node.hangs, call);
	if (!h && slot >= 0 && slot < node.count)
		h = find_hang(&node.gpus[slot].hangs, call);
	if (h)
		*seconds = h->seconds;
	return h != NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Like a thread in an uninterruptible sleep in the driver: no signal reaches
 * it. It returns when its time is over or the control file lets it go. Never
 * called with a lock held: other GPUs go on answering. */
void session_hang(const char *call, int slot)
{
	double seconds, start = now();
	sigset_t all, before;
	if (!hang_seconds(call, slot, &seconds))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (hang_seconds(call, slot, &seconds) && (seconds == FOREVER || now() - start < seconds))
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

nvmlReturn_t session_read(struct node *out)
{
	pthread_mutex_lock(&lock);
	bool open = references > 0;
	pthread_mutex_unlock(&lock);
	if (!open)
		return NVML_ERROR_UNINITIALIZED;
	return control_read(out) ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t session_enter(const char *call, struct node *out)
{
	session_hang(call, -1);
	return session_read(out);
}

nvmlReturn_t session_gpu(const char *call, nvmlDevice_t device, struct gpu *out)
{
	struct node node;
	session_hang(call, device ? device->slot : -1);
	nvmlReturn_t rc = session_read(&node);
	if (rc)
		return rc;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (device->slot >= node.count || node.gpus[device->slot].state != STATE_PRESENT)
		return NVML_ERROR_GPU_IS_LOST;
	*out = node.gpus[device->slot];
	return NVML_SUCCESS;
}

unsigned session_count(void)
{
	pthread_mutex_lock(&lock);
	unsigned n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

nvmlDevice_t session_device(unsigned index)
{
	return index < session_count() ? &devices[index] : NULL;
}

int session_slot(nvmlDevice_t device)
{
	return device->slot;
}

/* NVML counts GPUs once, at init: a GPU that is gone by then has no index, one
 * that is lost later keeps its own. */
static void enumerate(const struct node *node)
{
	count = 0;
	for (int i = 0; i < node->count; i++)
		if (node->gpus[i].state != STATE_GONE)
			devices[count++].slot = i;
}

void session_open(const struct node *node)
{
	pthread_mutex_lock(&lock);
	if (references++ == 0)
		enumerate(node);
	pthread_mutex_unlock(&lock);
}

bool session_close(void)
{
	pthread_mutex_lock(&lock);
	bool open = references > 0;
	references -= open;
	pthread_mutex_unlock(&lock);
	return open;
}
