# frozen_string_literal: true

require "plait/values"
require_relative "../io/native"
require_relative "http1/pure/parser"
require_relative "http1/repair"
require_relative "http1/serializer"

module Plait
  module Protocols
    # HTTP/1.1 (RFC 9112, 9110): responses parsed, heads and chunks written. Where the extension is, the engine in
    # plait-io/ext/plait_io/http1/http1.h parses, else its twin in pure/: same interface, same events, same errors.
    #
    # @example A client
    #   parser = HTTP1::ResponseParser.new
    #   parser.start(method: "GET")
    #   until (event = parser.next_event) == :done
    #     case event
    #     when nil   then (bytes = read) ? parser.feed(bytes) : parser.finish
    #     when :head then head = parser.head
    #     when :data then body << parser.data
    #     end
    #   end
    module HTTP1
      # What both engines lack: how a parser begins.
      module Responses
        def initialize(limits: Limits.new)
          super()
          prepare(limits)
        end

        # Before each response but the first, if that is one to a GET. Bytes that are there already belong to it.
        #
        # @param method [String] of its request: HEAD and CONNECT have responses of their own form
        # @param upgrade [Boolean] whether the request had an Upgrade field, so that 101 is an answer
        # @raise [LocalProtocolError] in the middle of a message
        def start(method: "GET", upgrade: false) = begin_message(method == "HEAD", method == "CONNECT", upgrade)
      end

      # A client's side of a connection: bytes in, events out. The server's side is in C alone.
      #
      # `feed` keeps bytes, `finish` says that no more will come, and `next_event` tells what they are:
      #
      # - `:head`: see `head`. After one that is `interim?` (1xx) another comes.
      # - `:data`: see `data`, a binary String of at least a byte.
      # - `:trailers`: see `trailers`, an Array of [name, value]; only if there were any.
      # - `:done`, again and again until the next message is started; `rest` are the bytes behind it: the next message's, or
      #   of the protocol in the tunnel (`head.framing == :tunnel`).
      # - `:closed`: the input ended where a message could have started.
      # - nil: more bytes are needed.
      #
      # It raises {RemoteProtocolError}, {LimitExceeded} or {TruncatedError}, from then on at each call. What the events are
      # does not depend on how the bytes were cut.
      class ResponseParser < (Native.available? ? NativeParser : Pure::Parser)
        include Responses
      end
    end
  end
end
