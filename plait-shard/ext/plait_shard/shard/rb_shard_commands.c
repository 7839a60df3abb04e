/* What Ruby learns of commands, for shard_table.h, and what that knows of them. */
#include "rb_shard.h"

#include <errno.h>
#include <string.h>

#include "../shard_data/shard_table.h"

static unsigned shard_commands_flag_of(VALUE name) {
    static const struct {
        const char *name;
        unsigned flag;
    } flags[] = {{"write", SHARD_WRITE},   {"readonly", SHARD_READONLY}, {"blocking", SHARD_BLOCKING}, {"pubsub", SHARD_PUBSUB},
                 {"admin", SHARD_ADMIN}, {"container", SHARD_CONTAINER}, {"unclear", SHARD_UNCLEAR}};
    const char *wanted = StringValueCStr(name);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(flags[i].name, wanted) == 0) return flags[i].flag;
    }
    rb_raise(rb_eArgError, "no flag of a command: %s", wanted);
}

/* [keyword or nil, start, "range" or "keynum", and its three numbers]; a keyword is still Ruby's. */
static struct shard_spec shard_commands_spec_of(VALUE spec) {
    Check_Type(spec, T_ARRAY);
    VALUE keyword = rb_ary_entry(spec, 0), find = rb_ary_entry(spec, 2);
    return (struct shard_spec){
        .keyword = NIL_P(keyword) ? NULL : StringValueCStr(keyword),
        .start = NUM2INT(rb_ary_entry(spec, 1)),
        .find = strcmp(StringValueCStr(find), "range") == 0 ? SHARD_RANGE : SHARD_KEYNUM,
        .first = NUM2INT(rb_ary_entry(spec, 3)),
        .second = NUM2INT(rb_ary_entry(spec, 4)),
        .third = NUM2INT(rb_ary_entry(spec, 5)),
    };
}

static struct shard_command shard_commands_command_of(VALUE name, VALUE arity, VALUE flags, VALUE specs) {
    struct shard_command command = {.name = StringValueCStr(name), .arity = NUM2INT(arity)};
    Check_Type(flags, T_ARRAY);
    Check_Type(specs, T_ARRAY);
    long most = sizeof command.specs / sizeof *command.specs;
    if (RARRAY_LEN(specs) > most) rb_raise(rb_eArgError, "specifications of keys are %ld at most", most);

    for (long i = 0; i < RARRAY_LEN(flags); i++) command.flags |= shard_commands_flag_of(rb_ary_entry(flags, i));
    for (long i = 0; i < RARRAY_LEN(specs); i++) {
        command.specs[command.count++] = shard_commands_spec_of(rb_ary_entry(specs, i));
    }
    return command;
}

/* For as long as the process runs, as the table has it. False: no memory. */
static bool shard_commands_keep(struct shard_command *command) {
    bool kept = (command->name = strdup(command->name)) != NULL;
    for (unsigned i = 0; i < command->count; i++) {
        const char *keyword = command->specs[i].keyword;
        if (keyword) kept = (command->specs[i].keyword = strdup(keyword)) != NULL && kept;
    }
    return kept;
}

static void shard_commands_forget(struct shard_command *command) {
    free((char *)command->name);
    for (unsigned i = 0; i < command->count; i++) free((char *)command->specs[i].keyword);
}

/* Plane.learn(name, arity, flags, specifications) => whether it is a new command, for all planes of this process from now on */
static VALUE shard_commands_learn(VALUE self, VALUE name, VALUE arity, VALUE flags, VALUE specs) {
    struct shard_command command = shard_commands_command_of(name, arity, flags, specs);
    bool kept = shard_commands_keep(&command);
    bool learned = kept && shard_command_learn(&command);
    if (!learned) shard_commands_forget(&command);
    if (!kept) rb_syserr_fail(ENOMEM, "a command of the shard");
    RB_GC_GUARD(name);
    RB_GC_GUARD(specs);
    (void)self;
    return learned ? Qtrue : Qfalse;
}

static int shard_commands_push_place(void *places, uint32_t place) {
    rb_ary_push((VALUE)places, UINT2NUM(place));
    return 0;
}

/* Plane.keys_of(words) => the places of keys among the words of a command; nil: there is no such command. */
static VALUE shard_commands_keys_of(VALUE self, VALUE words) {
    Check_Type(words, T_ARRAY);
    long count = RARRAY_LEN(words);
    if (count == 0) return Qnil;
    for (long i = 0; i < count; i++) Check_Type(rb_ary_entry(words, i), T_STRING);
    VALUE joined = rb_ary_join(words, rb_str_new(NULL, 0));
    VALUE memory = rb_str_new(NULL, count * (long)sizeof(struct resp_span));
    struct resp_span *spans = (struct resp_span *)RSTRING_PTR(memory);
    size_t at = 0;
    for (long i = 0; i < count; at += spans[i].size, i++) {
        spans[i] = (struct resp_span){at, (size_t)RSTRING_LEN(rb_ary_entry(words, i))};
    }
    const struct shard_command *command = shard_command_find(RSTRING_PTR(joined), spans, (uint32_t)count);
    VALUE places = rb_ary_new();
    if (command) {
        shard_command_keys(command, RSTRING_PTR(joined), spans, (uint32_t)count, shard_commands_push_place, (void *)places);
    }
    RB_GC_GUARD(memory);
    RB_GC_GUARD(joined);
    (void)self;
    return command ? places : Qnil;
}

void plait_init_shard_commands(VALUE class) {
    rb_define_singleton_method(class, "learn", shard_commands_learn, 4);
    rb_define_singleton_method(class, "keys_of", shard_commands_keys_of, 1);
}
