/* Where the message ends (RFC 9112 §6.3), and what becomes of the connection (§9.3). */
#include "http1_framing.h"

#include <string.h>

#include "http1_syntax.h"

enum { SWITCHING_PROTOCOLS = 101, NO_CONTENT = 204, NOT_MODIFIED = 304 };

static bool http1_framing_seen(const struct http1_head *head, enum http1_known known) {
    return head->seen >> known & 1;
}

/* 2xx to CONNECT: what its fields say of lengths must be ignored (RFC 9110 §9.3.6). */
static bool http1_framing_opens_tunnel(const struct http1_head *head) {
    return head->request & HTTP1_TO_CONNECT && head->status / 100 == 2;
}

int http1_judge_status(const struct http1_head *head) {
    if (head->status >= 200) return 0;
    if (head->status == SWITCHING_PROTOCOLS) return head->request & HTTP1_TO_UPGRADE ? 0 : -HTTP1_E_UNASKED_UPGRADE;
    return head->interims >= head->limits->interim ? -HTTP1_E_INTERIM_LIMIT : 0;
}

/* ---- Content-Length ---- */

/* Digits, up to 2^63 - 1 so that a signed size holds it. */
static int http1_framing_parse_length(const char *data, const struct http1_element *element, uint64_t *length,
                                      size_t *error_at) {
    size_t end = element->at + element->size;
    *length = 0;
    *error_at = http1_run(data, element->at, end, CLASS_DIGIT);
    if (element->size == 0 || *error_at != end) return -HTTP1_E_CONTENT_LENGTH;

    *error_at = element->at;
    for (size_t at = element->at; at < end; at++) {
        unsigned digit = (unsigned)(data[at] - '0');
        if (*length > ((uint64_t)INT64_MAX - digit) / 10) return -HTTP1_E_CONTENT_LENGTH_OVERFLOW;
        *length = *length * 10 + digit;
    }
    return 0;
}

/* "5, 5" is what a proxy makes of two equal fields: the same number may be said again. */
static int http1_framing_judge_content_length(struct http1_head *head, const char *data, const struct http1_header *header,
                                              size_t *error_at) {
    *error_at = header->name_at;
    if (http1_framing_seen(head, HTTP1_FIELD_TRANSFER_ENCODING)) return -HTTP1_E_TWO_LENGTHS;

    bool first = !http1_framing_seen(head, HTTP1_FIELD_CONTENT_LENGTH);
    struct http1_element element;
    for (size_t at = header->value_at, end = at + header->value_size; http1_next_element(data, &at, end, &element);) {
        uint64_t length;
        int broken = http1_framing_parse_length(data, &element, &length, error_at);
        if (broken) return broken;
        if (!first && length != head->content_length) return -HTTP1_E_CONTENT_LENGTH_CONFLICT;

        head->content_length = length;
        first = false;
    }
    return 0;
}

/* ---- Transfer-Encoding ---- */

/* Empty elements are refused, against RFC 9110 §5.6.1.2: where parsers differ about framing, requests are smuggled. */
static int http1_framing_judge_coding(struct http1_head *head, const char *coding, size_t size) {
    bool chunked = http1_same_word(coding, size, "chunked");
    if (head->chunked) return chunked ? -HTTP1_E_CHUNKED_TWICE : -HTTP1_E_CHUNKED_NOT_LAST;
    if (!chunked) return -HTTP1_E_TRANSFER_CODING;

    head->chunked = true;
    return 0;
}

static int http1_framing_judge_transfer_encoding(struct http1_head *head, const char *data, const struct http1_header *header,
                                                 size_t *error_at) {
    *error_at = header->name_at;
    if (head->minor == 0) return -HTTP1_E_OLD_TRANSFER_ENCODING;
    if (http1_framing_seen(head, HTTP1_FIELD_CONTENT_LENGTH)) return -HTTP1_E_TWO_LENGTHS;

    struct http1_element element;
    for (size_t at = header->value_at, end = at + header->value_size; http1_next_element(data, &at, end, &element);) {
        int broken = http1_framing_judge_coding(head, data + element.at, element.size);
        *error_at = element.at;
        if (broken) return broken;
    }
    return 0;
}

/* ---- the other fields ---- */

static void http1_framing_read_connection(struct http1_head *head, const char *data, const struct http1_header *header) {
    struct http1_element element;
    for (size_t at = header->value_at, end = at + header->value_size; http1_next_element(data, &at, end, &element);) {
        head->close |= http1_same_word(data + element.at, element.size, "close");
        head->keep_alive |= http1_same_word(data + element.at, element.size, "keep-alive");
        head->names_upgrade |= http1_same_word(data + element.at, element.size, "upgrade");
    }
}

/* "timeout=5": the number, where it is one of 1 to 9 digits. */
static void http1_framing_read_number(const char *data, const struct http1_element *element, const char *name,
                                      uint32_t *number) {
    size_t size = strlen(name), end = element->at + element->size, from = element->at + size + 1;
    if (end <= from || end - from > 9 || data[from - 1] != '=' || !http1_same_word(data + element->at, size, name)) return;
    if (http1_run(data, from, end, CLASS_DIGIT) != end) return;

    *number = 0;
    for (; from < end; from++) *number = *number * 10 + (uint32_t)(data[from] - '0');
}

static void http1_framing_read_keep_alive(struct http1_head *head, const char *data, const struct http1_header *header) {
    struct http1_element element;
    for (size_t at = header->value_at, end = at + header->value_size; http1_next_element(data, &at, end, &element);) {
        http1_framing_read_number(data, &element, "timeout", &head->kept_for);
        http1_framing_read_number(data, &element, "max", &head->kept_times);
    }
}

