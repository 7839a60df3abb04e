# frozen_string_literal: true

# bin/bench rpc: MessagePack-RPC against its peers and plain sockets, client and server on loopback.

require_relative "../harness"

exit(Bench::Harness::Command.run(__dir__))
