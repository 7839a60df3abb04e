# frozen_string_literal: true

require_relative "../mechanism"
require_relative "child_process"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # What travels through the pipes: a header of fixed size, whose last field is the length of the payload, and the
      # payload.
      module Frames
        # A header's fields for Array#pack, and its bytes.
        Header = Struct.new(:format, :size)

        # Parent to child: number of items, length.
        BATCH = Header.new("LQ", 12).freeze
        # Child to parent: kind, stream, attempts, index, started, finished, length.
        ANSWER = Header.new("LSLQEEQ", 42).freeze

        # The kinds of answers, from a number that hardly anything else begins with.
        #
        # VALUE and ERROR answer for an item. RECEIVED: "index" items have arrived in all, the next of them is about to
        # be run. ATTEMPT: one at an item begins, sent only where there is a timeout or there are retries; "started" is
        # when its block began, 0 while it is not running. RETURNED: items given back without having been run, their
        # indexes in the payload. CRASH: the child itself failed, and how. REFUSED: the system gives it no threads, and
        # what it said.
        KINDS = 0x506c61
        VALUE, ERROR, RECEIVED, ATTEMPT, RETURNED, CRASH, REFUSED = *(KINDS << 8)..((KINDS << 8) + 6)

        # Payloads above this travel as they are instead of being joined with their header.
        LARGE = 65_536
      end

      # Something that is no frame came through a pipe.
      class Garbage < StandardError; end

      # Cuts a stream of bytes into frames. Only whole ones come out, so that a writer that died in the middle of a frame
      # leaves nothing that looks like an answer.
      class FrameReader
        READ = 65_536
        # A length may be wrong, and Ruby 4.0 fills with zeros what is reserved: not more than this is reserved ahead.
        RESERVE = 1 << 20

        # @param kinds [Integer, nil] the value of the first field without its last byte
        def initialize(header, kinds: nil)
          @format = header.format
          @header = header.size
          @kinds = kinds
        end

        # @return [Boolean] whether the beginning of a frame is here and its end is not
        def partial? = !@held.nil?

        # @return [Integer] bytes to read next. A large frame is read exactly to its end: the payload then is the tail of
        #   the buffer, which Ruby shares instead of copying it.
        def wanted
          missing = @held ? @needed - @held.bytesize : READ
          @held && @needed > READ && missing < READ ? missing : READ
        end

        # @yieldparam fields [Array] of the header
        # @yieldparam payload [String, nil]
        # @raise [Garbage]
        def push(data, &block)
          return parse(data, &block) unless @held

          @held << data
          return if @held.bytesize < @needed

          held = @held
          @held = nil
          parse(held, &block)
        end

        private

        def parse(data)
          offset = 0
          size = data.bytesize
          needed = @header
          while size - offset >= @header
            fields = data.unpack(@format, offset: offset)
            raise Garbage, "something else has written into its pipe" if @kinds && fields.first >> 8 != @kinds

            length = fields.last
            needed = @header + length
            break if size - offset < needed

            yield fields, (data.byteslice(offset + @header, length) if length.positive?)
            offset += needed
            needed = @header
          end
          hold(data, offset, needed) if offset < size
        end

        def hold(data, offset, needed)
          @needed = needed
          @held = String.new(capacity: [needed, RESERVE].min)
          @held << data.byteslice(offset, data.bytesize - offset)
        end
      end

      # The items that go to a worker in one write: a header with their number; their indexes, the attempts made at them
      # elsewhere, and their lengths; the items, each dumped by itself. One dump of them all would be 0.7 µs cheaper an
      # item, but then items that refer to the same object would share a copy of it, or not, as the batch happens to fall.
      class Batch
        # Bytes from which on a batch takes no further item.
        FULL = 262_144

        # @param count [Integer] of items, from the header
        # @param body [String]
        # @return [Array<Array(Integer, Integer, String)>] index, attempts made, the item dumped
        def self.open(count, body)
          numbers = body.unpack("Q#{count}L#{count}Q#{count}")
          offset = count * 20
          Array.new(count) do |i|
            length = numbers[i + count + count]
            start = offset
            offset += length
            [numbers[i], numbers[i + count], body.byteslice(start, length)]
          end
        end

        def initialize
          @tasks = []
          @payloads = []
          @bytes = 0
        end

        def empty? = @tasks.empty?

        def full? = @bytes >= FULL

        # @param payload [String] its item dumped
        def add(task, payload)
          @tasks << task
          @payloads << payload
          @bytes += payload.bytesize
        end

        # @return [Array<Task>]
        attr_reader :tasks

        # @return [Array<String>] to be written
        def parts = @bytes < FULL ? [head + @payloads.join] : [head, *@payloads]

        private

        def head
          count = @tasks.size
          numbers = @tasks.map(&:index).concat(@tasks.map(&:made), @payloads.map(&:bytesize))
          [count, (count * 20) + @bytes, *numbers].pack("#{Frames::BATCH.format}Q#{count}L#{count}Q#{count}")
        end
      end

      # Bytes to be written to a pipe, without ever waiting for its reader: a worker that is itself waiting for
      # us to read its answers does not read.
      class Outbox
        JOIN = 65_536

        def initialize(io)
          @io = io
          @parts = []
        end

        def empty? = @parts.empty?

        # @param part [String] the box's own from now on. Small ones are joined: a write costs more than a copy.
        def <<(part)
          last = @parts.last
          if last && last.bytesize + part.bytesize <= JOIN
            last << part
          else
            @parts << part
          end
          self
        end

        # Writes as much as the pipe takes.
        def flush
          until @parts.empty?
            part = @parts.first
            written = Readiness.at_once { @io.write_nonblock(part, exception: false) }
            return if written == :wait_writable

            @parts.shift
            @parts.unshift(part.byteslice(written, part.bytesize - written)) if written < part.bytesize
          end
        rescue Errno::EPIPE
          @parts.clear # the reader is gone; the end of the worker's own pipes says the rest
        end
      end
    end
  end
end
