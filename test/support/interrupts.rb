# frozen_string_literal: true

require "socket"
require_relative "waiting"

module Support
  # Interrupts a piece of code at each place where Ruby looks for what other threads have raised in this one: where a method or
  # a block returns, in C as well. (What Ruby does without a call, such as Array#<<, is no such place.)
  module Interrupts
    # What is raised.
    class Interrupted < Exception; end # rubocop:disable Lint/InheritException

    EVENTS = %i[c_return return b_return].freeze
    # To be interrupted in these tells nothing: they hold interrupts back, change fibers, or make exceptions.
    LEFT_OUT = %i[handle_interrupt raise transfer resume].freeze
    WITHOUT_A_CALL = %i[+ - * / % == != < > <= >= <=> << & | [] []= size length empty? succ ! nil? =~].freeze
    PLAIN = [Integer, Float, String, Array, Hash, BasicObject, Kernel, Comparable].freeze
    OURS = %r{/lib/plait/}
    MOST = 5_000
    # Until one that hangs has failed.
    SECONDS = 30
    private_constant :EVENTS, :LEFT_OUT, :WITHOUT_A_CALL, :PLAIN, :OURS, :MOST, :SECONDS

    # Runs the block once for each place, on a thread of its own, until none is left.
    # @param step [Integer] looks at each so-manieth place
    # @yield prepares, and returns what is to be interrupted and what then looks at what is left
    # @yieldreturn [Array(#call, #call)] the second one is given the name of the place
    # @return [Integer] places
    def each_interrupt(step: 1)
      skip("#{RUBY_ENGINE} does not trace all calls") if RUBY_ENGINE != "ruby"
      (1..MOST).step(step) do |number|
        code, check = yield
        counting = Counting.new(number)
        assert(Thread.new { counting.call(code) }.join(SECONDS), "it hangs after an interrupt at the #{counting.place}")
        check.call(counting.place || "end")
        return number unless counting.place
      end
      raise "there are more than #{MOST} places"
    end

    # As {each_interrupt}, for code that connects: whatever comes, no socket is left. The garbage collector closes none meanwhile.
    # @yield (see #each_interrupt)
    # @yieldreturn [Array(#call, #call)] the second one closes what the first one has made
    def assert_no_socket_lost(step: 1, &block)
      GC.disable
      each_interrupt(step: step) do
        before = open_sockets
        code, close = block.call
        [code, lambda do |place|
          close.call
          Waiting.wait_until(what: "the end of the socket after an interrupt at the #{place}") { open_sockets <= before }
        end]
      end
    ensure
      GC.enable
    end

    # Interrupts the block once: as a method in C returns, or when the caller's mask ends.
    # @param name [Symbol] of the method
    # @param of [Class] of its receiver
    # @return [Array<Object>] the receiver, and what the method has returned
    def interrupt_behind(name, error = Interrupted, of: Object)
      skip("#{RUBY_ENGINE} does not trace all calls") if RUBY_ENGINE != "ruby"
      here = Thread.current
      met = nil
      trace = TracePoint.new(:c_return) do |call|
        next if met || call.method_id != name || !call.self.is_a?(of) || !Thread.current.equal?(here)

        met = [call.self, call.return_value]
        Thread.current.raise(error)
      end
      trace.enable
      yield
      met
    rescue Interrupted
      met
    ensure
      trace&.disable
    end

    # Notes each IO that the block makes of a descriptor, at the moment when Ruby first looks for interrupts. An interrupt can
    # lose the IO there, and a garbage collection then closes its descriptor.
    # @return [Array<Array(Class, Boolean, Thread)>] for each IO of the block: its class, whether it closes its descriptor, and
    #   the thread that made it
    def ios_made
      skip("#{RUBY_ENGINE} does not trace all calls") if RUBY_ENGINE != "ruby"
      made = []
      trace = TracePoint.new(:c_return) do |call|
        io = call.return_value
        made << [io.class, io.autoclose?, Thread.current] if call.method_id == :for_fd && io
      end
      trace.enable
      yield
      made
    ensure
      trace&.disable
    end

    # @return [Integer] of clients: those that a TCPServer has accepted are TCPSockets
    def open_sockets = ObjectSpace.each_object(Socket).count { |socket| socket.instance_of?(Socket) && !socket.closed? }

    # Counts places, and raises at one.
    class Counting
      # @return [String, nil] nil: there are not so many
      attr_reader :place

      def initialize(number)
        @left = number
      end

      # No finalizer runs meanwhile: what is raised there is lost, and no place of the code's.
      def call(code)
        disabled = GC.disable
        @thread = Thread.current
        trace = TracePoint.new(*EVENTS) { |point| meet(point, trace) }
        trace.enable
        code.call
      rescue Interrupted
        nil
      ensure
        trace.disable
        GC.enable unless disabled
      end

      private

      def meet(point, trace)
        return if !Thread.current.equal?(@thread) || !place?(point) || (@left -= 1).positive?

        trace.disable
        @place = "#{point.event} of #{point.method_id}, #{point.path}:#{point.lineno}"
        @thread.raise(Interrupted)
      end

      def place?(point)
        OURS.match?(point.path) && !LEFT_OUT.include?(point.method_id) && (point.event != :c_return || called?(point))
      end

      # @return [Boolean] whether it is a method in C that is really called
      def called?(point)
        owner = point.defined_class
        return false if owner <= Exception || (WITHOUT_A_CALL.include?(point.method_id) && PLAIN.include?(owner))

        owner.instance_method(point.method_id).source_location.nil? # else an attribute
      rescue NameError
        true
      end
    end
    private_constant :Counting
  end
end
