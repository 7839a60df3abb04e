/* What the bindings of this extension share. Engines don't include it: they know nothing of Ruby. */
#ifndef PLAIT_IO_H
#define PLAIT_IO_H

#include <plait_core_user.h>

/* An IO to wait by, which never closes its descriptor. */
VALUE plait_io_to_wait_by(int descriptor);

/* Each binding of the extension, called once by Init_plait_io. */
void plait_init_connect(VALUE plait);
void plait_init_http1(VALUE plait);
void plait_init_messagepack_rpc(VALUE plait);
void plait_init_pool(VALUE plait);
void plait_init_reactor(VALUE plait);
void plait_init_response(void);
void plait_init_rpc(VALUE plait);
void plait_init_server(VALUE plait);
void plait_init_sqlite(VALUE plait);
void plait_init_wire(VALUE plait);

#endif
