# frozen_string_literal: true

require "plait/atomic_file"
require "plait/values/deadline"
require "plait/cli/command"
require "plait/cli/exit_status"
require "plait/cli/failure"
require_relative "book"
require_relative "crawl"
require_relative "crew"
require_relative "display"
require_relative "fetcher"
require_relative "frontier"
require_relative "intake"
require_relative "output"
require_relative "retries"
require_relative "robots"
require_relative "schedule"
require_relative "settlement"
require_relative "summary"
require_relative "tally"

module Plait
  module CLI
    class Fetch < Command
      # One run of the command: joins what reads, what asks, what decides and what writes, and ends them in their order.
      #
      # Ctrl-C is not raised in the middle of anything: it is looked for between two results. Then nothing more is begun,
      # and what is under way is waited for.
      class Run
        # @param settings [Settings]
        # @param terminal [Terminal]
        def initialize(settings, terminal)
          @settings = settings
          @terminal = terminal
          @tally = Tally.new
        end

        # @return [Integer] an {ExitStatus}
        # @raise [UsageError, Terminal::Closed, Terminal::Unwritable, Interrupt]
        def call
          @began = Deadline.now
          open
          plant if @crawl
          Thread.handle_interrupt(Interrupt => :never) { fetch }
          conclude
        ensure
          [@output, @source].each { |thing| thing&.close }
        end

        private

        attr_reader :settings, :terminal

        def open
          AtomicFile.check(settings.json) if summary_file?
          terminal.reserve_output if settings.json == Output::STANDARD
          @input = settings.source
          @output = Output.open(settings.out, terminal)
          @source = settings.crawl ? frontier : @input
          @book = Book.new(@output, @source, crawl: settings.crawl)
          @display = Display.new(terminal, @source, @book, @tally, silent: same_screen?)
          connect
        end

        def same_screen? = @output.anchor.nil? && terminal.out.tty?

        def frontier
          fresh = @output.anchor.nil? || @output.offset.zero?
          Frontier.new(@output.anchor, fresh: fresh, most: settings.pages)
        end

        # Who hands what to whom.
        def connect
          @crawl = Crawl.new(@source, depth: settings.depth) if settings.crawl
          @settlement = Settlement.new(@book, @tally, Retries.new(settings.retries), @crawl)
          @schedule = Schedule.new(jobs, per_host: settings.per_host, rate: settings.rate) { |job| @settlement.refuse(job) }
          @settlement.schedule = @schedule
        end

        def jobs
          intake = Intake.new(@source, @book) { |line, problem| reject(line, problem) }
          return intake unless @crawl

          @crawl.robots = Robots.new(intake, Fetcher::AGENT) { |job, rules| @settlement.disallow(job, rules) }
        end

        def reject(line, problem)
          complain(line, problem)
          @settlement.reject(line, problem)
        end

        def complain(line, problem)
          @display.aside { terminal.complain("plait: line #{line.number}: #{problem}") }
        end

        def plant
          @crawl.plant(@input) do |line, problem|
            complain(line, problem)
            @tally.fail_with("bad_line")
          end
        end

        def fetch
          crew = Crew.new(Fetcher.new(settings, parts: @output.parts), on: settings.on, limit: settings.limit)
          crew.each_result(@schedule) do |job, result|
            @settlement.settle(job, result) if job
            look_around
          end
          @book.save
        ensure
          @display.stop
          swallow_interrupt
        end

        def look_around
          stop if !@interrupted && Thread.pending_interrupt?
          @book.save_now_and_then
          @display.refresh
        end

        def stop
          @interrupted = true
          @schedule.stop
          waiting = @schedule.active
          return if waiting.zero?

          @display.aside do
            terminal.note("plait: waiting for #{waiting} #{waiting == 1 ? "answer" : "answers"}; Ctrl-C again ends at once")
          end
        end

        # It has been heard.
        def swallow_interrupt
          Thread.handle_interrupt(Interrupt => :immediate) { Thread.pass }
        rescue Interrupt
          @interrupted = true
        end

        def conclude
          summary = Summary.new(@tally, @book, Deadline.now - @began, interrupted: @interrupted || false)
          tell(summary)
          raise Interrupt, interruption if @interrupted

          @book.failed + @tally.failed > 0 ? ExitStatus::FAILED : ExitStatus::OK
        end

        def tell(summary)
          settings.json == Output::STANDARD ? terminal.data(summary.to_json) : terminal.say(*summary.lines)
          AtomicFile.write(settings.json, summary.to_json) if summary_file?
        end

        def summary_file? = settings.json && settings.json != Output::STANDARD

        def interruption
          return "interrupted" unless @output.anchor

          "interrupted; the same command goes on where this one has ended"
        end
      end
    end
  end
end
