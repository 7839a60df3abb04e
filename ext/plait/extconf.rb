# frozen_string_literal: true

# Elsewhere (JRuby) Plait runs on the pure-Ruby twins of its engines: there is nothing to build.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n\t@:\n")
  exit
end

require "mkmf"

append_cflags(%w[-std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden])

have_func("rb_io_descriptor", "ruby/io.h")
have_func("rb_io_timeout", "ruby/io.h")
have_func("preadv2", "sys/uio.h")
have_func("pwritev2", "sys/uio.h")
have_func("epoll_pwait2", "sys/epoll.h")

# TLS of the shard. Without it, the rest is built all the same; asked for TLS, the shard then says what to install.
dir_config("openssl")
if have_library("crypto", "ERR_clear_error") && have_header("openssl/ssl.h") && have_library("ssl", "SSL_CTX_set_num_tickets")
  $defs << "-DHAVE_LIBSSL" # rubocop:disable Style/GlobalVars -- mkmf's interface; have_library defines nothing
end

# bin/lint: our own warnings are errors; those of Ruby's headers are not ours. Not by $warnflags, which Debian's Ruby leaves out
# of what it compiles with; and last, since what is probed for above is compiled with them otherwise.
if enable_config("strict")
  $CFLAGS << " -Wall -Wextra -Werror" # rubocop:disable Style/GlobalVars -- mkmf's interface
  $INCFLAGS = $INCFLAGS.gsub("-I$(", "-isystem $(") # rubocop:disable Style/GlobalVars
end

create_makefile("plait/plait")
