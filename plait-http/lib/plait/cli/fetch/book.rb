# frozen_string_literal: true

require "json"
require_relative "output"

module Plait
  module CLI
    class Fetch < Command
      # Numbers of lines, as ranges without gaps: nearly all of the first lines are finished, so that the ranges stay few.
      class LineSet
        # @return [Array<Array(Integer, Integer)>] first and last of each range, in ascending order
        attr_reader :to_a

        def initialize(ranges = [])
          @to_a = ranges.map(&:dup)
        end

        # @return [Boolean] whether it was new
        def add(number)
          place = after(number)
          return false if within?(place - 1, number)

          left = within?(place - 1, number - 1)
          right = to_a[place]&.first == number + 1
          joined = [left ? to_a[place - 1].first : number, right ? to_a[place].last : number]
          to_a[left ? place - 1 : place, [left, right].count(true)] = [joined]
          true
        end

        def include?(number) = within?(after(number) - 1, number)

        def size = to_a.sum { |first, last| last - first + 1 }

        private

        # @return [Integer] the place of the first range that begins after the number
        def after(number) = to_a.bsearch_index { |first, _| first > number } || to_a.size

        def within?(place, number) = !place.negative? && number <= to_a[place][1]
      end

      # The progress of a run, in a small file beside its output. The file is replaced as a whole, so that it is never torn;
      # later records are read from the output.
      class Journal
        VERSION = 1
        # - mark: identifies the input, see {Lines#mark}
        # - done: the ranges of a {LineSet}
        # - offset: bytes of the output when it was written
        # - ok, failed: finished lines with a success, and with a failure
        State = Struct.new(:mark, :done, :offset, :ok, :failed, keyword_init: true)

        attr_reader :path

        def initialize(output)
          @path = "#{output}.journal"
        end

        def load
          text = File.read(path)
          fields = JSON.parse(text, symbolize_names: true)
          raise UsageError, unknown unless fields.is_a?(Hash) && fields.delete(:version) == VERSION
          raise UsageError, "#{path} is of a crawl, which plait fetch no longer does: name another output" if fields.delete :crawl

          State.new(**fields)
        rescue Errno::ENOENT
          nil
        rescue JSON::ParserError, ArgumentError
          raise UsageError, unknown
        end

        def save(state) = Writing.replace(path, JSON.generate(version: VERSION, **state.to_h))

        private

        def unknown
          "#{path} is no journal of this version of plait fetch; remove it and the output beside it to start again"
        end
      end

      # The finished lines. Each is written to the output once, and a run that was killed goes on where it was: the journal
      # has the lines that were finished when it was saved last, the output has the later ones.
      class Book
        # Seconds between two entries in the journal: more of them write less, and read more of the output after a kill.
        INTERVAL = 2.0

        # @return [Integer] lines with a success or a failure in the output
        attr_reader :ok, :failed
        # @return [Integer] lines that were there before this run, and the failures among them
        attr_reader :before, :before_failed

        def initialize(output, source)
          @output = output
          @source = source
          @journal = Journal.new(output.anchor) if output.anchor
          @done = LineSet.new
          @ok = @failed = @before = @before_failed = 0
          resume if @journal
          @due = 0.0 # soon: so far no line of the input is read that identifies it
        end

        def done?(number) = @done.include?(number)

        # @return [Integer] lines finished, blank ones included
        def size = @done.size

        # A line that asks for nothing is finished.
        def skip(number) = @done.add(number)

        def finish(job, result)
          @output.write(job, result)
          count(job.line, result.ok?)
        end

        def save_now_and_then = (save if Deadline.now >= @due)

        # First the output is made durable: the journal never names a line that is not there.
        def save
          return unless @journal

          @output.flush
          @journal.save(Journal::State.new(mark: @source.mark, done: @done.to_a, offset: @output.offset,
                                           ok: @ok, failed: @failed))
          @due = Deadline.now + INTERVAL
        end

        private

        def resume
          state = @journal.load
          return save if @output.offset.zero? # an empty output makes the journal worthless

          check(state)
          @done = LineSet.new(state.done)
          @ok, @failed = state.ok, state.failed
          @output.recover(state.offset) { |number, ok| count(number, ok) }
          @before, @before_failed = @ok + @failed, @failed
        end

        def check(state)
          unless state
            raise UsageError, "#{@output.anchor} exists, and no #{@journal.path} tells how to go on; name another, or remove it"
          end
          return if @source.same?(state.mark)

          raise UsageError, "#{@output.anchor} can't be continued: the input begins differently; " \
                            "give the input that it was started with, or name another output"
        end

        def count(number, ok)
          ok ? @ok += 1 : @failed += 1
          skip(number)
        end
      end
    end
  end
end
