# frozen_string_literal: true

module Plait
  module Mechanisms
    class Processes < Mechanism
      # What travels through the pipes: a header of fixed size, whose last field is the length of the payload, and the
      # payload.
      module Frames
        # A header's fields for Array#pack, and its bytes.
        Header = Struct.new(:format, :size)

        # Parent to child: number of items, how the parent waits for their answers, length.
        BATCH = Header.new("LLQ", 16).freeze
        # Child to parent: kind, stream, attempts, index, started, finished, length.
        ANSWER = Header.new("LSLQEEQ", 42).freeze

        # The kinds of answers, from a number that hardly anything else begins with.
        #
        # VALUE and ERROR answer for an item. ATTEMPT: one at an item begins, sent only where there is a timeout or there
        # are retries; "started" is when its block began, 0 while it is not running. RETURNED: items given back without
        # having been run, their indexes in the payload. CRASH: the child itself failed, and how. REFUSED: the system
        # gives it no threads, and what it said.
        KINDS = 0x506c61
        VALUE, ERROR, ATTEMPT, RETURNED, CRASH, REFUSED = *(KINDS << 8)..((KINDS << 8) + 5)

        # How the parent waits: for a wake-up byte that tells of several answers, or for each answer.
        WAKEUP = 0
        LISTENING = 1

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

      # The items that go to a worker in one write: a header with their number; then for each its index, the attempts made
      # at it elsewhere, its length, and the item, dumped by itself. One dump of them all would be 0.7 µs cheaper an item,
      # but then items that refer to the same object would share a copy of it, or not, as the batch happens to fall.
      class Batch
        # Bytes from which on a batch takes no further item.
        FULL = 262_144
        # Of each item.
        HEAD = Frames::Header.new("QLQ", 20).freeze

        # @param count [Integer] of items, from the header
        # @return [Array<Array(Integer, Integer, String)>] index, attempts made, the item dumped
        def self.open(count, body)
          start = 0
          Array.new(count) do
            item = body.unpack(HEAD.format, offset: start)
            start += HEAD.size
            item[2] = body.byteslice(start, length = item.last)
            start += length
            item
          end
        end

        attr_reader :tasks

        def initialize
          @tasks = []
          @bytes = 0
          @parts = [@last = "".b]
        end

        def empty? = @tasks.empty?

        def full? = @bytes >= FULL

        # @param payload [String] its item dumped
        def add(task, payload)
          size = payload.bytesize
          @tasks << task
          @bytes += HEAD.size + size
          [task.index, task.made, size].pack(HEAD.format, buffer: @last)
          size > Frames::LARGE ? @parts.push(payload, @last = "".b) : @last << payload
        end

        # @param waiting [Integer] Frames::WAKEUP or Frames::LISTENING
        # @return [Array<String>] to be written
        def parts(waiting) = [[@tasks.size, waiting, @bytes].pack(Frames::BATCH.format) << @parts.shift, *@parts]
      end

      # Bytes to be written to a pipe, without ever waiting for its reader: a worker that is itself waiting for
      # us to read its answers does not read.
      class Outbox
        JOIN = 65_536

        # @return [Integer] bytes of all that it was given
        attr_reader :given

        def initialize(io)
          @io = io
          @parts = []
          @given = 0
        end

        def empty? = @parts.empty?

        # @return [Integer] bytes that the pipe has taken
        def written = @given - @parts.sum(&:bytesize)

        # @param part [String] the box's own from now on. Small ones are joined: a write costs more than a copy.
        def <<(part)
          @given += part.bytesize
          last = @parts.last
          (last && last.bytesize + part.bytesize <= JOIN ? last : @parts) << part
          self
        end

        # Writes as much as the pipe takes.
        def flush
          until @parts.empty?
            part = @parts.first
            written = Readiness.write(@io, part)
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
