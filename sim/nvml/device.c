/* The calls on one GPU. */
#include "session.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
	struct node node;
	nvmlReturn_t rc = session_enter(__func__, &node);
	if (rc)
		return rc;
	if (!deviceCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*deviceCount = session_count();
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	struct gpu gpu;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = session_device(index);
	return session_gpu(__func__, *device, &gpu);
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	return rc ? rc : copy_out(uuid, length, gpu.uuid);
}

EXPORT nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc && !*gpu.serial)
		rc = NVML_ERROR_NOT_SUPPORTED; /* a board without an inforom has none */
	return rc ? rc : copy_out(serial, length, gpu.serial);
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	return rc ? rc : copy_out(name, length, gpu.name);
}

EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	*minorNumber = gpu.minor;
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	memset(pci, 0, sizeof *pci);
	pci->domain = gpu.domain;
	pci->bus = gpu.bus;
	pci->device = gpu.device;
	snprintf(pci->busId, sizeof pci->busId, NVML_DEVICE_PCI_BUS_ID_FMT, gpu.domain, gpu.bus, gpu.device);
	/* sixteen bytes hold four digits of a domain, as with the real one */
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT,
		 gpu.domain & 0xffff, gpu.bus & 0xff, gpu.device & 0x1f);
	return NVML_SUCCESS;
}

static nvmlReturn_t find(const char *call, nvmlDevice_t *device, bool (*matches)(const struct gpu *, const char *),
			 const char *text)
{
	struct gpu gpu;
	struct node node;
	nvmlReturn_t rc = session_read(&node);
	if (rc)
		return rc;
	if (!device || !text)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < session_count(); i++) {
		*device = session_device(i);
		if (matches(&node.gpus[session_slot(*device)], text))
			return session_gpu(call, *device, &gpu);
	}
	return NVML_ERROR_NOT_FOUND;
}

static bool has_uuid(const struct gpu *gpu, const char *uuid)
{
	return !strcmp(gpu->uuid, uuid);
}

static bool has_address(const struct gpu *gpu, const char *text)
{
	unsigned domain, bus, device;
	return parse_pci(text, &domain, &bus, &device) && domain == gpu->domain && bus == gpu->bus &&
	       device == gpu->device;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	return find(__func__, device, has_uuid, uuid);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
	return find(__func__, device, has_address, pciBusId);
}

#ifndef SIM_OLD
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

/* Not supported on a GPU in MIG mode, says the header. */
static bool has_remap(const struct gpu *gpu)
{
	return gpu->remap != REMAP_UNSUPPORTED && gpu->mig != MIG_ON;
}

EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows, unsigned int *uncRows,
					      unsigned int *isPending, unsigned int *failureOccurred)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (!has_remap(&gpu))
		return NVML_ERROR_NOT_SUPPORTED;
	*corrRows = 0;
	*uncRows = gpu.remap == REMAP_PENDING;
	*isPending = gpu.remap == REMAP_PENDING;
	*failureOccurred = gpu.remap == REMAP_FAILED;
	return NVML_SUCCESS;
}

static nvmlReturn_t field(const struct gpu *gpu, unsigned id, unsigned *value)
{
	switch (id) {
	case NVML_FI_DEV_REMAPPED_COR: *value = 0; break;
	case NVML_FI_DEV_REMAPPED_UNC:
	case NVML_FI_DEV_REMAPPED_PENDING: *value = gpu->remap == REMAP_PENDING; break;
	case NVML_FI_DEV_REMAPPED_FAILURE: *value = gpu->remap == REMAP_FAILED; break;
	case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
		*value = gpu->recovery;
		return gpu->recovery == RECOVERY_UNSUPPORTED ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
	default: return NVML_ERROR_NOT_SUPPORTED;
	}
	return has_remap(gpu) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}
#else
/* A library from before Ampere knows none of the fields that we simulate. */
static nvmlReturn_t field(const struct gpu *gpu, unsigned id, unsigned *value)
{
	(void)gpu, (void)id, (void)value;
	return NVML_ERROR_NOT_SUPPORTED;
}
#endif

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
	struct gpu gpu;
	struct timespec t;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (!values || valuesCount < 1)
		return NVML_ERROR_INVALID_ARGUMENT;
	clock_gettime(CLOCK_REALTIME, &t);
	for (int i = 0; i < valuesCount; i++) {
		nvmlFieldValue_t *v = &values[i];
		memset(&v->value, 0, sizeof v->value);
		v->timestamp = t.tv_sec * 1000000LL + t.tv_nsec / 1000;
		v->latencyUsec = 0;
		v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		v->nvmlReturn = field(&gpu, v->fieldId, &v->value.uiVal);
	}
	return NVML_SUCCESS;
}
