/*
 * The commands of Redis: where their keys are, from the answer of a server to COMMAND (shard_commands.inc), and the way that the
 * shard goes with each. Others can be learned while it runs: commands of modules, and of newer servers. libc only.
 */
#ifndef PLAIT_SHARD_TABLE_H
#define PLAIT_SHARD_TABLE_H

#include "../resp/resp.h"

enum {
    SHARD_WRITE = 1,
    SHARD_READONLY = 2,
    SHARD_BLOCKING = 4,
    SHARD_PUBSUB = 8,
    SHARD_ADMIN = 16,
    SHARD_CONTAINER = 32, /* it has commands of its own, named by its first argument */
    SHARD_UNCLEAR = 64,   /* it may name more keys than the specifications tell */
    SHARD_LEARNED = 128   /* it was not there at the start */
};

enum { SHARD_RANGE, SHARD_KEYNUM };

/* As Redis specifies keys: where they begin, and how many there are. */
struct shard_spec {
    const char *keyword; /* they begin behind it, looked for from `start` on; NULL: they begin at `start` */
    int start;
    int find;   /* SHARD_RANGE: lastkey, keystep, limit; SHARD_KEYNUM: keynumidx, firstkey, keystep */
    int first;
    int second;
    int third;
};

enum shard_way {
    SHARD_ROUTED,     /* to the node of its keys */
    SHARD_MGET,       /* split; values in the order of the keys */
    SHARD_MSET,       /* split; pairs */
    SHARD_COUNT,      /* split; a sum */
    SHARD_ALL_COUNT,  /* to all nodes; a sum */
    SHARD_ALL_SAME,   /* to all nodes; the answer of one, if none is an error */
    SHARD_ALL_ARRAYS, /* to all nodes; one array */
    SHARD_ALL_ONE,    /* to all nodes; one that is not nil */
    SHARD_ALL_LEAST,  /* to all nodes; arrays of integers: of each the least */
    SHARD_ALL_WAIT,   /* to all nodes, each on a connection of its own; the least integer */
    SHARD_SCAN,       /* to one node after another */
    SHARD_FIRST,      /* to the first node that is well: all would answer the same */
    SHARD_LOCAL,      /* answered here */
    SHARD_STREAMS,    /* routed, unless it waits */
    SHARD_WAITS,      /* to the node of its keys, on a connection of its own */
    SHARD_TRANSACTS,  /* MULTI and what belongs to it */
    SHARD_SUBSCRIBES, /* its connection becomes one to a node */
    SHARD_SORT,       /* routed, unless it names keys that can't be seen */
    SHARD_SESSION,    /* about the connection of the client itself */
    SHARD_VERIFIED,   /* a password that all nodes have to take */
    SHARD_INFO,       /* to all nodes; one text */
    SHARD_PAIRS,      /* to all nodes; names and values, which may differ */
    SHARD_CONFIG,     /* to all nodes, if the shard allows it */
    SHARD_CONFIG_MOST, /* likewise; the greatest integer */
    SHARD_RUNNING,    /* to all nodes, on connections of its own; the answer of one that runs a script, if any does */
    SHARD_KILL,       /* to all nodes, on connections of its own; done, if one had a script to be ended */
    SHARD_LONG,       /* to all nodes, on connections of its own; the answer of one, if none is an error */
    SHARD_REFUSED
};

struct shard_command {
    const char *name; /* "get", "object|encoding" */
    int arity;        /* arguments, the name counted; below 0: at least so many */
    unsigned flags;
    unsigned count; /* of specs */
    struct shard_spec specs[3];
    unsigned way; /* enum shard_way; filled in before main */
    int key;      /* where its only key is; 0: it has none, or more */
};

/* The command, or NULL. `container`: what has no such command, or NULL. */
const struct shard_command *shard_command_find(const char *data, const struct resp_span *words, uint32_t count,
                                               const struct shard_command **container);

/*
 * One more, for as long as the process runs; the name and the keywords have to stay as well. By one thread at a time, and while others
 * look for commands. False: it is known already, there is no room, or it is nonsense.
 */
bool shard_command_learn(const struct shard_command *command);

/* How many there can be, and the number of one of them: from 0. */
uint32_t shard_command_room(void);
uint32_t shard_command_index(const struct shard_command *command);

/* The one with that number, which has been found before. */
const struct shard_command *shard_command_at(uint32_t index);

bool shard_command_fits(const struct shard_command *command, uint32_t count);

/* Calls back with the place of each key among the words; ends with the first result that is not 0, and returns it. */
int shard_command_keys(const struct shard_command *command, const char *data, const struct resp_span *words, uint32_t count,
                       int (*each)(void *argument, uint32_t place), void *argument);

/* Whether a word is that, whatever the case. */
bool shard_word_is(const char *data, struct resp_span word, const char *name);

#endif
