# frozen_string_literal: true

require_relative "../mechanisms/scheduler"
require_relative "meters"
require_relative "watch_socket"

module Plait
  module Lab
    # Looks at the program that it runs in, some times a second: what threads and fibers wait for, how late event loops of
    # Plait are, and what pools and queues say of themselves. See {Lab.watch}.
    class Watch
      # Calls in which Ruby waits, and what for.
      WAITS = {
        "a timer" => %w[sleep], "a queue" => %w[pop shift push enq deq <<], "a lock" => %w[synchronize lock],
        "a condition" => %w[wait signal], "a thread" => %w[join value], "a process" => %w[wait2 waitpid waitpid2 detach],
        "I/O" => %w[read write gets readpartial sysread syswrite read_nonblock wait_readable wait_writable select poll accept
                    connect recv recvfrom send sendmsg io_wait io_read io_write sysaccept getaddrinfo close flush readline]
      }.flat_map { |what, calls| calls.map { |call| [call, what] } }.to_h.freeze
      # Frames of a backtrace that are looked at, and fibers of a loop in one look.
      DEPTH = 40
      FIBERS = 30
      # It waits so many times as long as a look costs: it takes a third of a percent of a processor at most.
      MODERATION = 300
      # Places and delays that are kept.
      MOST = 500
      # Places that are shown.
      PLACES = 10
      private_constant :WAITS, :DEPTH, :FIBERS, :MODERATION, :MOST

      # @param interval [Numeric] seconds between two looks at least
      # @param sources [Hash{Symbol => #statistics, Thread::Queue}] pools and queues to show
      # @param socket [String, nil] path of a UNIX socket for `plait attach`; %p stands for the number of the process
      def initialize(interval: 0.1, sources: {}, socket: nil)
        @interval = check_interval(interval)
        raise UsageError, "sources: is a Hash of names, not of class #{sources.class}" unless sources.is_a?(Hash)

        @sources = sources.each { |name, source| check_source(name, source) }
        @lock = Mutex.new
        @loops = {}
        @gvl = Meters::Gvl.new
        reset
        @socket = WatchSocket.new(socket) { snapshot(most: MOST) } if socket # before what its error would leave: hooks, a thread
        @gvl.start
        @thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { look_on } }
        @thread.name = "plait watch"
      end

      # @return [Hash] what was seen since the last {#reset}: :seconds, :looks, :waits (what threads and fibers were at =>
      #   their mean number), :places (an Array: :doing, :place and :mean), :loops (an Array: :thread, :fibers,
      #   :lag and :longest_lag in seconds), :sources (name => what it says) and :gvl_wait
      #   (seconds, all threads together; nil before Ruby 3.2: not measured)
      # @param most [Integer] places, the ones with the largest means
      def snapshot(most: PLACES)
        @lock.synchronize do
          { seconds: Deadline.now - @since, looks: @looks, waits: means(@waits), places: places(most), loops: loops,
            sources: @sources.transform_values { |source| ask(source) }, gvl_wait: @gvl.seconds }
        end
      end

      # Forgets what was seen.
      # @return [void]
      def reset
        @lock.synchronize do
          @since = Deadline.now
          @looks = 0
          @waits = Hash.new(0)
          @places = Hash.new(0)
          @lags = {}.compare_by_identity
          @gvl.restart
        end
      end

      # @return [Boolean] false in the child of a fork, and after {#stop}
      def alive? = @thread.alive?

      # @return [void]
      def stop
        @thread.kill.join
      ensure
        @gvl.stop
        @socket&.close
        @socket = nil
      end

      # @return [String] the snapshot as text
      def to_s = Watch.text(snapshot)

      # @param snapshot [Hash] see {#snapshot}
      # @return [String]
      def self.text(snapshot)
        gvl = snapshot[:gvl_wait] ? Quantity.seconds(snapshot[:gvl_wait]) : "not measured"
        ["#{Quantity.seconds(snapshot[:seconds])}, #{snapshot[:looks]} looks; GVL wait: #{gvl}",
         *snapshot[:waits].map { |doing, mean| format("%8.2f  %s", mean, doing) },
         *snapshot[:places].map { |row| format("%<mean>8.2f  %<doing>s  at %<place>s", row) },
         *snapshot[:loops].map { |row| of_loop(row) },
         *snapshot[:sources].map { |name, figures| "#{name}: #{figures}" }].join("\n")
      end

      def self.of_loop(row)
        lag, longest = row.values_at(:lag, :longest_lag).map { |seconds| Quantity.seconds(seconds) }
        "loop of #{row[:thread]}: #{row[:fibers]} fibers, #{lag} late, at most #{longest}"
      end
      private_class_method :of_loop

      private

      def check_interval(interval)
        return interval if interval.is_a?(Numeric) && interval.real? && interval >= 0.01

        raise UsageError, "interval: must be seconds from 0.01, not #{interval.inspect}"
      end

      def check_source(name, source)
        return if source.respond_to?(:statistics) || source.respond_to?(:num_waiting)

        raise UsageError, "sources: #{name} is of class #{source.class}; it takes pools that answer to statistics, and queues"
      end

      def look_on
        Thread.current.report_on_exception = false
        loop do
          cost = processor_time
          look
          sleep([@interval, (processor_time - cost) * MODERATION].max)
        end
      end

      if Process.const_defined?(:CLOCK_THREAD_CPUTIME_ID)
        def processor_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      else
        def processor_time = Deadline.now
      end

      def look
        threads = Thread.list - [Thread.current, @socket&.thread]
        seen = threads.map { |thread| describe(thread, thread.status == "run") }
        @lock.synchronize do
          @looks += 1
          seen.each { |one| count(one) }
        end
        ask_loops(threads)
      end

      def ask_loops(threads)
        loops = threads.filter_map { |thread| Scheduler.of(thread) }.select(&:alive?)
        @loops = loops.to_h { |scheduler| [scheduler, @loops[scheduler] || {}] }
        @loops.each { |scheduler, state| ask_loop(scheduler, state) unless state[:asked] }
      end

      # @return [Array(String, String)] what it does, and the place in the program's own code
      def describe(strand, running)
        frames = strand.backtrace_locations(0, DEPTH) || []
        own = frames.find { |frame| frame.path && !frame.path.start_with?("<internal:") && !OwnCode.file?(frame.path) }
        [running ? "running, or waiting for the GVL" : waits_for(frames), own ? "#{own.path}:#{own.lineno}" : "(Plait)"]
      end

      def waits_for(frames)
        calls = frames.first(8).map { |frame| frame.base_label.to_s[/[\w<?!]+\z/] }
        WAITS[calls.find { |call| WAITS.key?(call) }]&.then { |what| "waiting for #{what}" } || "waiting in #{calls.first || "C"}"
      end

      def count((doing, place))
        @waits[doing] += 1
        key = [doing, place]
        @places[key] += 1 if @places.key?(key) || @places.size < MOST
      end

      # The loop itself looks at its fibers, between two of them: how late it does so is its lag.
      def ask_loop(scheduler, state)
        state[:asked] = asked = Deadline.now
        scheduler.soon { answer(scheduler, state, Deadline.now - asked) }
      end

      # In the loop: an error here would end it, and it must not wait.
      def answer(scheduler, state, lag)
        fibers = scheduler.fibers
        seen = fibers.first(FIBERS).select(&:alive?).map { |fiber| describe(fiber, false) }
        note(seen) { record(scheduler, fibers.size, lag) } if @lock.try_lock
      rescue StandardError
        nil
      ensure
        state[:asked] = nil
      end

      def note(seen)
        seen.each { |one| count(one) }
        yield
      ensure
        @lock.unlock
      end

      def record(scheduler, fibers, lag)
        @lags.shift if @lags.size > FIBERS
        row = @lags[scheduler.thread] ||= { thread: scheduler.thread.name || "a thread", lags: [] }
        row[:fibers] = fibers
        row[:longest] = [row[:longest], lag].compact.max
        row[:lags] << lag
        row[:lags].shift if row[:lags].size > MOST
      end

      def means(counts) = counts.sort_by { |_, number| -number }.to_h { |name, number| [name, number.fdiv([@looks, 1].max)] }

      def places(most)
        @places.max_by(most) { |_, number| number }.map do |(doing, place), number|
          { doing: doing, place: place, mean: number.fdiv([@looks, 1].max) }
        end
      end

      def loops
        @lags.values.map do |row|
          { thread: row[:thread], fibers: row[:fibers], lag: row[:lags].sort[row[:lags].size / 2], longest_lag: row[:longest] }
        end
      end

      def ask(source)
        return source.statistics if source.respond_to?(:statistics)

        { size: source.size, waiting: source.num_waiting }
      rescue StandardError => e
        "#{e.class}: #{e.message}"
      end
    end

    # Rack: a {Watch} in each process that serves requests, from its first request on.
    # @example
    #   use Plait::Lab::RackWatch, sources: { jobs: QUEUE }
    class RackWatch
      # @param options [Hash] see {Lab.watch}
      def initialize(app, **options)
        @app = app
        @options = options
        @lock = Mutex.new
        @running = @done = 0
      end

      # @return [Array] the app's answer
      def call(env)
        start unless @watch&.alive?
        @lock.synchronize { @running += 1 }
        begin
          @app.call(env)
        ensure
          @lock.synchronize { finish }
        end
      end

      # @return [Hash] of this process: requests that the app is at (:running), and that it is through with (:done)
      def statistics = { running: @running, done: @done }

      # @return [Watch, nil] of this process
      attr_reader :watch

      private

      def finish
        @running -= 1
        @done += 1
      end

      # Once in each process: a fork has none of its parent's threads.
      def start
        @lock.synchronize do
          next if @watch&.alive?

          @running = @done = 0
          @watch = watch_with(**@options)
        end
      end

      # A socket that can't be had, as where the process before has it still, is no reason to refuse requests.
      def watch_with(socket: nil, sources: {}, **options)
        Watch.new(**options, socket: socket, sources: { **sources, requests: self })
      rescue UsageError => e
        raise unless socket && e.message.start_with?("socket: ")

        warn("plait: #{e.message}; this process is watched without it")
        watch_with(sources: sources, **options)
      end
    end
  end
end
