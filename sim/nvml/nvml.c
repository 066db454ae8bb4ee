/* Init, shutdown and versions: the calls that belong to no GPU. */
#include "session.h"

#include <string.h>

EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	struct head head;
	(void)flags;
	session_hang("nvmlInit_v2", -1);
	nvmlReturn_t rc = control_fail("nvmlInit_v2", -1);
	if (rc)
		return rc;
	if (!control_head(&head))
		return NVML_ERROR_DRIVER_NOT_LOADED;
	if (head.mismatch)
		return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
	session_open(&head);
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

ALIAS(nvmlInit, nvmlInit_v2, (void))

EXPORT nvmlReturn_t nvmlShutdown(void)
{
	session_hang(__func__, -1);
	return session_close() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t copy_out(char *out, unsigned length, const char *text)
{
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(out, text);
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	struct head head;
	nvmlReturn_t rc = session_enter(__func__, &head);
	return rc ? rc : copy_out(version, length, head.driver);
}

/* The library knows its own version, initialised or not. */
EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	struct head head;
	return control_head(&head) ? copy_out(version, length, head.nvml) : NVML_ERROR_UNKNOWN;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
	default: return "Unknown Error";
	}
}
