/* What a MIG device is called. */
#ifndef SIM_MIG_H
#define SIM_MIG_H

#include "control.h"

/* Write the UUID and the name of a GPU's MIG device over the GPU's own, which
 * may be out itself. */
void mig_uuid(const struct gpu *gpu, int instance, char out[MAX_TEXT]);
void mig_name(const struct gpu *gpu, int instance, char out[MAX_TEXT]);

#endif
