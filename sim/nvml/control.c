#include "control.h"

#include <libgen.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node current, fresh; /* guarded by lock, as all below */
static bool loaded;
static struct stat seen;

static void control_path(char *path, size_t size)
{
	const char *name = getenv("GPUHEALTHD_SIM");
	struct stat st;
	bool folder = name && stat(name, &st) == 0 && S_ISDIR(st.st_mode);
	snprintf(path, size, "%s%s", name ? name : "", folder ? "/node.conf" : "");
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file that an editor has half written does not take the node away: the
 * last good one stays until the next is whole. */
static void refresh(void)
{
	char path[4096];
	struct stat st;

	control_path(path, sizeof path);
	if (stat(path, &st) != 0) {
		loaded = false;
		return;
	}
	if (same(&st, &seen))
		return;
	FILE *file = fopen(path, "re");
	if (!file) {
		perror(path);
		return;
	}
	seen = st;
	if (parse_node(file, path, &fresh)) {
		current = fresh;
		loaded = true;
	}
	fclose(file);
}

/* Takes the lock and brings the state up to date. False: there is no node. */
static bool begin(void)
{
	pthread_mutex_lock(&lock);
	refresh();
	return loaded;
}

static bool end(bool ok)
{
	pthread_mutex_unlock(&lock);
	return ok;
}

bool control_head(struct head *out)
{
	bool ok = begin();
	if (ok)
		*out = current.head;
	return end(ok);
}

bool control_gpu(int slot, struct gpu *out)
{
	bool ok = begin() && slot >= 0 && slot < current.head.count;
	if (ok)
		*out = current.gpus[slot];
	return end(ok);
}

static const struct call *find(const struct calls *calls, const char *name)
{
	for (int i = 0; i < calls->count; i++)
		if (!strcmp(calls->list[i].name, name) || !strcmp(calls->list[i].name, "*"))
			return &calls->list[i];
	return NULL;
}

static const struct faults *faults_of(int slot)
{
	static const struct faults none;
	return slot >= 0 && slot < current.head.count ? &current.gpus[slot].faults : &none;
}

bool control_hang(const char *call, int slot, double *seconds)
{
	if (!begin())
		return end(false);
	const struct call *c = find(&current.head.faults.hangs, call);
	if (!c)
		c = find(&faults_of(slot)->hangs, call);
	if (c)
		*seconds = c->value;
	return end(c != NULL);
}

/* Writes to nowhere, as a library does that has lost its way. */
static void crash(void)
{
	volatile int *volatile nowhere = NULL;
	*nowhere = 0;
}

nvmlReturn_t control_fail(const char *call, int slot)
{
	nvmlReturn_t rc = NVML_SUCCESS;
	if (!begin()) {
		end(false);
		return rc;
	}
	const struct call *c = find(&current.head.faults.fails, call);
	if (!c)
		c = find(&faults_of(slot)->fails, call);
	if (c && c->value == CRASH)
		crash();
	if (c)
		rc = c->value;
	end(true);
	return rc;
}

/* The folder is watched: the file may be replaced. */
int control_watch(void)
{
	char path[4096];
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	control_path(path, sizeof path);
	inotify_add_watch(watch, dirname(path), IN_MOVED_TO | IN_CLOSE_WRITE);
	return watch;
}

bool control_wait(int watch, unsigned timeoutms)
{
	char events[4096];
	struct pollfd fd = {.fd = watch, .events = POLLIN};
	if (poll(&fd, 1, timeoutms) <= 0)
		return false;
	return read(watch, events, sizeof events) > 0;
}
