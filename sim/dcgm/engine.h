/* What every call of the library does before it answers. */
#ifndef SIM_DCGM_ENGINE_H
#define SIM_DCGM_ENGINE_H

#include "conf.h"

#include "dcgm_agent.h"
#include "dcgm_errors.h"
#include "dcgm_fields.h"
#include "dcgm_structs.h"

/* With -fvisibility=hidden only DCGM's own names are exported. */
#define EXPORT __attribute__((visibility("default")))

/* Reads the engine's state into out, as a call that asks it: takes as long as
 * dcgm.conf says, fails as it says, and answers that the connection is not valid
 * where the engine is not the one that was connected. */
dcgmReturn_t engine_enter(const char *call, struct conf *out);

/* Whether GPU i of the node is one that the engine lists, and supports. */
bool engine_lists(const struct conf *c, unsigned i);
bool engine_supports(const struct conf *c, unsigned i);

/* What a GPU's field is now; not watched yet is not its matter. */
struct reading {
	char type; /* DCGM_FT_ */
	int64_t i, usec;
	double d;
	const char *s;
	bool none; /* nothing yet */
};

/* Reads a field of GPU i. False: there is no such field. */
bool engine_field(const struct conf *c, unsigned i, unsigned short id, struct reading *out);

/* Forgets the watches and registrations of a connection. */
void fields_forget(void);
void policy_forget(void);
void health_forget(void);

#endif
