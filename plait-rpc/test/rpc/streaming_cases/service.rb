# frozen_string_literal: true

module StreamingCases
  # What is served.
  class Service
    # @return [Thread::Queue] what was noted
    attr_reader :notes
    # @return [Integer] chunks that were written
    attr_reader :written

    def initialize
      @notes = Thread::Queue.new
      @gate = Thread::Queue.new
      @written = 0
    end

    def open = @gate << true

    def list(values) = values.each

    # Notes its end, whatever it is.
    def export(count, size = 64 * 1024)
      Enumerator.new do |out|
        count.times { |number| out << [number].pack("N").ljust(size, "x").tap { @written += 1 } }
        @notes << :all
      ensure
        @notes << :over
      end
    end

    def breaks
      Enumerator.new do |out|
        out << 1 << 2
        raise KeyError, "in the middle"
      end
    end

    def waits
      Enumerator.new do |out|
        out << 1
        @gate.pop
        out << 2
      ensure
        @notes << :over
      end
    end

    def add(first, second) = first + second
    def import(stream, factor: 1) = stream.sum(&:bytesize) * factor
    def collect(before, stream, after) = [before, stream.to_a, after]
    def upcase(stream) = stream.lazy.map(&:upcase)
    def first_of(stream) = stream.first
    def unread(_stream) = :unread

    def slowly(stream)
      stream.each_with_index.sum do |chunk, index|
        @gate.pop if index == 1
        chunk.bytesize
      end
    ensure
      @notes << :over
    end

    def reads(stream)
      stream.each { |chunk| @notes << chunk }
    rescue StandardError => e
      @notes << e
      raise
    end

    def relay(count) = Plait::RPC.current.connection.stream(:export, [count])
    def ask(values) = Plait::RPC.current.connection.stream(:import, [values.each])
    def early(value) = yield(value)
    def delayed = Plait::RPC::Delayed.new.tap { |delayed| delayed.result(7) }
  end

  METHODS = (Service.public_instance_methods(false) - %i[notes written open]).freeze

  # Takes requests of the server, each in a thread of its own.
  class Desk
    def initialize(service) = @handler = Plait::RPC::Handler.new(service, methods: METHODS, streams: true)

    def take(incoming)
      incoming.dispatcher = self
      Thread.new { @handler.run(incoming, @handler.find(incoming.method_name)) }
    end

    def settle(incoming) = !incoming.answered? && incoming.answered!
    def tell(error) = @handler.tell(error)
    def closed(connection, _error) = @handler.closed(connection)
  end
end
