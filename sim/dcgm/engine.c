/* The connection to the engine. */
#include "engine.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised, connected, embedded; /* guarded by lock, as all below */
static unsigned generation;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Waits while waiting says so, for so long at most; true: it is over in time. */
static bool wait_while(bool (*waiting)(const char *, double *), const char *call)
{
	double start = now(), seconds;
	while (waiting(call, &seconds)) {
		if (now() - start >= seconds)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return true;
}

static bool hangs(const char *call, double *seconds)
{
	struct conf c;
	conf_read(&c);
	const struct call *h = conf_find(&c.hang, call);
	if (h)
		*seconds = h->value;
	return h != NULL;
}

static bool stopped(const char *call, double *seconds)
{
	struct conf c;
	conf_read(&c);
	*seconds = c.patience * (strncmp(call, "dcgmConnect", 11) ? 1 : 2);
	return c.engine == ENGINE_STOPPED;
}

static void connection(bool *open, bool *inside, unsigned *of)
{
	pthread_mutex_lock(&lock);
	*open = connected;
	*inside = embedded;
	*of = generation;
	pthread_mutex_unlock(&lock);
}

dcgmReturn_t engine_enter(const char *call, struct conf *out)
{
	bool open, inside;
	unsigned of;
	connection(&open, &inside, &of);
	if (!open)
		return DCGM_ST_UNINITIALIZED;
	wait_while(hangs, call);
	if (!inside && !wait_while(stopped, call))
		return DCGM_ST_TIMEOUT;
	conf_read(out);
	if (!inside && (out->engine == ENGINE_DOWN || out->generation != of))
		return DCGM_ST_CONNECTION_NOT_VALID;
	const struct call *fail = conf_find(&out->fail, call);
	return fail ? (dcgmReturn_t)fail->value : DCGM_ST_OK;
}

EXPORT dcgmReturn_t dcgmInit(void)
{
	pthread_mutex_lock(&lock);
	initialised = true;
	pthread_mutex_unlock(&lock);
	return DCGM_ST_OK;
}

EXPORT dcgmReturn_t dcgmShutdown(void)
{
	pthread_mutex_lock(&lock);
	initialised = false;
	pthread_mutex_unlock(&lock);
	return DCGM_ST_OK;
}

static dcgmReturn_t open_connection(bool inside, unsigned of, dcgmHandle_t *handle)
{
	pthread_mutex_lock(&lock);
	dcgmReturn_t rc = initialised ? DCGM_ST_OK : DCGM_ST_UNINITIALIZED;
	if (rc == DCGM_ST_OK) {
		connected = true;
		embedded = inside;
		generation = of;
		*handle = 1;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static dcgmReturn_t close_connection(void)
{
	fields_forget();
	policy_forget();
	health_forget();
	pthread_mutex_lock(&lock);
	dcgmReturn_t rc = connected ? DCGM_ST_OK : DCGM_ST_CONNECTION_NOT_VALID;
	connected = false;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* A stopped engine's socket still accepts: to connect succeeds late. */
EXPORT dcgmReturn_t dcgmConnect_v2(const char *address, dcgmConnectV2Params_t *params, dcgmHandle_t *handle)
{
	struct conf c;
	if (params->version != dcgmConnectV2Params_version2)
		return DCGM_ST_VER_MISMATCH;
	wait_while(hangs, __func__);
	wait_while(stopped, __func__);
	conf_read(&c);
	bool path = c.address[0] == '/';
	if (c.engine == ENGINE_DOWN || strcmp(address, c.address) || path != (params->addressIsUnixSocket == 1))
		return DCGM_ST_CONNECTION_NOT_VALID;
	return open_connection(false, c.generation, handle);
}

EXPORT dcgmReturn_t dcgmDisconnect(dcgmHandle_t handle)
{
	struct conf c;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	close_connection();
	return rc;
}

EXPORT dcgmReturn_t dcgmStartEmbedded(dcgmOperationMode_t mode, dcgmHandle_t *handle)
{
	(void)mode;
	return open_connection(true, 0, handle);
}

EXPORT dcgmReturn_t dcgmStopEmbedded(dcgmHandle_t handle)
{
	(void)handle;
	return close_connection();
}

EXPORT dcgmReturn_t dcgmHostengineVersionInfo(dcgmHandle_t handle, dcgmVersionInfo_t *info)
{
	struct conf c;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	if (c.mismatch || info->version != dcgmVersionInfo_version)
		return DCGM_ST_VER_MISMATCH;
	snprintf(info->rawBuildInfoString, sizeof info->rawBuildInfoString,
		 "version:%s;arch:x86_64;buildtype:Release", c.version);
	return DCGM_ST_OK;
}
