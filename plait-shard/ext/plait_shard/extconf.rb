# frozen_string_literal: true

# Elsewhere (JRuby) plait-shard runs on the pure-Ruby twins of its engines: there is nothing to build.
if RUBY_ENGINE != "ruby"
  File.write("Makefile", "all install clean:\n\t@:\n")
  exit
end

require "mkmf"

# rubocop:disable Style/GlobalVars -- mkmf's interface

append_cflags(%w[-std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden])

# An engine is a folder.
folders = Dir.children(__dir__).select { |name| File.directory?(File.join(__dir__, name)) }.sort
# PLAIT_POLL=1 builds what a system without epoll(7) gets, such as macOS.
epoll = ENV["PLAIT_POLL"] != "1" && have_header("sys/epoll.h")
$defs << "-DHAVE_PLAIT_EPOLL" if epoll
folders.reject! { |name| name.start_with?("shard") } unless epoll
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

have_func("epoll_pwait2", "sys/epoll.h") if epoll

# Without OpenSSL the rest is built all the same; asked for TLS, the shard then says what to install.
dir_config("openssl")
if have_library("crypto", "ERR_clear_error") && have_header("openssl/ssl.h") && have_library("ssl", "SSL_CTX_set_num_tickets")
  $defs << "-DHAVE_LIBSSL" # have_library defines nothing
end

# bin/lint: our own warnings are errors; warnings of Ruby's headers are not. Not by $warnflags, which Debian's Ruby leaves out
# of what it compiles with; and last, since what is probed for above is compiled with them otherwise.
if enable_config("strict")
  $CFLAGS << " -Wall -Wextra -Werror"
  $INCFLAGS = $INCFLAGS.gsub("-I$(", "-isystem $(")
end
# rubocop:enable Style/GlobalVars

create_makefile("plait/plait_shard")
