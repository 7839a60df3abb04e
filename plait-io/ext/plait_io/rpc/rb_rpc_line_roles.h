/* Stays on a line: one member reads for all, one waits until more can be sent, the others sleep. */
#ifndef PLAIT_RB_RPC_LINE_ROLES_H
#define PLAIT_RB_RPC_LINE_ROLES_H

#include "rb_rpc_line.h"

/* Stays until the member has what it wants, or its time is up: then false. `begin` runs first. Raises once the line is over. */
bool plait_line_stay(VALUE self, struct member *member, void (*begin)(struct line *line, void *argument), void *argument);

void plait_init_rpc_line_roles(void);

#endif
