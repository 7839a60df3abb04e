# frozen_string_literal: true

require "plait/protocols/resp"

# What a parser says about bytes, fed in pieces, in a form that does not depend on how they were cut.
module RESPTranscript
  RESP = Plait::Protocols::RESP
  # Both engines, by name; the extension may be missing.
  COMMANDS = { "pure" => RESP::Pure::CommandParser,
               "native" => (RESP::NativeCommandParser if RESP.const_defined?(:NativeCommandParser)) }.compact
  REPLIES = { "pure" => RESP::Pure::ReplyScanner,
              "native" => (RESP::NativeReplyScanner if RESP.const_defined?(:NativeReplyScanner)) }.compact

  module_function

  # @return [Hash] told: [arguments, bytes] of each command; how it ended, or the error (rule, offset)
  def commands(engine, pieces, **limits)
    of(COMMANDS.fetch(engine), pieces, limits) { |parser| [parser.arguments, parser.bytesize] }
  end

  # @return [Hash] told: [type, bytes] of each reply; how it ended, or the error (rule, offset)
  def replies(engine, pieces, **limits)
    of(REPLIES.fetch(engine), pieces, limits) { |scanner| [scanner.type, scanner.bytes] }
  end

  def of(parser, pieces, limits, &tell)
    told = []
    parser = parser.new(limits: RESP::Limits.new(**limits))
    pieces.each { |piece| drain(parser.feed(piece), told, &tell) }
    { told: told, ended: drain(parser.finish, told, &tell) }
  rescue Plait::RemoteProtocolError => e
    { told: told, error: [e.rule, e.offset] }
  end

  def drain(parser, told)
    while (event = parser.next_event)
      return event if event == :closed

      told << yield(parser)
    end
  end

  # @return [String] a command as clients send it
  def command(*words) = words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.bytesize}\r\n#{word}\r\n".b }
end
