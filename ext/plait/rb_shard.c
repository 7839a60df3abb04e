/* Plait::NativeShard::Plane: the data plane of shard.h for Ruby, which starts and stops it and asks for its figures. */
#include "plait.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <ruby/thread.h>
#include <unistd.h>

#include "rb_placement.h"
#include "rb_shard.h"
#include "shard.h"
#include "shard_table.h"

/* Servers take more than the million that is enough for other uses; an MSET of many is never here as a whole. */
enum { MOST_ARGUMENTS = 16 << 20 };

struct holder {
    struct shard *shard; /* NULL: not running */
    unsigned generation; /* of the process whose threads they are */
};

struct ending {
    struct shard *shard; /* NULL: it has ended */
};

static void *stop_it(void *data) {
    struct ending *ending = data;
    shard_stop(ending->shard);
    ending->shard = NULL;
    return NULL;
}

static VALUE check_interrupts(VALUE nothing) {
    rb_thread_check_ints();
    return nothing;
}

/* After a fork the threads are the parent's: there is nobody to be stopped. */
static struct shard *take(struct holder *holder) {
    struct shard *shard = holder->generation == plait_generation() ? holder->shard : NULL;
    holder->shard = NULL;
    return shard;
}

static void holder_free(void *data) {
    struct shard *shard = take(data);
    if (shard) shard_stop(shard);
    xfree(data);
}

static size_t holder_size(const void *data) {
    (void)data;
    return sizeof(struct holder);
}

static const rb_data_type_t holder_type = {
    .wrap_struct_name = "Plait::NativeShard::Plane",
    .function = {.dfree = holder_free, .dsize = holder_size},
};

static VALUE holder_allocate(VALUE class) {
    struct holder *holder;
    return TypedData_Make_Struct(class, struct holder, &holder_type, holder);
}

/* ---- the settings ---- */

static VALUE fetch(VALUE options, const char *name) {
    return rb_hash_fetch(options, ID2SYM(rb_intern(name)));
}

/* [[packed address, label], …] */
static void read_nodes(VALUE nodes, struct shard_node *to) {
    for (long i = 0; i < RARRAY_LEN(nodes); i++) {
        VALUE pair = rb_ary_entry(nodes, i);
        Check_Type(pair, T_ARRAY);
        VALUE address = rb_ary_entry(pair, 0);
        VALUE label = rb_ary_entry(pair, 1);
        Check_Type(address, T_STRING);
        if ((size_t)RSTRING_LEN(address) > sizeof to[i].address) rb_raise(rb_eArgError, "an address that is too long");
        memset(&to[i], 0, sizeof to[i]);
        memcpy(&to[i].address, RSTRING_PTR(address), (size_t)RSTRING_LEN(address));
        to[i].size = (socklen_t)RSTRING_LEN(address);
        snprintf(to[i].label, sizeof to[i].label, "%s", StringValueCStr(label));
    }
}

static void read_secret(VALUE options, const char *name, char to[SHARD_SECRET]) {
    VALUE text = fetch(options, name);
    const char *secret = NIL_P(text) ? "" : StringValueCStr(text);
    if (strlen(secret) >= SHARD_SECRET) rb_raise(rb_eArgError, "%s: is longer than %d bytes", name, SHARD_SECRET - 1);
    strcpy(to, secret);
}

static void read_secrets(VALUE options, struct shard_settings *settings) {
    settings->slow = NUM2DBL(fetch(options, "slow"));
    settings->users = RTEST(fetch(options, "users"));
    read_secret(options, "password", settings->password);
    read_secret(options, "node_user", settings->node_user);
    read_secret(options, "node_password", settings->node_password);
}

static struct shard_settings read_settings(VALUE nodes, VALUE placement, VALUE options, struct shard_node *to) {
    read_nodes(nodes, to);
    struct resp_limits limits = resp_default_limits;
    limits.arguments = MOST_ARGUMENTS;
    return (struct shard_settings){
        .nodes = to,
        .node_count = (uint32_t)RARRAY_LEN(nodes),
        .placement = plait_placement(placement),
        .limits = limits,
        .connect_timeout = NUM2DBL(fetch(options, "connect_timeout")),
        .timeout = NUM2DBL(fetch(options, "timeout")),
        .retry = NUM2DBL(fetch(options, "retry")),
        .client_bytes = NUM2SIZET(fetch(options, "client_bytes")),
        .chunk = NUM2SIZET(fetch(options, "chunk")),
        .strict = RTEST(fetch(options, "strict")),
        .clients = NUM2UINT(fetch(options, "clients")),
    };
}

/* Copies of the descriptors, which the data plane closes. */
static int copy_descriptors(VALUE descriptors, int *to) {
    for (long i = 0; i < RARRAY_LEN(descriptors); i++) {
        to[i] = fcntl(NUM2INT(rb_ary_entry(descriptors, i)), F_DUPFD_CLOEXEC, 0);
        if (to[i] != -1 && fcntl(to[i], F_SETFL, fcntl(to[i], F_GETFL) | O_NONBLOCK) == 0) continue;

        int error = errno;
        for (long j = 0; j <= i; j++) {
            if (to[j] != -1) close(to[j]);
        }
        return error;
    }
    return 0;
}

