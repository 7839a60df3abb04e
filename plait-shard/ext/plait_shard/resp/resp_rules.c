/* What the results of the engine mean, and its limits. */
#include "resp.h"

const struct resp_limits resp_default_limits = {
    .bulk = 512ULL << 20,
    .command = 1ULL << 30,
    .elements = 1ULL << 30,
    .arguments = 1 << 20,
    .line = 64 << 10,
};

static const struct resp_rule rules[RESP_RULE_COUNT] = {
#define RULE(constant, name, limit, reply, text) [RESP_E_##constant] = {name, text, reply, limit},
    RESP_RULES(RULE)
#undef RULE
};

const struct resp_rule *resp_rule(int result) {
    return result < 0 && result > -RESP_RULE_COUNT ? &rules[-result] : NULL;
}

size_t resp_write_header(char header[RESP_HEADER], char type, uint64_t number) {
    char digits[20];
    size_t count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);

    size_t size = 0;
    header[size++] = type;
    while (count) header[size++] = digits[--count];
    header[size++] = '\r';
    header[size++] = '\n';
    return size;
}
