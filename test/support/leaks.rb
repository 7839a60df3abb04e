# frozen_string_literal: true

require "objspace"
require "socket"
require "timeout"
require_relative "server"
require_relative "waiting"

module Support
  # Sees what a block leaves behind: threads, child processes, open descriptors and, if asked, living fibers.
  module Leaks
    # What this process holds at a moment, each thing with the words to name it in a message.
    class Holdings
      # What Java keeps for later: the selectors that waited for a descriptor, and the libraries of gems.
      LASTING = RUBY_ENGINE == "jruby" ? /\Aanon_inode:\[event(poll|fd)\]\z|\.jar\z/ : /(?!)/
      private_constant :LASTING

      def self.now(fibers: false) = new(fibers: fibers)

      attr_reader :things

      def initialize(fibers:)
        @things = threads.merge(children, descriptors)
        @things.merge!(living_fibers) if fibers
      end

      # @return [Array<String>] what is held now and was not before
      def since(before) = @things.reject { |key, _| before.things.key?(key) }.values

      private

      # Java's own thread appears in the list once it has finalized an object of Ruby's.
      def threads
        lasting = RUBY_ENGINE == "jruby" ? %w[Finalizer] : []
        Thread.list.reject { |thread| lasting.include?(thread.name) }.to_h { |thread| [thread, "thread #{thread.inspect}"] }
      end

      def children
        pids = Dir["/proc/self/task/*/children"].flat_map { |path| File.read(path).split }.map(&:to_i)
        (pids - Server.pids).to_h { |pid| [[:child, pid], "child process #{pid}: #{command(pid)}"] }
      rescue Errno::ENOENT, Errno::ESRCH # a thread ended while we looked
        retry
      end

      def command(pid)
        line = File.read("/proc/#{pid}/cmdline").tr("\0", " ").strip
        line.empty? ? "ended, but nobody waited for it" : line
      rescue SystemCallError
        "gone by now"
      end

      def descriptors
        return {} unless File.directory?("/proc/self/fd")

        Dir.children("/proc/self/fd").filter_map { |fd| describe(fd) }.to_h
      end

      # The descriptor of the listing itself is gone by now, hence nil.
      def describe(number)
        target = File.readlink("/proc/self/fd/#{number}")
        return if target.match?(LASTING)

        [[:descriptor, number, target], "descriptor #{number}: #{target}"]
      rescue SystemCallError
        nil
      end

      def living_fibers
        return {} unless RUBY_ENGINE == "ruby" # the others don't list them

        GC.start
        ObjectSpace.each_object(Fiber).select(&:alive?).to_h { |fiber| [fiber, "fiber #{fiber.inspect}"] }
      end
    end

    # Fails if the block leaves anything behind. What ends on its own soon after (a thread on its last line, a child
    # being reaped) is waited for.
    #
    # @param fibers [Boolean] also look for living fibers; a fiber that is garbage counts as gone
    # @param within [Numeric] seconds to wait for things to end
    # @return [Object] the block's value
    def assert_no_leaks(fibers: false, within: 30)
      begin_what_lasts
      before = Holdings.now(fibers: fibers)
      result = yield
      left = await_none(within) { Holdings.now(fibers: fibers).since(before) }
      assert_empty(left, "left behind:\n  #{left.join("\n  ")}")
      result
    end

    private

    # From their first use on Ruby's Timeout keeps one thread for good, and Java one socket.
    def begin_what_lasts
      Timeout.timeout(60) { nil }
      TCPServer.open("127.0.0.1", 0) { nil } if RUBY_ENGINE == "jruby"
    end

    def await_none(within)
      left = yield
      Waiting.wait_until(timeout: within) { (left = yield).empty? }
      left
    rescue Minitest::Assertion
      left
    end
  end
end
