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

#define MAX_GPUS  16
#define MAX_HANGS 8
#define MAX_TEXT  96

enum state { STATE_PRESENT, STATE_LOST, STATE_GONE };
enum mig { MIG_OFF, MIG_ON, MIG_UNSUPPORTED };
enum remap { REMAP_NONE, REMAP_PENDING, REMAP_FAILED, REMAP_UNSUPPORTED };

#define RECOVERY_UNSUPPORTED (-1)
#define FOREVER (-1.0)

/* One call that does not return for so many seconds; "*" is every call. */
struct hang {
	char call[MAX_TEXT];
	double seconds;
};

struct hangs {
	int count;
	struct hang list[MAX_HANGS];
};

struct gpu {
	char uuid[MAX_TEXT], serial[MAX_TEXT], name[MAX_TEXT];
	unsigned domain, bus, device, minor;
	int state, mig, remap, recovery;
	struct hangs hangs;
};

struct node {
	char driver[MAX_TEXT], nvml[MAX_TEXT];
	int mismatch;
	struct hangs hangs;
	int count;
	struct gpu gpus[MAX_GPUS];
};

/* Copies the present state. False: there is no node, as without a driver. */
bool control_read(struct node *out);

/* Reads a control file; on a mistake it says so on stderr and returns false. */
bool parse_node(FILE *file, const char *path, struct node *out);

/* Reads domain:bus:device[.function] or bus:device.function, in hex. */
bool parse_pci(const char *text, unsigned *domain, unsigned *bus, unsigned *device);

#endif
