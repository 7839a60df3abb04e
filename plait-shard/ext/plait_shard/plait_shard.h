/* What the bindings of this extension share. Engines don't include it: they know nothing of Ruby. */
#ifndef PLAIT_SHARD_BINDINGS_H
#define PLAIT_SHARD_BINDINGS_H

#include <plait_core_user.h>

/* Each binding of the extension, called once by Init_plait_shard. */
void plait_init_placement(VALUE plait);
void plait_init_resp(VALUE plait);
void plait_init_resp_values(VALUE module);
void plait_init_shard(VALUE plait);

#endif
