# frozen_string_literal: true

# Elsewhere (JRuby) plait runs on the pure-Ruby twins of its engines: there is nothing to build.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n\t@:\n")
  exit
end

require "mkmf"

# rubocop:disable Style/GlobalVars -- mkmf's interface

append_cflags(%w[-std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden])

# An engine is a folder.
folders = Dir.children(__dir__).select { |name| File.directory?(File.join(__dir__, name)) }.sort
$srcs = Dir.glob("**/*.c", base: __dir__).map { |path| File.basename(path) }.sort
$VPATH.concat(folders.map { |name| "$(srcdir)/#{name}" })

have_func("rb_io_descriptor", "ruby/io.h")
have_func("rb_io_timeout", "ruby/io.h")
have_func("rb_objspace_each_objects")
have_func("rb_internal_thread_add_event_hook", "ruby/thread.h")
have_func("rb_internal_thread_specific_key_create", "ruby/thread.h")
have_func("rb_thread_lock_native_thread", "ruby/thread.h")
have_func("preadv2", "sys/uio.h")
have_func("pwritev2", "sys/uio.h")
# PLAIT_POLL=1 builds what a system without epoll(7) gets, such as macOS.
if ENV["PLAIT_POLL"] != "1" && have_header("sys/epoll.h")
  $defs << "-DHAVE_PLAIT_EPOLL"
  have_func("epoll_pwait2", "sys/epoll.h")
end

# bin/lint: our own warnings are errors, warnings of Ruby's headers are not. Not by $warnflags, which Debian's Ruby leaves out
# of what it compiles with; and last, since what is probed for above is compiled with them otherwise.
if enable_config("strict")
  $CFLAGS << " -Wall -Wextra -Werror"
  $INCFLAGS = $INCFLAGS.gsub("-I$(", "-isystem $(")
end
# rubocop:enable Style/GlobalVars

create_makefile("plait/plait")
