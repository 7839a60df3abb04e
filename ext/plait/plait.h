#ifndef PLAIT_H
#define PLAIT_H

#include <ruby.h>

/* Each binding of the extension, called once by Init_plait. */
void plait_init_http1(VALUE plait);
void plait_init_scheduler(VALUE plait);
void plait_init_selector(VALUE plait);

#endif
