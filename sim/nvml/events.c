/* The event set: XIDs as they happen. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

struct nvmlEventSet_st {
	pthread_mutex_t lock;
	bool hears[MAX_GPUS]; /* by place in the control file; guarded by lock, as all below */
	unsigned seen;        /* the number of the last event that was taken, or missed */
};

EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *eventTypes)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		*eventTypes = nvmlEventTypeXidCriticalError;
	return rc;
}

/* What happened before is not told. */
EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	struct head head;
	nvmlReturn_t rc = session_enter(__func__, &head);
	if (rc)
		return rc;
	*set = calloc(1, sizeof **set);
	if (!*set)
		return NVML_ERROR_MEMORY;
	pthread_mutex_init(&(*set)->lock, NULL);
	if (head.events)
		(*set)->seen = head.event[head.events - 1].sequence;
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes, nvmlEventSet_t set)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (eventTypes & ~nvmlEventTypeXidCriticalError)
		return NVML_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&set->lock);
	set->hears[device->slot] = true;
	pthread_mutex_unlock(&set->lock);
	return NVML_SUCCESS;
}

static nvmlDevice_t device_of(int slot)
{
	for (unsigned i = 0; i < session_count(); i++)
		if (session_device(i)->slot == slot)
			return session_device(i);
	return NULL;
}

/* Takes the first event that was not taken yet. */
static bool take(nvmlEventSet_t set, const struct head *head, nvmlEventData_t *data)
{
	for (int i = 0; i < head->events; i++) {
		const struct event *e = &head->event[i];
		if (e->sequence <= set->seen)
			continue;
		set->seen = e->sequence;
		if (e->gpu >= MAX_GPUS || !set->hears[e->gpu])
			continue;
		*data = (nvmlEventData_t){
			.device = device_of(e->gpu),
			.eventType = nvmlEventTypeXidCriticalError,
			.eventData = e->code,
			.gpuInstanceId = e->gi,
			.computeInstanceId = e->ci,
		};
		return true;
	}
	return false;
}

/* Once a GPU of the set is lost, waiting says so again and again. */
static bool lost(nvmlEventSet_t set)
{
	struct gpu gpu;
	for (int slot = 0; slot < MAX_GPUS; slot++)
		if (set->hears[slot] && control_gpu(slot, &gpu) && gpu.state == STATE_LOST)
			return true;
	return false;
}

static long long milliseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Looks after each change of the node's folder, to the end of the time. */
static nvmlReturn_t wait_for(nvmlEventSet_t set, nvmlEventData_t *data, int watch, unsigned timeoutms)
{
	struct head head;
	nvmlReturn_t rc;
	long long left, end = milliseconds() + timeoutms;
	do {
		rc = session_read(&head);
		if (rc)
			return rc;
		pthread_mutex_lock(&set->lock);
		bool taken = take(set, &head, data), gone = !taken && lost(set);
		pthread_mutex_unlock(&set->lock);
		if (taken)
			return NVML_SUCCESS;
		if (gone)
			return NVML_ERROR_GPU_IS_LOST;
		left = end - milliseconds();
	} while (left > 0 && control_wait(watch, left));
	return NVML_ERROR_TIMEOUT;
}

EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	session_hang(__func__, -1);
	int watch = control_watch();
	nvmlReturn_t rc = wait_for(set, data, watch, timeoutms);
	close(watch);
	return rc;
}

ALIAS(nvmlEventSetWait, nvmlEventSetWait_v2, (nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms))

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	session_hang(__func__, -1);
	pthread_mutex_destroy(&set->lock);
	free(set);
	return NVML_SUCCESS;
}
