/* Plait::NativeShard::Plane: the data plane of shard.h for Ruby, which starts and stops it and asks for its figures. */
#include "../plait_shard.h"

#include <errno.h>
#include <fcntl.h>
#include <ruby/thread.h>
#include <unistd.h>

#include "../placement/rb_placement.h"
#include "rb_shard.h"
#include "shard.h"
#include "../shard_plane/shard_tls.h"

/* Servers take more than the million that is enough for other uses; an MSET of many is never here as a whole. */
enum { MOST_ARGUMENTS = 16 << 20 };

struct holder {
    struct shard *shard; /* NULL: not running */
    unsigned generation; /* of the process whose threads they are */
};

struct ending {
    struct shard *shard; /* NULL: it has ended */
};

static void *shard_stop_it(void *data) {
    struct ending *ending = data;
    shard_stop(ending->shard);
    ending->shard = NULL;
    return NULL;
}

static VALUE shard_check_interrupts(VALUE nothing) {
    rb_thread_check_ints();
    return nothing;
}

/* After a fork the threads are the parent's: there is no thread to stop. */
static struct shard *shard_take_held(struct holder *holder) {
    struct shard *shard = holder->generation == plait_generation() ? holder->shard : NULL;
    holder->shard = NULL;
    return shard;
}

static void shard_holder_free(void *data) {
    struct shard *shard = shard_take_held(data);
    if (shard) shard_stop(shard);
    xfree(data);
}

static size_t shard_holder_size(const void *data) {
    (void)data;
    return sizeof(struct holder);
}

static const rb_data_type_t holder_type = {
    .wrap_struct_name = "Plait::NativeShard::Plane",
    .function = {.dfree = shard_holder_free, .dsize = shard_holder_size},
};

static VALUE shard_holder_allocate(VALUE class) {
    struct holder *holder;
    return TypedData_Make_Struct(class, struct holder, &holder_type, holder);
}

/* ---- the settings ---- */

static VALUE shard_fetch(VALUE options, const char *name) {
    return rb_hash_fetch(options, ID2SYM(rb_intern(name)));
}

/* [bytes, commands], or nil: the node has none. */
static void shard_read_fence(VALUE fence, struct shard_node *to) {
    if (NIL_P(fence)) return;
    Check_Type(fence, T_ARRAY);
    VALUE bytes = rb_ary_entry(fence, 0);
    Check_Type(bytes, T_STRING);
    if ((size_t)RSTRING_LEN(bytes) > sizeof to->fence) rb_raise(rb_eArgError, "a fence that is too long");
    to->fence_size = (size_t)RSTRING_LEN(bytes);
    memcpy(to->fence, RSTRING_PTR(bytes), to->fence_size);
    to->fences = NUM2UINT(rb_ary_entry(fence, 1));
}

void plait_shard_nodes(VALUE nodes, struct shard_node *to) {
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
        VALUE host = rb_ary_entry(pair, 2);
        snprintf(to[i].host, sizeof to[i].host, "%s", StringValueCStr(host));
        shard_read_fence(rb_ary_entry(pair, 3), &to[i]);
    }
}

static void shard_read_secret(VALUE options, const char *name, char to[SHARD_SECRET]) {
    VALUE text = shard_fetch(options, name);
    const char *secret = NIL_P(text) ? "" : StringValueCStr(text);
    if (strlen(secret) >= SHARD_SECRET) rb_raise(rb_eArgError, "%s: is longer than %d bytes", name, SHARD_SECRET - 1);
    strcpy(to, secret);
}

static void shard_read_secrets(VALUE options, struct shard_settings *settings) {
    settings->slow = NUM2DBL(shard_fetch(options, "slow"));
    settings->hot = NUM2DBL(shard_fetch(options, "hot"));
    settings->users = RTEST(shard_fetch(options, "users"));
    settings->config = RTEST(shard_fetch(options, "config"));
    shard_read_secret(options, "password", settings->password);
    shard_read_secret(options, "node_user", settings->node_user);
    shard_read_secret(options, "node_password", settings->node_password);
}

