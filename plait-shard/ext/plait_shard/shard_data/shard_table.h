/*
 * The commands of Redis, one row each: where its keys are, from the answer of a server to COMMAND (shard_commands.inc), where the
 * shard sends it, on which connection, and how one reply is made of several. Others can be learned while it runs: commands of
 * modules, and of newer servers. libc only.
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

/* The way of a command; shard_route.c has a function for each. */
enum shard_way {
    SHARD_USUAL,        /* as its keys and flags say: one of the next three, chosen before main */
    SHARD_ROUTED,       /* to the node of its keys */
    SHARD_WAITS,        /* likewise, where it may wait */
    SHARD_REFUSED,
    SHARD_SPLIT,        /* to each node its keys; they are the first word and all behind it */
    SHARD_ALL_NODES,
    SHARD_CONFIG,       /* to all nodes, if the shard allows it */
    SHARD_FLUSHALL,     /* to all nodes, of which it deletes one database */
    SHARD_ACKNOWLEDGE,  /* to all nodes, behind a command that their replicas see */
    SHARD_SCAN,         /* to one node after another */
    SHARD_FIRST,        /* to the first node that is well: all would answer the same */
    SHARD_STREAMS,      /* routed, unless it waits */
    SHARD_SORT,         /* routed, unless it names keys that can't be seen */
    SHARD_SUBSCRIBE,    /* the client's connection becomes one to the first node */
    SHARD_SSUBSCRIBE,   /* likewise, to the node of its channels */
    SHARD_UNSUBSCRIBE,
    SHARD_MULTI, SHARD_EXEC, SHARD_DISCARD, SHARD_WATCH, SHARD_UNWATCH,
    SHARD_PING, SHARD_ECHO, SHARD_QUIT, SHARD_SELECT, SHARD_TIME, /* answered here, as all that follow */
    SHARD_AUTH, SHARD_HELLO, SHARD_RESET,
    SHARD_TELL_ID, SHARD_TELL_NAME, SHARD_SET_NAME, SHARD_TELL_CLIENT, SHARD_LIST_CLIENTS,
    SHARD_ACCEPT,       /* OK, and nothing is done */
    SHARD_WAYS
};

/* The connections of a command that goes to several nodes. */
enum shard_link_use {
    SHARD_SHARED,       /* all clients share them */
    SHARD_OWN_IF_MANY,  /* the command has its own if its keys are more than SHARD_MANY */
    SHARD_OWN,          /* its own, after all earlier commands of the client: it keeps a node busy, or has a large answer */
    SHARD_OWN_LONG,     /* likewise; a node may take longer for it than for other commands */
    SHARD_OWN_SCRIPTS   /* likewise; also to a node that answers BUSY to all others, because it runs a script */
};

/* The way to make one reply of several; shard_merge.c has a row for each. */
enum shard_merging {
    SHARD_UNMERGED,
    SHARD_VALUES,       /* the values of an array, in the order of the keys */
    SHARD_ARRAYS,       /* one array */
    SHARD_DONE,         /* OK; such a command may be sent on while it arrives */
    SHARD_SAME,         /* the reply of one, if none is an error */
    SHARD_SUM,
    SHARD_LEAST,
    SHARD_GREATEST,
    SHARD_LEAST_OF_EACH, /* arrays of integers: of each the least */
    SHARD_ANY,          /* one that is not nil */
    SHARD_RUNNING,      /* the reply of a node that runs a script, if any does */
    SHARD_KILLED,       /* done, if one node had a script to be ended */
    SHARD_CURSOR,       /* of SCAN */
    SHARD_INFO,         /* one text */
    SHARD_PAIRS,        /* names and values, which may differ */
    SHARD_VERIFIED,     /* a password that all nodes have to take */
    SHARD_MERGINGS
};

/* What else is particular to a command. */
enum {
    SHARD_ALL_KEYS = 1,       /* it is about all keys: refused while it is not known which node has some of them */
    SHARD_SCRIPT = 2,         /* a script or a function: it may use keys that it does not name, and is on masters only */
    SHARD_NAMES_DATABASE = 4, /* it may name a database: DB number */
    SHARD_OPEN = 8,           /* a client may send it before the password */
    SHARD_ENDS = 16,          /* it ends a transaction, and subscriptions */
    SHARD_DISTURBS = 32,      /* refused while keys are watched: it would change what their connection is */
    SHARD_ANYWHERE = 64,      /* each node does it alike: it may be in any transaction */
    SHARD_PUBLISHES = 128     /* in a transaction: as if its key were the first node's; any node of a cluster does it */
};

struct shard_command {
    const char *name; /* "get", "object|encoding" */
    int arity;        /* arguments, the name counted; below 0: at least so many */
    unsigned flags;
    unsigned count; /* of specs */
    struct shard_spec specs[3];
    uint8_t way;    /* enum shard_way */
    uint8_t link;   /* enum shard_link_use */
    uint8_t merge;  /* enum shard_merging */
    uint8_t traits;
    int key;        /* where its only key is; 0: it has none, or more; filled in before main */
};

/* The command, or NULL. By its first word alone a command is found that has others of its own. */
const struct shard_command *shard_command_find(const char *data, const struct resp_span *words, uint32_t count);

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

/* Words for each key of a command that is split: 2 for MSET. */
uint32_t shard_command_step(const struct shard_command *command);

bool shard_command_fits(const struct shard_command *command, uint32_t count);

/* Calls back with the place of each key among the words; ends with the first result that is not 0, and returns it. */
int shard_command_keys(const struct shard_command *command, const char *data, const struct resp_span *words, uint32_t count,
                       int (*each)(void *argument, uint32_t place), void *argument);

/* Whether a word is that, whatever the case. */
bool shard_word_is(const char *data, struct resp_span word, const char *name);

#endif
