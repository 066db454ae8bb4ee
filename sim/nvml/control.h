/*
 * The control file of a simulated node: what the driver would know.
 *
 * The file is named by GPUHEALTHD_SIM (the file, or the folder that holds
 * node.conf). It is looked at on every call and read again when it changed, so
 * running processes see an edit at once.
 */
#ifndef SIM_CONTROL_H
#define SIM_CONTROL_H

#include <stdbool.h>
#include <stdio.h>

#include "number.h"

#define MAX_GPUS      16
#define MAX_CALLS     8
#define MAX_INSTANCES 8
#define MAX_EVENTS    32
#define MAX_LINK_NUMBERS 64
#define MAX_TEXT      96
#define MAX_PATH      512

enum state { STATE_PRESENT, STATE_LOST, STATE_GONE };
enum mig { MIG_OFF, MIG_ON, MIG_UNSUPPORTED };
enum remap { REMAP_NONE, REMAP_PENDING, REMAP_FAILED, REMAP_UNSUPPORTED, REMAP_UNKNOWN };

#define FOREVER (-1.0)
#define CRASH   (-2.0)

/* Something about a call; "*" is every call. */
struct call {
	char name[MAX_TEXT];
	double value;
};

struct calls {
	int count;
	struct call list[MAX_CALLS];
};

/* Calls that do not return for so many seconds, and that answer with a code or
 * CRASH. */
struct faults {
	struct calls hangs, fails;
};

/* One MIG device. */
struct instance {
	char profile[24];
	unsigned gi, ci;
};

/* One XID event. Each has a higher sequence number than the one before. */
struct event {
	unsigned sequence, gpu, code, gi, ci;
};

/* A number that is one link's own. */
struct link_number {
	unsigned link;
	enum number_id id;
	struct number number;
};

struct gpu {
	char uuid[MAX_TEXT], serial[MAX_TEXT], name[MAX_TEXT], part[MAX_TEXT];
	char switches[MAX_TEXT]; /* the addresses of those that this host has */
	char cluster[MAX_TEXT], chassis[MAX_TEXT];
	unsigned domain, bus, device, minor;
	int state, mig, remap;
	struct number numbers[NUMBERS];
	int links;
	struct link_number link[MAX_LINK_NUMBERS];
	int instances;
	struct instance instance[MAX_INSTANCES];
	unsigned idle_instances; /* a bit for each GPU instance that shows no activity */
	struct faults faults;
};

/* What belongs to no GPU. */
struct head {
	char driver[MAX_TEXT], nvml[MAX_TEXT];
	char devices[MAX_PATH]; /* the folder of the device files; empty is none */
	int mismatch;
	struct faults faults; /* of calls on no GPU, and on any */
	int events;
	struct event event[MAX_EVENTS]; /* in the order of their numbers */
	int count; /* GPUs */
};

struct node {
	struct head head;
	struct gpu every; /* what a GPU has that its own section does not name */
	struct gpu gpus[MAX_GPUS];
};

/* Copies the present state. False: there is no node, as without a driver. */
bool control_head(struct head *out);

/* The same of one GPU. False as well where the node has no such GPU. */
bool control_gpu(int slot, struct gpu *out);

/* The hang that meets this call now; slot -1 is a call on no GPU. */
bool control_hang(const char *call, int slot, double *seconds);

/* What this call answers instead of an answer; NVML_SUCCESS is nothing. A call
 * that crashes takes the process with it. */
nvmlReturn_t control_fail(const char *call, int slot);

/* Begins to look for changes, and waits for one: false is none in that time. The
 * caller closes what it got. */
int control_watch(void);
bool control_wait(int watch, unsigned timeoutms);

/* Reads a control file; on a mistake it says so on stderr and returns false. */
bool parse_node(FILE *file, const char *path, struct node *out);

/* Reads domain:bus:device[.function] or bus:device.function, in hex. */
bool parse_pci(const char *text, unsigned *domain, unsigned *bus, unsigned *device);

#endif