/* Whether a scheme is offered that logs in a connection, and not a request (RFC 4559 §6). */
static bool http1_framing_offers_login(const char *data, const struct http1_header *header) {
    struct http1_element element;
    for (size_t at = header->value_at, end = at + header->value_size; http1_next_element(data, &at, end, &element);) {
        size_t size = 0;
        while (size < element.size && !http1_is_space(data[element.at + size])) size++;
        const char *scheme = data + element.at;
        if (http1_same_word(scheme, size, "negotiate") || http1_same_word(scheme, size, "ntlm")) return true;
    }
    return false;
}

static int http1_framing_judge_response_field(struct http1_head *head, const char *data, const struct http1_header *header) {
    switch (header->known) {
    case HTTP1_FIELD_KEEP_ALIVE:
        http1_framing_read_keep_alive(head, data, header);
        break;
    case HTTP1_FIELD_WWW_AUTHENTICATE:
    case HTTP1_FIELD_PROXY_AUTHENTICATE:
        head->logged_in |= http1_framing_offers_login(data, header);
        break;
    case HTTP1_FIELD_PERSISTENT_AUTH:
        head->logged_in |= !http1_same_word(data + header->value_at, header->value_size, "false");
        break;
    default:
        break;
    }
    return 0;
}

static int http1_framing_judge_host(const struct http1_head *head, const char *data, const struct http1_header *header,
                                    size_t *error_at) {
    *error_at = header->name_at;
    if (http1_framing_seen(head, HTTP1_FIELD_HOST)) return -HTTP1_E_TWO_HOSTS;

    *error_at = header->value_at;
    return http1_check_host(data + header->value_at, header->value_size);
}

static int http1_framing_judge_request_field(struct http1_head *head, const char *data, const struct http1_header *header,
                                             size_t *error_at) {
    if (header->known == HTTP1_FIELD_HOST) return http1_framing_judge_host(head, data, header, error_at);
    if (header->known == HTTP1_FIELD_EXPECT && head->minor == 1) {
        head->expect_continue |= http1_same_word(data + header->value_at, header->value_size, "100-continue");
    }
    return 0;
}

int http1_judge_field(struct http1_head *head, const char *data, const struct http1_header *header, size_t *error_at) {
    switch (header->known) {
    case HTTP1_FIELD_CONTENT_LENGTH:
        return http1_framing_opens_tunnel(head) ? 0 : http1_framing_judge_content_length(head, data, header, error_at);
    case HTTP1_FIELD_TRANSFER_ENCODING:
        return http1_framing_opens_tunnel(head) ? 0 : http1_framing_judge_transfer_encoding(head, data, header, error_at);
    case HTTP1_FIELD_CONNECTION:
        http1_framing_read_connection(head, data, header);
        return 0;
    default:
        return head->role == HTTP1_REQUEST ? http1_framing_judge_request_field(head, data, header, error_at)
                                           : http1_framing_judge_response_field(head, data, header);
    }
}

/* ---- the whole ---- */

static enum http1_framing http1_framing_request(const struct http1_head *head) {
    if (head->chunked) return HTTP1_CHUNKED;
    return http1_framing_seen(head, HTTP1_FIELD_CONTENT_LENGTH) ? HTTP1_LENGTH : HTTP1_NO_BODY;
}

static enum http1_framing http1_framing_response(const struct http1_head *head) {
    if (head->status == SWITCHING_PROTOCOLS || http1_framing_opens_tunnel(head)) return HTTP1_TUNNEL;
    if (head->status < 200 || head->status == NO_CONTENT || head->status == NOT_MODIFIED) return HTTP1_NO_BODY;
    if (head->request & HTTP1_TO_HEAD) return HTTP1_NO_BODY;

    enum http1_framing framing = http1_framing_request(head);
    return framing == HTTP1_NO_BODY ? HTTP1_UNTIL_CLOSE : framing;
}

static bool http1_framing_persists(const struct http1_head *head) {
    bool ends = head->framing == HTTP1_UNTIL_CLOSE || head->framing == HTTP1_TUNNEL;
    if (ends || head->close || head->logged_in || head->kept_for == 0 || head->kept_times == 0) return false;
    return head->minor == 1 || head->keep_alive;
}

static int http1_framing_judge_request(struct http1_head *head) {
    if (head->minor == 1 && !http1_framing_seen(head, HTTP1_FIELD_HOST)) return -HTTP1_E_NO_HOST;

    head->framing = (uint8_t)http1_framing_request(head);
    head->upgrade = head->minor == 1 && head->names_upgrade && http1_framing_seen(head, HTTP1_FIELD_UPGRADE);
    return 0;
}

static int http1_framing_judge_response(struct http1_head *head) {
    head->upgrade = head->status == SWITCHING_PROTOCOLS;
    if (head->upgrade && !http1_framing_seen(head, HTTP1_FIELD_UPGRADE)) return -HTTP1_E_NO_UPGRADE;

    head->framing = (uint8_t)http1_framing_response(head);
    head->interim = head->status < 200 && !head->upgrade;
    return 0;
}

int http1_judge_head(struct http1_head *head) {
    int broken = head->role == HTTP1_REQUEST ? http1_framing_judge_request(head) : http1_framing_judge_response(head);
    head->persistent = !broken && http1_framing_persists(head);
    return broken;
}
