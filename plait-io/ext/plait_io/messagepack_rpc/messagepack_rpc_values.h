/* Packed values, skipped. Not for the engine's users. */
#ifndef PLAIT_MESSAGEPACK_RPC_VALUES_H
#define PLAIT_MESSAGEPACK_RPC_VALUES_H

#include "messagepack_rpc.h"

/* What can be looked at. */
struct mprpc_view {
    const unsigned char *data;
    uint64_t size;  /* bytes that are here, none of them beyond `limit` */
    uint64_t limit; /* where the message must have ended, in the data */
};

/* Each returns 1 when it is done, MPRPC_MORE, or a broken rule, negated; mprpc_skip_value MPRPC_LARGE too. */

int mprpc_fail(struct mprpc_scan *scan, int broken, uint64_t at);

/* The value that began when scan->left was set to 1. */
int mprpc_skip_value(struct mprpc_scan *scan, const struct mprpc_view *view);

/* The array header at scan->at. */
int mprpc_read_array(struct mprpc_scan *scan, const struct mprpc_view *view, uint32_t *count);

/* The integer at scan->at, in any of its forms; *unsigned_integer: whether it is one, and consumed. */
int mprpc_read_unsigned(struct mprpc_scan *scan, const struct mprpc_view *view, uint64_t *value, bool *unsigned_integer);

/* The header of a str or bin at scan->at, which stays where it is; *header: its bytes, 0 when it is none. */
int mprpc_read_string(const struct mprpc_scan *scan, const struct mprpc_view *view, uint32_t *size, unsigned *header);

#endif
