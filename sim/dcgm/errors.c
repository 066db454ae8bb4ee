/* What the library knows without an engine. */
#include "engine.h"

#include <stddef.h>

EXPORT const char *errorString(dcgmReturn_t result)
{
	switch (result) {
	case DCGM_ST_OK: return "Success";
	case DCGM_ST_BADPARAM: return "Bad parameter passed to function";
	case DCGM_ST_GENERIC_ERROR: return "Generic unspecified error";
	case DCGM_ST_NOT_CONFIGURED: return "Setting not configured";
	case DCGM_ST_UNINITIALIZED: return "Object is in an undefined state";
	case DCGM_ST_TIMEOUT: return "Timeout";
	case DCGM_ST_VER_MISMATCH: return "API version mismatch";
	case DCGM_ST_UNKNOWN_FIELD: return "Unknown field";
	case DCGM_ST_CONNECTION_NOT_VALID: return "Host engine connection invalid/disconnected";
	case DCGM_ST_MAX_LIMIT: return "The maximum limit was reached";
	case DCGM_ST_IN_USE: return "The resource is in use";
	case DCGM_ST_PROFILING_LIBRARY_ERROR:
		return "The third-party profiling module returned an unrecoverable error";
	default: return "Unknown error";
	}
}

/* The severity of each DCGM_FR_ code, in the order of the codes. */
static const char severities[] = "3332216224111242115153452611554412122422111144555441214542245144444"
				 "451225411145262566622244444425424442222221242522225222221462666414";

EXPORT const dcgm_error_meta_t *dcgmGetErrorMeta(dcgmError_t code)
{
	static _Thread_local dcgm_error_meta_t meta;
	if (code >= sizeof severities - 1)
		return NULL;
	meta = (dcgm_error_meta_t){.errorId = code, .severity = severities[code] - '0'};
	return &meta;
}
