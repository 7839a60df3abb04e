# frozen_string_literal: true

require "tempfile"
require "plait/rpc"

module ServerCases
  class Odd < Exception; end # rubocop:disable Lint/InheritException -- what nobody rescues

  # What is served. The test and its methods talk by queues, which are shared among processes where there are several.
  class Service
    GATES = %w[it early first second flood them never delayed].freeze

    # @return [Thread::Queue, SharedQueue] what was noted
    attr_reader :notes

    # @param queue [Class] Thread::Queue or SharedQueue
    def initialize(queue = Thread::Queue)
      @notes = queue.new
      @gates = GATES.to_h { |name| [name, queue.new] }
      @bigs = Tempfile.create
      File.unlink(@bigs.path)
      @bigs.sync = true
      @threads = Thread::Queue.new
    end

    def gate(name) = @gates.fetch(name)

    # @return [Integer] calls of `big`
    def bigs = @bigs.size

    # Waits for those who have delayed results.
    def finish
      @threads.pop.join until @threads.empty?
    end

    def close
      @bigs.close
      [@notes, *@gates.values].each(&:close)
      finish
    end

    def add(a, b) = a + b
    def echo(value) = value

    def note(value)
      @notes << value
      nil
    end

    def note_late(value, seconds = 0.001)
      sleep(seconds)
      note(value)
    end

    # Until the test opens the gate.
    def wait(name)
      @notes << [:waits, name]
      gate(name).pop
    end

    def early(value)
      yield value
      wait("early")
      @notes << [:over, value]
    end

    # Its result is what comes through the gate of that name.
    def delayed
      delayed = Plait::RPC::Delayed.new
      @threads << Thread.new do
        value = gate("delayed").pop
        delayed.result(value) if value
      end
      @notes << :delayed
      delayed
    end

    def big(bytes)
      @bigs.write(".")
      "x" * bytes
    end

    def boom(text) = raise(KeyError, text)
    def kill = Thread.exit
    def leave = exit(2)
    def odd = raise(Odd)
    def thrown = throw(:nowhere)
    def exhausted = raise(NoMemoryError, "failed to allocate memory")
    def forever = forever
    def call_back(method, *arguments) = Plait::RPC.current.connection.request(method, arguments)
    def pid = Process.pid
  end

  # Without those that are the tests' own.
  METHODS = (Service.public_instance_methods(false) - %i[bigs gate notes finish close]).freeze
end
