/* What the results of the engine mean. */
#include "http1.h"

const struct http1_limits http1_default_limits = {
    .body = 1ULL << 30,
    .start_line = 8 * 1024,
    .head = 64 * 1024,
    .headers = 128,
    .interim = 32,
    .chunk_extensions = 16 * 1024,
    .trailer = 16 * 1024,
};

static const struct http1_rule rules[HTTP1_RULE_COUNT] = {
#define RULE(constant, name, section, limit, status, text) [HTTP1_E_##constant] = {name, text, section, limit, status},
    HTTP1_RULES(RULE)
#undef RULE
};

const struct http1_rule *http1_rule(ptrdiff_t result) {
    return result < 0 && result > -HTTP1_RULE_COUNT ? &rules[-result] : NULL;
}
