# frozen_string_literal: true

require "tmpdir"
require "plait/io/checked_options"
require "plait/protocols/http1"

module Plait
  class Server
    # How much a server takes on at once, and for how long it waits.
    Options = Struct.new(:on, :limit, :queue, :connections, :requests, :limits, :spool, :folder, :idle_timeout, :head_timeout,
                         :body_timeout, :write_timeout, :queue_timeout, :handshake_timeout, :early_hints, :workers,
                         :plan, :life, :watch, :blocking, keyword_init: true)

    # See {Server#initialize}.
    class Options
      include Io::CheckedOptions

      # In messages.
      OWNER = "a server"
      DEFAULTS = {
        on: :hybrid, limit: nil, queue: 1024, connections: nil, requests: nil, limits: {}, spool: 128 * 1024, folder: nil,
        idle_timeout: 60, head_timeout: 20, body_timeout: 30, write_timeout: 30, queue_timeout: 30, handshake_timeout: 10,
        early_hints: false, workers: nil, plan: {}, life: nil, watch: nil, blocking: nil
      }.freeze
      # Apps running at once, where nothing is said: a thread costs more than a fiber.
      LIMITS = { threads: 16, fibers: 4096, hybrid: 4096 }.freeze

      # @raise [UsageError]
      def complete
        check
        self.limit ||= LIMITS.fetch(on)
        self.connections ||= descriptors
        self.folder ||= Dir.tmpdir
        self.plan = Io::Workers::Plan.of(**plan) if plan.is_a?(Hash)
        self.limits = limits_as(Protocols::HTTP1::Limits)
        self
      end

      # @return [Integer] what connections may use of them: some are the app's, for files, databases and other servers
      def descriptors
        all = [Process.getrlimit(:NOFILE).first, MOST].min
        all - (all / 8).clamp(16, 256)
      end

      # @return [Hash{Symbol => Object}] as {NativeCore} takes them
      def settings
        names = Protocols::HTTP1::Limits::DEFAULTS.keys
        to_h.merge(names.zip(limits.to_a).to_h, descriptors: descriptors)
      end

      private

      def check
        unless LIMITS.key?(on)
          raise UsageError, "a server runs on: :threads, :fibers or :hybrid, not #{on.inspect}; for processes say workers:"
        end

        unless folder.nil? || File.writable?("#{folder}/.")
          raise UsageError, "folder: #{folder} is no folder that can be written to"
        end

        check_counts(:limit, :queue, :connections, :requests, :workers)
        check_bytes(:spool)
        check_seconds(:blocking, *DEFAULTS.keys.grep(/_timeout\z/))
      end
    end
    private_constant :Options
  end
end