static void shard_read_back_ends(VALUE options, struct shard_settings *settings) {
    static const char *const names[] = {"master", "replicas", "any"};
    VALUE reads = rb_sym2str(shard_fetch(options, "reads"));
    settings->cluster = RTEST(shard_fetch(options, "cluster"));
    settings->watched = RTEST(shard_fetch(options, "watched"));
    for (int i = 0; i < 3; i++) {
        if (strcmp(StringValueCStr(reads), names[i]) == 0) settings->reads = (enum shard_reads)i;
    }
}

static struct shard_settings shard_read_settings(VALUE nodes, VALUE placement, VALUE options, struct shard_node *to) {
    plait_shard_nodes(nodes, to);
    struct resp_limits limits = resp_default_limits;
    limits.arguments = MOST_ARGUMENTS;
    return (struct shard_settings){
        .nodes = to,
        .node_count = NUM2UINT(shard_fetch(options, "room")),
        .placement = plait_placement(placement),
        .limits = limits,
        .connect_timeout = NUM2DBL(shard_fetch(options, "connect_timeout")),
        .timeout = NUM2DBL(shard_fetch(options, "timeout")),
        .retry = NUM2DBL(shard_fetch(options, "retry")),
        .client_bytes = NUM2SIZET(shard_fetch(options, "client_bytes")),
        .thread_bytes = NUM2SIZET(shard_fetch(options, "thread_bytes")),
        .chunk = NUM2SIZET(shard_fetch(options, "chunk")),
        .strict = RTEST(shard_fetch(options, "strict")),
        .keyless = RTEST(shard_fetch(options, "keyless_scripts")),
        .clients = NUM2UINT(shard_fetch(options, "clients")),
    };
}

static const char *shard_file_at(VALUE files, long place) {
    VALUE file = rb_ary_entry(files, place);
    return NIL_P(file) ? NULL : StringValueCStr(file);
}

/* [certificate, key, authority], each a path or nil; nil: there is no TLS. */
static struct shard_tls_context *shard_read_tls(VALUE options, const char *name, bool serves, char error[SHARD_TLS_TEXT]) {
    VALUE files = shard_fetch(options, name);
    if (NIL_P(files)) return NULL;
    Check_Type(files, T_ARRAY);
    struct shard_tls_files given = {shard_file_at(files, 0), shard_file_at(files, 1), shard_file_at(files, 2)};
    struct shard_tls_context *context = shard_tls_context_new(serves, &given, error);
    if (!context && !error[0]) snprintf(error, SHARD_TLS_TEXT, "the extension was built without libssl");
    return context;
}

static void shard_free_contexts(struct shard_settings *settings) {
    shard_tls_context_free(settings->tls_clients);
    shard_tls_context_free(settings->tls_nodes);
}

/* Last: nothing that comes behind it may raise. */
static void shard_read_contexts(VALUE options, struct shard_settings *settings) {
    char error[SHARD_TLS_TEXT] = "";
    settings->tls_clients = shard_read_tls(options, "listen_tls", true, error);
    settings->tls_nodes = error[0] ? NULL : shard_read_tls(options, "node_tls", false, error);
    if (!error[0]) return;
    shard_free_contexts(settings);
    rb_raise(rb_eArgError, "%s", error);
}

