# frozen_string_literal: true

require "zlib"

module Plait
  module CLI
    class Fetch < Command
      # A line of the input. Its number, from 1, is the one an editor shows.
      Line = Struct.new(:number, :text, :problem) do
        def blank? = problem.nil? && (text.empty? || text.start_with?("#"))
      end

      # The URLs of the command line, as a source of lines: the first argument is line 1.
      class Words
        def initialize(words)
          @words = words
          @next = 0
        end

        def take
          text = @words[@next] or return
          Line.new(@next += 1, text.strip)
        end

        def total = @words.size

        def taken = @next

        def mark = [@words.size, Zlib.crc32(@words.join("\n"))]

        def same?(mark) = mark == self.mark

        def close; end
      end

      # The lines of a file, a pipe or a terminal. It never waits for one, and holds one piece of the input at a time.
      class Lines
        # Bytes; no URL is longer. The rest of such a line is skipped, not kept.
        LONGEST = 16_384
        # Bytes of it that are kept for the message.
        SHOWN = 60
        PIECE = 65_536
        # Lines: more of them tell more inputs apart, and are read again when a run goes on.
        MARKED = 1000
        # Bytes up to which a file is read beforehand, to count its lines.
        COUNTED = 1 << 30
        COUNTED_AT_ONCE = 1 << 20
        BYTE_ORDER_MARK = "\xEF\xBB\xBF".b.freeze

        def initialize(io)
          raise UsageError, "#{io.path} is a folder, and no list of URLs" if io.stat.directory?

          @io = io
          @file = io.stat.file?
          @buffer = "".b
          @piece = "".b
          @position = 0
          @number = 0
          @crc = 0
          @ahead = []
        end

        # @return [Line, Symbol, nil] :wait when there is none yet, nil at the end
        def take = @ahead.shift || read

        def taken = @number - @ahead.size

        # @return [Integer, nil] lines in all, where that can be known
        def total
          return @total if defined?(@total)

          @total = @file && size <= COUNTED ? @number + count : nil
        end

        # @return [Array(Integer, Integer)] how many lines, and a checksum of them, by which {#same?} knows the input again
        def mark = [[@number, MARKED].min, @crc]

        # Reads as many lines as the mark tells of, and waits for them; {#take} hands them over later.
        # @param mark [Array(Integer, Integer)] of an earlier run
        # @return [Boolean] whether it is the same input
        def same?(mark)
          while @number < mark.first
            line = read or break
            line == :wait ? await : @ahead << line
          end
          self.mark == mark
        end

        # Waits until {#take} has a line, or the end.
        # @param seconds [Numeric, nil] at most
        def await(seconds = nil) = @io.wait_readable(seconds)

        def close = @io.close

        private

        def read
          until (stop = @buffer.index("\n", @position))
            drop if @buffer.bytesize - @position > LONGEST
            answer = more
            return answer if answer == :wait
            return last if answer.nil?
          end
          text = @buffer.byteslice(@position, stop - @position)
          @position = stop + 1
          build(text)
        end

        # A last line need not end.
        def last
          text = @buffer.byteslice(@position..)
          @position = @buffer.bytesize
          build(text) unless text.empty? && !@dropped
        end

        # @return [String, Symbol, nil] :wait when there is nothing yet, nil at the end
        def more
          return if @ended
          return :wait unless @file || @io.wait_readable(0)

          @io.readpartial(PIECE, @piece)
          @buffer.replace(@buffer.byteslice(@position..)) << @piece
          @position = 0
          @piece
        rescue EOFError
          @ended = !@file # a terminal would give more after its end
          nil
        rescue SystemCallError => e
          raise Error, "the input can't be read any further: #{e.message}"
        end

        def drop
          @dropped ||= @buffer.byteslice(@position, SHOWN)
          @position = @buffer.bytesize
        end

        def build(text)
          text = text.delete_prefix(BYTE_ORDER_MARK) if @number.zero?
          @dropped ||= text.byteslice(0, SHOWN) if text.bytesize > LONGEST
          text, problem = @dropped, "longer than #{LONGEST} bytes" if @dropped
          @dropped = nil
          @number += 1
          @crc = Zlib.crc32(text, @crc) if @number <= MARKED
          text = text.strip.force_encoding(Encoding::UTF_8)
          text.valid_encoding? ? Line.new(@number, text, problem) : Line.new(@number, text.scrub("?"), "not UTF-8")
        end

        # pread leaves the place at which the input is read alone.
        def count
          place = @io.pos - (@buffer.bytesize - @position)
          lines = 0
          while place < size
            piece = @io.pread([COUNTED_AT_ONCE, size - place].min, place)
            place += piece.bytesize
            lines += piece.count("\n")
          end
          piece.nil? || piece.end_with?("\n") ? lines : lines + 1
        end

        def size = @io.stat.size
      end
    end
  end
end
