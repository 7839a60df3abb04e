/* What the bindings of the protocols' engines share: plait-io/lib/plait/protocols/rulebook.rb and limits.rb, called from C. */
#ifndef PLAIT_RB_RULEBOOK_H
#define PLAIT_RB_RULEBOOK_H

#include <ruby.h>

/* `rules` is the protocol's module of them, such as Plait::Protocols::RESP::Rules, `name` the rule that the peer broke. */
NORETURN(void plait_raise_broken(VALUE rules, const char *name, uint64_t offset, VALUE limits));

/* A LocalProtocolError, to be raised: the call was wrong, not the bytes. */
VALUE plait_misuse(VALUE rules, const char *message);
NORETURN(void plait_raise_misuse(VALUE rules, const char *message));

/* The numbers of a protocol's Limits, in the order of the engine's struct: an Array of `count` Integers, or nils. */
VALUE plait_limit_numbers(VALUE limits, long count);

/* [text, place, limit]: a rule of an engine, as the protocol's Rules have it; of the last two either may be NULL. */
VALUE plait_rule(const char *text, const char *place, const char *limit);

#endif
