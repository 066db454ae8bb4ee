/* The GPUs and who they are. */
#include "mig.h"
#include "session.h"

#include <stdio.h>
#include <string.h>

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
	struct head head;
	nvmlReturn_t rc = session_enter(__func__, &head);
	if (rc)
		return rc;
	if (!deviceCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*deviceCount = session_count();
	return NVML_SUCCESS;
}

ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2, (unsigned int *deviceCount))

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	struct gpu gpu;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = session_device(index);
	return session_gpu(__func__, *device, &gpu);
}

ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvmlDevice_t *device))

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc && device->instance >= 0)
		mig_uuid(&gpu, device->instance, gpu.uuid);
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

EXPORT nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *partNumber, unsigned int length)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc && !*gpu.part)
		rc = NVML_ERROR_NOT_SUPPORTED; /* a board without an inforom has none */
	return rc ? rc : copy_out(partNumber, length, gpu.part);
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc && device->instance >= 0)
		mig_name(&gpu, device->instance, gpu.name);
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

ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t *pci))

static nvmlReturn_t find(const char *call, nvmlDevice_t *device, bool (*matches)(const struct gpu *, const char *),
			 const char *text)
{
	struct gpu gpu;
	struct head head;
	nvmlReturn_t rc = session_read(&head);
	if (rc)
		return rc;
	if (!device || !text)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < session_count(); i++) {
		*device = session_device(i);
		if (control_gpu((*device)->slot, &gpu) && matches(&gpu, text))
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
