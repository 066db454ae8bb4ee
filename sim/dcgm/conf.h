/*
 * What a simulated engine knows: dcgm.conf beside node.conf in the node's folder.
 * The GPUs are those of node.conf (their uuid, state, remap and recovery are read
 * there, all else is NVML's); without dcgm.conf there is no engine.
 *
 *   engine = up | stopped | down     stopped is SIGSTOP: calls wait
 *   address = localhost:5555         or the path of a unix socket
 *   generation = 1                   counts starts of the engine
 *   version = 4.6.0
 *   mismatch = off | on              structures of another version (3.x)
 *   driver = on | off                off: the engine knows no GPU
 *   switches = 0                     NVSwitches
 *   patience = 60                    seconds until a call on a stopped engine
 *                                    gives up; to connect takes twice that
 *   fail.CALL = CODE                 the call answers so
 *   hang.CALL = SECONDS              the call takes so long
 *   incident.N = GROUP ID SYSTEM CODE RESULT
 *   violation.N = GPU CONDITION VALUE
 *   [gpu N]
 *   blank = off | on                 every value is blank
 *   field.ID = VALUE
 *   xid.N = CODE MICROSECONDS driver | kmsg
 */
#ifndef SIM_DCGM_CONF_H
#define SIM_DCGM_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define MAX_GPUS   16
#define MAX_TEXT   96
#define MAX_CALLS  16
#define MAX_THINGS 32 /* of one kind */

enum state { STATE_PRESENT, STATE_LOST, STATE_GONE };
enum engine { ENGINE_UP, ENGINE_STOPPED, ENGINE_DOWN };
enum source { FROM_DRIVER, FROM_KMSG };

struct call {
	char name[MAX_TEXT];
	double value; /* code or seconds */
};

struct calls {
	int count;
	struct call list[MAX_CALLS];
};

struct incident {
	unsigned group, id, system, code, result;
};

struct violation {
	unsigned number, gpu, value;
	int condition;
};

struct xid {
	unsigned code;
	int64_t usec;
	int source;
};

struct value {
	unsigned id;
	double value;
};

struct gpu {
	char uuid[MAX_TEXT];
	int state, remap_pending, remap_failed;
	unsigned recovery;
	int blank, values, xids;
	struct value value[MAX_THINGS];
	struct xid xid[MAX_THINGS];
};

struct conf {
	int engine, mismatch, driver, incidents, violations;
	int count; /* GPUs */
	unsigned generation, switches;
	double patience;
	char address[MAX_TEXT], version[MAX_TEXT];
	struct calls fail, hang;
	struct incident incident[MAX_THINGS];
	struct violation violation[MAX_THINGS];
	struct gpu gpu[MAX_GPUS];
};

/* The condition words of a violation, in the order of DCGM's bits. */
extern const char *const condition_words[];

/* Reads the present state. Without files, or with one that is not understood
 * (said on stderr), the engine is down. */
void conf_read(struct conf *out);

/* Whether dcgm.conf is another than seen, which is set to it: to ask is cheap,
 * for who waits. */
bool conf_changed(struct stat *seen);

/* The entry of a call, or NULL. */
const struct call *conf_find(const struct calls *calls, const char *name);

#endif
