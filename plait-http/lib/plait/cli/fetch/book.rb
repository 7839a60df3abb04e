# frozen_string_literal: true

require "json"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/cli/command"
require_relative "output"

module Plait
  module CLI
    class Fetch < Command
      # Numbers of lines, as ranges without gaps: nearly all of the first lines are finished, so that the ranges stay few.
      class LineSet
        # @param ranges [Array<Array(Integer, Integer)>] first and last of each, in ascending order
        def initialize(ranges = [])
          @firsts = ranges.map(&:first)
          @lasts = ranges.map(&:last)
        end

        # @return [Boolean] whether it was new
        def add(number)
          place = after(number)
          return false if within?(place - 1, number)

          joins_left = place.positive? && @lasts[place - 1] == number - 1
          joins_right = @firsts[place] == number + 1
          insert(place, number, joins_left, joins_right)
          true
        end

        def include?(number) = within?(after(number) - 1, number)

        def size = @firsts.zip(@lasts).sum { |first, last| last - first + 1 }

        # @return [Array<Array(Integer, Integer)>]
        def to_a = @firsts.zip(@lasts)

        private

        # @return [Integer] the place of the first range that begins after the number
        def after(number) = @firsts.bsearch_index { |first| first > number } || @firsts.size

        def within?(place, number) = !place.negative? && number <= @lasts[place]

        def insert(place, number, joins_left, joins_right)
          if joins_left && joins_right then bridge(place)
          elsif joins_left then @lasts[place - 1] = number
          elsif joins_right then @firsts[place] = number
          else
            @firsts.insert(place, number)
            @lasts.insert(place, number)
          end
        end

        def bridge(place)
          @firsts.delete_at(place)
          @lasts.delete_at(place - 1)
        end
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

        # @param output [String] the file beside which it lies
        def initialize(output)
          @path = "#{output}.journal"
        end

        # @return [State, nil] nil when there is none
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
        private_constant :INTERVAL

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
        def size = @size ||= @done.size

        # A line that asks for nothing is finished.
        def skip(number) = tick(number)

        def finish(job, result)
          @output.write(job, result)
          count(job.line, result.ok?)
        end

        # Saves how far it is, now and then.
        def save_now_and_then
          save if @journal && Deadline.now >= @due
        end

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
          raise UsageError, stranger unless state
          raise UsageError, other("the input begins differently") unless @source.same?(state.mark)
        end

        def other(why)
          "#{@output.anchor} can't be continued: #{why}; give the input that it was started with, or name another output"
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
