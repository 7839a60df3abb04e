# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require "plait/cli/command"
require_relative "journal"
require_relative "line_set"

module Plait
  module CLI
    class Fetch < Command
      # Which lines are finished. Each is written to the output once, and a run that was ended, however abruptly, goes on
      # where it was: the journal tells what was finished when it was saved last, the output what was since.
      class Book
        # Seconds between two entries in the journal.
        INTERVAL = 2.0

        # @return [Integer] lines with a success or a failure in the output
        attr_reader :ok, :failed
        # @return [Integer] those that were there before this run, and of them the failures
        attr_reader :before, :before_failed

        # @param output [JsonLines, Folder, StandardOutput]
        # @param source [Lines, Words, Frontier]
        # @param crawl [Boolean]
        # @raise [UsageError] when the output belongs to something else
        def initialize(output, source, crawl: false)
          @output = output
          @source = source
          @crawl = crawl
          @journal = Journal.new(output.anchor) if output.anchor
          @done = LineSet.new
          @ok = @failed = @before = @before_failed = 0
          resume if @journal
          @due = 0.0 # soon: so far it is not known by what the input will be known again
        end

        # @param number [Integer]
        # @return [Boolean]
        def done?(number) = @done.include?(number)

        # @return [Integer] lines finished, blank ones included
        def size = @size ||= @done.size

        # A line that asks for nothing is finished.
        # @return [void]
        def skip(number) = tick(number)

        # @param job [Job]
        # @param result [Result]
        # @return [void]
        # @raise [Terminal::Closed, Terminal::Unwritable]
        def finish(job, result)
          @output.write(job, result)
          count(job.line, result.ok?)
        end

        # Saves how far it is, now and then.
        # @return [void]
        def save_now_and_then
          save if @journal && Deadline.now >= @due
        end

        # First the output is made durable: the journal never tells of what is not there.
        # @return [void]
        # @raise [Terminal::Unwritable]
        def save
          return unless @journal

          @output.flush
          @journal.save(Journal::State.new(crawl: @crawl, mark: @source.mark, done: @done.to_a, offset: @output.offset,
                                           ok: @ok, failed: @failed))
          @due = Deadline.now + INTERVAL
        end

        private

        def resume
          state = @journal.load
          return save if @output.offset.zero? # removed or never begun, whatever the journal tells

          check(state)
          @done = LineSet.new(state.done)
          @ok, @failed = state.ok, state.failed
          @output.recover(state.offset) { |number, ok| count(number, ok) }
          @before, @before_failed = @ok + @failed, @failed
        end

        def check(state)
          raise UsageError, stranger unless state
          raise UsageError, other("--crawl is part of what it was begun with") if state.crawl && !@crawl
          raise UsageError, other("it was begun without --crawl") if @crawl && !state.crawl
          raise UsageError, other("the input begins differently") unless @source.same?(state.mark)
        end

        def other(why)
          "#{@output.anchor} can't be continued: #{why}; give what it was begun with, or name another output"
        end

        def stranger
          "#{@output.anchor} exists, and no #{@journal.path} tells how to go on; name another, or remove it"
        end

        def count(number, ok)
          ok ? @ok += 1 : @failed += 1
          tick(number)
        end

        def tick(number)
          @size = size + 1 if @done.add(number)
        end
      end
    end
  end
end
