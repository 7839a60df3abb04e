# frozen_string_literal: true

require "bson"

module Support
  class MongoStandIn
    # Messages on a connection: OP_MSG, and the OP_QUERY by which drivers begin
    # (https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/). All numbers are little-endian.
    class Wire
      OP_REPLY = 1
      OP_QUERY = 2004
      OP_MSG = 2013
      HEADER = 16
      # Bytes of a message, as MongoDB has it (maxMessageSizeBytes).
      LENGTHS = HEADER..48_000_000
      # Flag bits of OP_MSG: a checksum at the end; no answer wanted.
      CHECKSUM = 1
      MORE_TO_COME = 2
      private_constant :OP_REPLY, :OP_QUERY, :OP_MSG, :HEADER, :LENGTHS, :CHECKSUM, :MORE_TO_COME

      # @!attribute id [Integer]
      # @!attribute code [Integer] of its kind
      # @!attribute command [BSON::Document]
      # @!attribute silent [Boolean] whether nobody waits for the answer
      Request = Struct.new(:id, :code, :command, :silent, keyword_init: true)

      # @param io [IO]
      def initialize(io)
        @io = io
        @answers = 0
      end

      # @return [Request, nil] nil: the connection has ended
      # @raise [IOError] what came is no message
      def read
        header = @io.read(HEADER) or return
        length, id, _, code = header.unpack("l<4")
        raise IOError, "no message has #{length} bytes" unless code && LENGTHS.cover?(length) # they would be reserved

        body = @io.read(length - HEADER) or return
        code == OP_MSG ? message(id, body) : query(id, code, body)
      end

      # @param document [Hash]
      def answer(request, document)
        return if request.silent

        bytes = BSON::Document.new(document).to_bson.to_s
        head = request.code == OP_MSG ? [0, 0].pack("L<C") : [8, 0, 0, 1].pack("l<q<l<l<")
        code = request.code == OP_MSG ? OP_MSG : OP_REPLY
        size = HEADER + head.bytesize + bytes.bytesize
        @io.write([size, @answers += 1, request.id, code].pack("l<4") << head << bytes)
      end

      private

      def message(id, body)
        flags = body.unpack1("L<")
        buffer = BSON::ByteBuffer.new(body.byteslice(4, body.bytesize - 4 - (flags.anybits?(CHECKSUM) ? 4 : 0)))
        command = BSON::Document.new
        section(buffer, command) while buffer.length.positive?
        Request.new(id: id, code: OP_MSG, command: command, silent: flags.anybits?(MORE_TO_COME))
      end

      # Kind 0 is the command, kind 1 a list that belongs into it under a name.
      def section(buffer, command)
        return command.merge!(BSON::Document.from_bson(buffer)) if buffer.get_byte == "\0"

        left = buffer.length - buffer.get_int32
        name = buffer.get_cstring
        command[name] = []
        command[name] << BSON::Document.from_bson(buffer) while buffer.length > left
      end

      # Flags, the name of a collection, two numbers, and the command.
      def query(id, code, body)
        raise IOError, "an opcode that this server does not know: #{code}" unless code == OP_QUERY

        start = body.index("\0", 4) + 9
        document = BSON::Document.from_bson(BSON::ByteBuffer.new(body.byteslice(start..)))
        Request.new(id: id, code: code, command: document.fetch("$query", document), silent: false)
      end
    end
  end
end
