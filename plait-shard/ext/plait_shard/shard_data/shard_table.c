/* See shard_table.h. */
#include "shard_table.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

static struct shard_command commands[] = {
#include "shard_commands.inc"
#include "shard_commands_newer.inc"
};

enum { COMMANDS = sizeof commands / sizeof *commands, LEARNED = 512, SLOTS = 4096, LONGEST = 40 };

_Static_assert((COMMANDS + LEARNED) * 2 < SLOTS, "a table that is nearly full is slow, and one that is full is searched without an end");

static struct shard_command learned[LEARNED];
static uint32_t learned_count;

/* Open addressing; the size of a name first, in which most names differ. The command last: a reader that sees it sees all of it. */
static struct {
    size_t size;
    _Atomic(const struct shard_command *) command;
} slots[SLOTS];

static uint32_t shard_table_hash_of(const char *name, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

static const struct shard_command *shard_table_command_in(uint32_t slot) {
    return atomic_load_explicit(&slots[slot].command, memory_order_acquire);
}

static uint32_t shard_table_slot_of(const char *name, size_t size) {
    uint32_t at = shard_table_hash_of(name, size) % SLOTS;
    const struct shard_command *command;
    while ((command = shard_table_command_in(at)) && (slots[at].size != size || memcmp(command->name, name, size) != 0)) {
        at = (at + 1) % SLOTS;
    }
    return at;
}

/* A command without keys is refused, unless its row says where it goes. */
static enum shard_way shard_table_usual_way(const struct shard_command *command) {
    bool unclear = command->flags & SHARD_UNCLEAR && command->flags & SHARD_LEARNED;
    if (command->count == 0 || command->flags & SHARD_PUBSUB || unclear) return SHARD_REFUSED;
    return command->flags & SHARD_BLOCKING ? SHARD_WAITS : SHARD_ROUTED;
}

static int shard_table_own_key(const struct shard_command *command) {
    const struct shard_spec *spec = command->specs;
    bool simple = command->count == 1 && !spec->keyword && spec->find == SHARD_RANGE && spec->first == 0;
    return simple ? spec->start : 0;
}

static void shard_table_enter(struct shard_command *command) {
    if (command->way == SHARD_USUAL) command->way = shard_table_usual_way(command);
    command->key = shard_table_own_key(command);
    size_t size = strlen(command->name);
    uint32_t at = shard_table_slot_of(command->name, size);
    slots[at].size = size;
    atomic_store_explicit(&slots[at].command, command, memory_order_release);
}

/* Before any thread can ask. */
__attribute__((constructor)) static void fill_slots(void) {
    for (size_t i = 0; i < COMMANDS; i++) shard_table_enter(&commands[i]);
}

/* What a server says may be anything: keys that are found by it have to be there, and to come to an end. */
static bool shard_table_is_sound(const struct shard_command *command) {
    size_t size = strlen(command->name);
    bool sound = size > 0 && size <= LONGEST && command->count <= sizeof command->specs / sizeof *command->specs;
    for (unsigned i = 0; sound && i < command->count; i++) {
        const struct shard_spec *spec = &command->specs[i];
        bool begins = spec->keyword ? spec->start != 0 : spec->start > 0;
        bool range = spec->find == SHARD_RANGE && spec->second > 0 && spec->third >= 0;
        bool number = spec->find == SHARD_KEYNUM && spec->first >= 0 && spec->second >= 0 && spec->third > 0;
        sound = begins && (range || number);
    }
    return sound;
}

bool shard_command_learn(const struct shard_command *command) {
    if (learned_count == LEARNED || !shard_table_is_sound(command) ||
        shard_table_command_in(shard_table_slot_of(command->name, strlen(command->name)))) return false;

    struct shard_command *own = &learned[learned_count++];
    *own = *command;
    own->flags |= SHARD_LEARNED;
    shard_table_enter(own);
    return true;
}

/* In lower case; returns false for a word that no name is as long as. */
static bool shard_table_append(char *name, size_t *size, const char *word, size_t length) {
    if (*size + length > LONGEST) return false;
    for (size_t i = 0; i < length; i++) {
        char byte = word[i];
        name[(*size)++] = byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
    }
    return true;
}

const struct shard_command *shard_command_find(const char *data, const struct resp_span *words, uint32_t count) {
    char name[LONGEST] = "";
    size_t size = 0;
    if (!shard_table_append(name, &size, data + words->at, words->size)) return NULL;

    const struct shard_command *command = shard_table_command_in(shard_table_slot_of(name, size));
    if (!command || memchr(name, '|', size)) return NULL;
    if (!(command->flags & SHARD_CONTAINER) || count < 2) return command;

    shard_table_append(name, &size, "|", 1);
    if (!shard_table_append(name, &size, data + words[1].at, words[1].size)) return NULL;
    return shard_table_command_in(shard_table_slot_of(name, size));
}

uint32_t shard_command_room(void) {
    return COMMANDS + LEARNED;
}

uint32_t shard_command_index(const struct shard_command *command) {
    return command->flags & SHARD_LEARNED ? COMMANDS + (uint32_t)(command - learned) : (uint32_t)(command - commands);
}

const struct shard_command *shard_command_at(uint32_t index) {
    return index < COMMANDS ? &commands[index] : &learned[index - COMMANDS];
}

uint32_t shard_command_step(const struct shard_command *command) {
    return (uint32_t)command->specs[0].second;
}

bool shard_command_fits(const struct shard_command *command, uint32_t count) {
    return command->arity < 0 ? count >= (uint32_t)-command->arity : count == (uint32_t)command->arity;
}

bool shard_word_is(const char *data, struct resp_span word, const char *name) {
    return word.size == strlen(name) && strncasecmp(data + word.at, name, word.size) == 0;
}

/* ---- keys ---- */

/* Where the keys of a specification begin; 0: it does not apply. */
static int64_t shard_table_beginning(const struct shard_spec *spec, const char *data, const struct resp_span *words,
                                     int64_t count) {
    if (!spec->keyword) return spec->start < count ? spec->start : 0;

    int64_t at = spec->start > 0 ? spec->start : count + spec->start;
    int64_t step = spec->start > 0 ? 1 : -1;
    for (; at > 0 && at < count; at += step) {
        if (shard_word_is(data, words[at], spec->keyword)) return at + 1 < count ? at + 1 : 0;
    }
    return 0;
}

/* A number of keys; anything else is none. */
static int64_t shard_table_number_of(const char *word, size_t size) {
    int64_t number = 0;
    if (size == 0 || size > 9) return 0;
    for (size_t i = 0; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') return 0;
        number = number * 10 + (word[i] - '0');
    }
    return number;
}

struct range {
    int64_t first;
    int64_t last; /* below first: none */
    int64_t step;
};

static struct range shard_table_range_of(const struct shard_spec *spec, const char *data, const struct resp_span *words,
                                         int64_t count) {
    struct range range = {shard_table_beginning(spec, data, words, count), 0, 1};
    if (range.first == 0) return (struct range){1, 0, 1};
    if (spec->find == SHARD_RANGE) {
        range.step = spec->second;
        if (spec->first >= 0) range.last = range.first + spec->first;
        else if (spec->third <= 1) range.last = count + spec->first;
        else range.last = range.first + (count - range.first) / spec->third + spec->first;
        return range;
    }
    int64_t at = range.first + spec->first;
    int64_t number = at < count ? shard_table_number_of(data + words[at].at, words[at].size) : 0;
    range.step = spec->third;
    range.first += spec->second;
    range.last = range.first + (number - 1) * range.step;
    return range;
}

int shard_command_keys(const struct shard_command *command, const char *data, const struct resp_span *words, uint32_t count,
                       int (*each)(void *argument, uint32_t place), void *argument) {
    int result = 0;
    for (unsigned i = 0; i < command->count && !result; i++) {
        struct range range = shard_table_range_of(&command->specs[i], data, words, count);
        if (range.last >= count) range.last = count - 1;
        for (int64_t place = range.first; place <= range.last && !result; place += range.step) {
            result = each(argument, (uint32_t)place);
        }
    }
    return result;
}
