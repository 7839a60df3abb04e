# frozen_string_literal: true

# Elsewhere (JRuby) plait-io runs on the pure-Ruby twins of its engines: there is nothing to build.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n\t@:\n")
  exit
end

require "mkmf"

# rubocop:disable Style/GlobalVars -- mkmf's interface

append_cflags(%w[-std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden])

# An engine is a folder.
folders = Dir.children(__dir__).select { |name| File.directory?(File.join(__dir__, name)) }.sort
# PLAIT_POLL=1 builds what a system without epoll(7) gets, such as macOS: without Linux's own means, and with a server by
# kqueue(2) where there is one.
linux = ENV["PLAIT_POLL"] != "1"
epoll = linux && have_header("sys/epoll.h")
kqueue = !epoll && have_func("kqueue", %w[sys/types.h sys/event.h])
$defs << "-DHAVE_PLAIT_EPOLL" if epoll
$defs << "-DHAVE_PLAIT_KQUEUE" if kqueue
$defs << "-DHAVE_PLAIT_SERVER" if epoll || kqueue
folders -= %w[reactor] unless epoll
folders -= %w[server] unless epoll || kqueue
$srcs = Dir.glob(["*.c", *folders.map { |name| "#{name}/*.c" }], base: __dir__).map { |path| File.basename(path) }.sort
$VPATH.concat(folders.map { |name| "$(srcdir)/#{name}" })

# The header of the table of functions that the gem plait offers; in a clone bin/setup says where it is.
def plait_headers
  with_config("plait-headers") || begin
    plait = Gem.loaded_specs["plait"] || Gem::Specification.find_by_name("plait")
    File.join(plait.full_gem_path, "ext/plait")
  end
end

find_header("plait_core_user.h", plait_headers) || abort("no plait_core_user.h in #{plait_headers}: install the gem plait first")

have_func("rb_io_descriptor", "ruby/io.h")
have_func("rb_io_timeout", "ruby/io.h")
have_const("RB_WARN_CATEGORY_STRICT_UNUSED_BLOCK", "ruby.h")
have_func("preadv2", "sys/uio.h")
have_func("pwritev2", "sys/uio.h")
have_func("epoll_pwait2", "sys/epoll.h") if epoll
# Of the server; each has a twin.
if linux
  have_func("accept4", "sys/socket.h")
  have_func("pthread_condattr_setclock", "pthread.h")
  have_func("sendfile", "sys/sendfile.h")
  have_header("linux/magic.h")
  have_header("linux/openat2.h")
  have_const("CLOCK_MONOTONIC_COARSE", "time.h")
  have_const("O_TMPFILE", "fcntl.h")
  have_const("RUSAGE_THREAD", "sys/resource.h")
end

# bin/lint: our own warnings are errors, warnings of Ruby's headers are not. Not by $warnflags, which Debian's Ruby leaves out
# of what it compiles with; and last, since what is probed for above is compiled with them otherwise.
if enable_config("strict")
  $CFLAGS << " -Wall -Wextra -Werror"
  $INCFLAGS = $INCFLAGS.gsub("-I$(", "-isystem $(")
end
# rubocop:enable Style/GlobalVars

create_makefile("plait/plait_io")
