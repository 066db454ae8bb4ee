/* The NVLinks of a GPU. A number that is set for one link ("link.5.recoveries")
 * stands before that of all links ("nvlink.recoveries"). */
#ifndef SIM_LINKS_H
#define SIM_LINKS_H

#include "control.h"

/* Takes "link.N.NAME". */
bool links_take(struct gpu *gpu, const char *key, const char *value);

/* A number of one link; NULL is no such link. */
const struct number *links_number(const struct gpu *gpu, unsigned link, enum number_id id);

/* Answers a field that is about links; false is no such field. */
bool links_field(const struct gpu *gpu, nvmlFieldValue_t *v);

#endif
