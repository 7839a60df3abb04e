# frozen_string_literal: true

require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:RPC, __FILE__) if Plait.autoload?(:RPC)

require "plait/io/native"
require "plait/mechanisms/thread_guard"
require_relative "protocols/messagepack_rpc"
require_relative "rpc/lock"
require_relative "rpc/incoming"
require_relative "rpc/client"
require_relative "rpc/server"

module Plait
  # MessagePack-RPC: one client for any number of threads, fibers and forks, in both directions.
  #
  # @example
  #   client = Plait::RPC::Client.new("127.0.0.1", 18_800)
  #   client.call(:add, 1, 2)                        # => 3
  #   futures = urls.map { |url| client.call_async(:fetch, url) }
  #   futures.map(&:value)
  module RPC
    # Packs and unpacks messages; `Codec.new { |factory| factory.register_type(1, Point, …) }` knows types of the program, too.
    Codec = Protocols::MessagePackRPC::Codec
    # An argument or a result has no form in MessagePack, or is larger than a peer takes. Nothing was sent.
    PackError = Protocols::MessagePackRPC::PackError

    # JRuby closes the descriptors of threads that still run as a process ends: what such a thread raises tells nothing.
    at_exit { Thread.list.each { |one| one.report_on_exception &&= !one.name&.start_with?("plait: ") } } if RUBY_ENGINE == "jruby"
  end
end
