/* MIG mode and layout. */
#include "mig.h"

#include <string.h>

#include "session.h"

/* MIG-…, ending in the instance's place. */
void mig_uuid(const struct gpu *gpu, int instance, char out[MAX_TEXT])
{
	char text[MAX_TEXT];
	int kept = strlen(gpu->uuid) - 6;
	snprintf(text, sizeof text, "MIG-%.*s%02d", kept, gpu->uuid + 4, instance);
	strcpy(out, text);
}

void mig_name(const struct gpu *gpu, int instance, char out[MAX_TEXT])
{
	char text[MAX_TEXT + 32];
	snprintf(text, sizeof text, "%.60s MIG %s", gpu->name, gpu->instance[instance].profile);
	strcpy(out, text);
}

EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (gpu.mig == MIG_UNSUPPORTED)
		return NVML_ERROR_NOT_SUPPORTED;
	*currentMode = *pendingMode = gpu.mig == MIG_ON ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
	return NVML_SUCCESS;
}

/* How many there can be, not how many there are. */
EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		*count = gpu.mig == MIG_UNSUPPORTED ? 0 : MAX_INSTANCES - 1;
	return rc;
}

EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
							nvmlDevice_t *migDevice)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (gpu.mig != MIG_ON || index >= (unsigned)gpu.instances)
		return NVML_ERROR_NOT_FOUND;
	*migDevice = session_instance(device, index);
	return NVML_SUCCESS;
}

/* Finds the MIG device of a handle; of another handle nothing can be said. */
static nvmlReturn_t instance_of(const char *call, nvmlDevice_t device, struct instance *out)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(call, device, &gpu);
	if (rc)
		return rc;
	if (device->instance < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*out = gpu.instance[device->instance];
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	struct instance i;
	nvmlReturn_t rc = instance_of(__func__, device, &i);
	if (!rc)
		*id = i.gi;
	return rc;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	struct instance i;
	nvmlReturn_t rc = instance_of(__func__, device, &i);
	if (!rc)
		*id = i.ci;
	return rc;
}