/* Copies of the descriptors, which the data plane closes. */
static int shard_copy_descriptors(VALUE descriptors, int *to) {
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
static VALUE shard_holder_start(VALUE self, VALUE nodes, VALUE placement, VALUE descriptors, VALUE options) {
    struct holder *holder = rb_check_typeddata(self, &holder_type);
    if (holder->shard) rb_raise(rb_eArgError, "it is running");
    Check_Type(nodes, T_ARRAY);
    Check_Type(descriptors, T_ARRAY);
    Check_Type(options, T_HASH);
    long threads = RARRAY_LEN(descriptors);
    long room = NUM2LONG(shard_fetch(options, "room"));
    if (RARRAY_LEN(nodes) < 1 || room < RARRAY_LEN(nodes) || room > UINT16_MAX) rb_raise(rb_eArgError, "nodes are from 1 to 65535");
    if (threads < 1) rb_raise(rb_eArgError, "a listening socket is needed");

    VALUE memory = rb_str_new(NULL, RARRAY_LEN(nodes) * (long)sizeof(struct shard_node) + threads * (long)sizeof(int));
    struct shard_node *to = (struct shard_node *)RSTRING_PTR(memory);
    int *listeners = (int *)(to + RARRAY_LEN(nodes));
    struct shard_settings settings = shard_read_settings(nodes, placement, options, to);
    shard_read_secrets(options, &settings);
    shard_read_back_ends(options, &settings);
    shard_read_contexts(options, &settings);
    struct shard_plan plan;
    VALUE numbers = plait_shard_plan(shard_fetch(options, "plan"), nodes, placement, &plan);
    if (!NIL_P(numbers)) settings.plan = &plan;
    int error = shard_copy_descriptors(descriptors, listeners);
    if (error) shard_free_contexts(&settings);
    else holder->shard = shard_start(&settings, listeners, (uint32_t)threads, &error);
    holder->generation = plait_generation();
    RB_GC_GUARD(memory);
    RB_GC_GUARD(numbers);
    RB_GC_GUARD(placement);
    if (!holder->shard) rb_syserr_fail(error, "the threads of the shard");
    return self;
}

static VALUE shard_holder_stop(VALUE self) {
    struct ending ending = {shard_take_held(rb_check_typeddata(self, &holder_type))};
    int raised = 0;
    /* No other thread knows the shard any more: it is stopped, whatever error is to be raised in this thread. */
    while (ending.shard) {
        int state = 0;
        rb_nogvl(shard_stop_it, &ending, NULL, NULL, RB_NOGVL_INTR_FAIL);
        if (ending.shard) rb_protect(shard_check_interrupts, Qnil, &state);
        if (state) raised = state;
    }
    if (raised) rb_jump_tag(raised);
    return Qnil;
}

struct shard *plait_shard_of(VALUE plane) {
    const struct holder *holder = rb_check_typeddata(plane, &holder_type);
    return holder->generation == plait_generation() ? holder->shard : NULL;
}

static VALUE shard_holder_running(VALUE self) {
    const struct holder *holder = rb_check_typeddata(self, &holder_type);
    return holder->shard && holder->generation == plait_generation() ? Qtrue : Qfalse;
}

static VALUE shard_holder_figures(VALUE self) {
    const struct holder *holder = rb_check_typeddata(self, &holder_type);
    static const char *const names[] = {"clients",       "accepted",    "commands",    "errors", "bytes_in", "bytes_out",
                                        "node_failures", "clients_cut", "redirections"};
    struct shard_figures figures = {0};
    if (RTEST(shard_holder_running(self))) shard_count(holder->shard, &figures);
    const uint64_t numbers[] = {figures.clients,   figures.accepted,      figures.commands, figures.errors,      figures.bytes_in,
                                figures.bytes_out, figures.node_failures, figures.cut,      figures.redirections};
    VALUE hash = rb_hash_new();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) rb_hash_aset(hash, ID2SYM(rb_intern(names[i])), ULL2NUM(numbers[i]));
    return hash;
}

void plait_init_shard(VALUE plait) {
    VALUE class = rb_define_class_under(rb_define_module_under(plait, "NativeShard"), "Plane", rb_cObject);
    rb_define_alloc_func(class, shard_holder_allocate);
#ifdef HAVE_LIBSSL
    rb_define_const(class, "TLS", Qtrue);
#else
    rb_define_const(class, "TLS", Qfalse);
#endif
    rb_define_method(class, "start", shard_holder_start, 4);
    rb_define_method(class, "stop", shard_holder_stop, 0);
    rb_define_method(class, "running?", shard_holder_running, 0);
    rb_define_method(class, "figures", shard_holder_figures, 0);
    plait_init_shard_commands(class);
    plait_init_shard_metrics(class);
    plait_init_shard_topology(class);
    plait_init_shard_hot(class);
}
