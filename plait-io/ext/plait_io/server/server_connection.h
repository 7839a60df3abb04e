/* A connection of a server, and what it holds in the middle of a request or an answer. */
#ifndef PLAIT_SERVER_CONNECTION_H
#define PLAIT_SERVER_CONNECTION_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "../http1/http1.h"

/* Bytes read at once. */
enum { SERVER_READ = 64 * 1024 };

/* No connection's number. */
enum { SERVER_NONE = -1 };

/* Why a connection may be closed when it takes too long. One in the hands of a worker is in no queue. */
enum server_queue {
    SERVER_IDLE,    /* between two requests */
    SERVER_HEAD,    /* in the middle of a head: the time is for the whole of it */
    SERVER_BODY,    /* in the middle of a body: the time is for each SERVER_READ bytes */
    SERVER_STALLED, /* what was said waits for the peer: the time is for each SERVER_READ bytes */
    SERVER_LINGER,  /* all was said, and what the peer still sends is thrown away */
    SERVER_QUEUES,
    SERVER_UNQUEUED = SERVER_QUEUES
};

/* Parts and bytes that are sent of a remainder at once. */
enum { SERVER_PARTS = 64, SERVER_PIECE = 128 * 1024 };

/*
 * The rest of a large answer, in memory of another owner: only the piece that the peer is about to take is
 * copied. A peer that takes nothing, of whatever number of answers, so costs a piece of each.
 */
struct server_remainder {
    /* The next parts, at most SERVER_PARTS of them and SERVER_PIECE bytes; returns how many, 0 at the end. */
    int (*next)(struct server_remainder *remainder, struct iovec *parts);
    void (*release)(struct server_remainder *remainder);
};

/* What a connection speaks TLS by; its owner frees it. */
struct server_secure {
    struct ssl_st *ssl;
    void (*release)(struct server_secure *secure);
};

struct server_body {
    char *data;      /* the heap's: what is not in the file; NULL: nothing */
    size_t kept;     /* bytes of it */
    size_t size;     /* bytes so far, with the bytes in the file */
    size_t capacity;
    int file;        /* -1: in memory */
    int error;       /* of the file; 0: none */
};

/* What a connection in the middle of a request has received, and the bytes behind it. */
struct server_intake {
    char *data;
    size_t at;       /* bytes before are done with */
    size_t size;
    size_t capacity;
    size_t head_size;          /* 0: the head is not complete; else the bytes of it, from `at` on */
    size_t moved;              /* bytes of the body since its time started again */
    bool complete;             /* the request is complete, its body in `body` */
    struct http1_head head;    /* its table is `fields` */
    struct http1_body framing;
    struct server_body body;
    struct http1_header fields[]; /* as many as the limit allows */
};

/* What the peer has not taken yet. */
struct server_outbox {
    size_t at;
    size_t taken; /* since its time started again */
    size_t size;
    size_t capacity;
    char data[];
};

struct server_connection {
    struct server_intake *intake; /* NULL: nothing is there */
    struct server_outbox *outbox; /* NULL: all was taken */
    struct server_remainder *remainder; /* to be sent behind it; NULL: nothing */
    struct server_secure *secure; /* NULL: it speaks no TLS */
    double since;                 /* when it was put at the end of its queue */
    int number;                   /* its descriptor; SERVER_NONE: there is none */
    int before, after;            /* its neighbours in the queue */
    int next_ready;               /* in the list of the ready ones, or of the ones that wait for a worker */
    uint32_t generation;          /* of the number: events and tickets carry it */
    uint32_t requests;            /* so far */
    uint8_t queue;                /* enum server_queue */
    uint8_t listener;             /* through which it came */
    uint8_t minor;                /* of the current request: HTTP/1.minor */
    bool to_head;                 /* its method is HEAD: no answer to it has a body */
    bool busy;                    /* a worker has it */
    bool given;                   /* the app has its current request */
    bool filed;                   /* a descriptor is counted for the file of its current request's body */
    bool listed;                  /* it is in the list of the ready ones, or waits for a worker */
    bool readable;                /* there may be bytes in the kernel */
    bool ended;                   /* the peer sends nothing more */
    bool lost;                    /* it takes nothing more either: it has reset, or closed */
    bool answering;                   /* of the answer to the current request something was sent */
    bool open_ended;              /* only its end tells where the answer ends: cut, it must end by a reset */
    bool closing;                 /* to be closed as soon as all is sent */
    bool lingering;               /* it is in the queue SERVER_LINGER */
    in_port_t port;               /* the peer's, in network order */
    uint8_t family;               /* AF_INET, AF_INET6 or AF_UNIX */
    uint8_t address[16];          /* the peer's */
};

struct server_list {
    int first, last; /* numbers, or SERVER_NONE */
};

#endif
