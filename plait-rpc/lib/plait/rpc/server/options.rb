# frozen_string_literal: true

require "etc"
require_relative "runner"
require_relative "switchboard"
require_relative "../connection"
require_relative "../../protocols/messagepack_rpc"
require "plait/values/errors"
require "plait/values/server_options"

module Plait
  module RPC
    class Server
      # How much a server takes on at once, and for how long it waits.
      Options = Struct.new(:on, :limit, :queue, :pipeline, :connections, :outbox, :limits, :codec, :raw, :secret,
                           :idle_timeout, :message_timeout, :write_timeout, :handshake_timeout, :workers, keyword_init: true)

      # See {Server#initialize}.
      class Options
        include ServerOptions

        # In messages.
        OWNER = "an RPC server"
        DEFAULTS = {
          on: :threads, limit: nil, queue: 1024, pipeline: 256, connections: nil, outbox: Connection::OUTBOX, limits: {},
          codec: nil, raw: false, secret: nil, idle_timeout: nil, message_timeout: 30, write_timeout: 30,
          handshake_timeout: 10, workers: nil
        }.freeze
        # Methods that are run at once, where nothing is said: a thread costs more than a fiber.
        LIMITS = { threads: 32, fibers: 1024, hybrid: 1024 }.freeze

        # @return [self]
        # @raise [UsageError]
        # @api private
        def complete
          check
          self.limit ||= LIMITS.fetch(inner)
          self.workers ||= Etc.nprocessors
          self.limits = limits_as(Protocols::MessagePackRPC::Limits)
          self.codec ||= Protocols::MessagePackRPC::Codec.new(raw: raw, largest: Connection.largest(limits))
          self
        end

        # @return [Symbol] what runs the methods, in each process
        def inner = processes? ? Array(on)[1] || :threads : Array(on).first

        # @return [Boolean]
        def processes? = Array(on).first == :processes

        # @return [Class<Runner>]
        def runner = inner == :hybrid ? Runner::Hybrid : Runner

        # @return [Hash{Integer => Numeric}] seconds, by queue of the {Switchboard}
        def timeouts
          { Switchboard::IDLE => idle_timeout, Switchboard::PARTIAL => message_timeout, Switchboard::STALLED => write_timeout }
            .compact
        end

        private

        def check
          unless LIMITS.key?(inner) && Array(on).size <= (processes? ? 2 : 1)
            raise UsageError, "a server runs on: :threads, :fibers, :hybrid or :processes (or [:processes, :fibers] …), " \
                              "not #{on.inspect}"
          end

          check_counts(:limit, :queue, :pipeline, :connections, :workers)
          check_bytes(:outbox)
          check_seconds(*DEFAULTS.keys.grep(/_timeout\z/))
        end
      end
    end
  end
end
