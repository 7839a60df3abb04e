# frozen_string_literal: true

require_relative "../../http"
require "plait/atomic_file"
require_relative "book"
require_relative "client"
require_relative "lines"
require_relative "output"
require_relative "record"
require_relative "summary"

module Plait
  module CLI
    class Fetch < Command
      # Seconds between two looks for Ctrl-C, and whether the run is to stop.
      TICK = 0.05

      # The jobs of a run, as the source of a fan-out: read from the input line by line, no faster than the rate.
      class Jobs
        attr_reader :given

        # @yieldparam line [Line] that is no URL
        def initialize(source, book, rate: nil, &refuse)
          @source = source
          @book = book
          @rate = rate
          @refuse = refuse
          @given = 0
        end

        def each_entry
          until @stopped || (line = @source.take).nil?
            next @source.await(TICK) if line == :wait

            job = job(line) or next
            pace
            return if @stopped

            @given += 1
            yield job
          end
        end

        def stop = @stopped = true

        private

        # @return [Job, nil] nil for a line that is finished, blank or no URL
        def job(line)
          return if @book.done?(line.number)
          return @book.skip(line.number) && nil if line.blank?

          raise UsageError, line.problem if line.problem

          Job.new(line.number, address(line.text))
        rescue UsageError => e
          @refuse.call(line, e.message)
          nil
        end

        # The user and the password as they are written.
        def address(text)
          url = HTTP::URL.parse(text)
          url.userinfo ? url.to_s.sub("//") { "//#{text[%r{//([^/?#]*@)}, 1]}" } : url.to_s
        end

        def pace
          return unless @rate

          until @rate.ready?(now = Deadline.now) || @stopped
            sleep((@rate.next_moment - now).clamp(0.0, TICK))
          end
          @rate.take(Deadline.now)
        end
      end

      # One run of the command: a fan-out from the input to the output.
      #
      # Ctrl-C doesn't interrupt a request: a second thread looks for it. Then no further request begins, and the run waits
      # for the answers under way.
      class Run
        def initialize(settings, terminal)
          @settings = settings
          @terminal = terminal
          @tally = Tally.new
        end

        # @return [Integer] an {ExitStatus}
        def call
          @began = Deadline.now
          open
          Thread.handle_interrupt(Interrupt => :never) { fetch }
          conclude
        ensure
          [@output, @source, @client].each { |thing| thing&.close }
        end

        private

        attr_reader :settings, :terminal

        def open
          AtomicFile.check(settings.json) if summary_file?
          terminal.reserve_output if settings.json == Output::STANDARD
          @source = settings.source
          @output = Output.open(settings.out, terminal)
          @book = Book.new(@output, @source)
          @finished = 0
          connect
        end

        def connect
          @display = Display.new(terminal, @source, @book, @tally, silent: @output.anchor.nil? && terminal.out.tty?)
          @jobs = Jobs.new(@source, @book, rate: settings.rate) { |line, problem| reject(line, problem) }
          @client = Client.new(settings, parts: @output.parts, connections: fibers? ? settings.limit : settings.per_host)
        end

        def fibers? = settings.on == :fibers

        # A line that is no URL.
        def reject(line, problem)
          @display.aside { terminal.complain("plait: line #{line.number}: #{problem}") }
          conclude_job(Job.new(line.number, Secrets.hide(line.text)), Result.failure("bad_line", problem))
        end

        def conclude_job(job, result)
          @book.finish(job, result)
          @tally.add(result)
        end

        def fetch
          watcher = Thread.new(Thread.current) { |runner| watch(runner) }
          @client.fan_out(@jobs, on: settings.on, limit: settings.limit, on_error: :collect,
                                 per_origin: (settings.per_host if fibers?)) { |outcome| settle(outcome) }
          @book.save
        ensure
          watcher&.kill&.join
          @display.stop
          swallow_interrupt
        end

        def settle(outcome)
          @finished += 1
          error = outcome.error
          return if error.is_a?(CancelledError) # the job was not done, and is left for the next run
          raise error unless error.nil? || error.is_a?(WorkerDied)

          conclude_job(outcome.item, outcome.value || Result.of(error))
          @book.save_now_and_then
        end

        def watch(runner)
          loop do
            sleep(TICK)
            stop if !@interrupted && runner.pending_interrupt?
            @display.refresh
          end
        end

        def stop
          @interrupted = true
          [@jobs, @client].each(&:stop)
          waiting = under_way
          return if waiting.zero?

          @display.aside do
            terminal.note("plait: waiting for #{waiting} #{waiting == 1 ? "answer" : "answers"}; Ctrl-C again ends at once")
          end
        end

        # Requests that run in other processes are counted here.
        def under_way = @client.active.nonzero? || [@jobs.given - @finished, settings.limit].min

        # The run has answered to it.
        def swallow_interrupt
          Thread.handle_interrupt(Interrupt => :immediate) { Thread.pass }
        rescue Interrupt
          @interrupted = true
        end

        def conclude
          tell(Summary.new(@tally, @book, Deadline.now - @began, interrupted: @interrupted || false))
          raise Interrupt, "interrupted#{"; the same command goes on where this one has ended" if @output.anchor}" if @interrupted

          @book.failed.zero? ? ExitStatus::OK : ExitStatus::FAILED
        end

        def tell(summary)
          settings.json == Output::STANDARD ? terminal.data(summary.to_json) : terminal.say(*summary.lines)
          AtomicFile.write(settings.json, summary.to_json) if summary_file?
        end

        def summary_file? = settings.json && settings.json != Output::STANDARD
      end
    end
  end
end
