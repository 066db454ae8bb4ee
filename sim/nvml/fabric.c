/* The registration at the NVLink fabric, and where the GPU sits. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* A number that is always told; what is not set is 0. */
static unsigned told(const struct gpu *gpu, enum number_id id)
{
	unsigned n;
	return number_u32(&gpu->numbers[id], &n) ? 0 : n;
}

static void cluster(const struct gpu *gpu, unsigned char *out)
{
	memset(out, 0, NVML_GPU_FABRIC_UUID_LEN);
	for (unsigned i = 0; i < NVML_GPU_FABRIC_UUID_LEN && 2 * i + 1 < strlen(gpu->cluster); i++) {
		char byte[3] = {gpu->cluster[2 * i], gpu->cluster[2 * i + 1]};
		out[i] = strtoul(byte, NULL, 16);
	}
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	struct gpu gpu;
	unsigned state;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		rc = number_u32(&gpu.numbers[FABRIC_STATE], &state);
	if (rc)
		return rc;
	cluster(&gpu, info->clusterUuid);
	info->state = state;
	info->status = told(&gpu, FABRIC_STATUS);
	info->cliqueId = told(&gpu, FABRIC_CLIQUE);
	return NVML_SUCCESS;
}

/* Version 3 begins as version 2 does. */
EXPORT nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	struct gpu gpu;
	unsigned state, newest;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		rc = number_u32(&gpu.numbers[FABRIC_STATE], &state);
	if (rc)
		return rc;
	newest = told(&gpu, FABRIC_VERSION);
	bool third = info->version == nvmlGpuFabricInfo_v3 && newest >= 3;
	if (!third && !(info->version == nvmlGpuFabricInfo_v2 && newest >= 2))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	cluster(&gpu, info->clusterUuid);
	info->state = state;
	info->status = told(&gpu, FABRIC_STATUS);
	info->cliqueId = told(&gpu, FABRIC_CLIQUE);
	info->healthMask = told(&gpu, FABRIC_MASK);
	if (third)
		info->healthSummary = told(&gpu, FABRIC_SUMMARY);
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
	struct gpu gpu;
	unsigned module;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		rc = number_u32(&gpu.numbers[PLATFORM_MODULE], &module);
	if (rc)
		return rc;
	/* Version 1 has the same fields by other names; go-nvml asks for it. */
	if (info->version != nvmlPlatformInfo_v1 && info->version != nvmlPlatformInfo_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memset(info->ibGuid, 0, sizeof info->ibGuid);
	memset(info->chassisSerialNumber, 0, sizeof info->chassisSerialNumber);
	/* sixteen bytes, of which a real one uses thirteen: it may be without a NUL */
	memcpy(info->chassisSerialNumber, gpu.chassis, strnlen(gpu.chassis, sizeof info->chassisSerialNumber));
	info->slotNumber = told(&gpu, PLATFORM_SLOT);
	info->trayIndex = told(&gpu, PLATFORM_TRAY);
	info->hostId = told(&gpu, PLATFORM_HOST);
	info->peerType = told(&gpu, PLATFORM_PEER);
	info->moduleId = module;
	return NVML_SUCCESS;
}
