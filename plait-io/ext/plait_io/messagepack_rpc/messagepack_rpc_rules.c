/* What the results of the engine mean. */
#include "messagepack_rpc.h"

const struct mprpc_limits mprpc_default_limits = {
    .message = 256ULL << 20,
    .nesting = 100,
    .elements = 1 << 22,
    .method_name = 1024,
};

static const struct mprpc_rule rules[MPRPC_RULE_COUNT] = {
#define RULE(constant, name, section, limit, text) [MPRPC_E_##constant] = {name, text, section, limit},
    MPRPC_RULES(RULE)
#undef RULE
};

const struct mprpc_rule *mprpc_rule(int result) {
    return result < 0 && result > -MPRPC_RULE_COUNT ? &rules[-result] : NULL;
}
