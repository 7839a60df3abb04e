/* What must hold of a method, a target, a host and a field: in a request that comes in, and in what we send. */
#include "http1_syntax.h"

#include <string.h>

static bool http1_check_is_method(const char *data, size_t size, const char *method) {
    return size == strlen(method) && memcmp(data, method, size) == 0;
}

int http1_check_method(const char *data, size_t size) {
    return size && http1_run(data, 0, size, CLASS_TOKEN) == size ? 0 : -HTTP1_E_METHOD;
}

int http1_check_name(const char *data, size_t size) {
    if (size == 0) return -HTTP1_E_EMPTY_NAME;
    return http1_run(data, 0, size, CLASS_TOKEN) == size ? 0 : -HTTP1_E_FIELD_NAME;
}

/* White space around it would be lost on the way, and what is empty may be sent. */
int http1_check_value(const char *data, size_t size) {
    if (size && (http1_is_space(data[0]) || http1_is_space(data[size - 1]))) return -HTTP1_E_FIELD_VALUE;
    return http1_scan_control(data, 0, size) == size ? 0 : -HTTP1_E_FIELD_VALUE;
}

/* ---- hosts ---- */

/* Where the host that begins at `at` ends, the brackets of an IP literal included; `at` when there is none. */
static size_t http1_check_host_end(const char *data, size_t at, size_t size) {
    if (at < size && data[at] == '[') {
        size_t end = at + 1;
        while (end < size && (http1_is(data[end], CLASS_HOST) || data[end] == ':')) end++;
        return end < size && data[end] == ']' && end > at + 1 ? end + 1 : at;
    }
    while (at < size && http1_is(data[at], CLASS_HOST)) {
        bool escape = data[at] == '%';
        if (escape && (size - at < 3 || http1_hex(data[at + 1]) < 0 || http1_hex(data[at + 2]) < 0)) break;
        at += escape ? 3 : 1;
    }
    return at;
}

/* ":80" or ":", up to the end */
static bool http1_check_is_port(const char *data, size_t at, size_t size) {
    return data[at] == ':' && http1_run(data, at + 1, size, CLASS_DIGIT) == size;
}

/* Empty is right for a target without an authority (RFC 9110 §7.2); a port without a host never is. */
int http1_check_host(const char *data, size_t size) {
    size_t end = http1_check_host_end(data, 0, size);
    if (end == size) return 0;
    return end > 0 && http1_check_is_port(data, end, size) ? 0 : -HTTP1_E_HOST;
}

/* ---- targets ---- */

/* host:port, both needed (RFC 9112 §3.2.3) */
static bool http1_check_is_authority(const char *data, size_t size) {
    size_t end = http1_check_host_end(data, 0, size);
    return end > 0 && size - end >= 2 && http1_check_is_port(data, end, size);
}

/*
 * scheme://authority, and then a path or a query. The authority is taken for the host, and held to the same rules; a userinfo
 * is an error (RFC 9110 §4.2.4).
 */
static bool http1_check_is_absolute(const char *data, size_t size) {
    if (!http1_is(data[0], CLASS_SCHEME) || !(data[0] & 0x40)) return false;

    size_t at = http1_run(data, 0, size, CLASS_SCHEME);
    if (size - at <= 3 || memcmp(data + at, "://", 3) != 0) return false;

    size_t end = at += 3;
    while (end < size && data[end] != '/' && data[end] != '?') end++;
    return end > at && http1_check_host(data + at, end - at) == 0;
}

int http1_check_target(const char *method, size_t method_size, const char *target, size_t target_size) {
    if (target_size == 0 || http1_run(target, 0, target_size, CLASS_TARGET) != target_size) return -HTTP1_E_TARGET;
    return http1_check_form(method, method_size, target, target_size);
}

int http1_check_form(const char *method, size_t method_size, const char *target, size_t target_size) {
    bool right;
    if (http1_check_is_method(method, method_size, "CONNECT")) {
        right = http1_check_is_authority(target, target_size);
    } else if (target[0] == '*') {
        right = target_size == 1 && http1_check_is_method(method, method_size, "OPTIONS");
    } else {
        right = target[0] == '/' || http1_check_is_absolute(target, target_size);
    }
    return right ? 0 : -HTTP1_E_TARGET_FORM;
}
