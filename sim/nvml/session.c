#include "session.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int references; /* guarded by lock, as all below */
static unsigned count;
static struct nvmlDevice_st devices[MAX_GPUS];
static struct nvmlDevice_st instances[MAX_GPUS][MAX_INSTANCES];
static int files[MAX_GPUS + 1]; /* of nvidiactl and of each GPU */

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
	if (!control_hang(call, slot, &seconds))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (control_hang(call, slot, &seconds) && (seconds == FOREVER || now() - start < seconds))
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool is_open(void)
{
	pthread_mutex_lock(&lock);
	bool open = references > 0;
	pthread_mutex_unlock(&lock);
	return open;
}

nvmlReturn_t session_read(struct head *out)
{
	if (!is_open())
		return NVML_ERROR_UNINITIALIZED;
	return control_head(out) ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t session_enter(const char *call, struct head *out)
{
	session_hang(call, -1);
	nvmlReturn_t rc = control_fail(call, -1);
	return rc ? rc : session_read(out);
}

nvmlReturn_t session_gpu(const char *call, nvmlDevice_t device, struct gpu *out)
{
	int slot = device ? device->slot : -1;
	session_hang(call, slot);
	nvmlReturn_t rc = control_fail(call, slot);
	if (rc)
		return rc;
	if (!is_open())
		return NVML_ERROR_UNINITIALIZED;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!control_gpu(device->slot, out)) {
		struct head head;
		return control_head(&head) ? NVML_ERROR_GPU_IS_LOST : NVML_ERROR_UNKNOWN;
	}
	return out->state == STATE_PRESENT ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

nvmlReturn_t session_u32(const char *call, nvmlDevice_t device, enum number_id id, unsigned *out)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(call, device, &gpu);
	return rc ? rc : number_u32(&gpu.numbers[id], out);
}

nvmlReturn_t session_u64(const char *call, nvmlDevice_t device, enum number_id id, unsigned long long *out)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(call, device, &gpu);
	return rc ? rc : number_u64(&gpu.numbers[id], out);
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

nvmlDevice_t session_instance(nvmlDevice_t device, unsigned instance)
{
	nvmlDevice_t i = &instances[device->slot][instance];
	*i = (struct nvmlDevice_st){.slot = device->slot, .instance = instance};
	return i;
}

static int open_device(const char *folder, const char *kind, int minor)
{
	char path[MAX_PATH + 32];
	snprintf(path, sizeof path, minor < 0 ? "%s/%s" : "%s/%s%d", folder, kind, minor);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* NVML counts GPUs once, at init: a GPU that is gone by then has no index, one
 * that is lost later keeps its own. */
static void enumerate(const struct head *head)
{
	struct gpu gpu;
	count = 0;
	files[MAX_GPUS] = open_device(head->devices, "nvidiactl", -1);
	for (int i = 0; i < head->count; i++) {
		if (!control_gpu(i, &gpu) || gpu.state == STATE_GONE)
			continue;
		files[count] = open_device(head->devices, "nvidia", gpu.minor);
		devices[count++] = (struct nvmlDevice_st){.slot = i, .instance = -1};
	}
}

static void close_device(int file)
{
	if (file >= 0)
		close(file);
}

void session_open(const struct head *head)
{
	pthread_mutex_lock(&lock);
	if (references++ == 0)
		enumerate(head);
	pthread_mutex_unlock(&lock);
}

bool session_close(void)
{
	pthread_mutex_lock(&lock);
	bool open = references > 0;
	references -= open;
	if (open && references == 0) {
		for (unsigned i = 0; i < count; i++)
			close_device(files[i]);
		close_device(files[MAX_GPUS]);
	}
	pthread_mutex_unlock(&lock);
	return open;
}
