# frozen_string_literal: true

# bin/bench rpc: MessagePack-RPC against its peers and plain sockets, client and server on loopback.

require_relative "../harness"

FILES = Dir[File.join(__dir__, "*.rb")] - [File.expand_path(__FILE__)]

Dir[File.join(__dir__, "*.c")].each { |source| Bench::Harness::Native.build(source) }
exit(Bench::Harness::Command.new("rpc", FILES, ARGV).run)