/* ---- methods ---- */

/* start(nodes, placement, descriptors of listening sockets, options) */
static VALUE holder_start(VALUE self, VALUE nodes, VALUE placement, VALUE descriptors, VALUE options) {
    struct holder *holder = rb_check_typeddata(self, &holder_type);
    if (holder->shard) rb_raise(rb_eArgError, "it is running");
    Check_Type(nodes, T_ARRAY);
    Check_Type(descriptors, T_ARRAY);
    Check_Type(options, T_HASH);
    long threads = RARRAY_LEN(descriptors);
    if (RARRAY_LEN(nodes) < 1 || RARRAY_LEN(nodes) > UINT16_MAX) rb_raise(rb_eArgError, "nodes are from 1 to 65535");
    if (threads < 1) rb_raise(rb_eArgError, "a listening socket is needed");

    VALUE memory = rb_str_new(NULL, RARRAY_LEN(nodes) * (long)sizeof(struct shard_node) + threads * (long)sizeof(int));
    struct shard_node *to = (struct shard_node *)RSTRING_PTR(memory);
    int *listeners = (int *)(to + RARRAY_LEN(nodes));
    struct shard_settings settings = read_settings(nodes, placement, options, to);
    read_secrets(options, &settings);
    int error = copy_descriptors(descriptors, listeners);
    if (!error) holder->shard = shard_start(&settings, listeners, (uint32_t)threads, &error);
    holder->generation = plait_generation();
    RB_GC_GUARD(memory);
    RB_GC_GUARD(placement);
    if (!holder->shard) rb_syserr_fail(error, "the threads of the shard");
    return self;
}

static VALUE holder_stop(VALUE self) {
    struct ending ending = {take(rb_check_typeddata(self, &holder_type))};
    int raised = 0;
    /* Nobody else knows the shard any more: it is stopped, whatever is to be raised in this thread. */
    while (ending.shard) {
        int state = 0;
        rb_nogvl(stop_it, &ending, NULL, NULL, RB_NOGVL_INTR_FAIL);
        if (ending.shard) rb_protect(check_interrupts, Qnil, &state);
        if (state) raised = state;
    }
    if (raised) rb_jump_tag(raised);
    return Qnil;
}

struct shard *plait_shard_of(VALUE plane) {
    const struct holder *holder = rb_check_typeddata(plane, &holder_type);
    return holder->generation == plait_generation() ? holder->shard : NULL;
}

static VALUE holder_running(VALUE self) {
    const struct holder *holder = rb_check_typeddata(self, &holder_type);
    return holder->shard && holder->generation == plait_generation() ? Qtrue : Qfalse;
}

static VALUE holder_figures(VALUE self) {
    const struct holder *holder = rb_check_typeddata(self, &holder_type);
    static const char *const names[] = {"clients", "accepted", "commands", "errors", "bytes_in", "bytes_out", "node_failures"};
    struct shard_figures figures = {0};
    if (RTEST(holder_running(self))) shard_count(holder->shard, &figures);
    const uint64_t numbers[] = {figures.clients,  figures.accepted,  figures.commands,     figures.errors,
                                figures.bytes_in, figures.bytes_out, figures.node_failures};
    VALUE hash = rb_hash_new();
    for (int i = 0; i < 7; i++) rb_hash_aset(hash, ID2SYM(rb_intern(names[i])), ULL2NUM(numbers[i]));
    return hash;
}

static int push_place(void *places, uint32_t place) {
    rb_ary_push((VALUE)places, UINT2NUM(place));
    return 0;
}

/* Plane.keys_of(words) => the places of keys among the words of a command; nil: there is no such command. */
static VALUE keys_of(VALUE self, VALUE words) {
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
    const struct shard_command *container;
    const struct shard_command *command = shard_command_find(RSTRING_PTR(joined), spans, (uint32_t)count, &container);
    VALUE places = rb_ary_new();
    if (command) shard_command_keys(command, RSTRING_PTR(joined), spans, (uint32_t)count, push_place, (void *)places);
    RB_GC_GUARD(memory);
    RB_GC_GUARD(joined);
    (void)self;
    return command ? places : Qnil;
}

void plait_init_shard(VALUE plait) {
    VALUE class = rb_define_class_under(rb_define_module_under(plait, "NativeShard"), "Plane", rb_cObject);
    rb_define_alloc_func(class, holder_allocate);
    rb_define_singleton_method(class, "keys_of", keys_of, 1);
    rb_define_method(class, "start", holder_start, 4);
    rb_define_method(class, "stop", holder_stop, 0);
    rb_define_method(class, "running?", holder_running, 0);
    rb_define_method(class, "figures", holder_figures, 0);
    plait_init_shard_metrics(class);
}

#endif
