# frozen_string_literal: true

require_relative "watch"

module Plait
  class Server
    # Notices that a request keeps the loop of fibers from turning. A thread of its own asks the loop for a sign of life once a
    # second; that costs requests nothing. {Scheduler::Watchdog} is more exact, and costs each switch between fibers.
    class Standstill
      # Seconds between two signs of life at most.
      LOOK = 1
      # Seconds after which it is reported, by default.
      LONG = 1
      # Lines of the backtrace.
      LINES = 30

      # @return [Standstill, nil] for the loop of the current fiber; nil where there is none of ours
      def self.of(core, options)
        scheduler = Scheduler.current
        new(core, options, scheduler) if scheduler
      end

      def initialize(core, options, scheduler)
        @core = core
        @options = options
        @scheduler = scheduler
        @seconds = 0
        @limit = options.blocking || LONG
        @limit = options.plan.silence if options.blocking && options.watch # until then the watch tells
      end

      def begin
        @thread = Thread.new { watch }
        @thread.name = "plait standstill"
        self
      end

      def end = @thread.kill.join

      # @return [Hash, nil] `seconds:` for which the loop stands still by now, and `text:`; nil when it turns
      def report
        seconds = @seconds
        { seconds: seconds, text: text } if seconds >= LONG
      end

      private

      def watch
        pause = [@options.blocking || LOOK, LOOK].min
        loop do
          turned = false
          @scheduler.soon { turned = true }
          await(pause) { turned }
        end
      end

      # While the whole process stands still, no time passes for it: no two looks are further apart than the pause.
      def await(pause)
        loop do
          sleep(pause)
          break @seconds = 0 if yield

          before = @seconds
          @seconds += pause
          tell if due?(before)
        end
        @reported = nil
      end

      # The first time, and again whenever a master would have ended it.
      def due?(before)
        return @reported = true if !@reported && @seconds >= @limit

        silence = @options.plan.silence
        (before / silence).floor < (@seconds / silence).floor
      end

      def tell = @options.plan.notice.call(text)

      def text
        env = @core.current_on(@scheduler.thread).find { |fiber, _| fiber.inspect.end_with?("(resumed)>") }&.last
        request = env ? Watch::Route.readable("#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]}") : "something beside the requests"
        lines = (@scheduler.thread.backtrace || []).first(LINES)
        "#{request} has held up the event loop for #{@seconds.round} s, and all other requests of this process with it; wrap " \
          "what computes in Plait.offload { }, or use on: :threads\n\t#{lines.join("\n\t")}"
      end
    end
    private_constant :Standstill
  end
end
