# frozen_string_literal: true

require "plait/protocols/http1"

# What a parser says about bytes, fed in pieces, in a form that does not depend on how they were cut.
module Transcript
  HTTP1 = Plait.const_get(:Protocols)::HTTP1

  # Both engines, by name; the extension may be missing.
  ENGINES = { "pure" => HTTP1::Pure::Parser, "native" => (HTTP1::NativeParser if HTTP1.const_defined?(:NativeParser)) }.compact
  CLASSES = ENGINES.transform_values { |engine| Class.new(engine) { include HTTP1::Responses } }

  # What is compared of a head.
  HEAD = %i[version status reason framing content_length persistent? kept_for kept_times interim? upgrade? size to_a bytes].freeze

  module_function

  # @param engine [String] a name of ENGINES
  # @param pieces [Array<String>]
  # @return [Hash] events (with all data of a body in one), error (rule, offset), rest
  def of(engine, pieces, request: {}, limits: {}, eof: false)
    read(CLASSES.fetch(engine).new(limits: HTTP1::Limits.new(**limits)).start(**request), pieces, eof)
  end

  def read(parser, pieces, eof)
    events = []
    pieces.each { |piece| drain(parser.feed(piece), events) }
    drain(parser.finish, events) if eof
    { events: events, rest: parser.rest, pardoned: parser.pardoned? }
  rescue Plait::RemoteProtocolError => e
    { events: events, error: [e.rule, e.offset] }
  end

  def drain(parser, events)
    while (kind = parser.next_event)
      note(parser, kind, events)
      return if %i[done closed].include?(kind)
    end
  end

  def note(parser, kind, events)
    case kind
    when :head then events << [:head, *HEAD.map { |name| parser.head.public_send(name) }]
    when :data then events.last&.first == :data ? events.last[1] << parser.data : events << [:data, parser.data.dup]
    when :trailers then events << [:trailers, parser.trailers]
    else events << [kind] unless events.last == [kind]
    end
  end
end
