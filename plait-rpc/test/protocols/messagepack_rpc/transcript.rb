# frozen_string_literal: true

require "plait/protocols/messagepack_rpc"
require_relative "reference"

# What a parser says about bytes, fed in pieces, in a form that does not depend on how they were cut.
module Transcript
  MessagePackRPC = Plait.const_get(:Protocols)::MessagePackRPC
  # By name; the extension may be missing.
  PARSERS = { "native" => (MessagePackRPC::NativeParser if MessagePackRPC.const_defined?(:NativeParser)) }.compact

  module_function

  # @param engine [String, Class] a name of PARSERS, or another parser
  # @param pieces [Enumerable<String>]
  # @param append [Boolean] whether what belongs to large strings is appended to them, and not fed
  # @return [Hash] messages ([kind, id, method, error, params or result, bytes]), how it ended, the error (rule, offset)
  def of(engine, pieces, limits: {}, large: 64 * 1024, eof: true, append: false)
    read(PARSERS.fetch(engine, engine).new(limits: MessagePackRPC.limits(limits), large: large), pieces, eof, append)
  end

  def read(parser, pieces, eof, append)
    messages = []
    pieces.each { |piece| append ? append(parser, piece, messages) : drain(parser.feed(piece), messages) }
    { messages: messages, ended: eof ? drain(parser.finish, messages) : nil, idle: parser.idle? }
  rescue Plait::RemoteProtocolError => e
    { messages: messages, error: [e.rule, e.offset] }
  end

  def append(parser, piece, messages)
    until piece.empty?
      size = [parser.missing, piece.bytesize].min
      size.zero? ? parser.feed(piece) : parser.body << piece.byteslice(0, size)
      piece = size.zero? ? "".b : piece.byteslice(size..)
      drain(parser, messages)
    end
  end

  def drain(parser, messages)
    while (event = parser.next_event)
      return event if event == :closed

      messages << message(parser, event) unless event == :large
    end
  end

  def message(parser, event)
    raise "#{event} is of the kind #{parser.kind}" unless event == parser.kind

    value = event == :response ? parser.result : parser.params
    [event, parser.id, parser.method_name, plain(parser.error), plain(value), parser.bytesize]
  end

  # A string that was taken out and put back has the shortest header there is: what is compared is decoded.
  def plain(packed) = packed && Reference.decode(packed.is_a?(MessagePackRPC.const_get(:Skeleton)) ? packed.join : packed)
end
